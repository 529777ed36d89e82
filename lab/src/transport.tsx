/** Buttons of the run, its speed, and the sentence at its end. */

import type { Model, Pace } from "./model.ts";
import { share, time } from "./numbers.ts";

const PACES: readonly (readonly [string, string, Pace])[] = [
  ["slow", "a round trip per second", { kind: "round trips", perSecond: 1 }],
  ["brisk", "five round trips per second", { kind: "round trips", perSecond: 5 }],
  ["tenth", "a tenth of real time", { kind: "times", factor: 0.1 }],
  ["real", "real time", { kind: "times", factor: 1 }],
  ["ten", "ten times real time", { kind: "times", factor: 10 }],
  ["fast", "as fast as it goes", { kind: "fast" }],
];

export function Transport({ model }: { model: Model }): preact.JSX.Element {
  const isPlaying = model.phase === "playing";
  const isOver = ["none", "ended", "refused"].includes(model.phase);
  const chosen = PACES.find(([, , pace]) => JSON.stringify(pace) === JSON.stringify(model.pace));
  const done = model.endS > 0 ? (model.picture?.timeS ?? 0) / model.endS : 0;
  return (
    <section class="transport" aria-label="Run">
      <button
        type="button"
        class="main"
        // A run that is over begins again, which needs a scenario without an error.
        disabled={isOver && !model.isChangeable}
        onClick={() => (isPlaying ? model.pause() : model.play())}
      >
        {isPlaying ? "Pause" : model.phase === "ended" ? "Play again" : "Play"}
      </button>
      <button type="button" onClick={() => model.step()} disabled={isOver}>
        Step
      </button>
      <button type="button" onClick={() => model.restart()} disabled={!model.isChangeable}>
        From the beginning
      </button>
      <label>
        <span class="hidden">Speed</span>
        <select
          value={chosen?.[0] ?? "brisk"}
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

export function Outcome({ model }: { model: Model }): preact.JSX.Element | null {
  const { report, resolved } = model;
  if (!report) return null;
  const mean = (name: string): number => report.metrics[name]?.mean ?? Number.NaN;
  const from = resolved?.warmup_s ?? 0;
  return (
    <p class="outcome" role="status">
      The run is complete. From {time(from)} to {time(from + (resolved?.measure_s ?? 0))} the utilization is{" "}
      <b>{share(mean("utilization"))}</b>, the loss rate <b>{share(mean("loss_rate"))}</b>, and the 99th
      percentile of the queueing delay <b>{time(mean("queue_delay_p99_s"))}</b>.
    </p>
  );
}

/**
 * Keyboard shortcuts outside of inputs: Space plays and pauses, `.` steps, `r` restarts, and `p` switches the
 * presentation.
 */
export function shortcuts(model: Model, onHall: () => void): () => void {
  const onKey = (event: KeyboardEvent): void => {
    const target = event.target instanceof HTMLElement ? event.target : null;
    if (target?.closest("textarea, input, select, button, summary, [role=slider], [role=button]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " ") model.phase === "playing" ? model.pause() : model.play();
    else if (event.key === ".") model.step();
    else if (event.key === "r") model.restart();
    else if (event.key === "p") onHall();
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", onKey);
}
