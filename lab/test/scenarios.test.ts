/** Every shipped scenario is in the page and can be played there. */

import { expect, test } from "vitest";
import { scenarios } from "../scenarios.mjs";
import { type Description, reader } from "../src/engine/figures.ts";
import type { Playable, Resolved, Started } from "../src/engine/protocol.ts";
import { engines, HAS_ENGINES } from "./engines.ts";

const FOLDER = new URL("../../scenarios", import.meta.url).pathname;

test("files beside a scenario are in its text", async () => {
  const all = await scenarios(FOLDER);
  expect(all.length).toBeGreaterThan(26);
  const lte = all.find(({ name }) => name === "lte-downlink");
  expect(lte?.text).toContain('rate   = { steps = [\n    ["0s", "6000kbps"], ["0.1s", "5779kbps"]');
  for (const { text } of all) expect(text).not.toMatch(/\b(file|mahimahi)\s*=/);
});

test.runIf(HAS_ENGINES)("every scenario can be played, also with BBR", { timeout: 120_000 }, async () => {
  for (const { name, text } of await scenarios(FOLDER)) {
    const instance = engines();
    const read = reader(instance.ask<Description>({ do: "describe" }).columns);
    expect(instance.ask<Playable>({ do: "playable", text }), name).toMatchObject({ playable: true });
    const { groups } = instance.ask<Resolved>({ do: "check", text });
    const responsive = groups.filter((group) => group.responsive).map((group) => group.name);
    for (const overrides of [[], responsive.map((group) => `flows.${group}.cca=bbr`)]) {
      const chart = { columns: 100, flows: 8 };
      const { end_s } = instance.ask<Started>({ do: "begin", text, overrides, chart });
      instance.advance(BigInt(Math.round((end_s / 50) * 1e12)), 200_000);
      const picture = read(instance.look(8));
      expect(picture.timeS, name).toBeGreaterThan(0);
      expect(picture.chart.columns.length, name).toBeGreaterThan(0);
    }
  }
});
