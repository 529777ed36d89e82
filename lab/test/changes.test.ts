/** Edits of controls: the edited text has the values that the controls display. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type Edit,
  rateText,
  timeOf,
  withBackground,
  withBuffer,
  withCongestionControl,
  withCount,
  withLoad,
  withoutGroup,
  withQueue,
  withRate,
  withRoundTrip,
  withThreshold,
} from "../src/changes.ts";
import type { Controls, GroupControls, Resolved } from "../src/engine/protocol.ts";
import { EXPERIMENTS } from "../src/experiments/index.ts";
import { engines, HAS_ENGINES } from "./engines.ts";

const FOLDER = join(import.meta.dirname, "../../scenarios");
const SHIPPED = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".toml"))
  .map((name) => [name, readFileSync(join(FOLDER, name), "utf8")] as const)
  .filter(([, text]) => !/\b(file|mahimahi)\s*=/.test(text));

const TEXT = `# A line.
[link]
rate   = "10Mbps"  # what it is
buffer = "20p"

[[flows]]
name = "one"
count = 2
rtt = '80ms'

# It comes and goes.
[[flows]]
name = "load" # of others
workload = {cbr={rate="1Mbps"}}
packet = "700B"

[run]
measure = "1s"
`;

test("rates and times are formatted with their units", () => {
  expect([1e3, 25e6, 333.333e6, 1e9, 4e11].map(rateText)).toEqual([
    "1kbps",
    "25Mbps",
    "333.333Mbps",
    "1Gbps",
    "400Gbps",
  ]);
  expect([0.0005, 0.05, 0.3].map((seconds) => timeOf(seconds).text)).toEqual(["0.5ms", "50ms", "300ms"]);
});

describe.skipIf(!HAS_ENGINES)("in the engines", () => {
  const own = HAS_ENGINES ? engines() : null;
  const ask = <T>(request: object): T => (own as NonNullable<typeof own>).ask<T>(request);
  const controlsOf = (text: string): Controls => ask<Resolved>({ do: "check", text }).controls;
  /** The text after a change: it has the values that the controls showed meanwhile. */
  const edited = (text: string, { changes, controls }: Edit): string => {
    const changed = ask<string>({ do: "edit", text, changes });
    const withoutLoadText = (it: Controls): object => ({
      ...it,
      groups: it.groups.map((group) => ({ ...group, load: group.load && { ...group.load, text: "" } })),
    });
    expect(withoutLoadText(controlsOf(changed))).toEqual(withoutLoadText(controls));
    return changed;
  };
  const groupOf = (controls: Controls, at: number): GroupControls => {
    const group = controls.groups[at];
    if (!group) throw new Error(`no group ${at}`);
    return group;
  };

  test("controls have the values of the text", () => {
    expect(controlsOf(TEXT)).toEqual({
      rate: { text: "10Mbps", value: 1e7 },
      buffer: { text: "20p", value: 20, unit: "p" },
      queue: "droptail",
      threshold: null,
      groups: [
        {
          ...{ key: "one", name: "one", counted: true, count: 2, controller: "cubic", load: null },
          rtt: { text: "80ms", value: 0.08, jitter: null },
        },
        {
          ...{ key: "load", name: "load", counted: false, count: 1, controller: null, rtt: null },
          load: {
            kind: "cbr",
            rate_bps: 1e6,
            text: TEXT.slice(TEXT.indexOf("# It"), TEXT.indexOf("\n[run]")),
          },
        },
      ],
    });
  });

  test("an edit changes its own key and no comment", () => {
    const controls = controlsOf(TEXT);
    const one = groupOf(controls, 0);
    expect(edited(TEXT, withRate(controls, 2e7))).toBe(TEXT.replace("10Mbps", "20Mbps"));
    expect(edited(TEXT, withBuffer(controls, 0.5, "BDP"))).toBe(TEXT.replace("20p", "0.5BDP"));
    const marked = TEXT.replace('"20p"', '"20p"\nqueue = { kind = "step", threshold = "5p" }');
    expect(edited(marked, withThreshold(controlsOf(marked), 30, "p"))).toBe(marked.replace("5p", "30p"));
    expect(edited(TEXT, withQueue(controls, "codel"))).toBe(TEXT.replace('"20p"', '"20p"\nqueue = "codel"'));
    expect(edited(TEXT, withCount(controls, one, 5))).toBe(TEXT.replace("count = 2", "count = 5"));
    expect(edited(TEXT, withCongestionControl(controls, one, "bbr"))).toContain('cca = "bbr"\n\n# It comes');
    const distribution = '{ value = "80ms", jitter = { uniform = ["0s", "8ms"] } }';
    const jittered = edited(TEXT, withRoundTrip(controls, one, timeOf(0.08), 0.1));
    expect(jittered).toBe(TEXT.replace("'80ms'", distribution));
    const again = controlsOf(jittered);
    expect(edited(jittered, withRoundTrip(again, groupOf(again, 0), timeOf(0.08), 0))).toBe(
      TEXT.replace("'80ms'", '"80ms"'),
    );
    const load = groupOf(controls, 1);
    const louder = withLoad(controls, load, { kind: "cbr", rate_bps: 2e6, text: null });
    expect(edited(TEXT, louder)).toBe(TEXT.replace('cbr={rate="1Mbps"', 'cbr={rate="2Mbps"'));
  });

  test("restored background traffic has its former text", () => {
    const controls = controlsOf(TEXT);
    const load = groupOf(controls, 1);
    const without = edited(TEXT, withoutGroup(controls, load));
    expect(without).toBe(TEXT.replace(`\n${load.load?.text}`, ""));
    const next = { kind: "cbr", rate_bps: 1e6, text: null } as const;
    const back = edited(without, withBackground(controlsOf(without), next, load, null));
    expect(back).toBe(TEXT);
  });

  test.each(SHIPPED)("%s: background traffic can be added and removed", (_, text) => {
    const { links, target, controls } = ask<Resolved>({ do: "check", text });
    const path = links.length > 1 ? (links[target]?.name ?? null) : null;
    const load = { kind: "poisson", rate_bps: 1e6, text: null } as const;
    const changed = { ...withBackground(controls, load, null, path), controls };
    const name = changed.changes.map((it) => JSON.stringify(it).replaceAll("background", "background2"));
    const added = ask<string>({ do: "edit", text, changes: name.map((it) => JSON.parse(it)) });
    const now = controlsOf(added);
    expect(now.groups.length).toBe(controls.groups.length + 1);
    expect(edited(added, withoutGroup(now, groupOf(now, controls.groups.length)))).toBe(text);
  });

  test("goals have bounds in the unit of reports", () => {
    const goal = '[goal]\nutilization = ">= 95%"\nqueue_delay_p99 = ["<= 40ms", ">= 2us"]\n';
    const text = `${TEXT}${goal}"one.loss_rate" = "<= 1%"\n`;
    const { goals } = ask<Resolved>({ do: "check", text });
    expect(goals.map(({ group, metric, at_least, bound }) => [group, metric, at_least, bound])).toEqual([
      [null, "utilization", true, 0.95],
      [null, "queue_delay_p99_s", false, 0.04],
      [null, "queue_delay_p99_s", true, 2e-6],
      ["one", "loss_rate", false, 0.01],
    ]);
    expect(goals[3]?.text).toBe("one.loss_rate <= 0.01");
  });

  test.each(EXPERIMENTS.map((it) => [it.id, it] as const))(
    "%s: each run has an editable text",
    (_, experiment) => {
      for (const { overrides } of experiment.runs) {
        const asked = ask<Resolved>({ do: "check", text: experiment.scenario, overrides });
        const changes = overrides.map((set) => ({ set }));
        const text = ask<string>({ do: "edit", text: experiment.scenario, changes });
        expect(ask<Resolved>({ do: "check", text }).canonical).toBe(asked.canonical);
        // Each run can be played. The packet engine plays the link of the fluid engine.
        ask({ do: "begin", text });
      }
    },
  );
});
