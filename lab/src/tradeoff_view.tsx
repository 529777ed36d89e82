/** View of the trade-off: three metrics over the buffer, rules as marks, and results of three engines. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { goalsOf, type ShownGoal, smallest } from "./goals.ts";
import type { Model } from "./model.ts";
import { time } from "./numbers.ts";
import { Panel } from "./panel.tsx";
import { Explorer, METRICS, type Tradeoff } from "./tradeoff.ts";
import { Engines, Rules } from "./tradeoff_tables.tsx";

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
}

/** Time after the last change until runs start in the background, in milliseconds. */
const RUN_DELAY_MS = 600;

export function TradeoffView({ model, start, module }: Props): preact.JSX.Element {
  const [found, setFound] = useState<Tradeoff | null>(null);
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
        Trade-off <span class="unit">over the buffer in packets</span>{" "}
        <progress value={share} max={1} aria-label="Runs in the background" />{" "}
        <span class="unit">{found && !isComplete && progressText(found)}</span>
      </h2>
      {found?.message && <p class="wrong">{found.message}</p>}
      <div class="panels">
        {METRICS.map((metric) => (
          <Panel
            metric={metric}
            found={found}
            own={own}
            smallest={best}
            goals={goals.shown}
            key={metric.name}
          />
        ))}
      </div>
      <Legend />
      {isComplete && <Answer goals={goals} packets={best} />}
      {found && <Engines found={found} own={own} />}
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

function Legend(): preact.JSX.Element {
  return (
    <p class="legend">
      <span class="key runs" /> packet-level model, with 95 % intervals <span class="key fluid" /> fluid model{" "}
      <span class="key closed" /> closed form <span class="mark">▲</span> buffer of a rule{" "}
      <span class="mark">△</span> buffer of a rule that does not apply <span class="key own" /> current buffer{" "}
      <span class="key smallest" /> smallest buffer that meets the goals
    </p>
  );
}
