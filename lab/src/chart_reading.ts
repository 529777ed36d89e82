/** Values of a chart over time at the pointer. */

import { BAND, type History, LOSSES_COLUMN, TIME_COLUMN } from "./history.ts";
import { amount, digits, time } from "./numbers.ts";

/** Band of a chart: the place of the mean in the history, and the name. */
interface ReadColumn {
  at: number;
  name: string;
}

/**
 * Text of the interval that is nearest to a time in seconds. A single band has its smallest and largest value
 * and the losses, several bands have their means. Empty if there is no value.
 */
export function readingAt(
  history: History,
  columns: readonly ReadColumn[],
  timeS: number,
  hasLosses: boolean,
): string {
  const times = history.columns[TIME_COLUMN] ?? [];
  let at = times.findIndex((middle) => middle >= timeS);
  if (at < 0) at = times.length - 1;
  if (at > 0 && timeS - (times[at - 1] ?? 0) < (times[at] ?? 0) - timeS) at -= 1;
  const value = (place: number): number => history.columns[place]?.[at] ?? Number.NaN;
  const shown = columns.filter((column) => Number.isFinite(value(column.at)));
  const [first] = shown;
  if (!first) return "";
  const losses = hasLosses && value(LOSSES_COLUMN) > 0 ? `, ${amount(value(LOSSES_COLUMN))} lost` : "";
  const text =
    columns.length === 1
      ? `mean ${digits(value(first.at))} (${digits(value(first.at + BAND.min))} to ${digits(value(first.at + BAND.max))})`
      : shown.map((column) => `${column.name} ${digits(value(column.at))}`).join(", ");
  return `${time(times[at] ?? 0)}: ${text}${losses}`;
}
