/** Page of the laboratory: the run with its results, and beside it experiments, controls and text. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { BufferRow } from "./buffer_row.tsx";
import { RunningChart, windowColumns } from "./charts.tsx";
import { Controls } from "./controls.tsx";
import { Editor } from "./editor.tsx";
import { experimentOf } from "./experiments/index.ts";
import type { Run } from "./experiments/types.ts";
import { Experiments } from "./experiments_view.tsx";
import { plain, shownName } from "./flow_names.ts";
import { Header, type ScenarioEntry, type Theme } from "./header.tsx";
import { QUEUE_COLUMN } from "./history.ts";
import { useMedia, useModel } from "./hooks.ts";
import { Facts, Legend, LinkView } from "./link_view.tsx";
import { LossView } from "./loss_view.tsx";
import { Memo } from "./memo.ts";
import { type Model, SHOWN_FLOWS } from "./model.ts";
import { PausesView } from "./pauses_view.tsx";
import { queueLimit } from "./queue_unit.ts";
import { ChangeView, ReadoutsView } from "./readouts_view.tsx";
import { Side, type Tab } from "./side.tsx";
import { Explanation, Term } from "./terms.tsx";
import { TradeoffView } from "./tradeoff_view.tsx";
import { Outcome, shortcuts, Transport } from "./transport.tsx";
import { useBuffer } from "./use_buffer.ts";

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
  scenarios: readonly ScenarioEntry[];
  /** Error of the link that led to the page. */
  linkError: string | null;
  /** Id of the experiment that the link names. */
  experiment: string;
  /** Whether the link is for a class. */
  isClass: boolean;
  /** Whether the notebook around the page is dark; null outside of a notebook. */
  isHostDark: boolean | null;
}

/** Screens on which the side is a sheet at the lower edge: lab/src/style_modes.css. */
const NARROW = "(max-width: 900px)";
/** Time for which a message is shown, in milliseconds. */
const MESSAGE_MS = 6000;

