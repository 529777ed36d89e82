/** Size of the buffer that the page shows while it is dragged, before the scenario has it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { scaleEnd, stepped, UNITS, unitsPerPacket, withPackets, withTested } from "./buffer_scale.ts";
import { type Edit, withBuffer } from "./changes.ts";
import type { Controls, Resolved } from "./engine/protocol.ts";
import type { Model } from "./model.ts";
import { sizeOf } from "./number_field.ts";

/** Time after the last movement until the scenario changes and the run restarts, in milliseconds. */
const COMMIT_DELAY_MS = 250;

export interface BufferState {
  packets: number;
  unit: string;
  /** Size in the unit, as a text. */
  shown: string;
  setPackets: (packets: number) => void;
  /** Sets a buffer of the trade-off, in packets. */
  setTested: (packets: number) => void;
  setUnit: (unit: string) => void;
  /** Halves or doubles the buffer: exactly in its unit, and to whole packets if the unit is packets. */
  scale: (factor: 0.5 | 2) => void;
  /** Takes a text that was typed, such as `100`, `1.5 BDP` or `20ms`. */
  setText: (text: string) => void;
}

export function useBuffer(model: Model): BufferState {
  const { resolved, refusal } = model;
  const [moved, setMoved] = useState<number | null>(null);
  const [chosen, setUnit] = useState<string | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  // The scenario has the new size, or the engines refused it.
  useEffect(() => setMoved(null), [resolved, refusal]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const own = resolved?.controls.buffer ?? null;
  const wanted = chosen ?? own?.unit ?? "p";
  // A link may have no such unit, as one without round trips has no bandwidth-delay product.
  const isKnown = UNITS.some(([suffix]) => suffix === wanted);
  const unit = isKnown && resolved && unitsPerPacket(resolved, wanted) !== null ? wanted : "p";
  const per = (resolved && unitsPerPacket(resolved, unit)) ?? 1;
  const packets = moved ?? resolved?.buffer.packets ?? 1;
  const commit = (next: number, makeEdit: (controls: Controls, resolved: Resolved) => Edit): void => {
    setMoved(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const { controls, resolved } = model;
      if (controls && resolved) model.change(makeEdit(controls, resolved));
    }, COMMIT_DELAY_MS);
  };
  const setPackets = (next: number): void =>
    commit(next, (controls, resolved) => withPackets(controls, resolved, next, unit));
  const setTested = (next: number): void =>
    commit(next, (controls, resolved) => withTested(controls, resolved, next));
  const isAsWritten = moved === null && own?.unit === unit;
  const shown = isAsWritten ? `${significant(own.value, 6)}` : sizeText(packets, unit, per);
  const scale = (factor: 0.5 | 2): void => {
    const next = packets * factor;
    // A buffer below one packet loses every packet that waits.
    if (unit === "p" || next < 1) {
      setPackets(stepped(packets, factor - 1, scaleEnd(resolved)));
      return;
    }
    const value = significant((isAsWritten ? own.value : packets * per) * factor, 6);
    commit(next, (controls) => withBuffer(controls, value, unit));
  };
  const setText = (text: string): void => {
    model.refuse(null);
    if (!resolved || text.trim() === "" || text.trim() === shown) return;
    const size = sizeOf(text, unit);
    const sizePer = size && unitsPerPacket(resolved, size.unit);
    if (!size || !sizePer) {
      model.refuse(`link.buffer: expected a number above zero such as 100 or 1.5 BDP, found \`${text}\``);
      return;
    }
    setUnit(size.unit);
    const packets = size.value / sizePer;
    // A size below one packet, such as 1 B, would lose every packet that waits.
    if (size.unit === "p" || packets < 1) {
      const whole = Math.max(1, Math.round(packets));
      commit(whole, (controls) => withBuffer(controls, whole, "p"));
    } else commit(packets, (controls) => withBuffer(controls, size.value, size.unit));
  };
  return { packets, unit, shown, setPackets, setTested, setUnit, scale, setText };
}

function significant(value: number, most: number): number {
  return Number(value.toPrecision(most));
}

function sizeText(packets: number, unit: string, per: number): string {
  return unit === "p" ? `${Math.round(packets)}` : `${significant(packets * per, 3)}`;
}
