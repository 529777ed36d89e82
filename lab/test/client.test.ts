/** Client of a worker: assignment of answers, and rejection of requests when the worker ends. */

import { expect, test } from "vitest";
import { Client, type RunMessage } from "../src/engine/client.ts";
import { NO_ENGINES, workers } from "./fake_worker.ts";

const VIEW = { packetEvents: 0, flows: 0, windows: 0, columns: 1 };

test("answers in any order resolve their own requests", async () => {
  const { started, start } = workers();
  const client = new Client(start, NO_ENGINES);
  const answers = [client.ask({ do: "a" }), client.ask({ do: "b" })];
  const [worker] = started;
  expect(worker?.requests[0]).toEqual({ kind: "load", module: NO_ENGINES });
  const [first, second] = worker?.asked().map(({ ticket }) => ticket) ?? [];
  worker?.post({ kind: "answer", ticket: second ?? -1, answer: "of b" });
  worker?.post({ kind: "answer", ticket: first ?? -1, answer: "of a" });
  expect(await Promise.all(answers)).toEqual(["of a", "of b"]);
});

test("messages of an older run are ignored", () => {
  const { started, start } = workers();
  const received: RunMessage[] = [];
  const client = new Client(start, NO_ENGINES, (message) => received.push(message));
  const old = client.startRun("text", [], VIEW);
  const latest = client.startRun("text", [], VIEW);
  started[0]?.post({ kind: "started", run: old, endS: 1 });
  started[0]?.post({ kind: "started", run: latest, endS: 2 });
  expect(received).toEqual([{ kind: "started", run: latest, endS: 2 }]);
});

test.each(["cancel", "close", "fail"] as const)("%s rejects pending requests", async (how) => {
  const { started, start } = workers();
  const client = new Client(start, NO_ENGINES);
  const answer = client.ask({ do: "a" });
  if (how === "fail") started[0]?.fail("");
  else client[how]();
  await expect(answer).rejects.toThrow(how === "fail" ? "the worker failed" : "canceled");
  expect(started[0]?.isTerminated).toBe(true);
  // Only `cancel` starts another worker at once.
  expect(started).toHaveLength(how === "cancel" ? 2 : 1);
});

test("a failed worker ends its run, and the next request starts another worker", async () => {
  const { started, start } = workers();
  const received: RunMessage[] = [];
  const client = new Client(start, NO_ENGINES, (message) => received.push(message));
  const run = client.startRun("text", [], VIEW);
  started[0]?.fail("out of memory");
  const refusal = { kind: "defect", message: "the worker failed: out of memory" };
  expect(received).toMatchObject([{ kind: "refused", run, refusal }]);
  const answer = client.ask({ do: "a" });
  expect(started).toHaveLength(2);
  expect(started[1]?.requests[0]).toMatchObject({ kind: "load" });
  started[1]?.post({ kind: "answer", ticket: started[1]?.asked()[0]?.ticket ?? -1, answer: "of a" });
  expect(await answer).toBe("of a");
});
