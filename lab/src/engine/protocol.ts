/** Protocol between the page and a worker that runs the engines. */

import type { Refusal } from "./instance.ts";

/** Quantity as the scenario's text writes it, with its number in bit/s or seconds. */
export interface Quantity {
  text: string;
  value: number;
}

/** Unresponsive traffic with a constant mean rate. */
export interface Load {
  kind: "poisson" | "cbr";
  rate_bps: number;
  /** Lines of the first such group in the text; null if the group has no lines of its own. */
  text: string | null;
}

/** Values of the controls of a group. */
export interface GroupControls {
  /** Key of the group in changes. */
  key: string;
  name: string;
  /** Whether the key `count` of the group gives the number of its flows. */
  counted: boolean;
  count: number | null;
  /** Name of the congestion control; null for unresponsive traffic. */
  controller: string | null;
  rtt: (Quantity & { jitter: Quantity | null }) | null;
  load: Load | null;
}

/**
 * Values of all controls, from crates/browser/src/controls.rs. A null value can be changed only in the text.
 */
export interface Controls {
  rate: Quantity | null;
  buffer: (Quantity & { unit: string }) | null;
  queue: string;
  /** Threshold above which the queue `step` marks packets. */
  threshold: (Quantity & { unit: string }) | null;
  groups: GroupControls[];
}

/** Condition that a buffer must meet, in the unit of reports. */
export interface Goal {
  group: string | null;
  metric: string;
  at_least: boolean;
  bound: number;
  text: string;
}

/** Change to a scenario's text. */
export type Change =
  /** Assignment of a key: `key=value`. */
  | { set: string }
  /** Removal of a key or a group, such as `flows.background`. */
  | { remove: string }
  /** Lines of a new group. */
  | { add_group: string };

/** Resolved scenario, from crates/browser/src/answer.rs. */
export interface Resolved {
  title: string;
  sha256: string;
  canonical: string;
  seed: number;
  replications: number;
  warmup_s: number;
  measure_s: number;
  most_events: number;
  trace_every_s: number;
  buffer: { packets: number; bytes: number; seconds: number; bdp: number | null };
  packet_bytes: number;
  bdp_packets: number | null;
  target: number;
  links: { name: string; queue: string; rate_bps: number; rate_changes: boolean }[];
  groups: { name: string; count: number; controller: string; responsive: boolean; first_flow: number }[];
  goals: Goal[];
  controls: Controls;
}

/** Answer of the engines to the start of a run. */
export interface Started {
  end_s: number;
  end_ps: string;
}

/** Parts of a run that its pictures show. */
export interface RunView {
  /** Largest number of packet events between two pictures. */
  packetEvents: number;
  /** Number of flows in a picture. */
  flows: number;
  /** Number of flows whose windows are in the chart. */
  windows: number;
  /** Largest number of columns of the chart. */
  columns: number;
}

/** Whether the page can play a scenario, from crates/browser/src/playable.rs. */
export interface Playable {
  playable: boolean;
  memory_bytes: number;
  most_memory_bytes: number;
  most_events: number;
  /** Reason of the refusal, and the key that causes it. */
  reason: Refusal | null;
  /** Change with which the page can play the scenario, if a shorter run is enough. */
  shorten: { key: string; value: string } | null;
}

/** Message to a worker. Each run has a number, and messages of an older run are ignored. */
export type WorkerRequest =
  | { kind: "load"; module: WebAssembly.Module }
  /**
   * Request to the engines. The worker itself serves three values of `do`: `whole` runs to the end,
   * `state_history` and `samples` replay a run.
   */
  | { kind: "ask"; ticket: number; request: object }
  | { kind: "start"; run: number; text: string; overrides: string[]; modules: string[]; view: RunView }
  /** Asks for a sign of life. */
  | { kind: "ping" }
  /** Continues the run at `pace` simulated seconds per second; null means as fast as possible. */
  | { kind: "play"; run: number; pace: number | null }
  | { kind: "pause"; run: number }
  /** Advances the run by `seconds` simulated seconds at once. */
  | { kind: "step"; run: number; seconds: number }
  /** Reports that the page has shown the last picture. */
  | { kind: "seen"; run: number };

/** Message from a worker. */
export type WorkerMessage =
  | { kind: "loaded" }
  | { kind: "alive" }
  | { kind: "answer"; ticket: number; answer: unknown }
  | { kind: "no answer"; ticket: number; refusal: Refusal }
  | { kind: "started"; run: number; endS: number }
  | { kind: "picture"; run: number; figures: Float64Array<ArrayBuffer>; eventsPerSecond: number }
  | { kind: "ended"; run: number; report: unknown }
  | { kind: "refused"; run: number; refusal: Refusal };
