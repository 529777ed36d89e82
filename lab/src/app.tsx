/** Page of the laboratory: the scenario on the left, the run and its results on the right. */

import { useEffect, useState } from "preact/hooks";
import { QUEUE_COLUMN, RunningChart, windowColumns } from "./charts.tsx";
import { Controls } from "./controls.tsx";
import { Editor } from "./editor.tsx";
import { ALL_EXPERIMENTS, Experiments } from "./experiments_view.tsx";
import { useMedia, useModel } from "./hooks.ts";
import { LinkView } from "./link_view.tsx";
import { LossView } from "./loss_view.tsx";
import { Memo } from "./memo.ts";
import type { Model, Pace } from "./model.ts";
import { share, time } from "./numbers.ts";
import { SaveMenu } from "./save_view.tsx";
import { fragmentOf } from "./share.ts";
import { flowName } from "./trace_csv.ts";
import { TradeoffView } from "./tradeoff_view.tsx";

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
  scenarios: readonly { name: string; text: string }[];
  /** Error of the link that led to the page. */
  linkError: string | null;
  /** Id of the experiment that the link names. */
  experiment: string;
  /** Whether the notebook around the page is dark; null outside of a notebook. */
  isHostDark: boolean | null;
}

const PACES: readonly (readonly [string, string, Pace])[] = [
  ["slow", "a round trip per second", { kind: "slow" }],
  ["tenth", "a tenth of real time", { kind: "times", factor: 0.1 }],
  ["real", "real time", { kind: "times", factor: 1 }],
  ["ten", "ten times real time", { kind: "times", factor: 10 }],
  ["fast", "as fast as it goes", { kind: "fast" }],
];

type Theme = "auto" | "light" | "dark";

