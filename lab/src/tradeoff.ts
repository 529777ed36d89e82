/**
 * The trade-off: what each buffer would give, by runs in the background, by the fluid and by closed forms. Runs of
 * one buffer with other random numbers give its interval.
 */

import { Client } from "./engine/client.ts";
import { RefusedError } from "./engine/instance.ts";
import type { Resolved } from "./engine/protocol.ts";
import type { Report } from "./model.ts";
import type { Rule } from "./rules.ts";

/** Metrics that are shown, with their scale in the picture. */
export const METRICS = [
  { name: "utilization", title: "Utilization", scale: 100, unit: "%" },
  { name: "loss_rate", title: "Loss", scale: 100, unit: "%" },
  { name: "queue_delay_p99_s", title: "Delay, 99th percentile", scale: 1000, unit: "ms" },
] as const;

export type MetricName = (typeof METRICS)[number]["name"];

/** Buffers of the picture: so many, from so few packets, to so many times the product and the own buffer. */
const POINTS = 9;
const LEAST = 2;
const MOST_TIMES = 3;
/** Replications of each buffer. */
const REPLICATIONS = 3;
/** The longest that a run in the background may take. */
const MOST_SECONDS = 60;

/** A buffer and what the runs with it gave. */
export interface Point {
  packets: number;
  runs: Report[];
}

/** All that is known of a scenario's trade-off so far. */
export interface Tradeoff {
  points: Point[];
  fluid: Point[];
  /** What the closed form says that the scenario's regime chooses. */
  closed: Point[];
  /** Its name. */
  model: string;
  rules: Rule[];
  done: number;
  all: number;
  /** About how many seconds the other runs will take; null before the first. */
  leftS: number | null;
  /** Why nothing more comes. */
  message: string;
}

/** Fills a trade-off in; each new number is told. */
export class Explorer {
  readonly #clients: Client[];
  /** For what needs no runs. */
  readonly #quick: Client;
  readonly #tell: (tradeoff: Tradeoff) => void;
  #epoch = 0;

  constructor(
    start: () => Worker,
    module: WebAssembly.Module,
    workers: number,
    tell: (it: Tradeoff) => void,
  ) {
    this.#clients = Array.from({ length: workers }, () => new Client(start, module));
    this.#quick = new Client(start, module);
    this.#tell = tell;
  }

  /**
   * Asks anew, whatever was asked before: closed forms and the fluid at once, the packets after so many milliseconds
   * in which nothing else was asked.
   */
  async explore(text: string, resolved: Resolved, patience: number): Promise<void> {
    this.cancel();
    const epoch = this.#epoch;
    const buffers = buffersOf(resolved);
    const found: Tradeoff = {
      points: buffers.map((packets) => ({ packets, runs: [] })),
      fluid: [],
      closed: [],
      model: "",
      rules: [],
      done: 0,
      all: buffers.length * REPLICATIONS,
      leftS: null,
      message: "",
    };
    const tell = (): void => {
      if (epoch === this.#epoch) this.#tell({ ...found });
    };
    tell();
    const models = this.#ask(text, found, tell);
    await new Promise((later) => setTimeout(later, patience));
    if (epoch === this.#epoch) await this.#run(text, found, tell);
    await models;
  }

  /** What rules and models say, buffer by buffer. */
  async #ask(text: string, found: Tradeoff, tell: () => void): Promise<void> {
    const ask = (engine: string, packets: number): Promise<Report | null> => {
      const overrides = [`link.buffer=${packets}p`];
      return this.#quick.ask<Report>({ do: "answer", engine, text, overrides }).catch(lacking);
    };
    try {
      found.rules = await this.#quick.ask<Rule[]>({ do: "rules", text });
      tell();
      for (const [engine, line] of [
        ["closed_form", found.closed],
        ["fluid", found.fluid],
      ] as const) {
        for (const { packets } of found.points) {
          const answer = await ask(engine, packets);
          if (!answer) break;
          line.push({ packets, runs: [answer] });
          if (engine === "closed_form") found.model = modelOf(answer);
          tell();
        }
      }
    } catch (error) {
      found.message ||= messageOf(error);
      tell();
    }
  }

  /** Runs of packets, by all workers. */
  async #run(text: string, found: Tradeoff, tell: () => void): Promise<void> {
    const [epoch, begun] = [this.#epoch, Date.now()];
    const jobs = Array.from({ length: REPLICATIONS }, (_, replication) =>
      found.points.map((point) => ({ point, replication })),
    ).flat();
    const work = async (client: Client): Promise<void> => {
      for (let job = jobs.shift(); job && epoch === this.#epoch; job = jobs.shift()) {
        const { point, replication } = job;
        const overrides = [`link.buffer=${point.packets}p`];
        const request = { do: "whole", text, overrides, replication, most_s: MOST_SECONDS };
        try {
          point.runs.push(await client.ask<Report>(request));
          found.done += 1;
          found.leftS = (((Date.now() - begun) / found.done) * (found.all - found.done)) / 1000;
        } catch (error) {
          found.message ||= messageOf(error);
          jobs.length = 0;
        }
        tell();
      }
    };
    await Promise.all(this.#clients.map(work));
  }

  /** Ends what goes on, at once. */
  cancel(): void {
    this.#epoch += 1;
    for (const client of [this.#quick, ...this.#clients]) if (client.isAsked) client.cancel();
  }
}

/** A model that does not know such a scenario says nothing of it. */
function lacking(error: unknown): null {
  if (error instanceof RefusedError) return null;
  throw error;
}

/** The closed form that answered, which its report's first warning names. */
export function modelOf(report: Report): string {
  return /^model ([\w-]+): /.exec(report.warnings?.[0] ?? "")?.[1] ?? "";
}

function messageOf(error: unknown): string {
  if (error instanceof RefusedError) return error.refusal.message === "canceled" ? "" : error.refusal.message;
  return error instanceof Error ? error.message : String(error);
}

/** Buffers at equal ratios, the scenario's own among them. */
export function buffersOf(resolved: Resolved): number[] {
  const own = Math.max(1, Math.round(resolved.buffer.packets));
  const most = Math.max(MOST_TIMES * (resolved.bdp_packets ?? 0), 2 * own, 20);
  const ratio = (most / LEAST) ** (1 / (POINTS - 1));
  const found = Array.from({ length: POINTS }, (_, at) => Math.round(LEAST * ratio ** at));
  return [...new Set([...found, own])].sort((one, other) => one - other);
}

/** Mean of a metric over the runs of a point, and half of its 95 % interval by Student's law. */
export function estimate(point: Point, metric: MetricName): { mean: number; half: number | null } | null {
  const values = point.runs.map((run) => run.metrics[metric]?.mean).filter((it) => it !== undefined);
  if (values.length === 0) return null;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  if (values.length < 2) return { mean, half: null };
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  const quantile = STUDENT[values.length - 2] ?? 2.0;
  return { mean, half: quantile * Math.sqrt(variance / values.length) };
}

/** 97.5th percentiles of Student's t with 1, 2, ... degrees of freedom. */
const STUDENT = [12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216];
