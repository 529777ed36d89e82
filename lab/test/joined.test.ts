import { expect, test } from "vitest";
import { joined } from "../src/joined.ts";

test("every value stands at its time, and at no other one", () => {
  const made = joined(
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
    [10, null, null, 12, null],
    [null, 20, 21, null, 23],
  ]);
});

test("what is empty has its columns nevertheless", () => {
  expect(joined([[], [], []], [[], []])).toEqual([[], [], [], []]);
  expect(joined([[1], [2]], [[], []])).toEqual([[1], [2], [null]]);
});
