/** The page's end of a worker: whom an answer is for, and that nobody waits for a worker that is gone. */

import { expect, test } from "vitest";
import { Client, type RunNews } from "../src/engine/client.ts";
import { NO_ENGINES, workers } from "./fake_worker.ts";

test("answers find their questions in any order", async () => {
  const { started, start } = workers();
  const client = new Client(start, NO_ENGINES);
  const answers = [client.ask({ do: "a" }), client.ask({ do: "b" })];
  const [worker] = started;
  expect(worker?.orders[0]).toEqual({ kind: "load", module: NO_ENGINES });
  const [first, second] = worker?.asked().map(({ ticket }) => ticket) ?? [];
  worker?.tell({ kind: "answer", ticket: second ?? -1, answer: "of b" });
  worker?.tell({ kind: "answer", ticket: first ?? -1, answer: "of a" });
  expect(await Promise.all(answers)).toEqual(["of a", "of b"]);
});

test("news of an older run are not heard", () => {
  const { started, start } = workers();
  const heard: RunNews[] = [];
  const client = new Client(start, NO_ENGINES, (news) => heard.push(news));
  const old = client.begin("text", [], 0, 0);
  const latest = client.begin("text", [], 0, 0);
  started[0]?.tell({ kind: "begun", run: old, endS: 1 });
  started[0]?.tell({ kind: "begun", run: latest, endS: 2 });
  expect(heard).toEqual([{ kind: "begun", run: latest, endS: 2 }]);
});

test.each(["cancel", "close", "fail"] as const)("after %s nobody waits any more", async (how) => {
  const { started, start } = workers();
  const client = new Client(start, NO_ENGINES);
  const answer = client.ask({ do: "a" });
  if (how === "fail") started[0]?.fail("");
  else client[how]();
  await expect(answer).rejects.toThrow(how === "fail" ? "the worker failed" : "canceled");
  expect(started[0]?.isTerminated).toBe(how !== "fail");
  // Only who cancels goes on, with another worker.
  expect(started).toHaveLength(how === "cancel" ? 2 : 1);
});
