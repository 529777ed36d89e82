/** Jobs of the trade-off, with a worker that answers from a table. */

import { expect, test } from "vitest";
import type { WorkerRequest } from "../src/engine/protocol.ts";
import type { Rule } from "../src/rules.ts";
import { Explorer, isOutsideDomain, type Tradeoff } from "../src/tradeoff.ts";
import { engines, HAS_ENGINES } from "./engines.ts";
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

test("another buffer of the same scenario repeats no runs", async () => {
  const { start, asked } = answering();
  let last: Tradeoff | undefined;
  const explorer = new Explorer(start, NO_ENGINES, 2, (found) => {
    last = found;
  });
  const of = (packets: number, title = ""): typeof RESOLVED => ({
    ...RESOLVED,
    buffer: { ...RESOLVED.buffer, packets },
    canonical: JSON.stringify({ title, link: { rate: "1Mbps", buffer: `${packets}p` } }),
  });
  await explorer.explore("first", of(10), 0);
  const whole = (): unknown[] => asked.filter((it) => it.do === "whole");
  const before = whole().length;
  await explorer.explore("second", of(7, "another title"), 0);
  expect(last?.points.map(({ packets }) => packets)).toContain(7);
  expect(whole().length).toBeLessThanOrEqual(before + 3);
  expect(last?.done).toBe(last?.all);
  await explorer.explore("third", { ...of(7), canonical: JSON.stringify({ link: { rate: "2Mbps" } }) }, 0);
  expect(whole().length).toBeGreaterThan(before + 3);
});

test("a search runs the added buffers only, and they stay", async () => {
  const { start, asked } = answering();
  let last: Tradeoff | undefined;
  const explorer = new Explorer(start, NO_ENGINES, 2, (found) => {
    last = found;
  });
  const whole = (): unknown[] => asked.filter((it) => it.do === "whole");
  await explorer.explore("text", RESOLVED, 0);
  const before = whole().length;
  await explorer.explore("text", RESOLVED, 0, [8, 101]);
  expect(whole().length).toBe(before + 6);
  expect(last?.done).toBe(last?.all);
  await explorer.explore("text", RESOLVED, 0);
  expect(whole().length).toBe(before + 6);
  expect(last?.points.map(({ packets }) => packets)).toEqual(expect.arrayContaining([8, 101]));
});

test.skipIf(!HAS_ENGINES)("the fluid model says below which buffer it is outside of its domain", () => {
  const own = engines();
  const text = `[link]\nrate = "50Mbps"\nbuffer = "10p"\n[[flows]]\nrtt = "100ms"\ncca = "newreno"\n`;
  const isOutside = (packets: number): boolean => {
    const overrides = [`link.buffer=${packets}p`];
    return isOutsideDomain({ packets, runs: [own.ask({ do: "answer", engine: "fluid", text, overrides })] });
  };
  expect(isOutside(5)).toBe(true);
  expect(isOutside(5000)).toBe(false);
});
