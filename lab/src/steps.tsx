/** A slider over values that make sense, and a list of names. */

interface StepsProps {
  label: string;
  /** Null where only the text can change it. */
  value: number | null;
  steps: readonly number[];
  set: (value: number) => void;
  /** What is written beside the slider. */
  shown: string | null;
}

/** A slider over values that make sense; one that the text has and the slider has not lies between two. */
export function Steps({ label, value, steps, set, shown }: StepsProps): preact.JSX.Element {
  return (
    <label class="steps">
      <span class="name">{label}</span>
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
      <output>{shown ?? "in the text"}</output>
    </label>
  );
}

export function Choice(props: {
  label: string;
  value: string;
  known: readonly { name: string; title: string }[];
  set: (value: string) => void;
}): preact.JSX.Element {
  const { label, value, known, set } = props;
  const isKnown = known.some(({ name }) => name === value);
  return (
    <label class="choice">
      <span class="name">{label}</span>
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {!isKnown && <option value={value}>as in the text</option>}
        {known.map(({ name, title }) => (
          <option value={name} title={title} key={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The step that is nearest to a number, on a scale of ratios. */
function nearest(steps: readonly number[], value: number | null): number {
  if (!value) return 0;
  const far = steps.map((step) => Math.abs(Math.log(step || 1e-12) - Math.log(value)));
  return far.indexOf(Math.min(...far));
}
