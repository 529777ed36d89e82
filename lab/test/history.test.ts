import { expect, test } from "vitest";
import type { ChartColumn } from "../src/engine/figures.ts";
import { BAND, BYTES_COLUMN, History, LOSSES_COLUMN, QUEUE_COLUMN, TIME_COLUMN } from "../src/history.ts";

const band = (mean: number): ChartColumn["queue"] => ({ min: mean - 1, max: mean + 1, mean });

function column(mean: number): ChartColumn {
  return { losses: mean, marks: 0, bytes: 100 * mean, queue: band(mean), windows: [band(mean + 10)] };
}

test("columns replace those from their number on", () => {
  const history = new History(2);
  history.update({ widthS: 2, first: 0, columns: [column(1), column(2)] }, 3);
  expect(history.columns[TIME_COLUMN]).toEqual([1, 2.5]);
  history.update({ widthS: 2, first: 1, columns: [column(3), column(4)] }, 6);
  expect(history.columns[TIME_COLUMN]).toEqual([1, 3, 5]);
  expect(history.columns[LOSSES_COLUMN]).toEqual([1, 3, 4]);
  expect(history.columns[BYTES_COLUMN]).toEqual([100, 300, 400]);
  expect(history.columns[QUEUE_COLUMN + BAND.mean]).toEqual([1, 3, 4]);
  expect(history.columns[QUEUE_COLUMN + BAND.max]).toEqual([2, 4, 5]);
  expect(history.columns[QUEUE_COLUMN + BAND.min]).toEqual([0, 2, 3]);
  expect(history.columns[History.window(0) + BAND.mean]).toEqual([11, 13, 14]);
  // The run has one flow.
  expect(history.columns[History.window(1)]).toEqual([Number.NaN, Number.NaN, Number.NaN]);
});

test("wider columns replace all", () => {
  const history = new History(1);
  history.update({ widthS: 1, first: 0, columns: [column(1), column(2), column(3)] }, 3);
  history.update({ widthS: 2, first: 0, columns: [column(5), column(6)] }, 4);
  expect([history.length, history.widthS, history.untilS]).toEqual([2, 2, 4]);
  expect(history.columns[TIME_COLUMN]).toEqual([1, 3]);
});
