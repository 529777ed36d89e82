/** A worker that does not return from the code of a user is ended, and no other worker is. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { allowModule, moduleIn } from "../src/engine/allowed_modules.ts";
import { Client, type RunMessage } from "../src/engine/client.ts";
import { type FakeWorker, NO_ENGINES, workers } from "./fake_worker.ts";

const VIEW = { packetEvents: 0, flows: 0, windows: 0, columns: 1 };
const TEXT = 'cca = { wasm = "folder/my own.wasm", source = "AA==" }';
const MESSAGE = "my own.wasm: found no return from a call within 10 s; the page has ended it";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function client(): { client: Client; worker: FakeWorker; started: FakeWorker[]; received: RunMessage[] } {
  const { started, start } = workers();
  const received: RunMessage[] = [];
  const made = new Client(start, NO_ENGINES, (message) => received.push(message));
  return { client: made, worker: started[0] as FakeWorker, started, received };
}

test("a silent worker with a module is ended, and its run and requests are refused", async () => {
  const { client: own, worker, started, received } = client();
  const run = own.startRun(TEXT, [], VIEW);
  const answer = expect(own.ask({ do: "whole", text: TEXT })).rejects.toThrow(MESSAGE);
  vi.advanceTimersByTime(10_000);
  expect(worker.isTerminated).toBe(false);
  vi.advanceTimersByTime(1000);
  await answer;
  expect(worker.isTerminated).toBe(true);
  expect(received).toMatchObject([{ kind: "refused", run, refusal: { kind: "code", message: MESSAGE } }]);
  // The next request starts another worker.
  void own.ask({ do: "describe" });
  expect(started).toHaveLength(2);
});

test("a file that is opened is watched, too", async () => {
  const { client: own } = client();
  const answer = expect(own.ask({ do: "open", file: "a.wasm", source: "" })).rejects.toThrow(
    "a.wasm: found no",
  );
  vi.advanceTimersByTime(11_000);
  await answer;
});

test("each sign of life gives ten more seconds", () => {
  const { client: own, worker } = client();
  own.startRun(TEXT, [], VIEW);
  for (let second = 0; second < 60; second += 1) {
    vi.advanceTimersByTime(1000);
    expect(worker.requests.at(-1)).toEqual({ kind: "ping" });
    if (second % 9 === 0) worker.post({ kind: "alive" });
  }
  expect(worker.isTerminated).toBe(false);
});

test.each(["another scenario", "close", "cancel"])("the watch ends with %s", (how) => {
  const { client: own, started } = client();
  own.startRun(TEXT, [], VIEW);
  if (how === "close") own.close();
  else if (how === "cancel") own.cancel();
  else own.startRun('cca = "cubic"', [], VIEW);
  vi.advanceTimersByTime(100_000);
  expect(started.at(-1)?.requests.some(({ kind }) => kind === "ping")).toBe(false);
  expect(started.at(-1)?.isTerminated).toBe(how === "close");
});

test("a worker without a module may take as long as it likes", () => {
  const { client: own, worker } = client();
  own.startRun('cca = "cubic"', [], VIEW);
  vi.advanceTimersByTime(100_000);
  expect(worker.isTerminated).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test("only requests with a module carry the consent of the user", () => {
  const { client: own, worker } = client();
  allowModule("ab12");
  const requests = [{ do: "check", text: "rate" }, { do: "check", text: TEXT }, { do: "describe" }];
  for (const request of requests) void own.ask(request).catch(() => {});
  const [plain, module, other] = worker.asked().map(({ request }) => request);
  expect([plain, other]).toEqual([requests[0], requests[2]]);
  expect(module).toEqual({ ...requests[1], modules: ["ab12"] });
  own.close();
});

test("the name of a module is found in time that is linear in the text", () => {
  expect(moduleIn(`${"a".repeat(1_000_000)}.wasm`)).toBe(null);
  expect(moduleIn(`"${"a".repeat(1_000_000)}.wasm"`)).toHaveLength(65);
  expect(moduleIn(undefined)).toBe(null);
  expect(moduleIn("wasm = 'x.wasm'")).toBe("x.wasm");
});
