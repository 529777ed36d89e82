/** Time series of a run for its charts. Their length is bounded, so memory is bounded. */

/** Largest number of rows. At this length every second row is removed. */
const MAX_LENGTH = 2000;

/** Time series in columns. Equal indices belong to the same moment. */
export class History {
  readonly columns: number[][];
  /** Every `#stride`-th row is stored. */
  #stride = 1;
  #count = 0;

  /** Makes `width` columns. The first one is time. */
  constructor(width: number) {
    this.columns = Array.from({ length: width }, () => []);
  }

  get length(): number {
    return this.columns[0]?.length ?? 0;
  }

  /** Adds a row. */
  add(row: readonly number[]): void {
    this.#count += 1;
    if (this.#count % this.#stride !== 0) return;
    for (const [at, column] of this.columns.entries()) column.push(row[at] ?? Number.NaN);
    if (this.length < MAX_LENGTH) return;
    this.#stride *= 2;
    for (const column of this.columns) {
      const remaining = column.filter((_, index) => index % 2 === 1);
      column.length = 0;
      column.push(...remaining);
    }
  }
}
