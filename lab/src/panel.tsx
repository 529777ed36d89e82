/**
 * Chart of one metric over the buffer: runs with intervals, models, rules as marks, goals as shaded regions.
 */

import type { ShownGoal } from "./goals.ts";
import { digits } from "./numbers.ts";
import { applies, type Rule } from "./rules.ts";
import { estimate, type METRICS, type Point, type Tradeoff } from "./tradeoff.ts";

const WIDTH = 340;
const HEIGHT = 190;
const MARGIN = { left: 46, right: 10, top: 12, bottom: 30 };
const [LEFT, RIGHT, TOP, BOTTOM] = [MARGIN.left, WIDTH - MARGIN.right, MARGIN.top, HEIGHT - MARGIN.bottom];

type MetricView = (typeof METRICS)[number];

interface Props {
  metric: MetricView;
  found: Tradeoff | null;
  /** Current buffer, and the smallest one that meets the goals, in packets. */
  own: number;
  smallest: number | null;
  goals: readonly ShownGoal[];
}

interface Value {
  packets: number;
  value: number;
  half: number;
}

export function Panel({ metric, found, own, smallest, goals }: Props): preact.JSX.Element {
  const [runs, fluid, closed] = [found?.points, found?.fluid, found?.closed].map((line) =>
    values(line, metric),
  );
  const buffers = (found?.points ?? []).map(({ packets }) => packets);
  const [least, most] = [Math.min(...buffers, own), Math.max(...buffers, own + 1)];
  const all = [runs, fluid, closed].flatMap((line) => (line ?? []).map(({ value }) => value));
  const [low, high] = rangeOf(metric.name, all);
  const x = (packets: number): number =>
    LEFT + ((Math.log(packets) - Math.log(least)) / Math.log(most / least)) * (RIGHT - LEFT);
  const y = (value: number): number => {
    const at = Math.min(high, Math.max(low, value));
    return BOTTOM - ((at - low) / (high - low)) * (BOTTOM - TOP);
  };
  const path = (line: readonly Value[] | undefined): string =>
    (line ?? [])
      .map(({ packets, value }, at) => `${at ? "L" : "M"}${x(packets).toFixed(1)} ${y(value).toFixed(1)}`)
      .join("");
  const isInRange = ({ packets }: Rule): boolean => packets !== null && packets >= least && packets <= most;
  const labels = (runs ?? []).map(
    ({ packets, value }) => `${packets} packets: ${digits(value)} ${metric.unit}`,
  );
  return (
    <figure>
      <figcaption>
        {metric.title} <span class="unit">{metric.unit}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`${metric.title} over the buffer. ${labels.join("; ") || "The runs are not complete."}`}
      >
        {goals
          .filter((goal) => goal.metric === metric.name)
          .map(({ at_least, bound }) => {
            const at = y(bound * metric.scale);
            const [top, bottom] = at_least ? [TOP, at] : [at, BOTTOM];
            const key = `${at_least} ${bound}`;
            return (
              <rect class="goal" x={LEFT} width={RIGHT - LEFT} y={top} height={bottom - top} key={key} />
            );
          })}
        {[low, (low + high) / 2, high].map((value) => (
          <g key={value}>
            <line class="grid" x1={LEFT} x2={RIGHT} y1={y(value)} y2={y(value)} />
            <text x={LEFT - 6} y={y(value) + 4} text-anchor="end">
              {digits(value, 3)}
            </text>
          </g>
        ))}
        {decades(least, most).map((packets) => (
          <g key={packets}>
            <line class="grid" x1={x(packets)} x2={x(packets)} y1={TOP} y2={BOTTOM} />
            <text x={x(packets)} y={HEIGHT - 10} text-anchor="middle">
              {packets < 1000 ? packets : packets < 1e6 ? `${packets / 1000}k` : `${packets / 1e6}M`}
            </text>
          </g>
        ))}
        {(found?.rules ?? []).filter(isInRange).map((rule) => (
          <path
            class={applies(rule) ? "rule" : "rule fails"}
            d={`M${x(rule.packets ?? 1)} ${BOTTOM}l-4 7h8z`}
            key={rule.name}
          >
            <title>{`${rule.name}: ${Math.round(rule.packets ?? 0)} packets${applies(rule) ? "" : ", does not apply"}`}</title>
          </path>
        ))}
        <line class="own" x1={x(own)} x2={x(own)} y1={TOP} y2={BOTTOM} />
        {smallest !== null && (
          <line class="smallest" x1={x(smallest)} x2={x(smallest)} y1={TOP} y2={BOTTOM} />
        )}
        <path class="closed" d={path(closed)} />
        <path class="fluid" d={path(fluid)} />
        <path class="runs" d={path(runs)} />
        {(runs ?? []).map(({ packets, value, half }) => (
          <g class="point" key={packets}>
            <line x1={x(packets)} x2={x(packets)} y1={y(value + half)} y2={y(value - half)} />
            <circle cx={x(packets)} cy={y(value)} r={3.2}>
              <title>{`${packets} packets: ${digits(value)} ± ${digits(half)} ${metric.unit}`}</title>
            </circle>
          </g>
        ))}
      </svg>
    </figure>
  );
}

/** Values of a line in the unit of the chart, as far as they are available. */
function values(line: readonly Point[] | undefined, metric: MetricView): Value[] {
  return (line ?? []).flatMap((point) => {
    const estimated = estimate(point, metric.name);
    if (!estimated) return [];
    return [
      {
        packets: point.packets,
        value: estimated.mean * metric.scale,
        half: (estimated.half ?? 0) * metric.scale,
      },
    ];
  });
}

/** Range of the scale. Utilization ends at 100 %, other metrics start at zero. */
function rangeOf(name: string, estimated: readonly number[]): [number, number] {
  const least = Math.min(...estimated, name === "utilization" ? 95 : 0);
  const most = Math.max(...estimated, 0);
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
