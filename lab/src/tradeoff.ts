/**
 * Trade-off between metrics over the buffer: packet-level runs in the background, the fluid model, and closed
 * forms. Replications of a buffer give its interval.
 */

import { keyWithoutBuffer } from "./comparison.ts";
import { Client } from "./engine/client.ts";
import { RefusedError } from "./engine/instance.ts";
import type { Resolved } from "./engine/protocol.ts";
import type { Report } from "./model.ts";
import { bufferOverride, isInBytes } from "./queue_unit.ts";
import { applies, type Rule } from "./rules.ts";

/** Displayed metrics, with their scale in the charts. */
export const METRICS = [
  { name: "utilization", title: "Utilization", scale: 100, unit: "%" },
  { name: "loss_rate", title: "Loss rate", scale: 100, unit: "%" },
  { name: "queue_delay_p99_s", title: "Queueing delay, 99th percentile", scale: 1000, unit: "ms" },
] as const;

export type MetricName = (typeof METRICS)[number]["name"];

/**
 * Metrics of the table. The mean and the 5th percentile describe the queue that is always there, which a sender such
 * as BBR is to keep short and which the 99th percentile does not show.
 */
export const TABLE_METRICS = [
  ...METRICS,
  { name: "queue_delay_mean_s", title: "Queueing delay, mean", scale: 1000, unit: "ms" },
  { name: "queue_delay_p05_s", title: "Queueing delay, 5th percentile", scale: 1000, unit: "ms" },
] as const;

type TableMetricName = (typeof TABLE_METRICS)[number]["name"];

/**
 * Buffers of the charts: their number, the smallest in packets, and the largest in bandwidth-delay products.
 */
const POINTS = 9;
const LEAST = 2;
const MAX_BDPS = 3;
/** Replications of each buffer. */
const REPLICATIONS = 3;
/** Largest number of buffers that one step of a search between two tested buffers adds. */
const SEARCH_STEPS = 4;
/** Time limit of a run in the background, in seconds. */
const MAX_RUN_S = 60;

/** Buffer in packets, with the reports of its runs. */
export interface Point {
  packets: number;
  runs: Report[];
}

/** Results for a scenario so far. */
export interface Tradeoff {
  points: Point[];
  fluid: Point[];
  /** Results of the closed form that the scenario's regime selects. */
  closed: Point[];
  /** Name of that closed form, and whether the scenario is outside of its domain. */
  model: string;
  isClosedOutside: boolean;
  rules: Rule[];
  done: number;
  all: number;
  /** Estimated remaining time in seconds; null before the first run is complete. */
  leftS: number | null;
  /** Error that ended the computation; empty if there was none. */
  message: string;
}

/** Scenario: its text, and its resolved form. */
interface Scenario {
  text: string;
  resolved: Resolved;
}

/** Computes a trade-off and reports each new result. */
export class Explorer {
  readonly #clients: Client[];
  /** Client for models, which need no runs. */
  readonly #quick: Client;
  readonly #notify: (tradeoff: Tradeoff) => void;
  #epoch = 0;
  /** Runs of the last scenario by buffer. Another buffer of the same scenario needs them again. */
  #known: { key: string; runs: Map<number, Report[]> } = { key: "", runs: new Map() };

  constructor(
    start: () => Worker,
    module: WebAssembly.Module,
    workers: number,
    notify: (it: Tradeoff) => void,
  ) {
    this.#clients = Array.from({ length: workers }, () => new Client(start, module));
    this.#quick = new Client(start, module);
    this.#notify = notify;
  }

