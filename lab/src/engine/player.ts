/**
 * Plays a run: lets it go on in slices that follow a clock, and takes pictures of it, each when the one before has
 * been shown. No clock and no thread is in here: a test can be both.
 */

/** Picoseconds in a second. */
const PICOS = 1e12;
/** No run lasts so long: 64 bits of picoseconds. */
export const FOREVER = (1n << 63n) - 1n;
/** Events between two looks at the clock: a few milliseconds of work. */
const EVENTS = 10_000;
/** How far behind its clock a run may fall, in seconds of the clock, before the clock waits for it. */
const LAG_S = 0.1;

/** What a player needs of a run. */
export interface Run {
  /** Where it stands, in picoseconds since its beginning. */
  now(): bigint;
  advance(until: bigint, events: number): boolean;
  look(flows: number): Float64Array<ArrayBuffer>;
}

/** What a slice came to. */
export interface Slice {
  /** A picture, where one is due. */
  figures: Float64Array<ArrayBuffer> | null;
  hasEnded: boolean;
  /** Whether there is more to do at once. */
  isBehind: boolean;
}

export class Player {
  readonly #run: Run;
  readonly #flows: number;
  /** Until when it is to go on, in picoseconds. */
  #until = 0;
  /** Simulated seconds in one of the clock; null: as fast as it goes; undefined: it stands. */
  #pace: number | null | undefined;
  #last: number | undefined;
  #isShown = true;
  #isStale = true;
  #hasEnded = false;

  /** Plays `run`, with up to so many flows in its pictures. */
  constructor(run: Run, flows: number) {
    this.#run = run;
    this.#flows = flows;
  }

  /** Whether it goes on by itself. */
  get isPlaying(): boolean {
    return this.#pace !== undefined && !this.#hasEnded;
  }

  /** Whether something has happened that no picture shows. */
  get isStale(): boolean {
    return this.#isStale;
  }

  play(pace: number | null): void {
    this.#pace = pace;
    this.#last = undefined;
    this.#until = Number(this.#run.now());
  }

  pause(): void {
    this.#pace = undefined;
    this.#until = Number(this.#run.now());
  }

  /** Goes on by so many simulated seconds and stands then. */
  step(seconds: number): void {
    this.#pace = undefined;
    this.#until = Number(this.#run.now()) + seconds * PICOS;
  }

  /** The last picture was shown: the next one may be taken. */
  seen(): void {
    this.#isShown = true;
  }

  /** Works for about `budget` milliseconds of a clock. */
  slice(clock: () => number, budget: number): Slice {
    const begin = clock();
    this.#wind(begin);
    while (this.#isBehind() && clock() - begin < budget) {
      const until = this.#pace === null ? FOREVER : BigInt(Math.round(this.#until));
      this.#hasEnded = this.#run.advance(until, EVENTS);
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

  #wind(now: number): void {
    const pace = this.#pace;
    if (pace === null || pace === undefined) return;
    const passed = (now - (this.#last ?? now)) / 1000;
    this.#last = now;
    const farthest = Number(this.#run.now()) + pace * LAG_S * PICOS;
    this.#until = Math.min(this.#until + pace * passed * PICOS, farthest);
  }

  #isBehind(): boolean {
    if (this.#hasEnded) return false;
    return this.#pace === null || Number(this.#run.now()) < Math.floor(this.#until);
  }
}
