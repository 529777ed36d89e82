/**
 * Decoder of pictures: it reads the row of numbers that crates/browser/src/picture.rs writes, by column name.
 */

/**
 * Names of the columns of a picture, with the keys of the WebAssembly module. `sighting` is a packet event,
 * `standing` a sender state, and `column` and `band` are parts of the chart.
 */
export interface Columns {
  header: string[];
  link: string[];
  flow: string[];
  sighting: string[];
  standing: string[];
  column: string[];
  band: string[];
}

/** Description of the engines: their version, limits, columns and algorithms. */
export interface Description {
  version: string;
  engines: string[];
  most_request_bytes: number;
  most_memory_bytes: number;
  most_flows: number;
  most_sightings: number;
  /** Number of lost packets, and of marked packets, that the engines list: the latest ones. */
  most_signals: number;
  columns: Columns;
  /** Congestion controls and queue disciplines, with their names in scenarios. */
  controllers: { name: string; title: string }[];
  disciplines: { name: string; title: string }[];
}

/** State of a link at a moment. */
export interface LinkFigures {
  waitingPackets: number;
  backlogS: number;
  utilization: number;
  arrivals: number;
  drops: number;
  marks: number;
  /** Pauses by and of the link; null if it takes no part in any. */
  pauses: { isPaused: boolean; pausedS: number; pausedSenders: number; pausingS: number } | null;
}

/** State of a flow at a moment. */
export interface FlowFigures {
  flow: number;
  group: number;
  isActive: boolean;
  cwndPackets: number;
  ssthreshPackets: number;
  rttS: number;
  retransmissions: number;
  timeouts: number;
  arrived: number;
  dropped: number;
}

export const ARRIVAL = 0;
export const DEPARTURE = 1;
export const MARKED_DEPARTURE = 2;
export const DROP = 3;

/** Event of a packet at the target link. */
export interface PacketEvent {
  timeS: number;
  /** ARRIVAL, DEPARTURE, MARKED_DEPARTURE or DROP. */
  kind: number;
  flow: number;
  group: number;
  packet: number;
  bytes: number;
  /** Whether the packet is an acknowledgment that crosses the link. */
  isAck: boolean;
}

export const OPEN = 0;
export const RECOVERY = 1;
export const TIMEOUT = 2;

/** State of the followed sender since an instant. */
export interface SenderState {
  timeS: number;
  isActive: boolean;
  /** Loss state of the sender: OPEN, RECOVERY or TIMEOUT. */
  lossState: number;
  cwndPackets: number;
  ssthreshPackets: number;
  rttS: number;
  /** Number of the first packet without an acknowledgment (SND.UNA of RFC 9293, in packets). */
  sndUna: number;
  retransmissions: number;
  timeouts: number;
}

/** Smallest, largest and mean value of a quantity over an interval; NaN if it had no value. */
export interface Band {
  min: number;
  max: number;
  mean: number;
}

/** Interval of simulated time at the target link. */
export interface ChartColumn {
  losses: number;
  marks: number;
  /** Bytes that left the link. */
  bytes: number;
  /** Packets in the queue. */
  queue: Band;
  /** Congestion windows of the first flows, in packets. */
  windows: Band[];
}

/**
 * Part of the chart of a run. Its columns replace those from number `first` on. A column of another width
 * than before replaces all.
 */
export interface ChartPart {
  /** Width of a column in seconds; 0 if the run has no chart. Column `n` begins at `n` times the width. */
  widthS: number;
  first: number;
  columns: ChartColumn[];
}

/** State of a run at a moment. */
export interface Picture {
  timeS: number;
  events: number;
  hasEnded: boolean;
  /** Payload that all flows with congestion control have delivered since the beginning. */
  deliveredBytes: number;
  links: LinkFigures[];
  flows: FlowFigures[];
  /** Packet events in the order of the engine; empty if the engine missed any. */
  packetEvents: PacketEvent[];
  missedPacketEvents: number;
  senderStates: SenderState[];
  missedSenderStates: number;
  chart: ChartPart;
  /** Packets that were lost or marked last, each kind in the order of time. */
  signals: PacketEvent[];
  /** Numbers of all packets that were lost and marked since the beginning of the run. */
  dropped: number;
  marked: number;
}

