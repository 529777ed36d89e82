/** Axes of the trade-off: logarithmic ones with readable ticks, and a place for zero beyond the scale. */

/** Axis from 0 to 1. */
export interface Axis {
  place: (value: number) => number;
  /** Inverse of `place`, for values above zero. */
  value: (place: number) => number;
  ticks: readonly { place: number; text: string }[];
}

/** Share of an axis at which its logarithmic part begins if the axis also has zero. */
const ZERO_ROOM = 0.12;
const NARROW = "\u202f";

/**
 * Logarithmic axis that holds all values. Its ends are 1, 2 or 5 times a power of ten. Zero, which has no
 * logarithm, is at the end of the axis. `least` is the smallest value that differs from zero.
 */
export function logAxis(values: readonly number[], unit: string, most = 5, least = 0): Axis {
  const above = values.filter((value) => value > least);
  const hasZero = values.some((value) => value <= least);
  const [low, high] = ends(above.length > 0 ? above : [1, 10]);
  const begin = hasZero ? ZERO_ROOM : 0;
  const place = (value: number): number => {
    if (value <= least) return 0;
    const at = Math.min(high, Math.max(low, value));
    return begin + (1 - begin) * (Math.log(at / low) / Math.log(high / low));
  };
  const value = (at: number): number => low * (high / low) ** Math.max(0, (at - begin) / (1 - begin));
  const ticks = decades(low, high, most).map((tick) => ({ place: place(tick), text: textOf(tick, unit) }));
  return { place, value, ticks: hasZero ? [{ place: 0, text: textOf(0, unit) }, ...ticks] : ticks };
}

/** Axis of a utilization in percent: logarithmic in the idle share, so that 98 and 99.5 % are apart. */
export function utilizationAxis(values: readonly number[], most = 6): Axis {
  const idle = logAxis(
    values.map((value) => 100 - value),
    "%",
    most,
    LEAST_IDLE,
  );
  return {
    place: (value) => 1 - idle.place(100 - value),
    value: (place) => 100 - idle.value(1 - place),
    ticks: idle.ticks.map(({ place, text }) => ({
      place: 1 - place,
      text: textOf(100 - Number.parseFloat(text), "%"),
    })),
  };
}

/** Idle share in percent below which the link counts as always busy. */
const LEAST_IDLE = 0.05;

/** Ends of an axis: round numbers around the values. */
function ends(values: readonly number[]): [number, number] {
  const [low, high] = [roundDown(Math.min(...values)), roundUp(Math.max(...values))];
  return low < high ? [low, high] : [low / 2, high * 2];
}

const STEPS = [1, 2, 5, 10];

function roundDown(value: number): number {
  const scale = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return scale * (STEPS.filter((step) => step * scale <= value * (1 + 1e-9)).at(-1) ?? 1);
}

/** Smallest 1, 2 or 5 times a power of ten that is not below a value. */
export function roundUp(value: number): number {
  const scale = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return scale * (STEPS.find((step) => step * scale >= value * (1 - 1e-9)) ?? 10);
}

/** Ticks of a logarithmic axis: at most `most` of them, with equal steps in each decade. */
function decades(low: number, high: number, most: number): number[] {
  const [first, last] = [Math.floor(Math.log10(low)) - 1, Math.ceil(Math.log10(high)) + 1];
  let found: number[] = [];
  for (const [steps, stride] of [
    [[1, 2, 5], 1],
    [[1, 3], 1],
    [[1], 1],
    [[1], 2],
    [[1], 3],
  ] as const) {
    found = [];
    for (let decade = first; decade <= last; decade += stride)
      for (const step of steps) found.push(step * 10 ** decade);
    found = found.filter((tick) => tick >= low * (1 - 1e-9) && tick <= high * (1 + 1e-9));
    if (found.length <= most) break;
  }
  return found;
}

/** Text of a tick, such as "0.2 %" or "10k". */
export function textOf(value: number, unit: string): string {
  const [scale, suffix] =
    unit === "" && value >= 1e6 ? [1e6, "M"] : unit === "" && value >= 1e4 ? [1e3, "k"] : [1, ""];
  const number = `${Number((value / scale).toPrecision(6))}${suffix}`;
  return unit === "" ? number : `${number}${NARROW}${unit}`;
}
