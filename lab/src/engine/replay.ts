/**
 * Replay of a run. Scenario and seed determine a run, so a replay gives exact values that pictures were too
 * coarse to show: the states of one sender around a loss, and a trace at equal intervals.
 */

import { storyOf } from "../loss_story.ts";
import type { LinkFigures, PacketEvent, Picture, SenderState } from "./figures.ts";
import type { Run } from "./player.ts";

/** Congestion signal: a packet that the link dropped or marked. */
export interface Signal {
  kind: "dropped" | "marked";
  timeS: number;
  flow: number;
  group: number;
  packet: number;
  bytes: number;
  isAck: boolean;
}

/** Request for the history of a sender around a signal. */
export interface StateHistoryRequest {
  signal: Signal;
  /** Time before the signal at which recording starts, in seconds. */
  beforeS: number;
  /** Round-trip time in seconds, used if the flow has not measured one. */
  roundTripS: number;
  /** Number of the target link. */
  target: number;
  /** Whether the flow has congestion control. Only such a flow has a recorded state. */
  responsive: boolean;
}

/** History of a sender around a signal. */
export interface StateHistory {
  states: SenderState[];
  /** Events of the same packet at the link from the signal on. */
  packetEvents: PacketEvent[];
  /** Packets in the queue right after the signal. */
  waitingPackets: number;
  /** End of the history, in seconds. */
  untilS: number;
  /** Whether the run ended at that time. */
  hasEnded: boolean;
  /** Whether the record is incomplete because it reached its limit. */
  isTruncated: boolean;
}

/** Request for a trace. */
export interface SamplesRequest {
  everyS: number;
  untilS: number;
  flows: number;
  /** Number of the target link. */
  target: number;
}

/** Trace at equal intervals. */
export interface Samples {
  /** Flows with a window column, in the order of the columns. */
  flows: { flow: number; group: number }[];
  /**
   * Columns: time, packets in the queue, seconds until these have left, utilization, drops, marks, then the
   * window of each flow. A window is null while its flow has nothing to send, and missing before the flow
   * exists.
   */
  rows: (number | null)[][];
}

/** Run that can record packet events and sender states. */
export interface ObservableRun extends Run {
  watch(limit: number): void;
  follow(group: number, flow: number): void;
}

/** Decoder of pictures, and the check of the time limit. */
export interface ReplayContext {
  read: (figures: Float64Array) => Picture;
  /** Throws if the replay has taken too long. */
  check: () => void;
}

/**
 * Smallest number of round trips that are shown after a signal, and the largest number until the window has
 * recovered.
 */
export const SHOWN_ROUNDS = 20;
const MAX_ROUNDS = 200;
/** Round trips between two checks of whether the window has recovered. */
const CHECK_ROUNDS = 5;
/** Events between two pictures. They give fewer packet events than the record holds. */
const EVENTS_PER_CALL = 10_000;
const MAX_PACKET_EVENTS = 1 << 16;
/** Largest number of recorded states of a flow. */
const MAX_STATES = 200_000;
const PICOSECONDS = 1e12;

function picoseconds(seconds: number): bigint {
  return BigInt(Math.round(seconds * PICOSECONDS));
}

/** Advances a new run to the signal and beyond, and returns the history of the sender. */
export function stateHistoryOf(
  run: ObservableRun,
  request: StateHistoryRequest,
  { read, check }: ReplayContext,
): StateHistory {
  const { signal, target } = request;
  const { timeS, flow, group, packet } = signal;
  advance(run, picoseconds(Math.max(0, timeS - request.beforeS)), check);
  run.watch(MAX_PACKET_EVENTS);
  if (request.responsive) run.follow(group, flow);
  const history: StateHistory = {
    states: [],
    packetEvents: [],
    waitingPackets: 0,
    untilS: timeS,
    hasEnded: false,
    isTruncated: false,
  };
  const isSamePacket = (it: PacketEvent): boolean =>
    it.flow === flow && it.group === group && it.packet === packet && !it.isAck && it.timeS >= timeS;
  /** Advances often enough to miss no event, and returns the state of the target link at the end. */
  const advanceTo = (until: bigint): LinkFigures | undefined => {
    let link: LinkFigures | undefined;
    while (!history.hasEnded && run.now() < until && !history.isTruncated) {
      history.hasEnded = run.advance(until, EVENTS_PER_CALL);
      check();
      const picture = read(run.look(0));
      for (const state of picture.senderStates) history.states.push(state);
      history.packetEvents.push(...picture.packetEvents.filter(isSamePacket));
      link = picture.links[target];
      history.untilS = picture.timeS;
      history.isTruncated =
        picture.missedSenderStates + picture.missedPacketEvents > 0 || history.states.length > MAX_STATES;
    }
    return link;
  };
  // All events of that very instant have happened.
  history.waitingPackets = advanceTo(picoseconds(timeS) + 1n)?.waitingPackets ?? 0;
  if (!request.responsive) return history;
  const round = storyOf(signal, history).rttS || request.roundTripS;
  for (let rounds = CHECK_ROUNDS; rounds <= MAX_ROUNDS && !history.isTruncated; rounds += CHECK_ROUNDS) {
    advanceTo(picoseconds(timeS + rounds * round));
    if (rounds >= SHOWN_ROUNDS && storyOf(signal, history).isComplete) break;
  }
  return history;
}

/** Samples a new run at equal intervals. */
export function samplesOf(run: Run, request: SamplesRequest, { read, check }: ReplayContext): Samples {
  const places = new Map<string, number>();
  const samples: Samples = { flows: [], rows: [] };
  const until = picoseconds(request.untilS);
  for (let [sample, hasEnded] = [0, false]; !hasEnded; sample += 1) {
    const at = picoseconds(sample * request.everyS);
    if (at > until) break;
    hasEnded = advance(run, at, check);
    const { timeS, links, flows } = read(run.look(request.flows));
    const link = links[request.target];
    const windows: (number | null)[] = samples.flows.map(() => null);
    for (const { flow, group, isActive, cwndPackets } of flows) {
      const key = `${group} ${flow}`;
      if (!places.has(key)) places.set(key, samples.flows.push({ flow, group }) - 1);
      windows[places.get(key) ?? 0] = isActive ? cwndPackets : null;
    }
    const { waitingPackets = null, backlogS = null, utilization = null } = link ?? {};
    const { drops = null, marks = null } = link ?? {};
    samples.rows.push([timeS, waitingPackets, backlogS, utilization, drops, marks, ...windows]);
  }
  return samples;
}

function advance(run: Run, until: bigint, check: () => void): boolean {
  let hasEnded = false;
  while (!hasEnded && run.now() < until) {
    hasEnded = run.advance(until, EVENTS_PER_CALL);
    check();
  }
  return hasEnded;
}
