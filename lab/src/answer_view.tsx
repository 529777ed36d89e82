/** Answer of an experiment: the result over the guess in one picture, the verdict, and the numbers. */

import { CurvePlot } from "./curve_plot.tsx";
import { formatted, type GuidedExperiment, type Results, rightOption } from "./experiments/types.ts";
import { NumberLine } from "./number_line.tsx";

interface Props {
  experiment: GuidedExperiment;
  guess: readonly number[];
  results: Results;
}

/** Guess and result in one picture. */
export function AnswerPicture({ experiment, guess, results }: Props): preact.JSX.Element {
  const { prediction, runs, scale } = experiment;
  if (prediction.kind === "curve") {
    const measured = runs.map((_, run) => results.value(run, prediction.metric));
    return (
      <figure>
        <CurvePlot runs={runs} axis={prediction.axis} guess={guess} result={measured} />
        <figcaption class="legend">
          <span class="key guessed" /> your guess <span class="key measured" /> measured
        </figcaption>
      </figure>
    );
  }
  const right = rightOption(prediction.options, results);
  return (
    <figure>
      {scale && <NumberLine scale={scale} guess={guess[0]} result={scale.value(results)} />}
      <ul class="options">
        {prediction.options.map(({ text }, at) => (
          <li class={at === right ? "right" : ""} key={text}>
            <b>{"ABCDEF"[at]}</b> {text}
            {at === guess[0] && <span class="tag">your guess</span>}
            {at === right && <span class="tag measured">measured</span>}
          </li>
        ))}
      </ul>
      {!scale && <Bars experiment={experiment} results={results} />}
    </figure>
  );
}

const [WIDTH, BAR] = [360, 18];

/** Bars of the first two columns, where the answers are no regions of one number. */
function Bars({ experiment, results }: Omit<Props, "guess">): preact.JSX.Element {
  const columns = experiment.columns.slice(0, 2);
  const height = columns.length * (experiment.runs.length * BAR + 28);
  return (
    <svg class="bars" viewBox={`0 0 ${WIDTH} ${height}`} aria-hidden="true">
      {columns.map((column, group) => {
        const values = experiment.runs.map((_, run) => results.value(run, column.metric));
        const most = Math.max(...values, column.metric === "utilization" ? 1 : 0) || 1;
        const top = group * (experiment.runs.length * BAR + 28);
        return (
          <g key={column.metric}>
            <text x={0} y={top + 13} class="axis">
              {column.title}
            </text>
            {values.map((value, run) => (
              <g key={experiment.runs[run]?.name}>
                <text x={92} y={top + 32 + run * BAR} text-anchor="end">
                  {experiment.runs[run]?.name}
                </text>
                <rect x={98} y={top + 20 + run * BAR} width={(value / most) * 190} height={BAR - 4} />
                <text x={102 + (value / most) * 190} y={top + 32 + run * BAR}>
                  {formatted(column, value)}
                </text>
              </g>
            ))}
          </g>
        );
      })}
    </svg>
  );
}

/** Numbers of the runs. A narrow panel shows each run as a list: lab/src/style_experiments.css. */
export function Table({ experiment, results }: Omit<Props, "guess">): preact.JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keys.
    <section class="scroll numbers" tabIndex={0} aria-label="Results">
      <table>
        <thead>
          <tr>
            <th scope="col">run</th>
            {experiment.columns.map(({ title }) => (
              <th scope="col" key={title}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {experiment.runs.map(({ name }, run) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {experiment.columns.map((column) => (
                <td data-title={column.title} key={column.title}>
                  {formatted(column, results.value(run, column.metric))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Mean difference in percentage points from which a drawn curve is not close. */
const CLOSE_POINTS = 5;

/** Sentences that compare the guess with the measured values, with the reason. */
export function verdict({ experiment, guess, results }: Props): string {
  const { prediction, reason, runs } = experiment;
  if (prediction.kind === "choice") {
    const right = rightOption(prediction.options, results);
    const [text, guessed] = [prediction.options[right]?.text, prediction.options[guess[0] ?? -1]?.text];
    if (text === undefined) return "None of the answers matches these numbers.";
    if (guess[0] === right) return `Right: “${text}”. ${reason}`;
    return `Not quite. You expected “${guessed}”, and the runs gave “${text}”. ${reason}`;
  }
  const errors = runs.map((_, run) => Math.abs((guess[run] ?? 0) - results.value(run, prediction.metric)));
  const points = (100 * errors.reduce((sum, it) => sum + it, 0)) / runs.length;
  const opening = points < CLOSE_POINTS ? "Close" : "Not quite";
  return `${opening}: your curve differs by ${points.toFixed(0)} percentage points on average. ${reason}`;
}
