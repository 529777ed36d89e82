/**
 * An instance of the engines: the exports of crates/browser with text and typed numbers instead of addresses.
 * It runs wherever WebAssembly runs: in the workers of the page, and in Node for the tests.
 */

import { type Engines, UserModules } from "./user_modules.ts";

/** Exports of the WebAssembly module; see crates/browser/src/exports.rs. */
interface Exports extends Engines {
  forebay_reserve(length: number): number;
  forebay_ask(): number;
  forebay_answer(): number;
  forebay_answer_length(): number;
  forebay_advance(until: bigint, events: bigint): number;
  forebay_now(): bigint;
  forebay_watch(limit: number): number;
  forebay_follow(group: number, flow: number): number;
  forebay_look(flows: number): number;
  forebay_figures(): number;
  forebay_figures_length(): number;
  forebay_defect(): number;
  forebay_defect_length(): number;
  forebay_defect_is_of_code(): number;
}

/** Reason of a refusal, in one line, as the command line prints it. */
export interface Refusal {
  /**
   * Origin of the error; `defect` is an error of forebay, `code` one of a user's code. `consent` means that the
   * user has not let the code run yet.
   */
  kind: "scenario" | "engine" | "request" | "defect" | "code" | "consent";
  message: string;
  /** Line of the scenario's text, counted from 1. */
  line: number | null;
  key: string | null;
  /** Module that needs the user's consent. */
  module?: { file: string; sha256: string };
}

/** Exception that carries a refusal. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.name = "RefusedError";
    this.refusal = refusal;
  }
}

/** States of a run in forebay_packet: ended, refused. Other values mean that the run continues. */
const ENDED = 1;
const REFUSED = 2;

export class Instance {
  readonly #exports: Exports;
  /** Whether a call trapped, after which the instance is unusable. */
  isBroken = false;

  constructor(module: WebAssembly.Module) {
    const users = new UserModules();
    const instance = new WebAssembly.Instance(module, { page: users.page });
    this.#exports = instance.exports as unknown as Exports;
    users.connect(this.#exports);
  }

  /** Sends a request and returns the parsed answer. Throws {@link RefusedError}. */
  ask<T>(request: object): T {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    const state = this.#call(() => {
      const address = this.#exports.forebay_reserve(bytes.length);
      if (address === 0 && bytes.length > 0) {
        throw new RefusedError({
          kind: "request",
          message: `found a scenario of ${bytes.length} bytes; a page reads at most 4 MB`,
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

  /**
   * Advances the run until `until` picoseconds of simulated time, or by `events` events, whichever comes
   * first. Returns whether the run has ended.
   */
  advance(until: bigint, events: number): boolean {
    return this.#state(() => this.#exports.forebay_advance(until, BigInt(events))) === ENDED;
  }

  /** Simulated time of the run in picoseconds; 0 if there is no run. */
  now(): bigint {
    return BigInt.asUintN(64, this.#exports.forebay_now());
  }

  /** Records up to `limit` packet events between two pictures. */
  watch(limit: number): void {
    this.#state(() => this.#exports.forebay_watch(limit));
  }

  /** Records every state of a flow in pictures. Flow numbers count over all groups. */
  follow(group: number, flow: number): void {
    this.#state(() => this.#exports.forebay_follow(group, flow));
  }

  /** Returns a picture of the run with up to `flows` flows. The array is a copy, so it can be transferred. */
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
    const state = this.#call(call);
    if (state === REFUSED) throw new RefusedError(JSON.parse(this.#answer()) as Refusal);
    return state;
  }

  #answer(): string {
    return this.#text(this.#exports.forebay_answer(), this.#exports.forebay_answer_length());
  }

  #text(address: number, length: number): string {
    return new TextDecoder().decode(new Uint8Array(this.#exports.memory.buffer, address, length));
  }

  /**
   * Calls an export that may trap. After a trap the instance is unusable, and the exception carries the
   * reason.
   */
  #call<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      if (error instanceof RefusedError) throw error;
      this.isBroken = true;
      const defect = this.#text(this.#exports.forebay_defect(), this.#exports.forebay_defect_length());
      const message = defect || (error instanceof Error ? error.message : String(error));
      const kind = defect && this.#exports.forebay_defect_is_of_code() ? "code" : "defect";
      throw new RefusedError({ kind, message, line: null, key: null });
    }
  }
}
