/** View of the trade-off: three metrics over the buffer, rules as marks, and results of three engines. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { DelayPanel } from "./delay_panel.tsx";
import { GoalFields } from "./goal_fields.tsx";
import { goalsOf, type ShownGoal, smallest } from "./goals.ts";
import type { Model } from "./model.ts";
import { time } from "./numbers.ts";
import { Panel } from "./panel.tsx";
import { Term } from "./terms.tsx";
import { Explorer, METRICS, type Tradeoff } from "./tradeoff.ts";
import { Engines, Rules } from "./tradeoff_tables.tsx";

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
  /** Sets the buffer, in packets. */
  onPackets: (packets: number) => void;
}

/** Time after the last change until runs start in the background, in milliseconds. */
const RUN_DELAY_MS = 600;

export function TradeoffView({ model, start, module, onPackets }: Props): preact.JSX.Element {
  const [found, setFound] = useState<Tradeoff | null>(null);
  const [looked, setLooked] = useState<number | null>(null);
  const explorer = useMemo(() => {
    const cores = navigator.hardwareConcurrency || 2;
    return new Explorer(start, module, Math.min(4, Math.max(1, cores - 1)), setFound);
  }, [start, module]);
  const sha = model.resolved?.sha256;
  useEffect(() => {
    const { resolved, text } = model;
    if (resolved) void explorer.explore(text, resolved, RUN_DELAY_MS);
    return () => explorer.cancel();
  }, [sha, explorer]);
  const own = Math.max(1, Math.round(model.resolved?.buffer.packets ?? 1));
  const asked = model.resolved?.goals;
  const goals = useMemo(() => goalsOf(asked ?? []), [asked]);
  const isComplete = found !== null && found.done === found.all;
  const best = isComplete && goals.shown.length > 0 ? smallest(found.points, goals.shown) : null;
  const share = found && found.all > 0 ? found.done / found.all : 0;
  return (
    <section class="tradeoff" aria-label="Trade-off">
      <h2>
        Trade-off <span class="unit">over the buffer in packets: a click sets it</span>{" "}
        <progress value={share} max={1} aria-label="Runs in the background" />{" "}
        <span class="unit">{found && !isComplete && progressText(found)}</span>
      </h2>
      <GoalFields model={model} />
      {found?.message && <p class="wrong">{found.message}</p>}
      <div class="panels">
        {METRICS.map((metric) => (
          <Panel
            metric={metric}
            found={found}
            own={own}
            smallest={best}
            looked={looked}
            goals={goals.shown}
            onLook={setLooked}
            onPackets={onPackets}
            key={metric.name}
          />
        ))}
        <DelayPanel {...{ found, own, looked, onPackets }} goals={goals.shown} onLook={setLooked} />
      </div>
      <Legend hasGoals={goals.shown.length > 0} />
      {found && <Look {...{ found, own, looked, onPackets }} onLook={setLooked} />}
      {isComplete && <Answer goals={goals} packets={best} />}
      {found && <Engines found={found} own={own} looked={looked} />}
      {found && <Rules rules={found.rules} />}
    </section>
  );
}

/** Sentence about the smallest measured buffer that meets the goals. */
function Answer(props: {
  goals: { shown: readonly ShownGoal[]; others: readonly string[] };
  packets: number | null;
}): preact.JSX.Element | null {
  const { goals, packets } = props;
  if (goals.shown.length === 0) return null;
  const first =
    packets === null
      ? "None of the tested buffers has 95 % intervals that meet"
      : `Of the tested buffers, ${packets} packets is the smallest whose 95 % intervals meet`;
  const rest = goals.others.length > 0 ? ` (not shown here: ${goals.others.join(", ")})` : "";
  return (
    <p class="outcome answer" role="status">
      {first} the goals, which are shaded above{rest}. <code>forebay recommend</code> also searches between
      these buffers.
    </p>
  );
}

/** Progress of the runs. */
function progressText({ done, all, leftS }: Tradeoff): string {
  const runs = `${done} of ${all} runs`;
  return leftS === null ? runs : `${runs}, about ${time(leftS)} left`;
}

/** Slider over the tested buffers, for keys and for fingers. */
function Look(props: {
  found: Tradeoff;
  own: number;
  looked: number | null;
  onLook: (packets: number | null) => void;
  onPackets: (packets: number) => void;
}): preact.JSX.Element {
  const { found, own, looked, onLook, onPackets } = props;
  const buffers = found.points.map(({ packets }) => packets);
  const shown = looked ?? own;
  return (
    <div class="look">
      <label>
        Look at{" "}
        <input
          type="range"
          min={0}
          max={buffers.length - 1}
          step={1}
          value={Math.max(0, buffers.indexOf(shown))}
          aria-valuetext={`${shown} packets`}
          onInput={(event) => onLook(buffers[Number(event.currentTarget.value)] ?? null)}
        />{" "}
        <output>{shown} packets</output>
      </label>
      <button type="button" disabled={shown === own} onClick={() => onPackets(shown)}>
        Use this buffer
      </button>
    </div>
  );
}

function Legend({ hasGoals }: { hasGoals: boolean }): preact.JSX.Element {
  return (
    <p class="legend">
      <span class="key runs" /> <Term name="packets">packet-level model</Term> with{" "}
      <Term name="interval">95 % intervals</Term> <span class="key fluid" />{" "}
      <Term name="fluid">fluid model</Term> <span class="key closed" /> <Term name="closed">closed form</Term>{" "}
      <span class="key outside" /> outside of the model’s domain <span class="mark">▲</span> buffer of a rule{" "}
      <span class="mark">△</span> buffer of a rule that does not apply <span class="key own" /> current buffer
      {hasGoals && (
        <>
          {" "}
          <span class="key goal" /> goal <span class="key smallest" /> smallest buffer that meets the goals
        </>
      )}
    </p>
  );
}
