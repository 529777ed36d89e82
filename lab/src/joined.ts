/** Two histories on one axis of time: each is empty at the other's moments. */

type Column = (number | null)[];

/** Times of both in rising order, then the columns of the first, then those of the second. */
export function joined(
  first: readonly (readonly number[])[],
  second: readonly (readonly number[])[],
): Column[] {
  const [ones, others] = [first[0] ?? [], second[0] ?? []];
  const times = [...new Set([...ones, ...others])].sort((one, other) => one - other);
  const spread = (own: readonly number[], column: readonly number[]): Column => {
    let at = 0;
    return times.map((time) => {
      while (at < own.length - 1 && (own[at] ?? 0) < time) at += 1;
      const value = own[at] === time ? column[at] : undefined;
      return value === undefined || Number.isNaN(value) ? null : value;
    });
  };
  return [
    times,
    ...first.slice(1).map((column) => spread(ones, column)),
    ...second.slice(1).map((column) => spread(others, column)),
  ];
}
