/**
 * Plays a run: advances it in slices that follow a clock, and takes a picture once the previous one was
 * shown. The player has no clock and no thread of its own, so tests supply both.
 */

/** Picoseconds per second. */
const PICOSECONDS = 1e12;
/** End of time: the largest time in picoseconds that fits a signed 64-bit integer. */
export const FOREVER = (1n << 63n) - 1n;
/** Events between two readings of the clock: a few milliseconds of work. */
const EVENTS_PER_CALL = 10_000;
/** Largest lag of a run behind its clock, in seconds of the clock. Beyond it the clock waits for the run. */
const LAG_S = 0.1;

/** Run that a player can advance. */
export interface Run {
  /** Simulated time, in picoseconds. */
  now(): bigint;
  advance(until: bigint, events: number): boolean;
  look(flows: number): Float64Array<ArrayBuffer>;
}

/** Result of a slice. */
export interface Slice {
  /** Picture, if one is due. */
  figures: Float64Array<ArrayBuffer> | null;
  hasEnded: boolean;
  /** Whether the run lags behind its clock. */
  isBehind: boolean;
}

export class Player {
  readonly #run: Run;
  readonly #flows: number;
  /** Simulated time up to which the run is to advance, in picoseconds. */
  #untilPs = 0;
  /** Simulated seconds per second of the clock. Null means as fast as possible, undefined means paused. */
  #pace: number | null | undefined;
  #lastMs: number | undefined;
  #isShown = true;
  #isStale = true;
  #hasEnded = false;

  /** Plays `run`, with up to `flows` flows in a picture. */
  constructor(run: Run, flows: number) {
    this.#run = run;
    this.#flows = flows;
  }

  /** Whether the run continues without further calls. */
  get isPlaying(): boolean {
    return this.#pace !== undefined && !this.#hasEnded;
  }

  /** Whether the run has advanced since the last picture. */
  get isStale(): boolean {
    return this.#isStale;
  }

  play(pace: number | null): void {
    this.#pace = pace;
    this.#lastMs = undefined;
    this.#untilPs = Number(this.#run.now());
  }

  pause(): void {
    this.#pace = undefined;
    this.#untilPs = Number(this.#run.now());
  }

  /** Advances by `seconds` simulated seconds and pauses. */
  step(seconds: number): void {
    this.#pace = undefined;
    this.#untilPs = Number(this.#run.now()) + seconds * PICOSECONDS;
  }

  /** Reports that the last picture was shown, so that the next one may be taken. */
  seen(): void {
    this.#isShown = true;
  }

  /** Advances the run for about `budget` milliseconds of a clock. */
  slice(clock: () => number, budget: number): Slice {
    const begin = clock();
    this.#advanceClock(begin);
    while (this.#isBehind() && clock() - begin < budget) {
      const until = this.#pace === null ? FOREVER : BigInt(Math.round(this.#untilPs));
      this.#hasEnded = this.#run.advance(until, EVENTS_PER_CALL);
      this.#isStale = true;
    }
    let figures = null;
    if (this.#isStale && this.#isShown) {
      figures = this.#run.look(this.#flows);
      this.#isStale = false;
      this.#isShown = false;
    }
    return { figures, hasEnded: this.#hasEnded, isBehind: this.#isBehind() };
  }

  #advanceClock(now: number): void {
    const pace = this.#pace;
    if (pace === null || pace === undefined) return;
    const passed = (now - (this.#lastMs ?? now)) / 1000;
    this.#lastMs = now;
    const farthest = Number(this.#run.now()) + pace * LAG_S * PICOSECONDS;
    this.#untilPs = Math.min(this.#untilPs + pace * passed * PICOSECONDS, farthest);
  }

  #isBehind(): boolean {
    if (this.#hasEnded) return false;
    return this.#pace === null || Number(this.#run.now()) < Math.floor(this.#untilPs);
  }
}
