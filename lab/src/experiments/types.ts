/** What a guided experiment is: a question, a guess, a few runs, and what is read from their reports. */

import type { Report } from "../model.ts";
import { digits, rate, share, time } from "../numbers.ts";

/** A run: the scenario with a few of its keys changed. */
export interface Run {
  name: string;
  overrides: readonly string[];
  /** The engine, where it is not that of packets. */
  engine?: "fluid";
}

/** A column of the table: `utilization`, or a group's as in `cubic.goodput_bps`. */
export interface Column {
  title: string;
  metric: string;
  unit: keyof typeof UNITS;
}

/** An answer to choose, and whether the numbers bear it out. Of an experiment's answers exactly one is right. */
export interface Option {
  text: string;
  holds: (found: Results) => boolean;
}

/** What the visitor says before the runs. */
export type Prediction =
  | { kind: "choice"; options: readonly Option[] }
  /** A curve of a share, a point for each run. */
  | { kind: "curve"; metric: string; axis: string };

export interface Experiment {
  id: string;
  title: string;
  question: string;
  prediction: Prediction;
  /** Scenario text, which each run changes. */
  scenario: string;
  watch: string;
  runs: readonly Run[];
  columns: readonly Column[];
  /** The explanation, with numbers from the runs. */
  happened: (found: Results) => string;
  /** What the explanation takes for granted. */
  claim: (found: Results) => boolean;
  /** Who asked first, what they said, and how the runs compare with that. */
  paper: { source: string; said: string; compared?: (found: Results) => string };
}

const UNITS = {
  share,
  time,
  rate,
  number: (value: number): string => digits(value),
} as const;

/** A number of a column as it is shown. */
export function shown(column: Pick<Column, "unit">, value: number): string {
  return UNITS[column.unit](value);
}

/** Reports of an experiment's runs, in their order. */
export class Results {
  readonly #reports: readonly Report[];

  constructor(reports: readonly Report[]) {
    this.#reports = reports;
  }

  /** A metric of a run by its number from 0; not a number where the report has none. */
  of(run: number, metric: string): number {
    const report = this.#reports[run];
    const dot = metric.indexOf(".");
    if (dot < 0) return report?.metrics[metric]?.mean ?? Number.NaN;
    const group = report?.groups?.find(({ name }) => name === metric.slice(0, dot));
    return group?.metrics[metric.slice(dot + 1)]?.mean ?? Number.NaN;
  }

  share(run: number, metric = "utilization"): string {
    return share(this.of(run, metric));
  }

  time(run: number, metric = "queue_delay_p99_s"): string {
    return time(this.of(run, metric));
  }

  rate(run: number, metric: string): string {
    return rate(this.of(run, metric));
  }

  /** A metric as a share of a whole in the same unit. */
  part(run: number, metric: string, whole: number): string {
    return share(this.of(run, metric) / whole);
  }

  /** How far a share rises from one run to another, in points. */
  points(from: number, to: number, metric = "utilization"): string {
    const gain = this.of(to, metric) - this.of(from, metric);
    return Number.isFinite(gain) ? `${(100 * gain).toFixed(1)} points` : "–";
  }
}

/** The answer that the numbers bear out; -1 where none does. */
export function rightOption(options: readonly Option[], found: Results): number {
  return options.findIndex(({ holds }) => holds(found));
}

export const UTILIZATION: Column = { title: "link used", metric: "utilization", unit: "share" };
export const LOSS: Column = { title: "lost", metric: "loss_rate", unit: "share" };
export const DELAY: Column = { title: "99 of 100 wait less than", metric: "queue_delay_p99_s", unit: "time" };
