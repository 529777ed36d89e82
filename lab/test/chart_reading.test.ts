import { expect, test } from "vitest";
import { readingAt } from "../src/chart_reading.ts";
import type { ChartColumn } from "../src/engine/figures.ts";
import { History, QUEUE_COLUMN } from "../src/history.ts";

const band = (mean: number): ChartColumn["queue"] => ({ min: mean - 1, max: mean + 1, mean });

function chart(): History {
  const history = new History(2);
  const columns = [2, 4, 6].map((mean) => ({
    ...{ losses: mean === 4 ? 3 : 0, marks: 0, bytes: 0, queue: band(mean) },
    windows: mean === 6 ? [band(20)] : [band(10), band(12)],
  }));
  history.update({ widthS: 1, first: 0, columns }, 3);
  return history;
}

test("the pointer reads the nearest interval", () => {
  const queue = [{ at: QUEUE_COLUMN, name: "queue" }];
  const read = (timeS: number, hasLosses = true): string =>
    readingAt(chart(), queue, timeS, hasLosses).replaceAll("\u202f", " ");
  expect(read(0)).toBe("500 ms: mean 2.00 (1.00 to 3.00)");
  expect(read(0.9)).toBe("500 ms: mean 2.00 (1.00 to 3.00)");
  expect(read(1.1)).toBe("1.50 s: mean 4.00 (3.00 to 5.00), 3 lost");
  expect(read(1.1, false)).toBe("1.50 s: mean 4.00 (3.00 to 5.00)");
  expect(read(99)).toBe("2.50 s: mean 6.00 (5.00 to 7.00)");
});

test("several windows are read by name, and a flow without a window is left out", () => {
  const windows = ["a", "b"].map((name, flow) => ({ at: History.window(flow), name }));
  const read = (timeS: number): string => readingAt(chart(), windows, timeS, false).replaceAll("\u202f", " ");
  expect(read(1.5)).toBe("1.50 s: a 10.0, b 12.0");
  expect(read(2.5)).toBe("2.50 s: a 20.0");
  expect(readingAt(new History(1), windows, 1, false)).toBe("");
});
