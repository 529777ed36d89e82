/** The trade-off's jobs, by a worker that answers from a table. */

import { expect, test } from "vitest";
import type { Order, Resolved } from "../src/engine/protocol.ts";
import { Explorer, type Tradeoff } from "../src/tradeoff.ts";

const RESOLVED = {
  buffer: { packets: 100, bytes: 150_000, seconds: 0.1, bdp: 1 },
  bdp_packets: 100,
  most_events: 1e6,
  warmup_s: 10,
  measure_s: 60,
} as Resolved;

/** Workers that answer a moment later; all that they were asked, and how many of them were ended. */
function workers(): { start: () => Worker; asked: Record<string, unknown>[]; ended: () => number } {
  const asked: Record<string, unknown>[] = [];
  let ended = 0;
  const start = (): Worker => {
    let lives = true;
    const worker = {
      onmessage: null as ((message: MessageEvent) => void) | null,
      postMessage(order: Order): void {
        if (order.kind !== "ask") return;
        const request = order.request as Record<string, unknown>;
        asked.push(request);
        const answer =
          request.do === "rules"
            ? []
            : { metrics: { utilization: { mean: 0.5 } }, warnings: ["model one-flow: 40 long flows"] };
        setTimeout(() => {
          const data = { kind: "answer", ticket: order.ticket, answer };
          if (lives) worker.onmessage?.({ data } as MessageEvent);
        }, 1);
      },
      terminate(): void {
        lives = false;
        ended += 1;
      },
    };
    return worker as unknown as Worker;
  };
  return { start, asked, ended: () => ended };
}

const MODULE = {} as WebAssembly.Module;

test("every buffer gets its replications, each once, and both models", async () => {
  const { start, asked } = workers();
  let last: Tradeoff | undefined;
  const explorer = new Explorer(start, MODULE, 3, (found) => {
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

test("models are asked at once, packets only when nothing else was asked for a while", async () => {
  const { start, asked } = workers();
  const told: Tradeoff[] = [];
  const explorer = new Explorer(start, MODULE, 2, (found) => told.push(found));
  const first = explorer.explore("first", RESOLVED, 40);
  await new Promise((later) => setTimeout(later, 20));
  expect(asked.some((it) => it.engine === "closed_form")).toBe(true);
  expect(asked.some((it) => it.do === "whole")).toBe(false);
  const second = explorer.explore("second", RESOLVED, 40);
  await Promise.all([first, second]);
  const texts = asked.filter((it) => it.do === "whole").map((it) => it.text);
  expect(new Set(texts)).toEqual(new Set(["second"]));
});

test("what is canceled says nothing more", async () => {
  const { start, ended } = workers();
  let count = 0;
  const explorer = new Explorer(start, MODULE, 2, () => {
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
