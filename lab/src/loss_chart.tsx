/** Chart of a sender's congestion window around a loss, with marks for the loss and the recovery. */

import type { SenderState } from "./engine/figures.ts";
import type { Signal, StateHistory } from "./engine/replay.ts";
import type { Story } from "./loss_story.ts";
import { digits, time } from "./numbers.ts";
import { colorOf, dashOf } from "./palette.ts";

const WIDTH = 560;
const HEIGHT = 190;
const [LEFT, RIGHT, TOP, BOTTOM] = [48, WIDTH - 10, 26, HEIGHT - 26];
/** Number of round trips that are shown before the signal. */
const BEFORE_ROUNDS = 5;
/** Largest number of points of the line: the resolution of the chart. */
const MAX_POINTS = 1200;

interface Props {
  signal: Signal;
  history: StateHistory;
  story: Story;
  /** End of the line, in seconds of the run. */
  untilS: number;
  isDark: boolean;
}

interface Mark {
  name: string;
  letter: string;
  at: number;
}

export function LossChart({ signal, history, story, untilS, isDark }: Props): preact.JSX.Element {
  const round = story.rttS || (history.untilS - signal.timeS) / 20 || 1;
  const from = Math.max(signal.timeS - BEFORE_ROUNDS * round, history.states[0]?.timeS ?? 0);
  const to = Math.max(history.untilS, signal.timeS + round);
  const visible = visibleStates(history.states, from, Math.min(untilS, history.untilS));
  const most =
    Math.max(4, ...visibleStates(history.states, from, to).map(({ cwndPackets }) => cwndPackets)) * 1.08;
  const x = (at: number): number => LEFT + ((at - from) / (to - from)) * (RIGHT - LEFT);
  const y = (packets: number): number => BOTTOM - (packets / most) * (BOTTOM - TOP);
  const end = x(Math.min(Math.max(untilS, from), history.untilS)).toFixed(1);
  const path = visible.map(({ timeS, cwndPackets }, at) => {
    const left = x(Math.max(timeS, from)).toFixed(1);
    return at === 0 ? `M${left} ${y(cwndPackets).toFixed(1)}` : `H${left}V${y(cwndPackets).toFixed(1)}`;
  });
  const marks = marksOf(signal, story);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((part) => from + part * (to - from));
  return (
    <svg
      class="window-chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`Congestion window in packets over time: ${marks.map(({ name, at }) => `${name} at ${at.toFixed(4)} s`).join(", ")}`}
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
      {merge(marks, x).map(({ name, at, letter }) => (
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

/** Events of the story, each with a letter. */
export function marksOf(signal: Signal, story: Story): Mark[] {
  const marks: Mark[] = [
    { name: signal.kind === "marked" ? "marked" : "lost", letter: "✕", at: signal.timeS },
  ];
  const add = (name: string, letter: string, at: number | null | undefined): void => {
    if (at !== null && at !== undefined) marks.push({ name, letter, at });
  };
  add("detected", "D", story.detection?.timeS);
  if (signal.kind === "dropped") {
    add("retransmitted", "R", story.retransmissionsS[0]);
    add("acknowledged", "A", story.acknowledgedS);
  }
  add("window restored", "W", story.restoredS);
  return marks;
}

/** Merges marks that would overlap into one, at the first of their lines. */
function merge(marks: readonly Mark[], x: (at: number) => number): Mark[] {
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

/** Points of the line: the state at the beginning, then each change, thinned if they are too many. */
function visibleStates(states: readonly SenderState[], from: number, to: number): SenderState[] {
  const later = states.findIndex(({ timeS }) => timeS > from);
  const begin = (later < 0 ? states.length : later) - 1;
  const visible = states.slice(Math.max(0, begin)).filter(({ timeS }) => timeS <= to);
  if (visible.length <= MAX_POINTS) return visible;
  // The lowest and the highest of neighboring points remain, so no decrease is lost.
  const each = Math.ceil((2 * visible.length) / MAX_POINTS);
  const thinned: SenderState[] = [];
  for (let at = 0; at < visible.length; at += each) {
    const group = visible.slice(at, at + each).sort((one, other) => one.cwndPackets - other.cwndPackets);
    const extremes = [group[0], group.at(-1)].filter((it) => it !== undefined);
    thinned.push(...extremes.sort((one, other) => one.timeS - other.timeS));
  }
  return thinned;
}
