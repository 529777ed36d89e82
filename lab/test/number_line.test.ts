import { expect, test } from "vitest";
import { insideX } from "../src/chart_frame.tsx";
import { ticksOf } from "../src/number_line.tsx";

test("numbers of ticks do not overlap", () => {
  const shown = (places: number[]): string[] => ticksOf(places).map(({ at, anchor }) => `${at} ${anchor}`);
  expect(shown([12, 120, 240, 348])).toEqual(["0 start", "1 middle", "2 middle", "3 end"]);
  // An end that is close to a bound has no number.
  expect(shown([12, 30, 240, 348])).toEqual(["1 start", "2 middle", "3 end"]);
  expect(shown([12, 120, 330, 348])).toEqual(["0 start", "1 middle", "2 end"]);
  // Two close bounds have their numbers on both sides.
  expect(shown([12, 160, 186, 348])).toEqual(["0 start", "1 end", "2 start", "3 end"]);
});

test("the number of the last tick is inside of the picture", () => {
  expect(insideX(200, "100")).toBe(200);
  expect(insideX(328, "1000") + 16).toBeLessThanOrEqual(340);
});
