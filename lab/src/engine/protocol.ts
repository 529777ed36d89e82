/** What the page and a worker that runs the engines say to each other. */

import type { Refusal } from "./instance.ts";

/** A quantity as the text writes it, and its number: bit/s, or seconds. */
export interface Quantity {
  text: string;
  value: number;
}

/** Unresponsive packets of a constant rate. */
export interface Load {
  kind: "poisson" | "cbr";
  rate_bps: number;
  /** The lines of the first such group; null where it has none of its own. */
  text: string | null;
}

/** The values that a group's controls show. */
export interface GroupControls {
  /** The group's name in changes. */
  key: string;
  name: string;
  /** Whether its own key gives the number of its flows. */
  counted: boolean;
  count: number | null;
  /** Null without congestion control. */
  controller: string | null;
  rtt: (Quantity & { jitter: Quantity | null }) | null;
  load: Load | null;
}

/** The values that all controls show: crates/browser/src/controls.rs. Only the text can change a null. */
export interface Controls {
  rate: Quantity | null;
  buffer: (Quantity & { unit: string }) | null;
  queue: string;
  groups: GroupControls[];
}

/** A condition that a buffer must meet, in the unit of reports. */
export interface Goal {
  group: string | null;
  metric: string;
  at_least: boolean;
  bound: number;
  text: string;
}

/** A change to a scenario's text. */
export type Change =
  /** `key=value` */
  | { set: string }
  /** A key or a group, as in `flows.background`. */
  | { remove: string }
  /** The lines of a group. */
  | { add_group: string };

/** What a scenario says once it is resolved: crates/browser/src/answer.rs. */
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

/** A run that was begun. */
export interface Begun {
  end_s: number;
  end_ps: string;
}

/** To a worker. Every run has a number; what comes of an older one is not looked at. */
export type Order =
  | { kind: "load"; module: WebAssembly.Module }
  /** A request of crates/browser, or `whole`: a run to its end, at once. */
  | { kind: "ask"; ticket: number; request: object }
  | { kind: "begin"; run: number; text: string; overrides: string[]; sightings: number; flows: number }
  /** Go on, so many simulated seconds in a second; as fast as it goes where null. */
  | { kind: "play"; run: number; pace: number | null }
  | { kind: "pause"; run: number }
  /** Go on by so many simulated seconds, at once. */
  | { kind: "step"; run: number; seconds: number }
  /** The page has shown the last picture: the next one may come. */
  | { kind: "seen"; run: number };

/** From a worker. */
export type News =
  | { kind: "loaded" }
  | { kind: "answer"; ticket: number; answer: unknown }
  | { kind: "no answer"; ticket: number; refusal: Refusal }
  | { kind: "begun"; run: number; endS: number }
  | { kind: "picture"; run: number; figures: Float64Array<ArrayBuffer>; eventsPerSecond: number }
  | { kind: "ended"; run: number; report: unknown }
  | { kind: "refused"; run: number; refusal: Refusal };
