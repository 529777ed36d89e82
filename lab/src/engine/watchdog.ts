/** Notices that a worker does not return from the code of a user: a loop blocks it, so it answers nothing. */

/** Largest time without a sign of life, in seconds. */
export const MAX_SILENCE_S = 10;
const TICK_MS = 1000;

export class Watchdog {
  readonly #ping: () => void;
  readonly #onSilence: () => void;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** Ticks since the last sign of life. A clock would count the time for which a computer sleeps. */
  #silentTicks = 0;

  /** `ping` asks the worker for a sign of life. `onSilence` is called once, and ends the watch. */
  constructor(ping: () => void, onSilence: () => void) {
    this.#ping = ping;
    this.#onSilence = onSilence;
  }

  start(): void {
    this.#silentTicks = 0;
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Reports a sign of life. */
  reset(): void {
    this.#silentTicks = 0;
  }

  #tick(): void {
    this.#silentTicks += 1;
    if (this.#silentTicks <= MAX_SILENCE_S) this.#ping();
    else {
      this.stop();
      this.#onSilence();
    }
  }
}
