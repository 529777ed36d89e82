/** Study: its runs in order, its abort, and its refusals. */

import { expect, test } from "vitest";
import { runStudy } from "../src/experiments/study.ts";
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

/** Answers the latest request with a utilization. */
async function answer(worker: FakeWorker, utilization: number): Promise<void> {
  const ticket = worker.asked().at(-1)?.ticket ?? -1;
  const metrics = { utilization: { mean: utilization, half_width: null } };
  worker.post({ kind: "answer", ticket, answer: { metrics } });
  await settled();
}

function startedStudy(): {
  abortController: AbortController;
  progress: number[];
  worker: FakeWorker;
  outcome: ReturnType<typeof runStudy>;
} {
  const { started, start } = workers();
  const abortController = new AbortController();
  const progress: number[] = [];
  const outcome = runStudy(
    start,
    NO_ENGINES,
    EXPERIMENT,
    (done) => progress.push(done),
    abortController.signal,
  );
  const [worker] = started;
  if (!worker) throw new Error("no worker");
  return { abortController, progress, worker, outcome };
}

test("runs are requested in order from their engines, and the worker then ends", async () => {
  const { progress, worker, outcome } = startedStudy();
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
  expect(progress).toEqual([1]);
  expect(worker.isTerminated).toBe(false);
  await answer(worker, 0.75);
  const result = await outcome;
  if (result?.kind !== "done") throw new Error("not done");
  expect([result.results.value(0, "utilization"), result.results.value(1, "utilization")]).toEqual([
    0.25, 0.75,
  ]);
  expect(progress).toEqual([1, 2]);
  expect(worker.isTerminated).toBe(true);
});

test("an abort terminates the worker in the middle of a run", async () => {
  const { abortController, progress, worker, outcome } = startedStudy();
  await answer(worker, 0.5);
  abortController.abort();
  expect(worker.isTerminated).toBe(true);
  expect(await outcome).toBeNull();
  await answer(worker, 0.5);
  expect(progress).toEqual([1]);
});

test("an aborted signal starts no worker", async () => {
  const { started, start } = workers();
  expect(await runStudy(start, NO_ENGINES, EXPERIMENT, () => {}, AbortSignal.abort())).toBeNull();
  expect(started).toEqual([]);
});

test("a refusal and a failed worker are reported, and the worker ends", async () => {
  const refusal = { kind: "engine", message: "too large", line: null, key: null } as const;
  const refused = startedStudy();
  refused.worker.post({ kind: "no answer", ticket: refused.worker.asked()[0]?.ticket ?? -1, refusal });
  expect(await refused.outcome).toEqual({ kind: "refused", message: "too large" });
  expect(refused.worker.isTerminated).toBe(true);
  const failed = startedStudy();
  failed.worker.fail("out of memory");
  expect(await failed.outcome).toEqual({ kind: "refused", message: "the worker failed: out of memory" });
  expect(failed.worker.isTerminated).toBe(true);
  expect([refused.progress, failed.progress]).toEqual([[], []]);
});