type Row = (name: string) => number;
type Rows = <T>(count: number, kind: keyof Columns, make: (row: Row) => T) => T[];

/** Returns a decoder of pictures. The order of the columns is free, and unknown columns are ignored. */
export function reader(columns: Columns): (figures: Float64Array) => Picture {
  const places = (names: string[]): Map<string, number> => new Map(names.map((name, at) => [name, at]));
  const of = {
    header: places(columns.header),
    link: places(columns.link),
    flow: places(columns.flow),
    sighting: places(columns.sighting),
    standing: places(columns.standing),
    column: places(columns.column),
    band: places(columns.band),
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
    const rows: Rows = (count, kind, make) => Array.from({ length: count }, () => make(row(kind)));
    const skip = (count: number, kind: keyof Columns): never[] => {
      at += count * columns[kind].length;
      return [];
    };
    const header = row("header");
    const missedPacketEvents = header("missed_sightings");
    return {
      timeS: header("time_s"),
      events: header("events"),
      hasEnded: header("ended") !== 0,
      deliveredBytes: header("delivered_bytes"),
      links: rows(header("links"), "link", linkOf),
      flows: rows(header("flows"), "flow", flowOf),
      // With missed events no packet can be followed. The remaining events are many, so they are not decoded.
      packetEvents:
        missedPacketEvents > 0
          ? skip(header("sightings"), "sighting")
          : rows(header("sightings"), "sighting", packetEventOf),
      missedPacketEvents,
      senderStates: rows(header("standings"), "standing", senderStateOf),
      missedSenderStates: header("missed_standings"),
      chart: chartOf(header, rows),
      signals: rows(header("signals"), "sighting", packetEventOf),
      dropped: header("dropped"),
      marked: header("marked"),
    };
  };
}

function chartOf(header: Row, rows: Rows): ChartPart {
  const columns = rows(header("columns"), "column", (row) => ({
    losses: row("losses"),
    marks: row("marks"),
    bytes: row("bytes"),
    queue: bandOf(row),
  }));
  const bands = rows(header("bands"), "band", bandOf);
  const flows = columns.length > 0 ? bands.length / columns.length : 0;
  return {
    widthS: header("column_s"),
    first: header("first_column"),
    columns: columns.map((column, at) => ({
      ...column,
      windows: bands.slice(at * flows, (at + 1) * flows),
    })),
  };
}

function bandOf(row: Row): Band {
  return { min: row("min"), max: row("max"), mean: row("mean") };
}

function linkOf(row: Row): LinkFigures {
  return {
    waitingPackets: row("waiting_packets"),
    backlogS: row("backlog_s"),
    utilization: row("utilization"),
    arrivals: row("arrivals"),
    drops: row("drops"),
    marks: row("marks"),
    pauses: Number.isNaN(row("paused"))
      ? null
      : {
          isPaused: row("paused") !== 0,
          pausedS: row("paused_s"),
          pausedSenders: row("paused_senders"),
          pausingS: row("pausing_s"),
        },
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
    retransmissions: row("retransmissions"),
    timeouts: row("timeouts"),
    arrived: row("arrived"),
    dropped: row("dropped"),
  };
}

function packetEventOf(row: Row): PacketEvent {
  return {
    timeS: row("time_s"),
    kind: row("happening"),
    flow: row("flow"),
    group: row("group"),
    packet: row("packet"),
    bytes: row("bytes"),
    isAck: row("acknowledges") !== 0,
  };
}

function senderStateOf(row: Row): SenderState {
  return {
    timeS: row("time_s"),
    isActive: row("active") !== 0,
    lossState: row("state"),
    cwndPackets: row("cwnd_packets"),
    ssthreshPackets: row("ssthresh_packets"),
    rttS: row("rtt_s"),
    sndUna: row("unacknowledged"),
    retransmissions: row("retransmissions"),
    timeouts: row("timeouts"),
  };
}
