/** Form of a guess: one of several answers, or a curve that is drawn with the pointer or set with sliders. */

import { CurvePlot } from "./curve_plot.tsx";
import type { GuidedExperiment } from "./experiments/types.ts";
import { NumberLine } from "./number_line.tsx";

interface Props {
  experiment: GuidedExperiment;
  /** Number of the chosen answer, or a share for each run; empty before the first choice. */
  guess: readonly number[];
  onGuess: (guess: readonly number[]) => void;
  isFixed: boolean;
}

export function Guess(props: Props): preact.JSX.Element {
  const { experiment, guess, onGuess, isFixed } = props;
  const { prediction, scale } = experiment;
  if (prediction.kind === "curve") return <Curve {...props} axis={prediction.axis} />;
  return (
    <fieldset disabled={isFixed}>
      <legend>What do you expect?</legend>
      {scale && (
        <NumberLine
          scale={scale}
          guess={guess[0]}
          result={null}
          onGuess={(answer) => !isFixed && onGuess([answer])}
        />
      )}
      {prediction.options.map(({ text }, at) => (
        <label key={text}>
          <input type="radio" name="guess" checked={guess[0] === at} onChange={() => onGuess([at])} />{" "}
          <b>{"ABCDEF"[at]}</b> {text}
        </label>
      ))}
    </fieldset>
  );
}

function Curve({ experiment, guess, onGuess, isFixed, axis }: Props & { axis: string }): preact.JSX.Element {
  const { runs } = experiment;
  const values = runs.map((_, at) => guess[at] ?? 0.5);
  const set = (at: number, value: number): void =>
    onGuess(values.map((before, other) => (other === at ? value : before)));
  return (
    <fieldset disabled={isFixed}>
      <legend>Draw the expected {axis} with the pointer, or set the sliders.</legend>
      <CurvePlot runs={runs} axis={axis} guess={values} result={null} {...(isFixed ? {} : { onDraw: set })} />
      {runs.map(({ name }, at) => (
        <label class="guess-slider" key={name}>
          <span>{name}</span>
          <input
            type="range"
            min={0}
            max={100}
            value={Math.round((values[at] ?? 0) * 100)}
            onInput={(event) => set(at, Number(event.currentTarget.value) / 100)}
          />
          <output>{Math.round((values[at] ?? 0) * 100)} %</output>
        </label>
      ))}
    </fieldset>
  );
}
