/**
 * An instance of the engines: what crates/browser exports, with texts and typed numbers in place of addresses.
 * It runs wherever WebAssembly does: in the page's workers, and under Node in the tests.
 */

/** What the module exports; see crates/browser/src/exports.rs. */
interface Exports {
  memory: WebAssembly.Memory;
  forebay_reserve(length: number): number;
  forebay_ask(): number;
  forebay_answer(): number;
  forebay_answer_length(): number;
  forebay_advance(until: bigint, events: bigint): number;
  forebay_now(): bigint;
  forebay_watch(most: number): number;
  forebay_follow(group: number, flow: number): number;
  forebay_look(flows: number): number;
  forebay_figures(): number;
  forebay_figures_length(): number;
  forebay_defect(): number;
  forebay_defect_length(): number;
}

/** Why there is no answer: a line, as the command line would say it. */
export interface Refusal {
  /** Whose mistake it is; a defect is ours. */
  kind: "scenario" | "engine" | "request" | "defect";
  message: string;
  /** The line of the scenario's text, from 1. */
  line: number | null;
  key: string | null;
}

/** A refusal as an exception. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.name = "RefusedError";
    this.refusal = refusal;
  }
}

/** Of forebay_packet's states: a run goes on, has ended, or was refused. */
const ENDED = 1;
const REFUSED = 2;

export class Instance {
  readonly #exports: Exports;

  constructor(module: WebAssembly.Module) {
    const instance = new WebAssembly.Instance(module, {});
    this.#exports = instance.exports as unknown as Exports;
  }

  /** The answer to a request, parsed. Throws {@link RefusedError}. */
  ask<T>(request: object): T {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const state = this.#guarded(() => {
      const address = this.#exports.forebay_reserve(bytes.length);
      if (address === 0 && bytes.length > 0) {
        throw new RefusedError({
          kind: "request",
          message: `found a scenario of ${bytes.length} bytes; allowed: at most 4 MB here`,
          line: null,
          key: null,
        });
      }
      new Uint8Array(this.#exports.memory.buffer, address, bytes.length).set(bytes);
      return this.#exports.forebay_ask();
    });
    const answer: unknown = JSON.parse(this.#answer());
    if (state === REFUSED) throw new RefusedError(answer as Refusal);
    return answer as T;
  }

  /** Lets the run go on until so many picoseconds since its beginning, or some events more; whether it has ended. */
  advance(until: bigint, events: number): boolean {
    return this.#state(() => this.#exports.forebay_advance(until, BigInt(events))) === ENDED;
  }

  /** Where the run stands, in picoseconds since its beginning; 0 where there is none. */
  now(): bigint {
    return BigInt.asUintN(64, this.#exports.forebay_now());
  }

  /** Has up to so many sightings of packets kept between two pictures. */
  watch(most: number): void {
    this.#state(() => this.#exports.forebay_watch(most));
  }

  /** Has pictures tell how this flow of a group stood at each change, its number being one over all groups. */
  follow(group: number, flow: number): void {
    this.#state(() => this.#exports.forebay_follow(group, flow));
  }

  /** A picture of the run with up to so many flows: a copy that may be given away. */
  look(flows: number): Float64Array<ArrayBuffer> {
    this.#state(() => this.#exports.forebay_look(flows));
    const address = this.#exports.forebay_figures();
    const length = this.#exports.forebay_figures_length();
    return new Float64Array(
      this.#exports.memory.buffer,
      address,
      length,
    ).slice() as Float64Array<ArrayBuffer>;
  }

  #state(call: () => number): number {
    const state = this.#guarded(call);
    if (state === REFUSED) throw new RefusedError(JSON.parse(this.#answer()) as Refusal);
    return state;
  }

  #answer(): string {
    return this.#text(this.#exports.forebay_answer(), this.#exports.forebay_answer_length());
  }

  #text(address: number, length: number): string {
    return new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, address, length));
  }

  /** A call that may trap: then the instance is of no more use, and says why. */
  #guarded<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      if (error instanceof RefusedError) throw error;
      const said = this.#text(this.#exports.forebay_defect(), this.#exports.forebay_defect_length());
      const message = said || (error instanceof Error ? error.message : String(error));
      throw new RefusedError({ kind: "defect", message, line: null, key: null });
    }
  }
}
