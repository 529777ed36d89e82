/** The picture of the trade-off: three metrics over the buffer, with rules as marks and what three engines say. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { type Goal, goalsOf, smallest } from "./goals.ts";
import type { Model } from "./model.ts";
import { digits } from "./numbers.ts";
import { Explorer, estimate, METRICS, type Rule, type Tradeoff } from "./tradeoff.ts";

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
}

/** Milliseconds after the last change before runs begin in the background. */
const PATIENCE_MS = 600;
const WIDTH = 340;
const HEIGHT = 190;
const MARGIN = { left: 46, right: 10, top: 12, bottom: 30 };

export function TradeoffView({ model, start, module }: Props): preact.JSX.Element {
  const [found, setFound] = useState<Tradeoff | null>(null);
  const explorer = useMemo(() => {
    const cores = navigator.hardwareConcurrency || 2;
    return new Explorer(start, module, Math.min(4, Math.max(1, cores - 1)), setFound);
  }, [start, module]);
  const sha = model.resolved?.sha256;
  useEffect(() => {
    const { resolved, text } = model;
    if (!resolved) return;
    explorer.cancel();
    const timer = setTimeout(() => void explorer.explore(text, resolved), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [sha, explorer]);
  const own = model.resolved?.buffer.packets ?? 1;
  const canonical = model.resolved?.canonical;
  const goals = useMemo(() => goalsOf(canonical ?? "{}"), [canonical]);
  const share = found && found.all > 0 ? found.done / found.all : 0;
  return (
    <section class="tradeoff" aria-label="Trade-off">
      <h2>
        Trade-off <progress value={share} max={1} aria-label="Runs in the background" />
      </h2>
      {found?.message && <p class="wrong">{found.message}</p>}
      <div class="panels">
        {METRICS.map((metric) => (
          <Panel metric={metric} found={found} own={own} goals={goals.shown} key={metric.name} />
        ))}
      </div>
      <Answer goals={goals} found={found} />
      <Legend rules={found?.rules ?? []} />
    </section>
  );
}

function Panel(props: {
  metric: (typeof METRICS)[number];
  found: Tradeoff | null;
  own: number;
  goals: readonly Goal[];
}): preact.JSX.Element {
  const { metric, found, own, goals } = props;
  const points = (found?.points ?? []).flatMap((point) => {
    const told = estimate(point, metric.name);
    return told
      ? [{ packets: point.packets, value: told.mean * metric.scale, half: (told.half ?? 0) * metric.scale }]
      : [];
  });
  const fluid = (found?.fluid ?? []).flatMap((point) => {
    const told = estimate(point, metric.name);
    return told ? [{ packets: point.packets, value: told.mean * metric.scale }] : [];
  });
  const buffers = (found?.points ?? []).map(({ packets }) => packets);
  const [least, most] = [Math.min(...buffers, own), Math.max(...buffers, own + 1)];
  const [low, high] = rangeOf(metric.name, [
    ...points.map(({ value }) => value),
    ...fluid.map(({ value }) => value),
  ]);
  const x = (packets: number): number =>
    MARGIN.left +
    ((Math.log(packets) - Math.log(least)) / Math.log(most / least)) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (value: number): number =>
    HEIGHT - MARGIN.bottom - ((value - low) / (high - low)) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const path = (line: readonly { packets: number; value: number }[]): string =>
    line
      .map(({ packets, value }, at) => `${at ? "L" : "M"}${x(packets).toFixed(1)} ${y(value).toFixed(1)}`)
      .join("");
  const said = points
    .map(({ packets, value }) => `${packets} packets: ${digits(value)} ${metric.unit}`)
    .join("; ");
  return (
    <figure>
      <figcaption>
        {metric.title} <span class="unit">{metric.unit}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${metric.title} over the buffer. ${said || "Runs go on."}`}
      >
        {goals
          .filter((goal) => goal.metric === metric.name)
          .map(({ isLeast, bound }) => {
            const at = Math.min(high, Math.max(low, bound * metric.scale));
            const [top, bottom] = isLeast ? [y(high), y(at)] : [y(at), y(low)];
            return (
              <rect
                class="goal"
                x={MARGIN.left}
                width={WIDTH - MARGIN.left - MARGIN.right}
                y={top}
                height={Math.max(0, bottom - top)}
                key={`${isLeast} ${bound}`}
              />
            );
          })}
        {[low, (low + high) / 2, high].map((value) => (
          <g key={value}>
            <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={y(value)} y2={y(value)} />
            <text x={MARGIN.left - 6} y={y(value) + 4} text-anchor="end">
              {digits(value, 3)}
            </text>
          </g>
        ))}
        {decades(least, most).map((packets) => (
          <g key={packets}>
            <line class="grid" x1={x(packets)} x2={x(packets)} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />
            <text x={x(packets)} y={HEIGHT - 10} text-anchor="middle">
              {packets}
            </text>
          </g>
        ))}
        {(found?.rules ?? []).map(
          ({ name, packets }) =>
            packets !== null &&
            packets >= least &&
            packets <= most && (
              <path class="rule" d={`M${x(packets)} ${HEIGHT - MARGIN.bottom}l-4 7h8z`} key={name}>
                <title>{`${name}: ${Math.round(packets)} packets`}</title>
              </path>
            ),
        )}
        <line class="own" x1={x(own)} x2={x(own)} y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />
        <path class="fluid" d={path(fluid)} />
        <path class="runs" d={path(points)} />
        {points.map(({ packets, value, half }) => (
          <g class="point" key={packets}>
            <line
              x1={x(packets)}
              x2={x(packets)}
              y1={y(Math.min(high, value + half))}
              y2={y(Math.max(low, value - half))}
            />
            <circle cx={x(packets)} cy={y(value)} r={3.2}>
              <title>{`${packets} packets: ${digits(value)} ± ${digits(half)} ${metric.unit}`}</title>
            </circle>
          </g>
        ))}
      </svg>
    </figure>
  );
}

/** The smallest of the buffers that were tried and meet the goals. */
function Answer(props: {
  goals: { shown: readonly Goal[]; others: readonly string[] };
  found: Tradeoff | null;
}): preact.JSX.Element | null {
  const { goals, found } = props;
  if (goals.shown.length === 0 || !found || found.done < found.all) return null;
  const packets = smallest(found.points, goals.shown);
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

function Legend({ rules }: { rules: readonly Rule[] }): preact.JSX.Element {
  const told = rules.filter(({ packets }) => packets !== null);
  return (
    <div class="legend">
      <p>
        <span class="key runs" /> packets, with 95 % intervals <span class="key fluid" /> fluid model{" "}
        <span class="key rule" /> a rule’s buffer <span class="key own" /> the buffer now
      </p>
      <details>
        <summary>{told.length} rules, in packets</summary>
        <ul>
          {told.map(({ name, packets }) => (
            <li key={name}>
              {name}: {Math.round(packets ?? 0)}
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

/** The scale of a metric: from the least of utilization to 100 %, from zero of the others. */
function rangeOf(name: string, values: readonly number[]): [number, number] {
  const least = Math.min(...values, name === "utilization" ? 95 : 0);
  const most = Math.max(...values, 0);
  if (name === "utilization") return [Math.max(0, Math.floor(least / 5) * 5), 100];
  return [0, most > 0 ? nice(most) : 1];
}

function nice(value: number): number {
  const scale = 10 ** Math.floor(Math.log10(value));
  return scale * ([1, 2, 2.5, 5, 10].find((step) => step * scale >= value) ?? 10);
}

function decades(least: number, most: number): number[] {
  const found: number[] = [];
  for (let decade = 1; decade <= most; decade *= 10) if (decade >= least) found.push(decade);
  return found;
}
