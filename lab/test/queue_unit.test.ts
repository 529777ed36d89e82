import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Resolved } from "../src/engine/protocol.ts";
import { bufferOverride, contentsText, queueLimit } from "../src/queue_unit.ts";
import { engines, HAS_ENGINES } from "./engines.ts";

test("a queue of small packets is no part of a buffer of large ones", () => {
  expect(contentsText(8, 20, "packets")).toBe("8 of 20 packets in the queue");
  expect(contentsText(1871, 500, "bytes")).toBe("1,871 packets in the queue");
  expect(contentsText(400, 500, "classes")).toBe("400 packets in the queue");
  expect(contentsText(50, 20, "packets")).toBe("50 packets in the queue");
});

test.skipIf(!HAS_ENGINES).each([
  // A buffer in packets, one in bytes with equal packets, one with unequal packets, and one of classes.
  ["dsl-access", "packets"],
  ["backbone-10g", "packets"],
  ["cable-access", "bytes"],
  ["voice-and-data", "classes"],
])("the limit of the queue of %s is in %s", (name, limit) => {
  const text = readFileSync(new URL(`../../scenarios/${name}.toml`, import.meta.url), "utf8");
  expect(queueLimit(engines().ask<Resolved>({ do: "check", text }))).toBe(limit);
});

test("a limit in bytes stays one in the runs of the trade-off, and a limit in packets stays one, too", () => {
  const scenario = (buffer: string): Resolved =>
    ({
      ...{ canonical: JSON.stringify({ link: { buffer } }), target: 0, packet_bytes: 1500 },
      buffer: { packets: 466.7, bytes: 700_001, seconds: 0.3, bdp: 1 },
    }) as Resolved;
  expect(bufferOverride(scenario("500p"), 45)).toBe("link.buffer=45p");
  expect(bufferOverride(scenario("700.001kB"), 45)).toBe("link.buffer=67500B");
  // The buffer of the scenario is simulated as it is.
  expect(bufferOverride(scenario("700.001kB"), 467)).toBe("link.buffer=700001B");
});
