/**
 * Structure of a guided experiment: a question, a prediction, a few runs, and an explanation with their
 * results.
 */

import type { Report } from "../model.ts";
import { digits, rate, share, time } from "../numbers.ts";

/** Run: the scenario with overrides. */
export interface Run {
  name: string;
  overrides: readonly string[];
  /** Engine; the packet-level model by default. */
  engine?: "fluid";
}

/** Column of the table: a metric such as `utilization`, or one of a group or of another link such as `cubic.goodput_bps`. */
export interface Column {
  title: string;
  metric: string;
  unit: keyof typeof UNITS;
}

/** Possible answer, with a check against the results. Exactly one answer of an experiment is right. */
export interface Option {
  text: string;
  holds: (found: Results) => boolean;
}

/** Prediction that the page asks for before the runs. */
export type Prediction =
  | { kind: "choice"; options: readonly Option[] }
  /** Curve of a share, with a point for each run. */
  | { kind: "curve"; metric: string; axis: string };

/** Number line on which the answers of a choice are regions and the result is a point. */
export interface Scale {
  title: string;
  unit: string;
  /** Measured value. */
  value: (found: Results) => number;
  /** Bounds between regions, in ascending order, and the number of the answer for each region. */
  bounds: readonly number[];
  answers: readonly number[];
  range: readonly [number, number];
  isLog?: boolean;
}

/** Row of an experiment's sketch: senders, a queue, and a link. */
export interface SketchRow {
  /** Number of senders. */
  flows: number;
  /** Length of the queue's box and its filled part, from 0 to 1. */
  buffer: number;
  fill: number;
  /**
   * Whether each flow has a queue, packets come in bursts, packets have marks, packets are lost, or a pause stops
   * the senders.
   */
  has?: readonly ("lanes" | "bursts" | "marks" | "losses" | "pauses")[];
}

/** Guide of an experiment: what a visitor sees before and after its runs. */
export interface Guide {
  rows: readonly SketchRow[];
  /** Reason for the result, in one sentence. */
  reason: string;
  /** Meaning of the result for a buffer, in one sentence. */
  meaning: string;
  /** Addresses of the papers. */
  links: readonly { title: string; url: string }[];
  /** Number line of a choice. */
  scale?: Scale;
}

/** Experiment of the page, with its guide. */
export type GuidedExperiment = Experiment & Guide & { level: number };

export interface Experiment {
  id: string;
  title: string;
  question: string;
  prediction: Prediction;
  /** Text of the scenario, which each run overrides. */
  scenario: string;
  watch: string;
  runs: readonly Run[];
  columns: readonly Column[];
  /** Explanation with numbers from the runs. */
  explanation: (found: Results) => string;
  /** Condition under which the explanation is true. */
  claim: (found: Results) => boolean;
  /** Paper: source, result, and comparison with the runs. */
  paper: { source: string; result: string; comparison?: (found: Results) => string };
}

const UNITS = {
  share,
  time,
  rate,
  number: (value: number): string => digits(value),
} as const;

/** Formats a value of a column. */
export function formatted(column: Pick<Column, "unit">, value: number): string {
  return UNITS[column.unit](value);
}

/** Reports of an experiment's runs, in their order. */
export class Results {
  readonly #reports: readonly Report[];

  constructor(reports: readonly Report[]) {
    this.#reports = reports;
  }

  /** Value of a metric of a run, counted from 0; NaN if the report does not have it. */
  value(run: number, metric: string): number {
    const report = this.#reports[run];
    const dot = metric.indexOf(".");
    if (dot < 0) return report?.metrics[metric]?.mean ?? Number.NaN;
    const parts = [...(report?.groups ?? []), ...(report?.links ?? [])];
    const part = parts.find(({ name }) => name === metric.slice(0, dot));
    return part?.metrics[metric.slice(dot + 1)]?.mean ?? Number.NaN;
  }

  share(run: number, metric = "utilization"): string {
    return share(this.value(run, metric));
  }

  time(run: number, metric = "queue_delay_p99_s"): string {
    return time(this.value(run, metric));
  }

  rate(run: number, metric: string): string {
    return rate(this.value(run, metric));
  }

  /** Formats a metric as a share of `whole`, in the same unit. */
  part(run: number, metric: string, whole: number): string {
    return share(this.value(run, metric) / whole);
  }

  /** Formats the increase of a share between two runs, in percentage points. */
  points(from: number, to: number, metric = "utilization"): string {
    const gain = this.value(to, metric) - this.value(from, metric);
    // Adding zero removes the sign of a rounded -0.0.
    return Number.isFinite(gain) ? `${(Math.round(1000 * gain) / 10 + 0).toFixed(1)} percentage points` : "–";
  }
}

/** Sentences about the difference between the numbers of an answer and those of the picture. */
export function pictureNote({ runs }: Pick<Experiment, "runs">): string {
  if (runs.every(({ engine }) => engine === "fluid"))
    return "These numbers come from the fluid model. The picture plays the packet-level model of the same link, so its numbers differ.";
  return "These numbers cover whole runs after their warm-up. The numbers below the picture cover the last moments of one run, so they differ until that run is complete.";
}

/** Index of the right answer; -1 if there is none. */
export function rightOption(options: readonly Option[], found: Results): number {
  return options.findIndex(({ holds }) => holds(found));
}

export const UTILIZATION: Column = { title: "utilization", metric: "utilization", unit: "share" };
export const LOSS: Column = { title: "loss rate", metric: "loss_rate", unit: "share" };
export const DELAY: Column = {
  title: "queueing delay, 99th percentile",
  metric: "queue_delay_p99_s",
  unit: "time",
};
