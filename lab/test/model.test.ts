/** Edits of the model's text, with a worker that answers when the test demands it. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { withoutGroup, withRate } from "../src/changes.ts";
import type { Controls, Resolved } from "../src/engine/protocol.ts";
import { Model } from "../src/model.ts";
import { type FakeWorker, NO_ENGINES, workers } from "./fake_worker.ts";
import { RESOLVED } from "./resolved.ts";

// Fake timers: a slow test must not trigger the check of typed text.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const CONTROLS: Controls = {
  ...{ buffer: null, queue: "droptail", threshold: null, groups: [] },
  rate: { text: "1Mbps", value: 1e6 },
};

/** Answers or refuses the last request of the worker. */
async function answer(
  worker: FakeWorker,
  result: unknown,
  kind: "answer" | "no answer" = "answer",
): Promise<void> {
  const ticket = worker.asked().at(-1)?.ticket ?? -1;
  if (kind === "answer") worker.post({ kind: "answer", ticket, answer: result });
  else {
    const refusal = { kind: "scenario", message: String(result), line: null, key: null } as const;
    worker.post({ kind: "no answer", ticket, refusal });
  }
  await new Promise((later) => setImmediate(later));
}

function request(worker: FakeWorker): Record<string, unknown> {
  return worker.asked().at(-1)?.request as Record<string, unknown>;
}

function resolvedWith(controls: Controls): Resolved {
  return { ...RESOLVED, controls, links: [], groups: [] };
}

async function loadedModel(): Promise<{ model: Model; worker: FakeWorker }> {
  const { started, start } = workers();
  const model = new Model(start, NO_ENGINES, "first");
  const [worker] = started;
  if (!worker) throw new Error("no worker");
  expect(model.isChangeable).toBe(false);
  const taken = model.load("text");
  await answer(worker, resolvedWith(CONTROLS));
  await taken;
  expect(model.isChangeable).toBe(true);
  return { model, worker };
}

function setRate(model: Model, bps: number): void {
  model.change(withRate(model.controls ?? CONTROLS, bps));
}

test("edits in quick succession are all applied in order", async () => {
  const { model, worker } = await loadedModel();
  for (const bps of [2e6, 5e6, 1e7]) setRate(model, bps);
  // Controls display the new values at once.
  expect(model.controls?.rate?.text).toBe("10Mbps");
  expect(request(worker)).toEqual({ do: "edit", text: "text", changes: [{ set: "link.rate=2Mbps" }] });
  await answer(worker, "two");
  await answer(worker, resolvedWith(CONTROLS));
  expect(model.controls?.rate?.text).toBe("10Mbps");
  expect(request(worker)).toEqual({
    ...{ do: "edit", text: "two" },
    changes: [{ set: "link.rate=5Mbps" }, { set: "link.rate=10Mbps" }],
  });
  await answer(worker, "ten");
  const last = { ...CONTROLS, rate: { text: "10.0Mbps", value: 1e7 } };
  await answer(worker, resolvedWith(last));
  expect(model.text).toBe("ten");
  expect(model.controls).toBe(last);
});

test("a pending edit also applies to text that is typed meanwhile", async () => {
  const { model, worker } = await loadedModel();
  setRate(model, 2e6);
  model.edit("typed");
  await answer(worker, "two");
  expect(model.text).toBe("typed");
  expect(request(worker)).toEqual({ do: "check", text: "typed" });
  await answer(worker, resolvedWith(CONTROLS));
  expect(request(worker)).toEqual({ do: "edit", text: "typed", changes: [{ set: "link.rate=2Mbps" }] });
  await answer(worker, "typed, two");
  await answer(worker, resolvedWith(CONTROLS));
  expect(model.text).toBe("typed, two");
});

test("typed text is checked before an edit, and its background can be restored", async () => {
  const { model, worker } = await loadedModel();
  const load = { kind: "poisson", rate_bps: 1e5, text: "[[flows]]\n" } as const;
  const group = { key: "load", name: "load", counted: false, count: 1, controller: null, rtt: null, load };
  model.edit("typed");
  model.change(withoutGroup(CONTROLS, group));
  expect(request(worker)).toEqual({ do: "check", text: "typed" });
  await answer(worker, resolvedWith({ ...CONTROLS, groups: [group] }));
  expect(request(worker)).toEqual({ do: "edit", text: "typed", changes: [{ remove: "flows.load" }] });
  await answer(worker, "without");
  await answer(worker, resolvedWith(CONTROLS));
  expect(model.text).toBe("without");
  expect(model.background).toBe(group);
});

