/** The picture of the trade-off: three metrics over the buffer, with rules as marks and what three engines say. */

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

/** Milliseconds after the last change before runs begin in the background. */
const PATIENCE_MS = 600;

export function TradeoffView({ model, start, module }: Props): preact.JSX.Element {
  const [found, setFound] = useState<Tradeoff | null>(null);
  const explorer = useMemo(() => {
    const cores = navigator.hardwareConcurrency || 2;
    return new Explorer(start, module, Math.min(4, Math.max(1, cores - 1)), setFound);
  }, [start, module]);
  const sha = model.resolved?.sha256;
  useEffect(() => {
    const { resolved, text } = model;
    if (resolved) void explorer.explore(text, resolved, PATIENCE_MS);
    return () => explorer.cancel();
  }, [sha, explorer]);
  const own = Math.max(1, Math.round(model.resolved?.buffer.packets ?? 1));
  const asked = model.resolved?.goals;
  const goals = useMemo(() => goalsOf(asked ?? []), [asked]);
  const isWhole = found !== null && found.done === found.all;
  const best = isWhole && goals.shown.length > 0 ? smallest(found.points, goals.shown) : null;
  const share = found && found.all > 0 ? found.done / found.all : 0;
  return (
    <section class="tradeoff" aria-label="Trade-off">
      <h2>
        Trade-off <span class="unit">over the buffer in packets</span>{" "}
        <progress value={share} max={1} aria-label="Runs in the background" />{" "}
        <span class="unit">{found && !isWhole && left(found)}</span>
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
      {isWhole && <Answer goals={goals} packets={best} />}
      {found && <Engines found={found} own={own} />}
      {found && <Rules rules={found.rules} />}
    </section>
  );
}

/** The smallest of the buffers that were tried and meet the goals. */
function Answer(props: {
  goals: { shown: readonly ShownGoal[]; others: readonly string[] };
  packets: number | null;
}): preact.JSX.Element | null {
  const { goals, packets } = props;
  if (goals.shown.length === 0) return null;
  const first =
    packets === null
      ? "None of the buffers that were tried surely meets"
      : `Of the buffers that were tried, ${packets} packets is the smallest that surely meets`;
  const rest = goals.others.length > 0 ? ` (not shown here: ${goals.others.join(", ")})` : "";
  return (
    <p class="outcome answer" role="status">
      {first} the goals, shaded above{rest}. <code>forebay recommend</code> searches between them.
    </p>
  );
}

/** How far the runs are. */
function left({ done, all, leftS }: Tradeoff): string {
  const runs = `${done} of ${all} runs`;
  return leftS === null ? runs : `${runs}, about ${time(leftS)} more`;
}

function Legend(): preact.JSX.Element {
  return (
    <p class="legend">
      <span class="key runs" /> packets, with 95 % intervals <span class="key fluid" /> fluid model{" "}
      <span class="key closed" /> closed form <span class="mark">▲</span> a rule’s buffer{" "}
      <span class="mark">△</span> one that does not apply <span class="key own" /> the buffer now{" "}
      <span class="key smallest" /> the smallest that meets the goals
    </p>
  );
}