  /**
   * Starts a new computation, which replaces the previous one. Models run at once. Packet-level runs start
   * after `delayMs` milliseconds without another call. The buffers `extra`, in packets, come on top.
   */
  async explore(
    text: string,
    resolved: Resolved,
    delayMs: number,
    extra: readonly number[] = [],
  ): Promise<void> {
    this.cancel();
    const epoch = this.#epoch;
    // Equal numbers of packets are other buffers if the limit is in bytes.
    const key = `${isInBytes(resolved)} ${keyWithoutBuffer(resolved)}`;
    if (key !== this.#known.key) this.#known = { key, runs: new Map() };
    const { runs } = this.#known;
    const complete = [...runs].filter(([, reports]) => reports.length === REPLICATIONS);
    const known = complete.map(([packets]) => packets);
    const buffers = ascending([...mergedBuffers(buffersOf(resolved), known, resolved), ...extra]);
    for (const packets of buffers) if (runs.get(packets)?.length !== REPLICATIONS) runs.set(packets, []);
    const points = buffers.map((packets) => ({ packets, runs: runs.get(packets) ?? [] }));
    const tradeoff: Tradeoff = {
      points,
      fluid: [],
      closed: [],
      model: "",
      isClosedOutside: false,
      rules: [],
      done: points.reduce((sum, point) => sum + point.runs.length, 0),
      all: buffers.length * REPLICATIONS,
      leftS: null,
      message: "",
    };
    const notify = (): void => {
      if (epoch === this.#epoch) this.#notify({ ...tradeoff });
    };
    notify();
    const scenario: Scenario = { text, resolved };
    const models = this.#askModels(scenario, tradeoff, notify);
    await new Promise((later) => setTimeout(later, delayMs));
    if (epoch === this.#epoch) await this.#runJobs(scenario, tradeoff, notify);
    await models;
  }

  /** Evaluates rules and models for each buffer. */
  async #askModels({ text, resolved }: Scenario, tradeoff: Tradeoff, notify: () => void): Promise<void> {
    const ask = (engine: string, packets: number): Promise<Report | null> => {
      const overrides = [bufferOverride(resolved, packets)];
      return this.#quick.ask<Report>({ do: "answer", engine, text, overrides }).catch(nullIfRefused);
    };
    try {
      tradeoff.rules = await this.#quick.ask<Rule[]>({ do: "rules", text });
      const rule = tradeoff.rules.find(({ is_default }) => is_default);
      notify();
      for (const [engine, line] of [
        ["closed_form", tradeoff.closed],
        ["fluid", tradeoff.fluid],
      ] as const) {
        for (const { packets } of tradeoff.points) {
          const answer = await ask(engine, packets);
          if (!answer) break;
          line.push({ packets, runs: [answer] });
          if (engine === "closed_form") {
            tradeoff.model = rule?.name ?? "";
            tradeoff.isClosedOutside = rule !== undefined && !applies(rule);
          }
          notify();
        }
      }
    } catch (error) {
      tradeoff.message ||= messageOf(error);
      notify();
    }
  }

  /** Runs the packet-level simulations in all workers. */
  async #runJobs({ text, resolved }: Scenario, tradeoff: Tradeoff, notify: () => void): Promise<void> {
    const [epoch, startedMs, before] = [this.#epoch, Date.now(), tradeoff.done];
    const missing = tradeoff.points.filter(({ runs }) => runs.length < REPLICATIONS);
    const jobs = Array.from({ length: REPLICATIONS }, (_, replication) =>
      missing.map((point) => ({ point, replication })),
    ).flat();
    const drain = async (client: Client): Promise<void> => {
      for (let job = jobs.shift(); job && epoch === this.#epoch; job = jobs.shift()) {
        const { point, replication } = job;
        const overrides = [bufferOverride(resolved, point.packets)];
        const request = { do: "whole", text, overrides, replication, most_s: MAX_RUN_S };
        try {
          point.runs.push(await client.ask<Report>(request));
          tradeoff.done += 1;
          tradeoff.leftS =
            (((Date.now() - startedMs) / (tradeoff.done - before)) * (tradeoff.all - tradeoff.done)) / 1000;
        } catch (error) {
          tradeoff.message ||= messageOf(error);
          jobs.length = 0;
        }
        notify();
      }
    };
    await Promise.all(this.#clients.map(drain));
  }

  /** Cancels the computation at once. */
  cancel(): void {
    this.#epoch += 1;
    for (const client of [this.#quick, ...this.#clients]) if (client.isPending) client.cancel();
  }
}

/** Result of a model that does not support the scenario. */
function nullIfRefused(error: unknown): null {
  if (error instanceof RefusedError) return null;
  throw error;
}

function messageOf(error: unknown): string {
  if (error instanceof RefusedError) {
    const { kind, message } = error.refusal;
    if (kind === "defect")
      return `The runs have stopped (${message}). Change the buffer to start them again.`;
    return message === "canceled" ? "" : message;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Buffers in a geometric series, with the scenario's own buffer. */
export function buffersOf(resolved: Resolved): number[] {
  const own = Math.max(1, Math.round(resolved.buffer.packets));
  const most = Math.max(MAX_BDPS * (resolved.bdp_packets ?? 0), 2 * own, 20);
  const ratio = (most / LEAST) ** (1 / (POINTS - 1));
  const tradeoff = Array.from({ length: POINTS }, (_, at) => Math.round(LEAST * ratio ** at));
  return ascending([...tradeoff, own]);
}

/**
 * Buffers to test between two tested ones: all of them if they are few, else a few in geometric steps. Empty
 * if no buffer is between them.
 */
export function stepsBetween(low: number, high: number): number[] {
  const inside = Math.max(0, high - low - 1);
  if (inside <= SEARCH_STEPS) return Array.from({ length: inside }, (_, at) => low + 1 + at);
  const ratio = (high / low) ** (1 / (SEARCH_STEPS + 1));
  const steps = Array.from({ length: SEARCH_STEPS }, (_, at) => Math.round(low * ratio ** (at + 1)));
  return ascending(steps.map((packets) => Math.min(high - 1, Math.max(low + 1, packets))));
}

/** Points whose runs are all complete. */
export function completePoints({ points }: Tradeoff): Point[] {
  return points.filter(({ runs }) => runs.length === REPLICATIONS);
}

function ascending(buffers: readonly number[]): number[] {
  return [...new Set(buffers)].sort((one, other) => one - other);
}

/**
 * Buffers of a trade-off whose runs are known in part. Known buffers replace the series if they cover it, so that
 * a buffer that is set by a click needs few runs.
 */
function mergedBuffers(series: readonly number[], known: readonly number[], resolved: Resolved): number[] {
  const own = Math.max(1, Math.round(resolved.buffer.packets));
  const isCovered = known.length >= POINTS && own <= Math.max(...known);
  return ascending(isCovered ? [...known, own] : series);
}

/** Whether the model of a point says that the buffer is outside of its domain. */
export function isOutsideDomain({ runs }: Point): boolean {
  return runs.some(({ warnings }) => warnings?.some((text) => OUTSIDE.test(text)));
}

/** Sentence of the fluid model about its domain: crates/fluid/src/domain.rs. */
const OUTSIDE = /^the buffer of \d+ packets is less than \d+/;

/**
 * Mean of a metric over the runs of a point, and the half width of its 95 % confidence interval (Student's
 * t-distribution).
 */
export function estimate(
  point: Point,
  metric: TableMetricName,
): { mean: number; half: number | null } | null {
  const values = point.runs.map((run) => run.metrics[metric]?.mean).filter((it) => it !== undefined);
  if (values.length === 0) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, half: null };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  const quantile = STUDENT[values.length - 2] ?? 2.0;
  return { mean, half: quantile * Math.sqrt(variance / values.length) };
}

/** 97.5th percentiles of Student's t-distribution with 1, 2, ... degrees of freedom. */
const STUDENT = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216];
