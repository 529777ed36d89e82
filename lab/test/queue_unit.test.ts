import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { Resolved } from "../src/engine/protocol.ts";
import { contentsText, queueLimit } from "../src/queue_unit.ts";
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
