import { expect, test } from "vitest";
import type { Resolved } from "../src/engine/protocol.ts";
import { chartsSvg, escaped, steps } from "../src/picture.ts";
import { csvOf, flowName, samplesRequest } from "../src/trace_csv.ts";

const RESOLVED = {
  title: "Two\nlinks",
  sha256: "abc",
  seed: 7,
  target: 1,
  trace_every_s: 0.002,
  groups: [
    { name: 'a, "b"', count: 2, controller: "cubic", responsive: true, first_flow: 0 },
    { name: "noise", count: 1, controller: "", responsive: false, first_flow: 2 },
    { name: "last", count: 1, controller: "bbr", responsive: true, first_flow: 3 },
  ],
} as unknown as Resolved;

test("a trace has the interval of the scenario, unless the rows are too many", () => {
  expect(samplesRequest(RESOLVED, 10)).toEqual({ everyS: 0.002, untilS: 10, flows: 3, target: 1 });
  const long = samplesRequest(RESOLVED, 1000);
  expect(long.untilS / long.everyS).toBeLessThanOrEqual(20_000);
  expect(long.everyS / 0.002).toBeCloseTo(Math.round(long.everyS / 0.002), 9);
});

test("a trace names its source, and its window columns are in the order of flow numbers", () => {
  const flows = [
    { flow: 3, group: 2 },
    { flow: 1, group: 0 },
  ];
  const rows = [
    [0, 1, 0.5, 0, 2, 3, 40],
    [0.002, 2, 0.25, 1, 2, 3, null, 10.5],
  ];
  const lines = csvOf({ resolved: RESOLVED, version: "9" }, { flows, rows }).split("\n");
  const table = lines.filter((line) => !line.startsWith("#"));
  expect(lines.slice(0, 2)).toEqual([
    "# forebay 9: Two links",
    "# scenario sha256 abc, seed 7, replication 0, engine packet",
  ]);
  expect(table).toEqual([
    'time_s,packets,delay_s,utilization,drops,marks,"cwnd_packets a, ""b"" 2",cwnd_packets last',
    "0,1,0.5,0,2,3,,40",
    "0.002,2,0.25,1,2,3,10.5,",
    "",
  ]);
  expect(flowName(null, { flow: 4, group: 0 })).toBe("flow 5");
});

test("a picture has title, units and legend, and its text is escaped", () => {
  const line = { name: "<b>&", color: "#000000", dash: [], values: [1, Number.NaN, 3, 4] };
  const level = { name: "buffer: 20 packets", value: 20 };
  const chart = { title: "Queue", unit: "packets", lines: [line], level };
  const svg = chartsSvg({ title: 'A "link"\u0000', source: "forebay 9" }, [0, 1, 2, 3], [chart, chart]);
  for (const text of ["Queue (packets)", "time (s)", "&lt;b&gt;&amp;", "buffer: 20 packets", "forebay 9"])
    expect(svg).toContain(text);
  expect(svg).toContain(">A &quot;link&quot;<");
  expect(svg).not.toMatch(/NaN|undefined|Infinity|<b>/);
  // Unknown values interrupt the line.
  const [path] = /d="(M[^"]*)"/.exec(svg)?.slice(1) ?? [];
  expect(path?.match(/M/g)?.length).toBe(2);
  expect(path?.match(/L/g)?.length).toBe(1);
  expect(chartsSvg({ title: "", source: "" }, [], [{ ...chart, lines: [] }])).not.toMatch(/NaN|Infinity/);
});

test("ticks are few and round, and lie within the axis", () => {
  for (const most of [0.003, 0.7, 1, 19.6, 21, 100, 12_345, 1e9]) {
    const found = steps(most);
    expect(found[0]).toBe(0);
    expect(found.length).toBeGreaterThanOrEqual(4);
    expect(found.length).toBeLessThanOrEqual(10);
    expect(found.at(-1)).toBeLessThanOrEqual(most * (1 + 1e-9));
  }
  expect(escaped("a\u0007b<")).toBe("ab&lt;");
});