export function App(props: Props): preact.JSX.Element {
  const { model, start, module, scenarios, linkError, isHostDark, isClass } = props;
  useModel(model);
  const [theme, setTheme] = useState<Theme>("auto");
  const [open, setOpen] = useState(props.experiment);
  const [tab, setTab] = useState<Tab>("experiments");
  const [isSheetOpen, setSheetOpen] = useState(
    isHostDark !== null || experimentOf(props.experiment) !== undefined,
  );
  /** Run of an experiment that was started last, and its text. */
  const [started, setStarted] = useState<{ run: Run; text: string } | null>(null);
  const [isHall, setHall] = useState(false);
  const { status, say } = useMessage();
  // The error of a link is over when a scenario replaces it.
  const [isLinkOver, setLinkOver] = useState(false);
  useEffect(() => setLinkOver(false), [linkError]);
  useEffect(() => {
    setOpen(props.experiment);
    if (experimentOf(props.experiment)) setTab("experiments");
  }, [props.experiment]);
  const wishesDark = useMedia("(prefers-color-scheme: dark)");
  const isStill = useMedia("(prefers-reduced-motion: reduce)");
  const isDark = theme === "auto" ? (isHostDark ?? wishesDark) : theme === "dark";
  const isHosted = isHostDark !== null;
  // Set during rendering because charts read their colors in effects, which run before an effect of this
  // component.
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  document.documentElement.classList.toggle("hall", isHall);
  document.documentElement.classList.toggle("hosted", isHosted);
  const toggleHall = (): void => setHall((before) => !before);
  useEffect(() => shortcuts(model, toggleHall), [model]);
  useEffect(() => onEscape(isHall, () => setHall(false)), [isHall]);
  const buffer = useBuffer(model);
  // The trade-off is rendered less often than this component, and needs the latest setter.
  const latest = useRef(buffer.setTested);
  latest.current = buffer.setTested;
  const setTested = useRef((packets: number): void => latest.current(packets));
  const { text, description, refusal, resolved } = model;
  const isNarrow = useMedia(NARROW);
  // The editor shows an error below its text. In the sheet of a phone, that is out of view.
  const isTextShown = tab === "text" && !isHall && !isNarrow;
  const isScenarioWrong = refusal?.kind === "scenario";
  const wrong = refusal && !(isScenarioWrong && isTextShown) ? refusal.message : null;
  const problem = wrong ?? (isLinkOver ? null : linkError);
  const played = started?.text === model.text ? started.run : null;
  const isInPackets = useMemo(() => resolved !== null && queueLimit(resolved) === "packets", [resolved]);
  const level = isInPackets ? (resolved?.buffer.packets ?? null) : null;
  const shownExperiment = tab === "experiments" && experimentOf(open) ? open : "";
  return (
    <>
      <Memo inputs={[model, scenarios, isHosted, theme, isHall, shownExperiment]}>
        <Header
          {...{ model, start, module, scenarios, isHosted, theme, isHall, say }}
          experiment={shownExperiment}
          onTheme={setTheme}
          onHall={toggleHall}
          // An experiment beside another scenario would explain what the picture does not show.
          onScenario={() => {
            setOpen("");
            setLinkOver(true);
          }}
        />
      </Memo>
      <p role="status" class="toast saved" data-shown={status !== ""}>
        {status}
      </p>
      {problem && (
        <p class="wrong banner" role="alert">
          {problem}
          {wrong && refusal?.module && (
            <button type="button" onClick={() => void model.allowModule()}>
              Run {refusal.module.file}
            </button>
          )}
          {wrong && isScenarioWrong && (
            <button
              type="button"
              onClick={() => {
                setHall(false);
                setTab("text");
                setSheetOpen(true);
              }}
            >
              Show the text
            </button>
          )}
        </p>
      )}
      <div class="columns">
        <main class="played">
          <div class="run">
            <Opening model={model} isStill={isStill} />
            <p class="title">
              {isScenarioWrong && !resolved
                ? "This scenario has an error, so there is no run"
                : refusal?.module && !resolved
                  ? "This scenario has not run yet"
                  : plain(resolved?.title || "An untitled link")}
            </p>
            <section class="link" aria-label="The link">
              <LinkView
                {...{ model, isDark, isStill }}
                packets={buffer.packets}
                onPackets={buffer.setPackets}
              />
              <BufferRow
                model={model}
                packets={buffer.packets}
                unit={buffer.unit}
                shown={buffer.shown}
                onText={buffer.setText}
                onScale={buffer.scale}
                onUnit={buffer.setUnit}
                onPackets={buffer.setPackets}
              />
              <Legend model={model} isDark={isDark} />
              <PausesView model={model} />
              <Facts model={model} />
              <Transport model={model} />
              <ReadoutsView model={model} />
              <ChangeView model={model} />
            </section>
          </div>
          <div class="results">
            <div class="charts" key={`${isHall}`}>
              <RunningChart
                title="Queue"
                term="queue"
                unit="packets"
                columns={[{ at: QUEUE_COLUMN, name: "queue", flow: null }]}
                history={model.history}
                before={model.before?.history ?? null}
                isChanged={model.before?.key !== model.run?.key}
                isDark={isDark}
                least={(level ?? 1) * 1.05}
                level={level}
                hasLosses={true}
              />
              <RunningChart
                title="Congestion windows"
                term="cwnd"
                unit="packets"
                columns={windowColumns(namedFlows(model))}
                history={model.history}
                before={model.before?.history ?? null}
                isChanged={model.before?.key !== model.run?.key}
                isDark={isDark}
                least={4}
                level={null}
                hasLosses={false}
              />
            </div>
            <Outcome model={model} />
            <LossView model={model} start={start} module={module} isDark={isDark} />
            <Memo inputs={[model, resolved, start, module, isDark]}>
              <TradeoffView model={model} start={start} module={module} onPackets={setTested.current} />
            </Memo>
          </div>
        </main>
        <Side tab={tab} onTab={setTab} isOpen={isSheetOpen} onOpen={setSheetOpen}>
          {{
            experiments: (
              <Memo inputs={[start, module, open, isClass, isHosted, isDark, played]}>
                <Experiments
                  {...{ start, module, open, isClass, isHosted, isDark, say }}
                  onOpen={(id) => {
                    setOpen(id);
                    setSheetOpen(true);
                  }}
                  played={played}
                  play={({ scenario }, run) =>
                    void playRun(model, scenario, run.overrides).then(() =>
                      setStarted({ run, text: model.text }),
                    )
                  }
                />
              </Memo>
            ),
            // A running simulation changes the model in each frame, but these parts depend on the scenario only.
            controls: (
              <Memo inputs={[model, model.controls, refusal, description]}>
                <Controls model={model} />
              </Memo>
            ),
            text: (
              <Memo inputs={[model, text, refusal]}>
                <Editor model={model} />
              </Memo>
            ),
          }}
        </Side>
      </div>
      <Explanation />
    </>
  );
}

/** Purpose of the page and one thing to try. */
function Opening({ model, isStill }: { model: Model; isStill: boolean }): preact.JSX.Element {
  // A visitor who has played the run has paused it as well.
  const isPaused = model.phase === "paused" && isStill && !(model.picture && model.picture.timeS > 0);
  return (
    <p class="opening">
      <b>
        A router <Term name="queue">queues</Term> packets. Drag the end of the queue.
      </b>{" "}
      {isPaused
        ? "The run is paused because your system asks for reduced motion: press Play."
        : "Then watch delay and losses."}
    </p>
  );
}

/** Short message that disappears. */
function useMessage(): { status: string; say: (status: string) => void } {
  const [status, setStatus] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const say = (text: string): void => {
    setStatus(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setStatus(""), MESSAGE_MS);
  };
  return { status, say };
}

/** Calls a listener for the Escape key. The returned function stops this. */
function onEscape(isActive: boolean, listener: () => void): () => void {
  const onKey = ({ key }: KeyboardEvent): void => {
    if (key === "Escape" && isActive) listener();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}

/** Plays a run of an experiment in the live view. */
async function playRun(model: Model, scenario: string, overrides: readonly string[]): Promise<void> {
  await model.loadWithOverrides(scenario, overrides);
  model.play();
}

/** Flows whose windows are displayed, with their names, in the order of the engine's chart. */
function namedFlows(model: Model): { name: string; flow: number }[] {
  return (model.picture?.flows ?? []).slice(0, SHOWN_FLOWS).map((it) => ({
    name: shownName(model.resolved, it),
    flow: it.flow,
  }));
}
