/** Class mode without a server: a link with the question, a code of a guess, and all guesses in one picture. */

import { codeOf, guessesOf } from "./class_code.ts";
import { copyLink, copyText, type Say } from "./copying.ts";
import { CurvePlot } from "./curve_plot.tsx";
import { EXPERIMENTS } from "./experiments/index.ts";
import { type GuidedExperiment, type Results, rightOption } from "./experiments/types.ts";
import { NumberLine } from "./number_line.tsx";

/** Buttons for a student and a lecturer, beside the question. */
export function ClassButtons(props: {
  experiment: GuidedExperiment;
  guess: readonly number[];
  isHosted: boolean;
  say: Say;
}): preact.JSX.Element {
  const { experiment, guess, isHosted, say } = props;
  const shared = { text: experiment.scenario, experiment: experiment.id, classroom: true };
  return (
    <div class="class-buttons">
      <button
        type="button"
        disabled={guess.length === 0}
        onClick={() => void copyText(codeOf(experiment, guess), "code of your guess", say)}
      >
        Copy the code of my guess
      </button>
      {guess.length > 0 && <output class="code">{codeOf(experiment, guess)}</output>}
      {!isHosted && (
        <button type="button" onClick={() => void copyLink(shared, "link for the class", say)}>
          Copy a link for the class
        </button>
      )}
    </div>
  );
}

/** Field for the codes of a class, with a picture of the guesses for each experiment among them. */
export function ClassGuesses(props: {
  codes: string;
  onCodes: (codes: string) => void;
  /** Experiment of the picture; null for all of them. */
  experiment: GuidedExperiment | null;
  results: Results | null;
}): preact.JSX.Element {
  const { codes, onCodes, experiment, results } = props;
  const { guesses, damaged } = guessesOf(codes, EXPERIMENTS);
  const shown = EXPERIMENTS.filter(
    (it) => guesses.some(({ id }) => id === it.id) && (experiment === null || it === experiment),
  );
  return (
    <details class="class">
      <summary>Guesses of a class</summary>
      <p>
        Open an experiment and copy a link for the class. Each student makes a guess and sends you its code.
        Paste all codes here. Nothing leaves this page.
      </p>
      <label>
        Codes, in any order and with any text between them
        <textarea rows={3} spellcheck={false} onInput={(event) => onCodes(event.currentTarget.value)}>
          {codes}
        </textarea>
      </label>
      <p role="status">
        {guesses.length} {guesses.length === 1 ? "guess" : "guesses"}
        {damaged > 0 && `, and ${damaged} damaged ${damaged === 1 ? "code" : "codes"}`}
      </p>
      {shown.map((it) => (
        <All
          experiment={it}
          guesses={guesses.filter(({ id }) => id === it.id).map(({ guess }) => guess)}
          results={it === experiment ? results : null}
          key={it.id}
        />
      ))}
    </details>
  );
}

function All(props: {
  experiment: GuidedExperiment;
  guesses: readonly (readonly number[])[];
  results: Results | null;
}): preact.JSX.Element {
  const { experiment, guesses, results } = props;
  const { prediction, runs, scale, title } = experiment;
  if (prediction.kind === "curve") {
    const mean = runs.map((_, run) => guesses.reduce((sum, it) => sum + (it[run] ?? 0), 0) / guesses.length);
    const measured = results && runs.map((_, run) => results.value(run, prediction.metric));
    return (
      <figure>
        <figcaption>
          {title}: {guesses.length} curves and their mean
        </figcaption>
        <CurvePlot runs={runs} axis={prediction.axis} guess={mean} result={measured} others={guesses} />
      </figure>
    );
  }
  const counts = prediction.options.map((_, at) => guesses.filter(([answer]) => answer === at).length);
  const right = results ? rightOption(prediction.options, results) : -1;
  return (
    <figure>
      <figcaption>
        {title}: {guesses.length} guesses
      </figcaption>
      {scale && (
        <NumberLine
          scale={scale}
          guess={undefined}
          result={results ? scale.value(results) : null}
          counts={counts}
        />
      )}
      <ul class="options">
        {prediction.options.map(({ text }, at) => (
          <li class={at === right ? "right" : ""} key={text}>
            <meter value={counts[at] ?? 0} max={guesses.length} aria-label={`guesses for ${text}`} />{" "}
            {counts[at]} × <b>{"ABCDEF"[at]}</b> {text}
            {at === right && <span class="tag measured">measured</span>}
          </li>
        ))}
      </ul>
    </figure>
  );
}
