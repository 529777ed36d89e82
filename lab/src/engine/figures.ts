/** Pictures of a run: the row of numbers that crates/browser/src/picture.rs writes, by names of its columns. */

/** The columns of pictures, as `describe` tells them. */
export interface Columns {
  header: string[];
  link: string[];
  flow: string[];
  sighting: string[];
  standing: string[];
}

/** What the engines say of themselves. */
export interface Description {
  version: string;
  engines: string[];
  most_request_bytes: number;
  most_memory_bytes: number;
  most_flows: number;
  most_sightings: number;
  columns: Columns;
  /** Congestion controllers and queue disciplines, by their names in scenarios. */
  controllers: { name: string; title: string }[];
  disciplines: { name: string; title: string }[];
}

/** A link at a moment. */
export interface LinkFigures {
  waitingPackets: number;
  backlogS: number;
  utilization: number;
  arrivals: number;
  drops: number;
  marks: number;
}

/** A flow at a moment. */
export interface FlowFigures {
  flow: number;
  group: number;
  isActive: boolean;
  cwndPackets: number;
  ssthreshPackets: number;
  rttS: number;
  delivered: number;
  retransmissions: number;
  timeouts: number;
  arrived: number;
  dropped: number;
}

export const ARRIVES = 0;
export const DEPARTS = 1;
export const DEPARTS_MARKED = 2;
export const IS_DROPPED = 3;

/** A packet at the link that reports speak of. */
export interface Sighting {
  timeS: number;
  happening: number;
  flow: number;
  group: number;
  packet: number;
  bytes: number;
  /** Whether it is an acknowledgment on its way over the link. */
  acknowledges: boolean;
}

export const OPEN = 0;
export const RECOVERY = 1;
export const TIMEOUT = 2;

/** How the flow that is followed stands from some instant on. */
export interface Standing {
  timeS: number;
  isActive: boolean;
  /** What it knows to be lost: OPEN, RECOVERY or TIMEOUT. */
  state: number;
  cwndPackets: number;
  ssthreshPackets: number;
  rttS: number;
  /** The lowest packet that it has no acknowledgment of. */
  unacknowledged: number;
  retransmissions: number;
  timeouts: number;
}

/** A run at a moment. */
export interface Picture {
  timeS: number;
  events: number;
  hasEnded: boolean;
  links: LinkFigures[];
  flows: FlowFigures[];
  /** In the order in which the engine came to them; none where any were missed. */
  sightings: Sighting[];
  missedSightings: number;
  standings: Standing[];
  missedStandings: number;
}

type Row = (name: string) => number;

/** Reads pictures; the columns may stand in any order, and more of them may come. */
export function reader(columns: Columns): (figures: Float64Array) => Picture {
  const places = (names: string[]): Map<string, number> => new Map(names.map((name, at) => [name, at]));
  const of = {
    header: places(columns.header),
    link: places(columns.link),
    flow: places(columns.flow),
    sighting: places(columns.sighting),
    standing: places(columns.standing),
  };
  return (figures) => {
    let at = 0;
    const row = (kind: keyof Columns): Row => {
      const begin = at;
      at += columns[kind].length;
      return (name) => {
        const place = of[kind].get(name);
        if (place === undefined) throw new Error(`pictures have no column ${kind}.${name}`);
        return figures[begin + place] ?? Number.NaN;
      };
    };
    const rows = <T>(count: number, kind: keyof Columns, make: (row: Row) => T): T[] =>
      Array.from({ length: count }, () => make(row(kind)));
    const passed = (count: number, kind: keyof Columns): never[] => {
      at += count * columns[kind].length;
      return [];
    };
    const header = row("header");
    const missedSightings = header("missed_sightings");
    return {
      timeS: header("time_s"),
      events: header("events"),
      hasEnded: header("ended") !== 0,
      links: rows(header("links"), "link", linkOf),
      flows: rows(header("flows"), "flow", flowOf),
      // Where some were missed nobody can follow packets, and these are many: they are not worth their time.
      sightings:
        missedSightings > 0
          ? passed(header("sightings"), "sighting")
          : rows(header("sightings"), "sighting", sightingOf),
      missedSightings,
      standings: rows(header("standings"), "standing", standingOf),
      missedStandings: header("missed_standings"),
    };
  };
}

function linkOf(row: Row): LinkFigures {
  return {
    waitingPackets: row("waiting_packets"),
    backlogS: row("backlog_s"),
    utilization: row("utilization"),
    arrivals: row("arrivals"),
    drops: row("drops"),
    marks: row("marks"),
  };
}

function flowOf(row: Row): FlowFigures {
  return {
    flow: row("flow"),
    group: row("group"),
    isActive: row("active") !== 0,
    cwndPackets: row("cwnd_packets"),
    ssthreshPackets: row("ssthresh_packets"),
    rttS: row("rtt_s"),
    delivered: row("delivered"),
    retransmissions: row("retransmissions"),
    timeouts: row("timeouts"),
    arrived: row("arrived"),
    dropped: row("dropped"),
  };
}

function sightingOf(row: Row): Sighting {
  return {
    timeS: row("time_s"),
    happening: row("happening"),
    flow: row("flow"),
    group: row("group"),
    packet: row("packet"),
    bytes: row("bytes"),
    acknowledges: row("acknowledges") !== 0,
  };
}

function standingOf(row: Row): Standing {
  return {
    timeS: row("time_s"),
    isActive: row("active") !== 0,
    state: row("state"),
    cwndPackets: row("cwnd_packets"),
    ssthreshPackets: row("ssthresh_packets"),
    rttS: row("rtt_s"),
    unacknowledged: row("unacknowledged"),
    retransmissions: row("retransmissions"),
    timeouts: row("timeouts"),
  };
}
