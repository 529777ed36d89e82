import { expect, test } from "vitest";
import { alignSeries } from "../src/align_series.ts";

test("every value is at its own time only, and a missing one is a gap", () => {
  const made = alignSeries(
    [
      [0, 1, 2],
      [10, Number.NaN, 12],
    ],
    [
      [0.5, 1, 3],
      [20, 21, 23],
    ],
  );
  expect(made).toEqual([
    [0, 0.5, 1, 2, 3],
    [10, undefined, null, 12, undefined],
    [undefined, 20, 21, undefined, 23],
  ]);
});

test("an empty series retains its columns", () => {
  expect(alignSeries([[], [], []], [[], []])).toEqual([[], [], [], []]);
  expect(alignSeries([[1], [2]], [[], []])).toEqual([[1], [2], [undefined]]);
});
