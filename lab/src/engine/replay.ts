/**
 * The same run once more, quietly: a run is determined by its scenario and its seed, so whatever a picture was too
 * coarse for can be looked up exactly. Here is what one flow did around a loss, and a trace at equal distances.
 */

import { storyOf } from "../loss_story.ts";
import type { LinkFigures, Picture, Sighting, Standing } from "./figures.ts";
import type { Run } from "./player.ts";

/** A packet that was dropped or marked at the link. */
export interface Signal {
  kind: "dropped" | "marked";
  timeS: number;
  flow: number;
  group: number;
  packet: number;
  bytes: number;
  acknowledges: boolean;
}

/** What is asked of a replay: what a flow did around a signal. */
export interface CourseAsked {
  signal: Signal;
  /** Seconds before it from which on the flow is followed. */
  beforeS: number;
  /** A round trip, where the flow has measured none. */
  roundTripS: number;
  /** Number of the link that is looked at. */
  target: number;
  /** Whether the flow has congestion control: only then it is followed. */
  responsive: boolean;
}

/** How a flow stood around a signal. */
export interface Course {
  standings: Standing[];
  /** What was seen of the same packet at the link from the signal on. */
  sightings: Sighting[];
  /** Packets that waited at the link just behind the signal. */
  waitingPackets: number;
  /** Up to where it is known, in seconds. */
  untilS: number;
  /** Whether the run ended there. */
  hasEnded: boolean;
  /** Whether more happened than was kept. */
  isCut: boolean;
}

/** What is asked of a replay: a trace. */
export interface SamplesAsked {
  everyS: number;
  untilS: number;
  flows: number;
  /** Number of the link that is looked at. */
  target: number;
}

/** A trace. */
export interface Samples {
  /** The flows whose windows stand in it, in the order of their columns. */
  flows: { flow: number; group: number }[];
  /** Time, packets waiting, seconds until they have left, utilization, drops, marks, then each flow's window: null
   * while it has nothing to send, and missing before it is there. */
  rows: (number | null)[][];
}

/** A run that shows more than a player needs. */
export interface Watched extends Run {
  watch(most: number): void;
  follow(group: number, flow: number): void;
}

/** How a run is read, and when it has taken too long. */
export interface Reading {
  read: (figures: Float64Array) => Picture;
  /** Throws where it has. */
  check: () => void;
}

/** Round trips behind a signal that are shown at least, and the most until the window has grown back. */
export const SHOWN_ROUNDS = 20;
const MOST_ROUNDS = 200;
/** Rounds between two looks at whether that is so. */
const LOOK_ROUNDS = 5;
/** Events between two pictures: fewer sightings than are kept. */
const EVENTS = 10_000;
const SIGHTINGS = 1 << 16;
/** The most changes that are kept of a flow. */
const MOST_STANDINGS = 200_000;
const PICOS = 1e12;

function picos(seconds: number): bigint {
  return BigInt(Math.round(seconds * PICOS));
}

/** Lets a run that has not begun go on to the signal and beyond, and tells what its flow did. */
export function courseOf(run: Watched, asked: CourseAsked, { read, check }: Reading): Course {
  const { signal, target } = asked;
  const { timeS, flow, group, packet } = signal;
  advance(run, picos(Math.max(0, timeS - asked.beforeS)), check);
  run.watch(SIGHTINGS);
  if (asked.responsive) run.follow(group, flow);
  const course: Course = {
    standings: [],
    sightings: [],
    waitingPackets: 0,
    untilS: timeS,
    hasEnded: false,
    isCut: false,
  };
  const isIt = (it: Sighting): boolean =>
    it.flow === flow && it.group === group && it.packet === packet && !it.acknowledges && it.timeS >= timeS;
  /** Goes on, and looks often enough to miss nothing: what the target link shows then. */
  const goOn = (until: bigint): LinkFigures | undefined => {
    let link: LinkFigures | undefined;
    while (!course.hasEnded && run.now() < until && !course.isCut) {
      course.hasEnded = run.advance(until, EVENTS);
      check();
      const picture = read(run.look(0));
      for (const standing of picture.standings) course.standings.push(standing);
      course.sightings.push(...picture.sightings.filter(isIt));
      link = picture.links[target];
      course.untilS = picture.timeS;
      course.isCut =
        picture.missedStandings + picture.missedSightings > 0 || course.standings.length > MOST_STANDINGS;
    }
    return link;
  };
  // All that happens at the very instant has happened.
  course.waitingPackets = goOn(picos(timeS) + 1n)?.waitingPackets ?? 0;
  if (!asked.responsive) return course;
  const round = storyOf(signal, course).rttS || asked.roundTripS;
  for (let rounds = LOOK_ROUNDS; rounds <= MOST_ROUNDS && !course.isCut; rounds += LOOK_ROUNDS) {
    goOn(picos(timeS + rounds * round));
    if (rounds >= SHOWN_ROUNDS && storyOf(signal, course).isWhole) break;
  }
  return course;
}

/** A run that has not begun, at equal distances. */
export function samplesOf(run: Run, asked: SamplesAsked, { read, check }: Reading): Samples {
  const places = new Map<string, number>();
  const samples: Samples = { flows: [], rows: [] };
  const until = picos(asked.untilS);
  for (let [sample, hasEnded] = [0, false]; !hasEnded; sample += 1) {
    const at = picos(sample * asked.everyS);
    if (at > until) break;
    hasEnded = advance(run, at, check);
    const { timeS, links, flows } = read(run.look(asked.flows));
    const link = links[asked.target];
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
    hasEnded = run.advance(until, EVENTS);
    check();
  }
  return hasEnded;
}
