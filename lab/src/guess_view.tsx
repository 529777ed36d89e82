/** Form of a guess: one of several answers, or a curve that is drawn with the pointer or set with sliders. */

import type { Experiment } from "./experiments/types.ts";

interface Props {
  experiment: Experiment;
  /** Number of the chosen answer, or a share for each run; empty before the first choice. */
  guess: readonly number[];
  onGuess: (guess: readonly number[]) => void;
  isFixed: boolean;
}

export function Guess(props: Props): preact.JSX.Element {
  const { experiment, guess, onGuess, isFixed } = props;
  const { prediction } = experiment;
  if (prediction.kind === "curve") return <Curve {...props} axis={prediction.axis} />;
  return (
    <fieldset disabled={isFixed}>
      <legend>What do you expect?</legend>
      {prediction.options.map(({ text }, at) => (
        <label key={text}>
          <input type="radio" name="guess" checked={guess[0] === at} onChange={() => onGuess([at])} /> {text}
        </label>
      ))}
    </fieldset>
  );
}

const WIDTH = 320;
const HEIGHT = 150;

function Curve({ experiment, guess, onGuess, isFixed, axis }: Props & { axis: string }): preact.JSX.Element {
  const { runs } = experiment;
  const values = runs.map((_, at) => guess[at] ?? 0.5);
  const set = (at: number, value: number): void =>
    onGuess(values.map((before, other) => (other === at ? value : before)));
  const x = (at: number): number => ((at + 0.5) / runs.length) * WIDTH;
  const y = (value: number): number => (1 - value) * HEIGHT;
  const draw = (event: PointerEvent & { currentTarget: SVGSVGElement }): void => {
    if (isFixed || event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * runs.length);
    const value = 1 - (event.clientY - box.top) / box.height;
    set(Math.min(runs.length - 1, Math.max(0, at)), Math.round(100 * Math.min(1, Math.max(0, value))) / 100);
  };
  return (
    <fieldset disabled={isFixed}>
      <legend>Draw the expected {axis}, from 0 to 100 %, or set the sliders.</legend>
      <svg
        class="draw"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        aria-hidden="true"
        onPointerDown={draw}
        onPointerMove={draw}
      >
        <polyline points={values.map((value, at) => `${x(at)},${y(value)}`).join(" ")} />
        {values.map((value, at) => (
          <circle cx={x(at)} cy={y(value)} r={6} key={runs[at]?.name} />
        ))}
      </svg>
      {runs.map(({ name }, at) => (
        <label key={name}>
          {name}{" "}
          <input
            type="range"
            min={0}
            max={100}
            value={Math.round((values[at] ?? 0) * 100)}
            onInput={(event) => set(at, Number(event.currentTarget.value) / 100)}
          />{" "}
          <output>{Math.round((values[at] ?? 0) * 100)} %</output>
        </label>
      ))}
    </fieldset>
  );
}
