/** Frame of the charts of the trade-off: axes with ticks, the pointer, and the hatch of a model's domain. */

import type { Axis } from "./axes.ts";
import { estimate, isOutsideDomain, type METRICS, type Point } from "./tradeoff.ts";

export type Metric = (typeof METRICS)[number];

const [WIDTH, HEIGHT] = [340, 220];
const [LEFT, RIGHT, TOP, BOTTOM] = [58, 328, 24, 188];

/** Positions in the picture of places of the axes. */
export const xOf = (place: number): number => LEFT + place * (RIGHT - LEFT);
export const yOf = (place: number): number => BOTTOM - place * (BOTTOM - TOP);

/** Estimate of a buffer, in the unit of a chart. */
export interface Value {
  packets: number;
  value: number;
  /** Half width of the 95 % interval. */
  half: number;
  /** Whether the model says that it is outside of its domain. */
  isOutside: boolean;
}

/** Values of a line in the unit of the chart, as far as they are available. */
export function valuesOf(line: readonly Point[], metric: Metric): Value[] {
  return line.flatMap((point) => {
    const estimated = estimate(point, metric.name);
    if (!estimated) return [];
    return [
      {
        packets: point.packets,
        value: estimated.mean * metric.scale,
        half: (estimated.half ?? 0) * metric.scale,
        isOutside: isOutsideDomain(point),
      },
    ];
  });
}

/** Half of the width of a digit. */
const HALF_DIGIT = 4;

/** Middle of a text that is at a position, or so far to the left of it that the picture does not cut the text. */
export function insideX(x: number, text: string): number {
  return Math.min(x, WIDTH - HALF_DIGIT * text.length);
}

interface FrameProps {
  /** Name of the chart, unique in the page. */
  name: string;
  across: Axis;
  up: Axis;
  label: string;
  /** Receives the place of the pointer on the horizontal axis, null if it has left. */
  onLook: (across: number | null, up: number) => void;
  onClick: (across: number, up: number) => void;
  children: preact.ComponentChildren;
}

export function Frame({
  name,
  across,
  up,
  label,
  onLook,
  onClick,
  children,
}: FrameProps): preact.JSX.Element {
  const at = (event: MouseEvent & { currentTarget: SVGSVGElement }): [number, number] => {
    const box = event.currentTarget.getBoundingClientRect();
    const left = ((event.clientX - box.left) / box.width) * WIDTH;
    const top = ((event.clientY - box.top) / box.height) * HEIGHT;
    const inside = (share: number): number => Math.min(1, Math.max(0, share));
    return [inside((left - LEFT) / (RIGHT - LEFT)), inside((BOTTOM - top) / (BOTTOM - TOP))];
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the slider below the charts does the same for keys.
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
      onPointerMove={(event) => onLook(...at(event))}
      onPointerLeave={() => onLook(null, 0)}
      onClick={(event) => onClick(...at(event))}
    >
      <defs>
        <pattern
          id={`hatch-${name}`}
          width="6"
          height="6"
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <line class="hatch-line" x1="0" x2="0" y1="0" y2="6" />
        </pattern>
      </defs>
      {up.ticks.map(({ place, text }) => (
        <g key={text}>
          <line class="grid" x1={LEFT} x2={RIGHT} y1={yOf(place)} y2={yOf(place)} />
          <text x={LEFT - 6} y={yOf(place) + 4} text-anchor="end">
            {text}
          </text>
        </g>
      ))}
      {across.ticks.map(({ place, text }) => (
        <g key={text}>
          <line class="grid" x1={xOf(place)} x2={xOf(place)} y1={TOP} y2={BOTTOM} />
          <text x={insideX(xOf(place), text)} y={HEIGHT - 12} text-anchor="middle">
            {text}
          </text>
        </g>
      ))}
      {children}
    </svg>
  );
}

/** Values under the pointer, above the chart. */
export function Reading({ children }: { children: preact.ComponentChildren }): preact.JSX.Element {
  return (
    <text class="value" x={LEFT} y={TOP - 10}>
      {children}
    </text>
  );
}

/** Hatch along a line, where its model is outside of its domain. */
export function Hatch({ name, d }: { name: string; d: string }): preact.JSX.Element | null {
  return d === "" ? null : <path class="outside" d={d} stroke={`url(#hatch-${name})`} />;
}
