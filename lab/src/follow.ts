/** Has a run run again beside the one that is played, and tells what the flow of one signal did around it. */

import { Client } from "./engine/client.ts";
import { type Refusal, RefusedError } from "./engine/instance.ts";
import type { Course, CourseAsked, Signal } from "./engine/replay.ts";

/** The most seconds that a replay may take. */
const MOST_S = 60;

/** What is known of a signal. */
export interface Followed {
  signal: Signal;
  course: Course | null;
  refusal: Refusal | null;
}

export class Follow {
  readonly #start: () => Worker;
  readonly #module: WebAssembly.Module;
  readonly #tell: (followed: Followed | null) => void;
  #client: Client | null = null;
  #asked = 0;

  constructor(start: () => Worker, module: WebAssembly.Module, tell: (followed: Followed | null) => void) {
    this.#start = start;
    this.#module = module;
    this.#tell = tell;
  }

  /** Follows the flow of a signal; what was asked before is given up. */
  async follow(text: string, asked: CourseAsked): Promise<void> {
    if (this.#client?.isAsked) this.#client.cancel();
    this.#client ??= new Client(this.#start, this.#module);
    const ticket = ++this.#asked;
    const { signal } = asked;
    const told = (course: Course | null, refusal: Refusal | null): void => {
      if (ticket === this.#asked) this.#tell({ signal, course, refusal });
    };
    told(null, null);
    try {
      const request = { do: "course", text, course: asked, most_s: MOST_S };
      told(await this.#client.ask<Course>(request), null);
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      told(null, error.refusal);
    }
  }

  /** Gives up, and frees the worker. */
  cancel(): void {
    this.#asked += 1;
    this.#client?.close();
    this.#client = null;
    this.#tell(null);
  }
}
