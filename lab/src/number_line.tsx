/** Number line of a choice: each answer is a region, the guess is outlined, and the result is a point. */

import type { Scale } from "./experiments/types.ts";
import { difference, digits } from "./numbers.ts";

const [WIDTH, HEIGHT] = [360, 96];
const [LEFT, RIGHT, TOP, BOTTOM] = [12, 348, 22, 58];

interface Props {
  scale: Scale;
  /** Number of the guessed answer, if there is a guess. */
  guess: number | undefined;
  /** Measured value, if the runs are complete. */
  result: number | null;
  /** Number of guesses for each answer, if a class has made some. */
  counts?: readonly number[];
  onGuess?: (answer: number) => void;
}

export function NumberLine({ scale, guess, result, counts, onGuess }: Props): preact.JSX.Element {
  const { title, unit, bounds, answers, range, isLog } = scale;
  const x = (value: number): number => {
    const at = Math.min(range[1], Math.max(range[0], value));
    const share = isLog
      ? Math.log(at / range[0]) / Math.log(range[1] / range[0])
      : (at - range[0]) / (range[1] - range[0]);
    return LEFT + share * (RIGHT - LEFT);
  };
  const ends = [range[0], ...bounds, range[1]];
  const isDifference = unit === "percentage points";
  const text = (value: number): string => (isDifference ? difference(value) : digits(value));
  const all = (counts ?? []).reduce((sum, count) => sum + count, 0);
  return (
    <svg
      class="number-line"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`${title}, in ${unit}: ${
        result === null
          ? `the answers divide it at ${bounds.map((bound) => digits(bound)).join(" and ")}`
          : `the runs gave ${text(result)}`
      }.`}
    >
      {answers.map((answer, region) => {
        const [from, to] = [x(ends[region] ?? 0), x(ends[region + 1] ?? 0)];
        const isRight = result !== null && x(result) >= from && x(result) <= to;
        const count = counts?.[answer] ?? 0;
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: the radio buttons do the same for keys.
          <g
            class={`region${guess === answer ? " guessed" : ""}${isRight ? " right" : ""}`}
            onClick={() => onGuess?.(answer)}
            key={answer}
          >
            <rect x={from + 1.5} y={TOP} width={to - from - 3} height={BOTTOM - TOP} rx={3} />
            {all > 0 && (
              <rect
                class="count"
                x={from + 1.5}
                width={to - from - 3}
                y={BOTTOM - (count / all) * (BOTTOM - TOP)}
                height={(count / all) * (BOTTOM - TOP)}
              />
            )}
            <text x={(from + to) / 2} y={TOP + 15} text-anchor="middle">
              {"ABCDEF"[answer]}
              {all > 0 && `: ${count}`}
            </text>
          </g>
        );
      })}
      {ticksOf(ends.map(x)).map(({ at, anchor }) => (
        <text class="tick" x={x(ends[at] ?? 0)} y={BOTTOM + 15} text-anchor={anchor} key={at}>
          {Number(digits(ends[at] ?? 0, 2))}
        </text>
      ))}
      <text class="axis" x={(LEFT + RIGHT) / 2} y={HEIGHT - 6} text-anchor="middle">
        {title} ({unit})
      </text>
      {result !== null && (
        <g class="result">
          <path d={`M${x(result)} ${BOTTOM}V${TOP - 4}`} />
          <circle cx={x(result)} cy={BOTTOM - 9} r={5} />
          <text x={x(result)} y={TOP - 8} text-anchor={anchorAt(x(result))}>
            measured: {text(result)} {isDifference ? "" : unit}
          </text>
        </g>
      )}
    </svg>
  );
}

/** Smallest distance between two ticks, in units of the picture. */
const TICK_DISTANCE = 44;

/**
 * Ticks with room for their numbers: all bounds, and those ends of the line that are not close to one. Numbers
 * of two close bounds are on both sides of the pair.
 */
export function ticksOf(places: readonly number[]): { at: number; anchor: "start" | "middle" | "end" }[] {
  const isClose = (one: number, other: number): boolean => {
    const [from, to] = [places[one], places[other]];
    return from !== undefined && to !== undefined && Math.abs(to - from) < TICK_DISTANCE;
  };
  const last = places.length - 1;
  return places.flatMap((place, at) => {
    if ((at === 0 && isClose(0, 1)) || (at === last && isClose(last - 1, last))) return [];
    if (at + 1 < last && isClose(at, at + 1)) return [{ at, anchor: "end" as const }];
    if (at - 1 > 0 && isClose(at - 1, at)) return [{ at, anchor: "start" as const }];
    return [{ at, anchor: anchorAt(place) }];
  });
}

/** Alignment of a text that must not leave the picture. */
function anchorAt(x: number): "start" | "middle" | "end" {
  if (x < LEFT + 50) return "start";
  return x > RIGHT - 50 ? "end" : "middle";
}
