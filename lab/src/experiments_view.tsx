/** List of experiments, and the steps of one: question and guess, run, result, paper, own tries. */

import { useEffect, useRef, useState } from "preact/hooks";
import { EXPERIMENTS } from "./experiments/index.ts";
import { type Outcome, runStudy } from "./experiments/study.ts";
import {
  type Experiment,
  formatted,
  type Prediction,
  type Results,
  type Run,
  rightOption,
} from "./experiments/types.ts";
import { Guess } from "./guess_view.tsx";

interface Props {
  start: () => Worker;
  module: WebAssembly.Module;
  /** Id of the open experiment, ALL_EXPERIMENTS for the list, or an empty string for none. */
  open: string;
  onOpen: (id: string) => void;
  /** Plays a run in the live view. */
  play: (experiment: Experiment, run: Run) => void;
}

/** Value of `open` that shows the list. */
export const ALL_EXPERIMENTS = "all";

export function Experiments({ start, module, open, onOpen, play }: Props): preact.JSX.Element | null {
  const experiment = EXPERIMENTS.find(({ id }) => id === open);
  const top = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (open !== "") top.current?.focus();
  }, [open]);
  if (open === "") return null;
  return (
    <section class="experiment" aria-labelledby="experiment-title">
      <div class="bar">
        <h2 id="experiment-title" tabIndex={-1} ref={top}>
          {experiment?.title ?? "Experiments"}
        </h2>
        {experiment && (
          <button type="button" onClick={() => onOpen(ALL_EXPERIMENTS)}>
            All experiments
          </button>
        )}
        <button type="button" onClick={() => onOpen("")}>
          Close
        </button>
      </div>
      {experiment ? (
        <Steps
          experiment={experiment}
          start={start}
          module={module}
          play={play}
          next={() => onOpen(EXPERIMENTS[EXPERIMENTS.indexOf(experiment) + 1]?.id ?? ALL_EXPERIMENTS)}
          key={experiment.id}
        />
      ) : (
        <ul class="list">
          {EXPERIMENTS.map(({ id, title, question }) => (
            <li key={id}>
              <button type="button" onClick={() => onOpen(id)}>
                <b>{title}</b>
                <span>{question}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

interface StepsProps {
  experiment: Experiment;
  start: () => Worker;
  module: WebAssembly.Module;
  play: (experiment: Experiment, run: Run) => void;
  next: () => void;
}

function Steps({ experiment, start, module, play, next }: StepsProps): preact.JSX.Element {
  const [guess, setGuess] = useState<readonly number[]>([]);
  const [isPending, setAsked] = useState(false);
  const [finished, setDone] = useState(0);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  /** Number of attempts. A refused or failed study can be repeated. */
  const [attempt, setAttempt] = useState(0);
  const answer = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!isPending) return;
    const end = new AbortController();
    setDone(0);
    setOutcome(null);
    runStudy(start, module, experiment, setDone, end.signal).then(
      (it) => it && setOutcome(it),
      (error: unknown) => setOutcome({ kind: "refused", message: String(error) }),
    );
    return () => end.abort();
  }, [isPending, attempt, start, module, experiment]);
  useEffect(() => {
    if (outcome?.kind === "done") answer.current?.focus();
  }, [outcome]);
  const { runs } = experiment;
  const [played, setPlayed] = useState(0);
  const watchRun = (at: number): void => {
    const run = runs[at];
    if (!run) return;
    setPlayed(at);
    play(experiment, run);
  };
  const ask = (): void => {
    setAsked(true);
    watchRun(0);
  };
  return (
    <>
      <p class="question">{experiment.question}</p>
      <Guess experiment={experiment} guess={guess} onGuess={setGuess} isFixed={isPending} />
      {!isPending && (
        <button type="button" class="main" disabled={guess.length === 0} onClick={ask}>
          Run it
        </button>
      )}
      {isPending && (
        <div class="watch">
          <p>
            <b>Watch this:</b> {experiment.watch}
          </p>
          <fieldset class="which">
            <legend>Choose the run that plays below</legend>
            {runs.map(({ name }, at) => (
              <button type="button" aria-pressed={played === at} onClick={() => watchRun(at)} key={name}>
                {name}
              </button>
            ))}
          </fieldset>
        </div>
      )}
      <p role="status">
        {isPending && !outcome && `${finished} of ${runs.length} runs are complete.`}
        {outcome?.kind === "refused" && `The runs failed: ${outcome.message}`}
        {outcome?.kind === "done" && "All runs are complete."}
      </p>
      {outcome?.kind === "refused" && (
        <button type="button" onClick={() => setAttempt(attempt + 1)}>
          Try again
        </button>
      )}
      {outcome?.kind === "done" && (
        <div class="answer">
          <h3 tabIndex={-1} ref={answer}>
            What happened
          </h3>
          <Table experiment={experiment} results={outcome.results} />
          <p>
            <b>{verdict(experiment.prediction, guess, outcome.results, runs.length)}</b>
          </p>
          <p>{experiment.explanation(outcome.results)}</p>
          <h3>Result of the paper</h3>
          <p>{experiment.paper.result}</p>
          {experiment.paper.comparison && <p>{experiment.paper.comparison(outcome.results)}</p>}
          <p class="source">{experiment.paper.source}</p>
          <p>
            <b>Try it yourself:</b> the controls show the run that plays below. Change its buffer or its flows
            and play it again.
          </p>
          <button type="button" onClick={next}>
            Next
          </button>
        </div>
      )}
    </>
  );
}

function Table({ experiment, results }: { experiment: Experiment; results: Results }): preact.JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keys.
    <section class="scroll" tabIndex={0} aria-label="Results">
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
                <td key={column.title}>{formatted(column, results.value(run, column.metric))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Sentence that compares the guess with the measured values. */
export function verdict(
  prediction: Prediction,
  guess: readonly number[],
  results: Results,
  runs: number,
): string {
  if (prediction.kind === "choice") {
    const right = rightOption(prediction.options, results);
    const text = prediction.options[right]?.text;
    if (text === undefined) return "None of the answers matches these numbers.";
    return guess[0] === right
      ? `Your guess was right: “${text}”.`
      : `Your guess was wrong. The right answer is: “${text}”.`;
  }
  const errors = Array.from({ length: runs }, (_, run) =>
    Math.abs((guess[run] ?? 0) - results.value(run, prediction.metric)),
  );
  const points = (100 * errors.reduce((sum, it) => sum + it, 0)) / runs;
  return `Your curve differs by ${points.toFixed(0)} percentage points on average.`;
}
