/**
 * Chart of a run in columns of simulated time, as the engine draws it. It depends on the scenario, on the
 * seed and on the time of the run, not on the speed or on the machine. The engine bounds its length.
 */

import type { Band, ChartPart } from "./engine/figures.ts";

/** Places of the series. A band is three series: the mean, the largest and the smallest value. */
export const TIME_COLUMN = 0;
export const LOSSES_COLUMN = 1;
export const MARKS_COLUMN = 2;
export const BYTES_COLUMN = 3;
export const QUEUE_COLUMN = 4;
const FIRST_WINDOW = 7;
/** Series of a band. */
export const BAND = { mean: 0, max: 1, min: 2, length: 3 } as const;

/** Time series in columns. Equal indices belong to the same interval. */
export class History {
  /** Series: the middle of the interval in seconds, losses, marks, bytes, then the bands. */
  readonly columns: number[][];
  /** Width of an interval, in seconds. The last one may not be over. */
  widthS = 0;
  /** End of the last interval, in seconds. */
  untilS = 0;

  /** Makes a chart with the windows of `flows` flows. */
  constructor(flows: number) {
    this.columns = Array.from({ length: FIRST_WINDOW + BAND.length * flows }, () => []);
  }

  get length(): number {
    return this.columns[TIME_COLUMN]?.length ?? 0;
  }

  /** Place of the mean of a flow's window. */
  static window(flow: number): number {
    return FIRST_WINDOW + BAND.length * flow;
  }

  /** Adds what has changed up to a time. */
  update({ widthS, first, columns }: ChartPart, nowS: number): void {
    this.widthS = widthS;
    this.untilS = nowS;
    for (const series of this.columns) series.length = Math.min(series.length, first);
    columns.forEach(({ losses, marks, bytes, queue, windows }, at) => {
      const begin = (first + at) * widthS;
      const middle = (begin + Math.min(begin + widthS, nowS)) / 2;
      const values = [middle, losses, marks, bytes, ...valuesOf(queue), ...windows.flatMap(valuesOf)];
      this.columns.forEach((series, place) => void series.push(values[place] ?? Number.NaN));
    });
  }
}

function valuesOf({ mean, max, min }: Band): number[] {
  return [mean, max, min];
}
