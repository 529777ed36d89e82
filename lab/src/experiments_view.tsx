/** The shelf of experiments, and one of them step by step: question and guess, run, what happened, paper, own tries. */

import { useEffect, useRef, useState } from "preact/hooks";
import { EXPERIMENTS } from "./experiments/index.ts";
import { type Outcome, studied } from "./experiments/study.ts";
import {
  type Experiment,
  type Prediction,
  type Results,
  type Run,
  rightOption,
  shown,
} from "./experiments/types.ts";
import { Guess } from "./guess_view.tsx";

interface Props {
  start: () => Worker;
  module: WebAssembly.Module;
  /** Which one is open: an experiment's id, the shelf's, or none. */
  open: string;
  choose: (id: string) => void;
  /** Plays a run in the live view. */
  play: (experiment: Experiment, run: Run) => void;
}

/** The shelf in the place of an experiment's id. */
export const SHELF = "shelf";

export function Experiments({ start, module, open, choose, play }: Props): preact.JSX.Element | null {
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
          <button type="button" onClick={() => choose(SHELF)}>
            All experiments
          </button>
        )}
        <button type="button" onClick={() => choose("")}>
          Close
        </button>
      </div>
      {experiment ? (
        <Steps
          experiment={experiment}
          start={start}
          module={module}
          play={play}
          next={() => choose(EXPERIMENTS[EXPERIMENTS.indexOf(experiment) + 1]?.id ?? SHELF)}
          key={experiment.id}
        />
      ) : (
        <ul class="shelf">
          {EXPERIMENTS.map(({ id, title, question }) => (
            <li key={id}>
              <button type="button" onClick={() => choose(id)}>
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
  const [isAsked, setAsked] = useState(false);
  const [done, setDone] = useState(0);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  /** How often the runs were begun: what was refused or failed can be tried again. */
  const [attempt, setAttempt] = useState(0);
  const answer = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!isAsked) return;
    const end = new AbortController();
    setDone(0);
    setOutcome(null);
    studied(start, module, experiment, setDone, end.signal).then(
      (it) => it && setOutcome(it),
      (error: unknown) => setOutcome({ kind: "refused", message: String(error) }),
    );
    return () => end.abort();
  }, [isAsked, attempt, start, module, experiment]);
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
      <Guess experiment={experiment} guess={guess} take={setGuess} isFixed={isAsked} />
      {!isAsked && (
        <button type="button" class="main" disabled={guess.length === 0} onClick={ask}>
          Run it
        </button>
      )}
      {isAsked && (
        <div class="watch">
          <p>
            <b>What to watch.</b> {experiment.watch}
          </p>
          <fieldset class="which">
            <legend>Which run is played below?</legend>
            {runs.map(({ name }, at) => (
              <button type="button" aria-pressed={played === at} onClick={() => watchRun(at)} key={name}>
                {name}
              </button>
            ))}
          </fieldset>
        </div>
      )}
      <p role="status">
        {isAsked && !outcome && `${done} of ${runs.length} runs are over.`}
        {outcome?.kind === "refused" && `There is no answer: ${outcome.message}`}
        {outcome?.kind === "done" && "All runs are over."}
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
          <Table experiment={experiment} found={outcome.found} />
          <p>
            <b>{verdict(experiment.prediction, guess, outcome.found, runs.length)}</b>
          </p>
          <p>{experiment.happened(outcome.found)}</p>
          <h3>What the paper said</h3>
          <p>{experiment.paper.said}</p>
          {experiment.paper.compared && <p>{experiment.paper.compared(outcome.found)}</p>}
          <p class="source">{experiment.paper.source}</p>
          <p>
            <b>Try it yourself:</b> the run that is played below is in the controls. Change its buffer or its
            flows and play it again.
          </p>
          <button type="button" onClick={next}>
            Next
          </button>
        </div>
      )}
    </>
  );
}

function Table({ experiment, found }: { experiment: Experiment; found: Results }): preact.JSX.Element {
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
                <td key={column.title}>{shown(column, found.of(run, column.metric))}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Whether the guess was right, by the numbers alone. */
export function verdict(
  prediction: Prediction,
  guess: readonly number[],
  found: Results,
  runs: number,
): string {
  if (prediction.kind === "choice") {
    const right = rightOption(prediction.options, found);
    const text = prediction.options[right]?.text;
    if (text === undefined) return "None of the answers fits these numbers.";
    return guess[0] === right ? `Your guess was right: “${text}”.` : `Not so. The right answer: “${text}”.`;
  }
  const away = Array.from({ length: runs }, (_, run) =>
    Math.abs((guess[run] ?? 0) - found.of(run, prediction.metric)),
  );
  const points = (100 * away.reduce((sum, it) => sum + it, 0)) / runs;
  return `Your curve is ${points.toFixed(0)} points away on average.`;
}
