/** View of the trade-off: three metrics over the buffer, rules as marks, and results of three engines. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { DelayPanel } from "./delay_panel.tsx";
import { GoalFields } from "./goal_fields.tsx";
import { type Gap, type Goals, gapBelow, goalsOf, smallest } from "./goals.ts";
import type { Model } from "./model.ts";
import { time } from "./numbers.ts";
import { Panel } from "./panel.tsx";
import { Term } from "./terms.tsx";
import { completePoints, Explorer, METRICS, stepsBetween, type Tradeoff } from "./tradeoff.ts";
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
  // The gap that is searched.
  const [searched, setSearched] = useState<Gap | null>(null);
  const sha = model.resolved?.sha256;
  useEffect(() => {
    const { resolved, text } = model;
    setSearched(null);
    if (resolved) void explorer.explore(text, resolved, RUN_DELAY_MS);
    return () => explorer.cancel();
  }, [sha, explorer]);
  const own = Math.max(1, Math.round(model.resolved?.buffer.packets ?? 1));
  const isOwnEmpty = model.resolved !== null && model.resolved.buffer.packets < 0.5;
  // Another buffer or scenario ends the look at one that was chosen before.
  useEffect(() => setLooked(null), [own, sha]);
  const asked = model.resolved?.goals;
  const goals = useMemo(() => goalsOf(asked ?? []), [asked]);
  const isComplete = found !== null && found.done === found.all;
  const isSearching = searched !== null && !isComplete;
  const judged = found && (isComplete || isSearching) && goals.shown.length > 0 ? completePoints(found) : [];
  const best = smallest(judged, goals.shown);
  const search = (gap: Gap): void => {
    const { resolved, text } = model;
    if (!resolved || isSearching) return;
    setSearched(gap);
    void explorer.explore(text, resolved, 0, stepsBetween(gap.low, gap.high));
  };
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
      {judged.length > 0 && (
        <Answer
          goals={goals}
          packets={best}
          gap={isSearching ? searched : gapBelow(judged, goals.shown)}
          isSearching={isSearching}
          onSearch={search}
        />
      )}
      {found && <Engines found={found} own={own} isOwnEmpty={isOwnEmpty} looked={looked} />}
      {found && <Rules rules={found.rules} />}
    </section>
  );
}

/** Sentences about the smallest tested buffer that meets the goals, and a search below it. */
function Answer(props: {
  goals: Goals;
  packets: number | null;
  gap: Gap | null;
  isSearching: boolean;
  onSearch: (gap: Gap) => void;
}): preact.JSX.Element {
  const { goals, packets, gap, isSearching, onSearch } = props;
  const hasInside = gap !== null && stepsBetween(gap.low, gap.high).length > 0;
  return (
    <div class="outcome answer">
      <p role="status">
        {packets === null
          ? "None of the tested buffers meets the goals: "
          : `Of the tested buffers, ${packets} packets is the smallest that meets the goals: `}
        {goals.texts.join("; ")}. A buffer meets a goal if the whole{" "}
        <Term name="interval">confidence interval</Term> of its runs does.{" "}
        {gap && !isSearching && belowText(gap, hasInside)}
        {goals.others.length > 0 && `The charts do not show these goals: ${goals.others.join("; ")}. `}
        {(packets === null || hasInside) && (
          <>
            <code>forebay recommend</code> also searches between the tested buffers.
          </>
        )}
      </p>
      {gap && hasInside && (
        <button type="button" aria-disabled={isSearching} onClick={() => onSearch(gap)}>
          {isSearching ? "Searching" : "Search"} between {gap.low} and {gap.high}
        </button>
      )}
    </div>
  );
}

/** Sentence about the largest tested buffer that does not meet the goals. */
function belowText({ low, verdict }: Gap, hasInside: boolean): string {
  const next = hasInside ? "The next smaller tested buffer" : "The next smaller buffer";
  return verdict === "no"
    ? `${next}, ${low} packets, misses a goal. `
    : `${next}, ${low} packets, may miss a goal: an interval contains its bound. `;
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
