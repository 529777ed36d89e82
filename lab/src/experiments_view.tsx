/** Shelf of experiments in four levels, and the steps of one: question and guess, run, answer, paper. */

import { useEffect, useRef, useState } from "preact/hooks";
import { AnswerPicture, Table, verdict } from "./answer_view.tsx";
import { ClassButtons, ClassGuesses } from "./class_view.tsx";
import type { Say } from "./copying.ts";
import { EXPERIMENTS, experimentOf, LEVELS } from "./experiments/index.ts";
import { type Outcome, runStudy } from "./experiments/study.ts";
import { type GuidedExperiment, pictureNote, type Results, type Run } from "./experiments/types.ts";
import { Guess } from "./guess_view.tsx";
import { Sketch } from "./sketch_view.tsx";
import { Explained } from "./terms.tsx";

interface Props {
  start: () => Worker;
  module: WebAssembly.Module;
  /** Id of the open experiment; an empty string for the shelf. */
  open: string;
  onOpen: (id: string) => void;
  /** Plays a run in the live view. */
  play: (experiment: GuidedExperiment, run: Run) => void;
  /** Run of the live view; null if it plays another scenario, such as a run with a changed buffer. */
  played: Run | null;
  /** Whether a link for a class led here. */
  isClass: boolean;
  /** Whether the page is in a notebook. */
  isHosted: boolean;
  isDark: boolean;
  say: Say;
}

export function Experiments(props: Props): preact.JSX.Element {
  const { open, onOpen, isDark } = props;
  const experiment = experimentOf(open);
  const top = useRef<HTMLHeadingElement>(null);
  const [finished, setFinished] = useState<readonly string[]>([]);
  const [codes, setCodes] = useState("");
  const before = useRef(open);
  useEffect(() => {
    if (open !== before.current) top.current?.focus();
    before.current = open;
  }, [open]);
  if (experiment)
    return (
      <section class="experiment" aria-labelledby="experiment-title">
        <div class="bar">
          <button type="button" onClick={() => onOpen("")}>
            All experiments
          </button>
          <span class="unit">
            level {experiment.level + 1}: {LEVELS[experiment.level]?.title}
          </span>
        </div>
        <h2 id="experiment-title" tabIndex={-1} ref={top}>
          {experiment.title}
        </h2>
        <Steps
          {...props}
          experiment={experiment}
          codes={codes}
          onCodes={setCodes}
          onFinish={() => setFinished((ids) => [...new Set([...ids, experiment.id])])}
          next={() => onOpen(EXPERIMENTS[EXPERIMENTS.indexOf(experiment) + 1]?.id ?? "")}
          key={experiment.id}
        />
      </section>
    );
  return (
    <section class="experiment" aria-labelledby="experiment-title">
      <h2 id="experiment-title" tabIndex={-1} ref={top}>
        Guess, then see
      </h2>
      <p>Seventeen experiments in four levels. Each asks a question, and the simulation answers it.</p>
      {LEVELS.map(({ title, goal }, level) => (
        <div class="level" key={title}>
          <h3>
            <span class="number">{level + 1}</span> {title}
          </h3>
          <p class="unit">{goal}</p>
          <ol class="list">
            {EXPERIMENTS.filter((it) => it.level === level).map(({ id, title, question, rows }) => (
              <li key={id}>
                <button type="button" onClick={() => onOpen(id)}>
                  <Sketch rows={rows} isDark={isDark} />
                  <span class="text">
                    <b>{title}</b>
                    {finished.includes(id) && <span class="tag measured">done</span>}
                    <span class="question">{question}</span>
                  </span>
                </button>
              </li>
            ))}
          </ol>
        </div>
      ))}
      <ClassGuesses codes={codes} onCodes={setCodes} experiment={null} results={null} />
    </section>
  );
}

interface StepsProps extends Props {
  experiment: GuidedExperiment;
  codes: string;
  onCodes: (codes: string) => void;
  onFinish: () => void;
  next: () => void;
}

function Steps(props: StepsProps): preact.JSX.Element {
  const {
    experiment,
    start,
    module,
    play,
    played,
    isClass,
    isHosted,
    isDark,
    say,
    codes,
    onCodes,
    onFinish,
    next,
  } = props;
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
    if (outcome?.kind !== "done") return;
    const [heading, panel] = [answer.current, answer.current?.closest(".tab-panels")];
    heading?.focus({ preventScroll: true });
    // Only the panel scrolls, so that the picture stays in view.
    if (heading && panel)
      panel.scrollTop += heading.getBoundingClientRect().top - panel.getBoundingClientRect().top - 12;
    onFinish();
  }, [outcome]);
  const { runs } = experiment;
  const watchRun = (at: number): void => {
    const run = runs[at];
    if (!run) return;
    play(experiment, run);
  };
  const ask = (): void => {
    setAsked(true);
    watchRun(0);
  };
  const results = outcome?.kind === "done" ? outcome.results : null;
  return (
    <>
      <Sketch rows={experiment.rows} isDark={isDark} />
      <p class="question">
        <Explained text={experiment.question} />
      </p>
      {isClass && !isPending && (
        <p class="note">Your class collects guesses: make yours, copy its code, and send the code.</p>
      )}
      {!results && <Guess experiment={experiment} guess={guess} onGuess={setGuess} isFixed={isPending} />}
      {!isPending && (
        <button type="button" class="main" disabled={guess.length === 0} onClick={ask}>
          Run it
        </button>
      )}
      {isPending && (
        <div class="watch">
          <p>
            <b>While it runs:</b> <Explained text={experiment.watch} />
          </p>
          <fieldset class="which">
            <legend>The run that plays in the picture</legend>
            {runs.map((run, at) => (
              <button type="button" aria-pressed={played === run} onClick={() => watchRun(at)} key={run.name}>
                {run.name}
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
      {results && <Answer {...props} guess={guess} results={results} heading={answer} onNext={next} />}
      <ClassButtons experiment={experiment} guess={guess} isHosted={isHosted} say={say} />
      <ClassGuesses codes={codes} onCodes={onCodes} experiment={experiment} results={results} />
    </>
  );
}

function Answer(props: {
  experiment: GuidedExperiment;
  guess: readonly number[];
  results: Results;
  heading: preact.RefObject<HTMLHeadingElement>;
  onNext: () => void;
}): preact.JSX.Element {
  const { experiment, guess, results, heading, onNext } = props;
  const { paper, meaning, links } = experiment;
  return (
    <div class="answer">
      <h3 tabIndex={-1} ref={heading}>
        What happened
      </h3>
      <p class="verdict">{verdict({ experiment, guess, results })}</p>
      <AnswerPicture experiment={experiment} guess={guess} results={results} />
      <Table experiment={experiment} results={results} />
      <div class="note">{pictureNote(experiment)}</div>
      <p>{experiment.explanation(results)}</p>
      <p class="meaning">{meaning}</p>
      <h3>Result of the paper</h3>
      <p>{paper.result}</p>
      {paper.comparison && <p>{paper.comparison(results)}</p>}
      <p class="source">{paper.source}</p>
      <ul class="links">
        {links.map(({ title, url }) => (
          <li key={url}>
            <a href={url} target="_blank" rel="noreferrer">
              Open the paper: {title}
            </a>
          </li>
        ))}
      </ul>
      <p>
        <b>Try it yourself:</b> drag the end of the queue, or change the flows under <i>Controls</i>.
      </p>
      <button type="button" class="main" onClick={onNext}>
        Next
      </button>
    </div>
  );
}
