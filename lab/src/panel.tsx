/**
 * Chart of one metric over the buffer: runs with intervals, models, rules as marks, goals as shaded regions.
 */

import { type Axis, logAxis, utilizationAxis } from "./axes.ts";
import { Frame, Hatch, type Metric, Reading, type Value, valuesOf, xOf, yOf } from "./chart_frame.tsx";
import type { ShownGoal } from "./goals.ts";
import { digits, uncertain } from "./numbers.ts";
import { applies, type Rule } from "./rules.ts";
import { Term } from "./terms.tsx";
import type { Tradeoff } from "./tradeoff.ts";

interface Props {
  metric: Metric;
  found: Tradeoff | null;
  /** Current buffer, the smallest one that meets the goals, and the one under the pointer, in packets. */
  own: number;
  smallest: number | null;
  looked: number | null;
  goals: readonly ShownGoal[];
  onLook: (packets: number | null) => void;
  /** Sets the buffer. */
  onPackets: (packets: number) => void;
}

const TERM_OF = { utilization: "utilization", loss_rate: "loss", queue_delay_p99_s: "p99" } as const;

/** Distance from a tested buffer within which a click means that buffer, as a share of the axis. */
const SNAP = 0.03;

export function Panel(props: Props): preact.JSX.Element {
  const { metric, found, own, smallest, looked, onLook, onPackets } = props;
  const [runs, fluid, closed] = [found?.points, found?.fluid, found?.closed].map((line) =>
    valuesOf(line ?? [], metric),
  ) as [Value[], Value[], Value[]];
  const goals = props.goals.filter((goal) => goal.metric === metric.name);
  const buffers = (found?.points ?? []).map(({ packets }) => packets);
  const across = logAxis([...buffers, own], "");
  const up = verticalAxis(metric, [...runs, ...fluid, ...closed], goals);
  const x = (packets: number): number => xOf(across.place(packets));
  const y = (value: number): number => yOf(up.place(value));
  const labels = runs.map(({ packets, value }) => `${packets} packets: ${digits(value)} ${metric.unit}`);
  const nearest = (place: number): number | null => nearestBuffer(buffers, across, place);
  const at = looked === null ? undefined : runs.find(({ packets }) => packets === looked);
  const domain = found?.isClosedOutside ? closed : [];
  return (
    <figure>
      <figcaption>
        <Term name={TERM_OF[metric.name]}>{metric.title}</Term> <span class="unit">{metric.unit}</span>
      </figcaption>
      <Frame
        name={metric.name}
        across={across}
        up={up}
        label={`${metric.title} over the buffer. ${labels.join("; ") || "The runs are not complete."}`}
        onLook={(place) => onLook(place === null ? null : nearest(place))}
        onClick={(place) => {
          const near = nearest(place);
          const isNear = near !== null && Math.abs(across.place(near) - place) < SNAP;
          onPackets(isNear ? near : Math.max(1, Math.round(across.value(place))));
        }}
      >
        {goals.map(({ at_least, bound }) => {
          const level = y(bound * metric.scale);
          const [top, bottom] = at_least ? [yOf(1), level] : [level, yOf(0)];
          return (
            <rect
              class="goal"
              x={xOf(0)}
              width={xOf(1) - xOf(0)}
              y={top}
              height={Math.max(0, bottom - top)}
              key={`${at_least} ${bound}`}
            />
          );
        })}
        <Hatch name={metric.name} d={path(outsideParts(fluid), x, y)} />
        <Hatch name={metric.name} d={path(domain, x, y)} />
        <Rules rules={found?.rules ?? []} buffers={buffers} x={x} />
        {smallest !== null && (
          <line class="smallest" x1={x(smallest)} x2={x(smallest)} y1={yOf(1)} y2={yOf(0)} />
        )}
        <line class="own" x1={x(own)} x2={x(own)} y1={yOf(1)} y2={yOf(0)} />
        <path class="closed" d={path(closed, x, y)} />
        <path class="fluid" d={path(fluid, x, y)} />
        <path class="runs" d={path(runs, x, y)} />
        {runs.map(({ packets, value, half }) => (
          <g class="point" key={packets}>
            <line x1={x(packets)} x2={x(packets)} y1={y(value + half)} y2={y(value - half)} />
            <circle cx={x(packets)} cy={y(value)} r={packets === looked ? 5 : 3.2} />
          </g>
        ))}
        {at && (
          <Reading>
            {at.packets} packets: {uncertain(at.value, at.half)} {metric.unit}
          </Reading>
        )}
      </Frame>
    </figure>
  );
}

function Rules(props: {
  rules: readonly Rule[];
  buffers: readonly number[];
  x: (packets: number) => number;
}): preact.JSX.Element {
  const { rules, buffers, x } = props;
  const [least, most] = [Math.min(...buffers), Math.max(...buffers)];
  const shown = rules.filter(({ packets }) => packets !== null && packets >= least && packets <= most);
  return (
    <>
      {shown.map((rule) => (
        <path
          class={applies(rule) ? "rule" : "rule fails"}
          d={`M${x(rule.packets ?? 1).toFixed(1)} ${yOf(0)}l-4 7h8z`}
          key={rule.name}
        >
          <title>{`${rule.name}: ${Math.round(rule.packets ?? 0)} packets${applies(rule) ? "" : ", does not apply"}`}</title>
        </path>
      ))}
    </>
  );
}

/** Axis of a metric that shows its values, their intervals and its goals. */
function verticalAxis(metric: Metric, values: readonly Value[], goals: readonly ShownGoal[]): Axis {
  const bounds = goals.map(({ bound }) => bound * metric.scale);
  const shown = [...values.map(({ value }) => value), ...bounds];
  if (metric.name === "utilization") return utilizationAxis(shown.length > 0 ? shown : [90, 99]);
  return logAxis(shown, metric.unit, 5, LEAST[metric.name]);
}

/** Values that count as zero: a loss rate in percent, and a delay in milliseconds. */
const LEAST: Record<string, number> = { loss_rate: 1e-5, queue_delay_p99_s: 1e-4 };

/** Tested buffer that is nearest to a place of the axis. */
function nearestBuffer(buffers: readonly number[], across: Axis, place: number): number | null {
  const far = buffers.map((packets) => Math.abs(across.place(packets) - place));
  return buffers[far.indexOf(Math.min(...far))] ?? null;
}

/** Path through values. A value that is not finite interrupts it. */
function path(line: readonly Value[], x: (packets: number) => number, y: (value: number) => number): string {
  let found = "";
  let isDown = false;
  for (const { packets, value } of line) {
    if (Number.isFinite(value))
      found += `${isDown ? "L" : "M"}${x(packets).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = Number.isFinite(value);
  }
  return found;
}

/** Values outside of a model's domain. The others interrupt the line. */
function outsideParts(line: readonly Value[]): Value[] {
  return line.map((value, at) =>
    value.isOutside || line[at - 1]?.isOutside ? value : { ...value, value: Number.NaN },
  );
}
