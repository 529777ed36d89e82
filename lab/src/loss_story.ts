/**
 * What came of a packet that was dropped or marked: when its sender noticed, how far its window fell, when it had
 * grown back. All of it is read off how the sender stood after each instant, and off what the link saw of the packet.
 */

import { ARRIVES, IS_DROPPED, OPEN, RECOVERY, type Standing } from "./engine/figures.ts";
import type { Course, Signal } from "./engine/replay.ts";

/** How a sender came to know. */
export type Notice =
  /** Acknowledgments of later packets: fast recovery began. */
  | "recovery"
  /** Its retransmission timer expired. */
  | "timeout"
  /** It was repairing already, and found this packet in the course of it. */
  | "repair"
  /** The acknowledgment of a marked packet told it. */
  | "echo";

export interface Story {
  /** The window and the round trip at the signal. */
  windowPackets: number;
  rttS: number;
  /** Whether the sender was repairing an earlier loss then. */
  wasRepairing: boolean;
  noticed: { timeS: number; how: Notice; unacknowledged: number } | null;
  /** Expiries of the timer until the packet was acknowledged. */
  timeoutsS: number[];
  /** How the window fell when that was noticed: to its lowest until the repair was over. */
  fall: { timeS: number; fromPackets: number; toPackets: number } | null;
  /** Up to where slow start goes after it, packets. */
  ssthreshPackets: number;
  /** When the packet came to the link again, and when it was dropped again. */
  againS: number[];
  droppedAgainS: number[];
  acknowledgedS: number | null;
  /** When the window was as large as before. */
  grownBackS: number | null;
  /** The next loss that the sender noticed once this one was repaired. */
  nextS: number | null;
  /** Whether there is nothing more to wait for. */
  isWhole: boolean;
}

/** Windows that differ by less are the same: the fast path of a repair moves them by parts of a packet. */
const SAME = 0.995;

/** The story of a signal up to a moment. */
export function storyOf(signal: Signal, course: Course, untilS = Number.POSITIVE_INFINITY): Story {
  const standings = course.standings.filter(({ timeS }) => timeS <= untilS);
  const sightings = course.sightings.filter(({ timeS }) => timeS <= untilS);
  const behind = standings.findIndex(({ timeS }) => timeS > signal.timeS);
  const first = behind < 0 ? standings.length : behind;
  const at = standings[first - 1];
  const again = sightings.filter(({ happening, timeS }) => happening === ARRIVES && timeS > signal.timeS);
  const acknowledged = standings.slice(first).find((it) => it.unacknowledged > signal.packet);
  const story: Story = {
    windowPackets: at?.cwndPackets ?? Number.NaN,
    rttS: at?.rttS ?? 0,
    wasRepairing: at !== undefined && at.state !== OPEN,
    noticed: null,
    timeoutsS: [],
    fall: null,
    ssthreshPackets: Number.NaN,
    againS: again.map(({ timeS }) => timeS),
    droppedAgainS: sightings
      .filter(({ happening, timeS }) => happening === IS_DROPPED && timeS > signal.timeS)
      .map(({ timeS }) => timeS),
    acknowledgedS: acknowledged?.timeS ?? null,
    grownBackS: null,
    nextS: null,
    isWhole: false,
  };
  if (first === 0) return story;
  const notice =
    signal.kind === "marked" ? echoed(standings, first, signal) : noticed(standings, first, story);
  story.timeoutsS = standings
    .filter((_, place) => place >= first && expires(standings, place))
    .map(({ timeS }) => timeS)
    .filter((timeS) => timeS <= (story.acknowledgedS ?? untilS));
  if (!notice) return story;
  const place = notice.place;
  const standing = standings[place];
  if (!standing) return story;
  story.noticed = { timeS: standing.timeS, how: notice.how, unacknowledged: standing.unacknowledged };
  const { lowest, over } = fallOf(standings, place, signal.kind);
  const before = standings[place - 1]?.cwndPackets ?? Number.NaN;
  const low = standings[lowest];
  if (low && notice.how !== "repair" && low.cwndPackets < SAME * before) {
    story.fall = { timeS: low.timeS, fromPackets: before, toPackets: low.cwndPackets };
    story.ssthreshPackets = low.ssthreshPackets;
    const back = standings.slice(lowest).find(({ cwndPackets }) => cwndPackets >= before);
    story.grownBackS = back?.timeS ?? null;
  }
  const next = standings.findIndex((_, later) => later > over && begins(standings, later));
  story.nextS = standings[next]?.timeS ?? null;
  story.isWhole = story.acknowledgedS !== null && (!story.fall || !!(story.grownBackS ?? story.nextS));
  return story;
}

interface Place {
  place: number;
  how: Notice;
}

/** Where the loss was noticed: a repair began, or the packet was sent again while one went on. */
function noticed(standings: readonly Standing[], first: number, story: Story): Place | null {
  const { againS, acknowledgedS } = story;
  const end = Math.min(againS[0] ?? Number.POSITIVE_INFINITY, acknowledgedS ?? Number.POSITIVE_INFINITY);
  const isDue = ({ timeS }: Standing): boolean => timeS <= end;
  for (let place = first; place < standings.length; place += 1) {
    const standing = standings[place];
    if (!standing || !isDue(standing)) break;
    if (expires(standings, place)) return { place, how: "timeout" };
    if (begins(standings, place)) return { place, how: "recovery" };
  }
  if (end === Number.POSITIVE_INFINITY) return null;
  let last: Place | null = null;
  for (let place = first; place < standings.length; place += 1) {
    const [before, standing] = [standings[place - 1], standings[place]];
    if (!before || !standing || !isDue(standing)) break;
    if (standing.retransmissions > before.retransmissions) last = { place, how: "repair" };
  }
  return last;
}

/** Where the acknowledgment of a marked packet came. */
function echoed(standings: readonly Standing[], first: number, { packet }: Signal): Place | null {
  const place = standings.findIndex((it, later) => later >= first && it.unacknowledged > packet);
  return place < 0 ? null : { place, how: "echo" };
}

/** Where the window is lowest from a notice until the repair is over, and where that is. */
function fallOf(
  standings: readonly Standing[],
  from: number,
  kind: Signal["kind"],
): { lowest: number; over: number } {
  const open = standings.findIndex(({ state }, place) => place >= from && state === OPEN);
  const over = open < 0 ? standings.length - 1 : open;
  if (kind === "marked") return { lowest: from, over: from };
  let lowest = from;
  for (let place = from; place <= over; place += 1) {
    const [low, here] = [standings[lowest], standings[place]];
    if (low && here && here.cwndPackets < low.cwndPackets) lowest = place;
  }
  return { lowest, over };
}

function expires(standings: readonly Standing[], place: number): boolean {
  const [before, standing] = [standings[place - 1], standings[place]];
  return !!before && !!standing && standing.timeouts > before.timeouts;
}

/** Whether a repair begins there. */
function begins(standings: readonly Standing[], place: number): boolean {
  const [before, standing] = [standings[place - 1], standings[place]];
  if (!before || !standing) return false;
  return (before.state === OPEN && standing.state === RECOVERY) || expires(standings, place);
}
