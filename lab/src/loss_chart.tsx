/** A flow's window around a loss, with the loss and what followed as marks. */

import type { Standing } from "./engine/figures.ts";
import type { Course, Signal } from "./engine/replay.ts";
import type { Story } from "./loss_story.ts";
import { digits, time } from "./numbers.ts";
import { colorOf, dashOf } from "./palette.ts";

const WIDTH = 560;
const HEIGHT = 190;
const [LEFT, RIGHT, TOP, BOTTOM] = [48, WIDTH - 10, 26, HEIGHT - 26];
/** Round trips before the signal that are shown. */
const BEFORE_ROUNDS = 5;
/** Points of the line, at the most: a pixel has room for no more. */
const MOST_POINTS = 1200;

interface Props {
  signal: Signal;
  course: Course;
  story: Story;
  /** Up to where it is shown, in seconds of the run. */
  untilS: number;
  isDark: boolean;
}

interface Mark {
  name: string;
  letter: string;
  at: number;
}

export function LossChart({ signal, course, story, untilS, isDark }: Props): preact.JSX.Element {
  const round = story.rttS || (course.untilS - signal.timeS) / 20 || 1;
  const from = Math.max(signal.timeS - BEFORE_ROUNDS * round, course.standings[0]?.timeS ?? 0);
  const to = Math.max(course.untilS, signal.timeS + round);
  const shown = drawn(course.standings, from, Math.min(untilS, course.untilS));
  const most = Math.max(4, ...drawn(course.standings, from, to).map(({ cwndPackets }) => cwndPackets)) * 1.08;
  const x = (at: number): number => LEFT + ((at - from) / (to - from)) * (RIGHT - LEFT);
  const y = (packets: number): number => BOTTOM - (packets / most) * (BOTTOM - TOP);
  const end = x(Math.min(Math.max(untilS, from), course.untilS)).toFixed(1);
  const path = shown.map(({ timeS, cwndPackets }, at) => {
    const left = x(Math.max(timeS, from)).toFixed(1);
    return at === 0 ? `M${left} ${y(cwndPackets).toFixed(1)}` : `H${left}V${y(cwndPackets).toFixed(1)}`;
  });
  const marks = marksOf(signal, story);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => from + part * (to - from));
  return (
    <svg
      class="course"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`The window in packets over time: ${marks.map(({ name, at }) => `${name} at ${at.toFixed(4)} s`).join(", ")}`}
    >
      {[0, most / 2.16, most / 1.08].map((packets) => (
        <g key={packets}>
          <line class="grid" x1={LEFT} x2={RIGHT} y1={y(packets)} y2={y(packets)} />
          <text x={LEFT - 6} y={y(packets) + 4} text-anchor="end">
            {digits(packets)}
          </text>
        </g>
      ))}
      {ticks.map((at, tick) => (
        <text
          x={x(at)}
          y={HEIGHT - 8}
          text-anchor={tick === 0 ? "start" : tick === ticks.length - 1 ? "end" : "middle"}
          key={at}
        >
          {at < signal.timeS ? "−" : "+"}
          {time(Math.abs(at - signal.timeS))}
        </text>
      ))}
      {apart(marks, x).map(({ name, at, letter }) => (
        <g class="sign" key={`${letter}${at}`}>
          <line x1={x(at)} x2={x(at)} y1={TOP - 6} y2={BOTTOM} />
          <text x={x(at)} y={TOP - 10} text-anchor="middle">
            {letter}
            <title>{name}</title>
          </text>
        </g>
      ))}
      <path
        d={`${path.join("")}H${end}`}
        fill="none"
        stroke={colorOf(signal.flow, isDark)}
        stroke-width="2"
        stroke-dasharray={dashOf(signal.flow).join(" ")}
      />
    </svg>
  );
}

/** What happened when, with a letter each. */
export function marksOf(signal: Signal, story: Story): Mark[] {
  const marks: Mark[] = [
    { name: signal.kind === "marked" ? "marked" : "lost", letter: "✕", at: signal.timeS },
  ];
  const add = (name: string, letter: string, at: number | null | undefined): void => {
    if (at !== null && at !== undefined) marks.push({ name, letter, at });
  };
  add("noticed", "N", story.noticed?.timeS);
  if (signal.kind === "dropped") {
    add("sent again", "S", story.againS[0]);
    add("acknowledged", "A", story.acknowledgedS);
  }
  add("grown back", "G", story.grownBackS);
  return marks;
}

/** Letters that would stand on each other stand side by side, at the first of their lines. */
function apart(marks: readonly Mark[], x: (at: number) => number): Mark[] {
  const found: Mark[] = [];
  for (const mark of [...marks].sort((one, other) => one.at - other.at)) {
    const last = found.at(-1);
    if (last && x(mark.at) - x(last.at) < 9 * last.letter.length + 3) {
      last.letter += mark.letter;
      last.name += `, ${mark.name}`;
    } else found.push({ ...mark });
  }
  return found;
}

/** The line's points: how it stood at the beginning, then each change; thinned where there are too many. */
function drawn(standings: readonly Standing[], from: number, to: number): Standing[] {
  const later = standings.findIndex(({ timeS }) => timeS > from);
  const begin = (later < 0 ? standings.length : later) - 1;
  const shown = standings.slice(Math.max(0, begin)).filter(({ timeS }) => timeS <= to);
  if (shown.length <= MOST_POINTS) return shown;
  // Of neighbors the lowest and the highest stay, so that no fall is lost.
  const each = Math.ceil((2 * shown.length) / MOST_POINTS);
  const kept: Standing[] = [];
  for (let at = 0; at < shown.length; at += each) {
    const some = shown.slice(at, at + each).sort((one, other) => one.cwndPackets - other.cwndPackets);
    const both = [some[0], some.at(-1)].filter((it) => it !== undefined);
    kept.push(...both.sort((one, other) => one.timeS - other.timeS));
  }
  return kept;
}
