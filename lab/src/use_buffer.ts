/** Size of the buffer that the page shows while it is dragged, before the scenario has it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { UNITS, withPackets } from "./buffer_scale.ts";
import type { Model } from "./model.ts";

/** Time after the last movement until the scenario changes and the run restarts, in milliseconds. */
const COMMIT_DELAY_MS = 250;

export interface BufferState {
  packets: number;
  unit: string;
  setPackets: (packets: number) => void;
  setUnit: (unit: string) => void;
}

export function useBuffer(model: Model): BufferState {
  const { resolved, refusal } = model;
  const [moved, setMoved] = useState<number | null>(null);
  const [chosen, setUnit] = useState<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  // The scenario has the new size, or the engines refused it.
  useEffect(() => setMoved(null), [resolved, refusal]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const written = resolved?.controls.buffer?.unit ?? "p";
  const unit = chosen ?? (UNITS.some(([suffix]) => suffix === written) ? written : "p");
  const setPackets = (packets: number): void => {
    setMoved(packets);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const { controls, resolved } = model;
      if (controls && resolved) model.change(withPackets(controls, resolved, packets, unit));
    }, COMMIT_DELAY_MS);
  };
  return { packets: moved ?? resolved?.buffer.packets ?? 1, unit, setPackets, setUnit };
}
