/** A study: its runs one by one, its end at once, and what a refusal leaves. */

import { expect, test } from "vitest";
import { studied } from "../src/experiments/study.ts";
import type { Experiment } from "../src/experiments/types.ts";
import { type FakeWorker, NO_ENGINES, workers } from "./fake_worker.ts";

const EXPERIMENT = {
  scenario: "text",
  runs: [
    { name: "one", overrides: ["a.b=1"] },
    { name: "two", overrides: ["a.b=2"], engine: "fluid" },
  ],
} as unknown as Experiment;

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Answers the latest question with a use of the link. */
async function answer(worker: FakeWorker, utilization: number): Promise<void> {
  const ticket = worker.asked().at(-1)?.ticket ?? -1;
  const metrics = { utilization: { mean: utilization, half_width: null } };
  worker.tell({ kind: "answer", ticket, answer: { metrics } });
  await settled();
}

function begun(): {
  end: AbortController;
  told: number[];
  worker: FakeWorker;
  outcome: ReturnType<typeof studied>;
} {
  const { started, start } = workers();
  const end = new AbortController();
  const told: number[] = [];
  const outcome = studied(start, NO_ENGINES, EXPERIMENT, (done) => told.push(done), end.signal);
  const [worker] = started;
  if (!worker) throw new Error("no worker");
  return { end, told, worker, outcome };
}

test("its runs are asked one after the other, each of its engine, and then the worker is gone", async () => {
  const { told, worker, outcome } = begun();
  expect(worker.asked().map(({ request }) => request)).toEqual([
    { do: "whole", text: "text", overrides: ["a.b=1"] },
  ]);
  await answer(worker, 0.25);
  expect(worker.asked().at(-1)?.request).toEqual({
    do: "answer",
    engine: "fluid",
    text: "text",
    overrides: ["a.b=2"],
  });
  expect(told).toEqual([1]);
  expect(worker.isTerminated).toBe(false);
  await answer(worker, 0.75);
  const found = await outcome;
  if (found?.kind !== "done") throw new Error("not done");
  expect([found.found.of(0, "utilization"), found.found.of(1, "utilization")]).toEqual([0.25, 0.75]);
  expect(told).toEqual([1, 2]);
  expect(worker.isTerminated).toBe(true);
});

test("whoever leaves ends it at once, in the middle of a run", async () => {
  const { end, told, worker, outcome } = begun();
  await answer(worker, 0.5);
  end.abort();
  expect(worker.isTerminated).toBe(true);
  expect(await outcome).toBeNull();
  await answer(worker, 0.5);
  expect(told).toEqual([1]);
});

test("who has left before it began starts nothing", async () => {
  const { started, start } = workers();
  expect(await studied(start, NO_ENGINES, EXPERIMENT, () => {}, AbortSignal.abort())).toBeNull();
  expect(started).toEqual([]);
});

test("a refusal and a worker that fails are said, and the worker is gone", async () => {
  const refusal = { kind: "engine", message: "too large", line: null, key: null } as const;
  const refused = begun();
  refused.worker.tell({ kind: "no answer", ticket: refused.worker.asked()[0]?.ticket ?? -1, refusal });
  expect(await refused.outcome).toEqual({ kind: "refused", message: "too large" });
  expect(refused.worker.isTerminated).toBe(true);
  const failed = begun();
  failed.worker.fail("out of memory");
  expect(await failed.outcome).toEqual({ kind: "refused", message: "the worker failed: out of memory" });
  expect(failed.worker.isTerminated).toBe(true);
  expect([refused.told, failed.told]).toEqual([[], []]);
});