test("an edit of text with an error is dropped", async () => {
  const { model, worker } = await loadedModel();
  model.edit("wrong");
  setRate(model, 2e6);
  await answer(worker, "wrong at line 1", "no answer");
  expect(request(worker)).toEqual({ do: "check", text: "wrong" });
  expect(model.refusal).toMatchObject({ kind: "scenario", message: "wrong at line 1" });
  expect(model.controls).toBe(CONTROLS);
});

test("another scenario discards pending edits", async () => {
  const { model, worker } = await loadedModel();
  setRate(model, 2e6);
  const [ticket] = worker
    .asked()
    .slice(-1)
    .map((it) => it.ticket);
  setRate(model, 5e6);
  const taken = model.load("other");
  await answer(worker, resolvedWith(CONTROLS));
  await taken;
  worker.post({ kind: "answer", ticket: ticket ?? -1, answer: "two" });
  await new Promise((later) => setImmediate(later));
  expect(model.text).toBe("other");
  expect(model.controls).toBe(model.resolved?.controls);
  expect(request(worker).do).toBe("check");
});

test("the last of two chosen runs wins", async () => {
  const { model, worker } = await loadedModel();
  const first = model.loadWithOverrides("experiment", ["link.rate=2Mbps"]);
  const [before] = worker.asked().slice(-1);
  const second = model.loadWithOverrides("experiment", ["link.rate=5Mbps"]);
  worker.post({ kind: "answer", ticket: before?.ticket ?? -1, answer: "two" });
  await first;
  expect(model.text).toBe("text");
  await answer(worker, "five");
  expect(model.text).toBe("five");
  await answer(worker, resolvedWith(CONTROLS));
  await second;
});

test("a refused edit leaves text and controls unchanged and shows the reason", async () => {
  const { model, worker } = await loadedModel();
  setRate(model, 2e6);
  await answer(worker, "link.rate: too fast", "no answer");
  expect(model.text).toBe("text");
  expect(model.controls).toBe(CONTROLS);
  expect(model.refusal?.message).toBe("link.rate: too fast");
  expect(model.isChangeable).toBe(true);
});

test("controls are disabled while the text is refused", async () => {
  const { model, worker } = await loadedModel();
  const taken = model.load("wrong");
  await answer(worker, "wrong", "no answer");
  await taken;
  expect(model.isChangeable).toBe(false);
  expect(model.controls).toBe(CONTROLS);
  const mended = model.load("right");
  await answer(worker, resolvedWith(CONTROLS));
  await mended;
  expect(model.isChangeable).toBe(true);
});

test("a run whose worker fails says so, and Play starts it again in another worker", async () => {
  const { started, start } = workers();
  const model = new Model(start, NO_ENGINES, "first");
  const taken = model.load("text");
  await answer(started[0] as FakeWorker, resolvedWith(CONTROLS));
  await taken;
  started[0]?.post({ kind: "started", run: 1, endS: 5 });
  model.play();
  expect(model.phase).toBe("playing");
  started[0]?.fail("out of memory");
  expect(model.phase).toBe("refused");
  expect(model.refusal?.message).toBe(
    "The run has stopped (the worker failed: out of memory). Press Play to start it again.",
  );
  model.play();
  expect(started[1]?.requests.map(({ kind }) => kind)).toEqual(["load", "start"]);
  expect(model.refusal).toBeNull();
});

test("the refusal of a field ends with its next number, and does not hide an error of the text", async () => {
  const { model, worker } = await loadedModel();
  model.refuse("no number");
  expect(model.refusal).toMatchObject({ kind: "request", message: "no number" });
  model.refuse(null);
  expect(model.refusal).toBeNull();
  model.edit("typed");
  vi.runAllTimers();
  await answer(worker, "an error", "no answer");
  model.refuse("no number");
  expect(model.refusal?.message).toBe("an error");
});
