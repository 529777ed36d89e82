/** Replays the run in a worker and reports the history of one sender around a signal. */

import { Client } from "./engine/client.ts";
import { type Refusal, RefusedError } from "./engine/instance.ts";
import type { Signal, StateHistory, StateHistoryRequest } from "./engine/replay.ts";

/** Time limit of a replay, in seconds. */
const TIME_LIMIT_S = 60;

/** State of a replay: the history when it is complete, or the reason of a refusal. */
export interface ReplayResult {
  signal: Signal;
  history: StateHistory | null;
  refusal: Refusal | null;
}

export class LossReplay {
  readonly #start: () => Worker;
  readonly #module: WebAssembly.Module;
  readonly #listener: (result: ReplayResult | null) => void;
  #client: Client | null = null;
  #latest = 0;

  constructor(
    start: () => Worker,
    module: WebAssembly.Module,
    listener: (result: ReplayResult | null) => void,
  ) {
    this.#start = start;
    this.#module = module;
    this.#listener = listener;
  }

  /** Starts a replay for a signal. An unfinished replay is canceled. */
  async replay(text: string, request: StateHistoryRequest): Promise<void> {
    if (this.#client?.isPending) this.#client.cancel();
    this.#client ??= new Client(this.#start, this.#module);
    const ticket = ++this.#latest;
    const { signal } = request;
    const report = (history: StateHistory | null, refusal: Refusal | null): void => {
      if (ticket === this.#latest) this.#listener({ signal, history, refusal });
    };
    report(null, null);
    try {
      const engineRequest = { do: "state_history", text, history: request, most_s: TIME_LIMIT_S };
      report(await this.#client.ask<StateHistory>(engineRequest), null);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      report(null, error.refusal);
    }
  }

  /** Cancels the replay and terminates its worker. */
  cancel(): void {
    this.#latest += 1;
    this.#client?.close();
    this.#client = null;
    this.#listener(null);
  }
}