export function App(props: Props): preact.JSX.Element {
  const { model, start, module, scenarios, linkError, isHostDark } = props;
  useModel(model);
  const [theme, setTheme] = useState<Theme>("auto");
  const [open, setOpen] = useState(props.experiment);
  useEffect(() => setOpen(props.experiment), [props.experiment]);
  const wishesDark = useMedia("(prefers-color-scheme: dark)");
  const isStill = useMedia("(prefers-reduced-motion: reduce)");
  const isDark = theme === "auto" ? (isHostDark ?? wishesDark) : theme === "dark";
  // Set during rendering because charts read their colors in effects, which run before an effect of this
  // component.
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  useEffect(() => shortcuts(model), [model]);
  const { text, description, refusal, resolved } = model;
  const wrong = model.refusal && model.refusal.kind !== "scenario" ? model.refusal.message : null;
  return (
    <>
      <header>
        <h1>forebay laboratory</h1>
        <label>
          <span class="hidden">Scenario</span>
          <select
            value=""
            onChange={(event) => {
              const chosen = scenarios.find(({ name }) => name === event.currentTarget.value);
              if (chosen) void model.load(chosen.text);
              event.currentTarget.value = "";
            }}
          >
            <option value="">Open a scenario…</option>
            {scenarios.map(({ name }) => (
              <option value={name} key={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          aria-expanded={open !== ""}
          onClick={() => setOpen(open === "" ? ALL_EXPERIMENTS : "")}
        >
          Experiments
        </button>
        <ShareButtons model={model} experiment={open} isHosted={isHostDark !== null} />
        <SaveMenu model={model} start={start} module={module} />
        <label>
          <span class="hidden">Colors</span>
          <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
            <option value="auto">colors of the {isHostDark === null ? "system" : "notebook"}</option>
            <option value="light">light</option>
            <option value="dark">dark</option>
          </select>
        </label>
      </header>
      {(linkError ?? wrong) && (
        <p class="wrong banner" role="alert">
          {wrong ?? linkError}
        </p>
      )}
      <Experiments
        start={start}
        module={module}
        open={open}
        onOpen={setOpen}
        play={({ scenario }, { overrides }) => void playRun(model, scenario, overrides)}
      />
      <main>
        <div class="asked">
          {/* A running simulation changes the model in each frame, but these parts depend on the scenario only. */}
          <Memo inputs={[model, model.controls, refusal, description]}>
            <Controls model={model} />
          </Memo>
          <Memo inputs={[model, text, refusal]}>
            <Editor model={model} />
          </Memo>
        </div>
        <div class="played">
          <p class="title">{model.resolved?.title || "An untitled link"}</p>
          <Transport model={model} />
          <LinkView model={model} isDark={isDark} isStill={isStill} />
          <LossView model={model} start={start} module={module} isDark={isDark} />
          <div class="charts">
            <RunningChart
              title="Queue"
              unit="packets"
              columns={[{ at: QUEUE_COLUMN, name: "queue", flow: null }]}
              history={model.history}
              before={model.before}
              isDark={isDark}
              least={(model.resolved?.buffer.packets ?? 1) * 1.05}
              level={model.resolved?.buffer.packets ?? null}
            />
            <RunningChart
              title="Congestion windows"
              unit="packets"
              columns={windowColumns(flowNames(model))}
              history={model.history}
              before={model.before}
              isDark={isDark}
              least={4}
              level={null}
            />
          </div>
          <Outcome model={model} />
          <Memo inputs={[model, resolved, start, module]}>
            <TradeoffView model={model} start={start} module={module} />
          </Memo>
        </div>
      </main>
    </>
  );
}

/** Plays a run of an experiment in the live view. */
async function playRun(model: Model, scenario: string, overrides: readonly string[]): Promise<void> {
  await model.loadWithOverrides(scenario, overrides);
  model.play();
}

function Transport({ model }: { model: Model }): preact.JSX.Element {
  const isPlaying = model.phase === "playing";
  const chosen = PACES.find(([, , pace]) => JSON.stringify(pace) === JSON.stringify(model.pace));
  const done = model.endS > 0 ? (model.picture?.timeS ?? 0) / model.endS : 0;
  return (
    <section class="transport" aria-label="Run">
      <button type="button" class="main" onClick={() => (isPlaying ? model.pause() : model.play())}>
        {isPlaying ? "Pause" : model.phase === "ended" ? "Play again" : "Play"}
      </button>
      <button type="button" onClick={() => model.step()} disabled={model.phase === "ended"}>
        Step
      </button>
      <button type="button" onClick={() => model.restart()}>
        From the beginning
      </button>
      <label>
        <span class="hidden">Speed</span>
        <select
          value={chosen?.[0] ?? "slow"}
          onChange={(event) => {
            const pace = PACES.find(([name]) => name === event.currentTarget.value)?.[2];
            if (pace) model.setPace(pace);
          }}
        >
          {PACES.map(([name, title]) => (
            <option value={name} key={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <progress value={done} max={1} aria-label="Progress of the run" />
    </section>
  );
}

function Outcome({ model }: { model: Model }): preact.JSX.Element | null {
  const { report } = model;
  if (!report) return null;
  const mean = (name: string): number => report.metrics[name]?.mean ?? Number.NaN;
  return (
    <p class="outcome" role="status">
      The run is complete. Utilization: <b>{share(mean("utilization"))}</b>. Loss rate:{" "}
      <b>{share(mean("loss_rate"))}</b>. Queueing delay, 99th percentile:{" "}
      <b>{time(mean("queue_delay_p99_s"))}</b>.
    </p>
  );
}

function ShareButtons(props: { model: Model; experiment: string; isHosted: boolean }): preact.JSX.Element {
  const { model, experiment, isHosted } = props;
  const [status, setStatus] = useState("");
  const copy = async (text: string, subject: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setStatus(`${subject} copied`);
    } catch {
      const place = subject === "link" ? "; it is in the address bar" : "";
      setStatus(`this browser does not allow the page to copy the ${subject}${place}`);
    }
    setTimeout(() => setStatus(""), 4000);
  };
  const link = async (): Promise<void> => {
    try {
      location.hash = await fragmentOf(experiment ? { text: model.text, experiment } : { text: model.text });
    } catch (error) {
      setStatus(`${error instanceof Error ? error.message : String(error)}; save the scenario instead`);
      return;
    }
    await copy(location.href, "link");
  };
  return (
    <>
      {/* A notebook cell has no address. */}
      {!isHosted && (
        <button type="button" onClick={() => void link()}>
          Copy link
        </button>
      )}
      <button type="button" onClick={() => void copy(commandOf(model.text), "command")}>
        Copy command
      </button>
      <span role="status" class="status">
        {status}
      </span>
    </>
  );
}

/** Shell command that runs the scenario natively. */
function commandOf(text: string): string {
  return `forebay run - <<'SCENARIO'\n${text.trimEnd()}\nSCENARIO\n`;
}

/** Names of the displayed flows: the name of the group, with a number if the group has several flows. */
function flowNames(model: Model): string[] {
  return (model.picture?.flows ?? []).map((flow) => flowName(model.resolved, flow));
}

/** Keyboard shortcuts outside of inputs: Space plays and pauses, `.` steps, `r` restarts. */
function shortcuts(model: Model): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const target = event.target instanceof HTMLElement ? event.target.tagName : "";
    if (["TEXTAREA", "INPUT", "SELECT", "BUTTON", "SUMMARY"].includes(target)) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " ") model.phase === "playing" ? model.pause() : model.play();
    else if (event.key === ".") model.step();
    else if (event.key === "r") model.restart();
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
