/**
 * Aligns two series of columns on one time axis. Each is undefined at the times of the other, where a line
 * continues, and null where it has no value, where a line has a gap.
 */

type Column = (number | null | undefined)[];

/** Returns the times of both in ascending order, then the columns of the first, then those of the second. */
export function alignSeries(
  first: readonly (readonly number[])[],
  second: readonly (readonly number[])[],
): Column[] {
  const [firstTimes, secondTimes] = [first[0] ?? [], second[0] ?? []];
  const times = [...new Set([...firstTimes, ...secondTimes])].sort((one, other) => one - other);
  const align = (own: readonly number[], column: readonly number[]): Column => {
    let at = 0;
    return times.map((time) => {
      while (at < own.length - 1 && (own[at] ?? 0) < time) at += 1;
      const value = own[at] === time ? column[at] : undefined;
      return Number.isNaN(value) ? null : value;
    });
  };
  return [
    times,
    ...first.slice(1).map((column) => align(firstTimes, column)),
    ...second.slice(1).map((column) => align(secondTimes, column)),
  ];
}
