/** A run's text says to the engines what the scenario and the changes say. */

import { describe, expect, test } from "vitest";
import type { Resolved } from "../src/engine/protocol.ts";
import { EXPERIMENTS } from "../src/experiments/index.ts";
import { playedText } from "../src/experiments/played.ts";
import type { Experiment } from "../src/experiments/types.ts";
import { engines, HAS_ENGINES } from "./engines.ts";

const SCENARIO = '[link]\nbuffer = "2p"\n[[flows]]\nname = "a"\n[[flows]]\nname = "b"\ncount = 1\n';

function played(...overrides: string[]): string {
  return playedText({ scenario: SCENARIO } as Experiment, { name: "", overrides });
}

test("keys of tables and of groups are set, texts in quotes", () => {
  expect(played("link.buffer=0.05BDP", "link.rate=2e6", "flows.b.count=3", "flows.a.ecn=true")).toBe(
    '[link]\nbuffer = "0.05BDP"\nrate = "2e6"\n[[flows]]\nname = "a"\necn = true\n[[flows]]\nname = "b"\ncount = 3\n',
  );
  expect(played('flows.a.rtt={ linspace = ["1ms", "2ms"] }')).toContain(
    'rtt = { linspace = ["1ms", "2ms"] }\n',
  );
  expect(played('link.rate="2Mbps"')).toContain('rate = "2Mbps"\n');
  expect(() => played("flows.c.count=1")).toThrow("no flows of the name c");
});

describe.skipIf(!HAS_ENGINES)("in the engines", () => {
  test.each(EXPERIMENTS.map((experiment) => [experiment.id, experiment] as const))("%s", (_, experiment) => {
    const own = engines();
    for (const run of experiment.runs) {
      const { overrides } = run;
      const asked = own.ask<Resolved>({ do: "check", text: experiment.scenario, overrides });
      const shown = own.ask<Resolved>({ do: "check", text: playedText(experiment, run) });
      expect(shown.canonical).toBe(asked.canonical);
      // Whoever chooses it can watch it, the fluid's link as packets.
      own.ask({ do: "begin", text: playedText(experiment, run) });
    }
  });
});
