/** What a run did over time, for its charts: never more points than a chart can show, so that memory stays. */

/** The most moments that are kept; beyond them every second one is forgotten. */
const MOST = 2000;

/** Columns over time: numbers of one moment stand at one index. */
export class History {
  readonly columns: number[][];
  /** Of so many moments one is kept. */
  #every = 1;
  #passed = 0;

  /** So many columns, the first of which is time. */
  constructor(width: number) {
    this.columns = Array.from({ length: width }, () => []);
  }

  get length(): number {
    return this.columns[0]?.length ?? 0;
  }

  /** One more moment. */
  add(row: readonly number[]): void {
    this.#passed += 1;
    if (this.#passed % this.#every !== 0) return;
    for (const [at, column] of this.columns.entries()) column.push(row[at] ?? Number.NaN);
    if (this.length < MOST) return;
    this.#every *= 2;
    for (const column of this.columns) {
      const kept = column.filter((_, index) => index % 2 === 1);
      column.length = 0;
      column.push(...kept);
    }
  }
}
