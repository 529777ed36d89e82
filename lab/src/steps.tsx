/** Slider over a list of values, and list of names. */

import { Term, type TermName } from "./terms.tsx";

interface StepsProps {
  label: string;
  /** Term that explains the label. */
  term: TermName;
  /** Null if the value can be changed only in the text. */
  value: number | null;
  steps: readonly number[];
  set: (value: number) => void;
  /** Text beside the slider. */
  shown: string | null;
}

/** Slider over a list of values. A value of the text that is not in the list selects the nearest one. */
export function Steps({ label, term, value, steps, set, shown }: StepsProps): preact.JSX.Element {
  return (
    <label class="steps">
      <span class="name">
        <Term name={term}>{label}</Term>
      </span>
      <input
        type="range"
        min={0}
        max={steps.length - 1}
        step={1}
        value={nearest(steps, value)}
        aria-valuetext={shown ?? "set in the text"}
        onInput={(event) => {
          const chosen = steps[Number(event.currentTarget.value)];
          if (chosen !== undefined && chosen !== value) set(chosen);
        }}
      />
      <output>{shown ?? "set in text"}</output>
    </label>
  );
}

/** Labels of names that are no plain English. */
const LABELS: Record<string, string> = { droptail: "drop-tail (FIFO)" };

/** List of names. */
export function Choice(props: {
  label: string;
  term: TermName;
  value: string;
  options: readonly { name: string; title: string }[];
  set: (value: string) => void;
}): preact.JSX.Element {
  const { label, term, value, options, set } = props;
  const isKnown = options.some(({ name }) => name === value);
  return (
    <label class="choice">
      <span class="name">
        <Term name={term}>{label}</Term>
      </span>
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {!isKnown && <option value={value}>{/^(.*\.wasm)@/.exec(value)?.[1] ?? "as in the text"}</option>}
        {options.map(({ name, title }) => (
          <option value={name} title={title} key={name}>
            {LABELS[name] ?? name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Index of the step that is nearest to a number on a logarithmic scale. */
function nearest(steps: readonly number[], value: number | null): number {
  if (!value) return 0;
  const far = steps.map((step) => Math.abs(Math.log(step || 1e-12) - Math.log(value)));
  return far.indexOf(Math.min(...far));
}
