/**
 * Consequences of a dropped or marked packet: its detection by the sender, the reduction of the congestion
 * window, and the recovery of the window. The source is the state of the sender after each instant, and the
 * events of the packet at the link.
 */

import { ARRIVAL, DROP, OPEN, RECOVERY, type SenderState } from "./engine/figures.ts";
import type { Signal, StateHistory } from "./engine/replay.ts";

/** Way in which a sender detected a loss or mark. */
export type DetectionMethod =
  /** Acknowledgments of later packets started fast recovery. */
  | "recovery"
  /** The retransmission timer expired. */
  | "timeout"
  /** The sender was recovering from an earlier loss and retransmitted this packet as well. */
  | "same_recovery"
  /** The acknowledgment of the packet echoed the mark. */
  | "echo";

export interface Story {
  /** Congestion window in packets, and round-trip time in seconds, at the signal. */
  windowPackets: number;
  rttS: number;
  /** Whether the sender was recovering from an earlier loss at the signal. */
  wasInRecovery: boolean;
  detection: { timeS: number; method: DetectionMethod; sndUna: number } | null;
  /** Times at which the timer expired before the acknowledgment, in seconds. */
  timeoutsS: number[];
  /** Reduction of the window after the detection, to its lowest value during the recovery. */
  reduction: { timeS: number; fromPackets: number; toPackets: number } | null;
  /** Slow start threshold after the reduction, in packets. */
  ssthreshPackets: number;
  /** Times at which the packet arrived at the link again, and at which it was dropped again, in seconds. */
  retransmissionsS: number[];
  droppedAgainS: number[];
  acknowledgedS: number | null;
  /** Time at which the window reached its former size, in seconds. */
  restoredS: number | null;
  /** Time at which the sender detected the next loss after this recovery, in seconds. */
  nextLossS: number | null;
  /** Whether the story is complete, so that the replay may stop. */
  isComplete: boolean;
}

/**
 * Ratio above which windows count as equal. Window moderation during a recovery changes them by fractions of
 * a packet.
 */
const SAME_WINDOW = 0.995;

/** Story of a signal up to a time in seconds. */
export function storyOf(signal: Signal, history: StateHistory, untilS = Number.POSITIVE_INFINITY): Story {
  const states = history.states.filter(({ timeS }) => timeS <= untilS);
  const packetEvents = history.packetEvents.filter(({ timeS }) => timeS <= untilS);
  const firstAfter = states.findIndex(({ timeS }) => timeS > signal.timeS);
  const first = firstAfter < 0 ? states.length : firstAfter;
  const at = states[first - 1];
  const again = packetEvents.filter(({ kind, timeS }) => kind === ARRIVAL && timeS > signal.timeS);
  const acknowledged = states.slice(first).find((it) => it.sndUna > signal.packet);
  const story: Story = {
    windowPackets: at?.cwndPackets ?? Number.NaN,
    rttS: at?.rttS ?? 0,
    wasInRecovery: at !== undefined && at.lossState !== OPEN,
    detection: null,
    timeoutsS: [],
    reduction: null,
    ssthreshPackets: Number.NaN,
    retransmissionsS: again.map(({ timeS }) => timeS),
    droppedAgainS: packetEvents
      .filter(({ kind, timeS }) => kind === DROP && timeS > signal.timeS)
      .map(({ timeS }) => timeS),
    acknowledgedS: acknowledged?.timeS ?? null,
    restoredS: null,
    nextLossS: null,
    isComplete: false,
  };
  if (first === 0) return story;
  const detection =
    signal.kind === "marked" ? detectMark(states, first, signal) : detectLoss(states, first, story);
  story.timeoutsS = states
    .filter((_, place) => place >= first && timesOut(states, place))
    .map(({ timeS }) => timeS)
    .filter((timeS) => timeS <= (story.acknowledgedS ?? untilS));
  if (!detection) return story;
  const place = detection.index;
  const state = states[place];
  if (!state) return story;
  story.detection = { timeS: state.timeS, method: detection.method, sndUna: state.sndUna };
  const { lowest, over } = reductionOf(states, place, signal.kind);
  const before = states[place - 1]?.cwndPackets ?? Number.NaN;
  const low = states[lowest];
  if (low && detection.method !== "same_recovery" && low.cwndPackets < SAME_WINDOW * before) {
    story.reduction = { timeS: low.timeS, fromPackets: before, toPackets: low.cwndPackets };
    story.ssthreshPackets = low.ssthreshPackets;
    const back = states.slice(lowest).find(({ cwndPackets }) => cwndPackets >= before);
    story.restoredS = back?.timeS ?? null;
  }
  const next = states.findIndex((_, later) => later > over && startsRecovery(states, later));
  story.nextLossS = states[next]?.timeS ?? null;
  story.isComplete =
    story.acknowledgedS !== null && (!story.reduction || !!(story.restoredS ?? story.nextLossS));
  return story;
}

interface DetectionPoint {
  /** Index of the state. */
  index: number;
  method: DetectionMethod;
}

/** Finds the detection of a loss: the start of a recovery, or the retransmission during one. */
function detectLoss(states: readonly SenderState[], first: number, story: Story): DetectionPoint | null {
  const { retransmissionsS, acknowledgedS } = story;
  const end = Math.min(
    retransmissionsS[0] ?? Number.POSITIVE_INFINITY,
    acknowledgedS ?? Number.POSITIVE_INFINITY,
  );
  const isDue = ({ timeS }: SenderState): boolean => timeS <= end;
  for (let place = first; place < states.length; place += 1) {
    const state = states[place];
    if (!state || !isDue(state)) break;
    if (timesOut(states, place)) return { index: place, method: "timeout" };
    if (startsRecovery(states, place)) return { index: place, method: "recovery" };
  }
  if (end === Number.POSITIVE_INFINITY) return null;
  let last: DetectionPoint | null = null;
  for (let place = first; place < states.length; place += 1) {
    const [before, state] = [states[place - 1], states[place]];
    if (!before || !state || !isDue(state)) break;
    if (state.retransmissions > before.retransmissions) last = { index: place, method: "same_recovery" };
  }
  return last;
}

/** Finds the acknowledgment of a marked packet. */
function detectMark(
  states: readonly SenderState[],
  first: number,
  { packet }: Signal,
): DetectionPoint | null {
  const place = states.findIndex((it, later) => later >= first && it.sndUna > packet);
  return place < 0 ? null : { index: place, method: "echo" };
}

/** Finds the state with the lowest window between a detection and the end of the recovery, and that end. */
function reductionOf(
  states: readonly SenderState[],
  from: number,
  kind: Signal["kind"],
): { lowest: number; over: number } {
  const open = states.findIndex(({ lossState }, place) => place >= from && lossState === OPEN);
  const over = open < 0 ? states.length - 1 : open;
  if (kind === "marked") return { lowest: from, over: from };
  let lowest = from;
  for (let place = from; place <= over; place += 1) {
    const [low, here] = [states[lowest], states[place]];
    if (low && here && here.cwndPackets < low.cwndPackets) lowest = place;
  }
  return { lowest, over };
}

function timesOut(states: readonly SenderState[], place: number): boolean {
  const [before, state] = [states[place - 1], states[place]];
  return !!before && !!state && state.timeouts > before.timeouts;
}

/** Whether a recovery starts at a state. */
function startsRecovery(states: readonly SenderState[], place: number): boolean {
  const [before, state] = [states[place - 1], states[place]];
  if (!before || !state) return false;
  return (before.lossState === OPEN && state.lossState === RECOVERY) || timesOut(states, place);
}
