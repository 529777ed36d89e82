/** The buffer as a number, on a slider and by halves and doubles, beside the end of the queue in the picture. */

import { useState } from "preact/hooks";
import { packetsAt, placeOf, scaleEnd, UNITS, unitsPerPacket } from "./buffer_scale.ts";
import type { Model } from "./model.ts";
import { Term } from "./terms.tsx";

interface Props {
  model: Model;
  packets: number;
  unit: string;
  /** Size in the unit, as a text. */
  shown: string;
  onUnit: (unit: string) => void;
  onPackets: (packets: number) => void;
  onText: (text: string) => void;
  /** Halves or doubles the buffer. */
  onScale: (factor: 0.5 | 2) => void;
}

/** Number of positions of the slider. */
const POSITIONS = 1000;

export function BufferRow(props: Props): preact.JSX.Element {
  const { model, packets, unit, shown, onUnit, onPackets, onText, onScale } = props;
  const { resolved } = model;
  const end = scaleEnd(resolved);
  const isOff = !model.isChangeable || !resolved?.controls.buffer;
  const [typed, setTyped] = useState<string | null>(null);
  const take = (text: string): void => {
    setTyped(null);
    onText(text);
  };
  return (
    <fieldset class="buffer" disabled={isOff}>
      <legend class="hidden">Buffer</legend>
      <span class="name">
        <Term name="buffer">Buffer</Term>
      </span>
      <input
        class="number"
        type="text"
        inputMode="decimal"
        aria-label="Buffer"
        value={typed ?? shown}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => take(event.currentTarget.value)}
      />
      <label class="unit-of">
        <span class="hidden">Unit of the buffer</span>
        <select value={unit} onChange={(event) => onUnit(event.currentTarget.value)}>
          {UNITS.filter(([suffix]) => !resolved || unitsPerPacket(resolved, suffix) !== null).map(
            ([suffix, name]) => (
              <option value={suffix} key={suffix}>
                {name}
              </option>
            ),
          )}
        </select>
      </label>
      <input
        class="fine"
        type="range"
        min={0}
        max={POSITIONS}
        step={1}
        aria-label="Buffer on a logarithmic scale"
        aria-valuetext={`${Math.round(packets)} packets`}
        value={Math.round(POSITIONS * placeOf(packets, end))}
        onInput={(event) => onPackets(packetsAt(Number(event.currentTarget.value) / POSITIONS, end))}
      />
      <button type="button" onClick={() => onScale(0.5)}>
        Halve
      </button>
      <button type="button" onClick={() => onScale(2)}>
        Double
      </button>
    </fieldset>
  );
}
