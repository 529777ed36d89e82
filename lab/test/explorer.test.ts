/** Jobs of the trade-off, with a worker that answers from a table. */

import { expect, test } from "vitest";
import type { WorkerRequest } from "../src/engine/protocol.ts";
import type { Rule } from "../src/rules.ts";
import { Explorer, type Tradeoff } from "../src/tradeoff.ts";
import { FakeWorker, NO_ENGINES } from "./fake_worker.ts";
import { RESOLVED } from "./resolved.ts";

const RULES: Rule[] = ["bdp", "one-flow"].map((name) => ({
  name,
  is_default: name === "one-flow",
  packets: null,
  refusal: null,
  checks: [],
}));

/** Worker that answers after 1 ms and records the requests of all workers. */
class Answering extends FakeWorker {
  readonly #all: Record<string, unknown>[];

  constructor(all: Record<string, unknown>[]) {
    super();
    this.#all = all;
  }

  override postMessage(request: WorkerRequest): void {
    super.postMessage(request);
    if (request.kind !== "ask") return;
    const asked = request.request as Record<string, unknown>;
    this.#all.push(asked);
    const report = { metrics: { utilization: { mean: 0.5 } } };
    const answer = asked.do === "rules" ? RULES : report;
    setTimeout(() => this.post({ kind: "answer", ticket: request.ticket, answer }), 1);
  }
}

function answering(): { start: () => Worker; asked: Record<string, unknown>[]; ended: () => number } {
  const asked: Record<string, unknown>[] = [];
  const started: Answering[] = [];
  const start = (): Worker => {
    const worker = new Answering(asked);
    started.push(worker);
    return worker as unknown as Worker;
  };
  return { start, asked, ended: () => started.filter((it) => it.isTerminated).length };
}

test("every buffer gets each replication once, and both models", async () => {
  const { start, asked } = answering();
  let last: Tradeoff | undefined;
  const explorer = new Explorer(start, NO_ENGINES, 3, (found) => {
    last = found;
  });
  await explorer.explore("text", RESOLVED, 0);
  expect(last?.done).toBe(last?.all);
  expect(last?.points.every(({ runs }) => runs.length === 3)).toBe(true);
  expect(last?.fluid.length).toBe(last?.points.length);
  expect(last?.closed.length).toBe(last?.points.length);
  expect(last?.model).toBe("one-flow");
  const runs = asked.filter((it) => it.do === "whole").map((it) => `${it.overrides} ${it.replication}`);
  expect(new Set(runs).size).toBe(runs.length);
  expect(runs.length).toBe(last?.all);
});

test("models run at once, and packet-level runs wait for a pause", async () => {
  const { start, asked } = answering();
  const reported: Tradeoff[] = [];
  const explorer = new Explorer(start, NO_ENGINES, 2, (found) => reported.push(found));
  const first = explorer.explore("first", RESOLVED, 40);
  await new Promise((later) => setTimeout(later, 20));
  expect(asked.some((it) => it.engine === "closed_form")).toBe(true);
  expect(asked.some((it) => it.do === "whole")).toBe(false);
  const second = explorer.explore("second", RESOLVED, 40);
  await Promise.all([first, second]);
  const texts = asked.filter((it) => it.do === "whole").map((it) => it.text);
  expect(new Set(texts)).toEqual(new Set(["second"]));
});

test("a canceled computation reports nothing more", async () => {
  const { start, ended } = answering();
  let count = 0;
  const explorer = new Explorer(start, NO_ENGINES, 2, () => {
    count += 1;
  });
  const going = explorer.explore("text", RESOLVED, 0);
  await new Promise((later) => setTimeout(later, 10));
  explorer.cancel();
  const then = count;
  await going;
  expect(count).toBe(then);
  expect(ended()).toBeGreaterThan(0);
});
