/** Chart of the utilization against the delay: each point is a buffer. */

import { logAxis, utilizationAxis } from "./axes.ts";
import { Frame, Reading, valuesOf, xOf, yOf } from "./chart_frame.tsx";
import type { ShownGoal } from "./goals.ts";
import { digits } from "./numbers.ts";
import { METRICS, type Point, type Tradeoff } from "./tradeoff.ts";

const [UTILIZATION, , DELAY] = METRICS;

/** Largest distance of the pointer from a buffer, as a share of the axes. */
const NEAR = 0.15;

interface Props {
  found: Tradeoff | null;
  own: number;
  looked: number | null;
  goals: readonly ShownGoal[];
  onLook: (packets: number | null) => void;
  onPackets: (packets: number) => void;
}

interface Pair {
  packets: number;
  delay: number;
  utilization: number;
  /** Half widths of the intervals. */
  halves: [number, number];
}

export function DelayPanel({ found, own, looked, goals, onLook, onPackets }: Props): preact.JSX.Element {
  const [runs, fluid] = [pairs(found?.points ?? []), pairs(found?.fluid ?? [])];
  const goal = (name: string, scale: number): number[] =>
    goals.filter(({ metric }) => metric === name).map(({ bound }) => bound * scale);
  const [busy, late] = [goal(UTILIZATION.name, 100), goal(DELAY.name, 1000)];
  const all = [...runs, ...fluid];
  const delays = [...all.map(({ delay }) => delay), ...late];
  const across = logAxis(delays.length > 0 ? delays : [1, 100], "ms", 5, 1e-3);
  const up = utilizationAxis([
    ...all.map(({ utilization }) => utilization),
    ...busy,
    ...(all.length ? [] : [90, 99]),
  ]);
  const x = (delay: number): number => xOf(across.place(delay));
  const y = (utilization: number): number => yOf(up.place(utilization));
  const path = (line: readonly Pair[]): string =>
    line
      .map(
        ({ delay, utilization }, at) =>
          `${at ? "L" : "M"}${x(delay).toFixed(1)} ${y(utilization).toFixed(1)}`,
      )
      .join("");
  const nearest = (left: number, top: number): number | null => {
    const far = runs.map(({ delay, utilization }) =>
      Math.hypot(across.place(delay) - left, up.place(utilization) - top),
    );
    const least = Math.min(...far);
    return least < NEAR ? (runs[far.indexOf(least)]?.packets ?? null) : null;
  };
  const labels = runs.map(
    ({ packets, delay, utilization }) =>
      `${packets} packets: ${digits(utilization)} % at ${digits(delay)} ms`,
  );
  const at = runs.find(({ packets }) => packets === looked);
  return (
    <figure>
      <figcaption>
        Utilization <span class="unit">against delay (p99)</span>
      </figcaption>
      <Frame
        name="delay"
        across={across}
        up={up}
        label={`Utilization against the queueing delay. ${labels.join("; ") || "The runs are not complete."}`}
        onLook={(left, top) => onLook(left === null ? null : nearest(left, top))}
        onClick={(left, top) => {
          const packets = nearest(left, top);
          if (packets !== null) onPackets(packets);
        }}
      >
        {(busy.length > 0 || late.length > 0) && (
          <rect
            class="goal"
            x={xOf(0)}
            width={Math.max(0, x(Math.min(...late, across.value(1))) - xOf(0))}
            y={yOf(1)}
            height={Math.max(0, y(Math.max(...busy, up.value(0))) - yOf(1))}
          />
        )}
        <path class="fluid" d={path(fluid)} />
        <path class="runs" d={path(runs)} />
        {runs.map(({ packets, delay, utilization, halves }) => (
          <g class="point" key={packets}>
            <line
              x1={x(delay)}
              x2={x(delay)}
              y1={y(utilization + halves[0])}
              y2={y(utilization - halves[0])}
            />
            <line
              x1={x(delay + halves[1])}
              x2={x(delay - halves[1])}
              y1={y(utilization)}
              y2={y(utilization)}
            />
            <circle cx={x(delay)} cy={y(utilization)} r={packets === looked ? 5 : 3.2} />
            {packets === own && <circle class="ring" cx={x(delay)} cy={y(utilization)} r={8} />}
          </g>
        ))}
        {[runs[0], runs.at(-1)].map(
          (pair) =>
            pair && (
              <text x={x(pair.delay)} y={y(pair.utilization) - 8} text-anchor="middle" key={pair.packets}>
                {pair.packets} p
              </text>
            ),
        )}
        {at && (
          <Reading>
            {at.packets} packets: {digits(at.utilization)} % at {digits(at.delay)} ms
          </Reading>
        )}
      </Frame>
    </figure>
  );
}

function pairs(line: readonly Point[]): Pair[] {
  const delays = valuesOf(line, DELAY);
  return valuesOf(line, UTILIZATION).flatMap(({ packets, value, half }) => {
    const delay = delays.find((it) => it.packets === packets);
    return delay ? [{ packets, delay: delay.value, utilization: value, halves: [half, delay.half] }] : [];
  });
}
