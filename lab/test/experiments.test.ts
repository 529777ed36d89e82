/** Every experiment runs to its end, and its explanation agrees with the results of the engines. */

import { describe, expect, test } from "vitest";
import type { Instance } from "../src/engine/instance.ts";
import { FOREVER } from "../src/engine/player.ts";
import { EXPERIMENTS, experimentOf } from "../src/experiments/index.ts";
import { type Experiment, pictureNote, Results, rightOption } from "../src/experiments/types.ts";
import type { Report } from "../src/model.ts";
import { engines, HAS_ENGINES } from "./engines.ts";

/** Largest number of events of a run, so that an experiment takes seconds. */
const MOST_EVENTS = 3e6;

function reportOf(own: Instance, experiment: Experiment, run: Experiment["runs"][number]): Report {
  const request = { text: experiment.scenario, overrides: run.overrides };
  if (run.engine) return own.ask<Report>({ do: "answer", engine: run.engine, ...request });
  own.ask({ do: "begin", ...request });
  while (!own.advance(FOREVER, 1_000_000)) {
    // Continue to the end.
  }
  return own.ask<Report>({ do: "finish" });
}

test("there are at least twelve experiments with unique ids", () => {
  expect(EXPERIMENTS.length).toBeGreaterThanOrEqual(12);
  expect(new Set(EXPERIMENTS.map(({ id }) => id)).size).toBe(EXPERIMENTS.length);
  for (const experiment of EXPERIMENTS) expect(experimentOf(experiment.id)).toBe(experiment);
  expect(experimentOf("nothing")).toBeUndefined();
});

test("results have values by run and group, and missing values are NaN", () => {
  const report = {
    metrics: { utilization: { mean: 0.5, half_width: null } },
    groups: [{ name: "a", metrics: { goodput_bps: { mean: 1e6, half_width: null } } }],
  } as unknown as Report;
  const found = new Results([report]);
  expect(found.value(0, "utilization")).toBe(0.5);
  expect(found.value(0, "a.goodput_bps")).toBe(1e6);
  for (const [run, metric] of [
    [1, "utilization"],
    [0, "b.goodput_bps"],
    [0, "a.loss_rate"],
    [0, "loss_rate"],
  ] as const)
    expect(found.value(run, metric)).toBeNaN();
});

test("an answer says why the numbers of the picture differ", () => {
  const noteOf = (id: string): string => pictureNote(experimentOf(id) ?? { runs: [] });
  expect(noteOf("bufferbloat")).toContain("cover whole runs");
  expect(noteOf("losing-together")).toContain("fluid model");
  // Either all runs of an experiment are those of the fluid model, or none.
  for (const { runs } of EXPERIMENTS) expect(new Set(runs.map(({ engine }) => engine)).size).toBe(1);
});

describe.skipIf(!HAS_ENGINES)("in the engines", () => {
  test.each(EXPERIMENTS.map((experiment) => [experiment.id, experiment] as const))(
    "%s",
    (_, experiment) => {
      const own = engines();
      const reports = experiment.runs.map((run) => reportOf(own, experiment, run));
      for (const { cost } of reports as (Report & { cost: { events: number } })[])
        expect(cost.events).toBeLessThan(MOST_EVENTS);
      const found = new Results(reports);
      const rows = experiment.runs.map((_run, at) =>
        experiment.columns.map(({ metric }) => found.value(at, metric)),
      );
      const context = `${JSON.stringify(rows)} ${experiment.explanation(found)}`;
      for (const value of rows.flat()) expect(value, context).not.toBeNaN();
      expect(experiment.claim(found), context).toBe(true);
      const { comparison } = experiment.paper;
      for (const text of [experiment.explanation(found), comparison?.(found) ?? ""])
        expect(text).not.toMatch(/–|NaN|undefined/);
      const { prediction } = experiment;
      if (prediction.kind === "choice")
        expect(
          prediction.options.filter(({ holds }) => holds(found)),
          context,
        ).toHaveLength(1);
      expect(experiment.runs.length).toBeGreaterThanOrEqual(2);
      const { scale } = experiment;
      if (scale && prediction.kind === "choice") {
        // The point of the result is in the region of the right answer.
        const measured = scale.value(found);
        const region = scale.bounds.filter((bound) => bound <= measured).length;
        expect(scale.answers[region], context).toBe(rightOption(prediction.options, found));
        expect(measured, context).toBeGreaterThanOrEqual(scale.range[0]);
        expect(measured, context).toBeLessThan(scale.range[1]);
      }
    },
    60_000,
  );
});
