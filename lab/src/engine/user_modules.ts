/**
 * Modules of users beside the engines: it compiles them and calls their functions for the engines. The other
 * side is crates/webassembly/src/page/host.rs. A result of 0 is a failure, whose reason `error` writes.
 */

/** Exports of the engines for modules. */
export interface Engines {
  memory: WebAssembly.Memory;
  forebay_import(number: number, x: number, y: number): number;
}

type Method = (...values: number[]) => number | undefined;
type Functions = Record<string, (x: number, y: number) => number>;

interface Compiled {
  module: WebAssembly.Module;
  functions: Functions;
}

/** Instance of a module. */
interface Running {
  exports: WebAssembly.Exports;
  memory: WebAssembly.Memory;
  /** Memory as words. It has no length after the memory grew; to ask for the buffer of a memory takes longer. */
  words: Int32Array;
  methods: Method[];
}

/** Offset of a call's result in the exchange, in bytes. */
const RESULT = 16;
/** Words of the window in the exchange. */
const WINDOW = 4;

export class UserModules {
  #engines!: Engines;
  #words = new Int32Array();
  #reals = new Float64Array();
  readonly #modules: Compiled[] = [];
  readonly #instances: (Running | undefined)[] = [];
  #error = "";

  /** Functions that the engines import. Numbers of modules, instances and methods begin at 1. */
  readonly page = {
    compile: (at: number, length: number, names: number, namesLength: number): number =>
      this.#attempt(() => {
        const module = new WebAssembly.Module(this.#own(at, length).slice());
        return this.#modules.push({ module, functions: this.#functions(this.#text(names, namesLength)) });
      }),

    start: (number: number): number =>
      this.#attempt(() => {
        const { module, functions } = this.#modules[number - 1] as Compiled;
        const { exports } = new WebAssembly.Instance(module, { forebay: functions });
        const memory = exports.memory as WebAssembly.Memory;
        const running = { exports, memory, words: new Int32Array(memory.buffer), methods: [] };
        const free = this.#instances.indexOf(undefined);
        if (free < 0) return this.#instances.push(running);
        this.#instances[free] = running;
        return free + 1;
      }),

    stop: (instance: number): void => {
      this.#instances[instance - 1] = undefined;
    },

    method: (instance: number, name: number, length: number): number => {
      const { exports, methods } = this.#running(instance);
      const method = exports[this.#text(name, length)];
      return typeof method === "function" ? methods.push(method as Method) : 0;
    },

    call: (
      instance: number,
      method: number,
      first: number,
      second: number,
      at: number,
      exchange: number,
      length: number,
    ): number => {
      const running = this.#running(instance);
      if (this.#words.length === 0) this.#refresh();
      const from = exchange >> 2;
      const to = at >> 2;
      try {
        let words = wordsOf(running);
        for (let word = 0; word < length >> 2; word += 1)
          words[to + word] = this.#words[from + word] as number;
        const result = (running.methods[method - 1] as Method)(first, second);
        words = wordsOf(running);
        if (length > 0)
          for (let word = 0; word < WINDOW; word += 1) this.#words[from + word] = words[to + word] as number;
        if (result !== undefined) this.#reals[(exchange + RESULT) >> 3] = result;
        return 1;
      } catch (error) {
        return this.#fail(error);
      }
    },

    size: (instance: number): number => this.#running(instance).memory.buffer.byteLength,

    grow: (instance: number, pages: number): number =>
      this.#attempt(() => {
        this.#running(instance).memory.grow(pages);
        return 1;
      }),

    copy: (instance: number, from: number, to: number, length: number): void => {
      this.#bytes(instance).copyWithin(to, from, from + length);
    },

    fill: (instance: number, at: number, length: number): void => {
      this.#bytes(instance).fill(0, at, at + length);
    },

    read: (instance: number, at: number, into: number, length: number): number => {
      // An address of the module may exceed 2^31.
      const found = this.#bytes(instance).subarray(at >>> 0, (at >>> 0) + length);
      this.#own(into, found.length).set(found);
      return found.length;
    },

    error: (into: number, length: number): number =>
      new TextEncoder().encodeInto(this.#error, this.#own(into, length)).written,
  };

  /** Sets the engines, which exist only after their imports. */
  connect(engines: Engines): void {
    this.#engines = engines;
  }

  #running(instance: number): Running {
    return this.#instances[instance - 1] as Running;
  }

  #bytes(instance: number): Uint8Array {
    return new Uint8Array(this.#running(instance).memory.buffer);
  }

  #own(at: number, length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#engines.memory.buffer as ArrayBuffer, at, length);
  }

  #text(at: number, length: number): string {
    return new TextDecoder().decode(this.#own(at, length));
  }

  #refresh(): void {
    this.#words = new Int32Array(this.#engines.memory.buffer);
    this.#reals = new Float64Array(this.#engines.memory.buffer);
  }

  /** Functions that a module may import, from their names in the order of the engines. */
  #functions(names: string): Functions {
    const functions: Functions = {};
    for (const [number, name] of names.split(",").entries()) {
      functions[name] = (x, y) => {
        const result = this.#engines.forebay_import(number, x, y);
        if (name.startsWith("random_") && Number.isNaN(result)) throw new Error("there is no connection yet");
        return result;
      };
    }
    return functions;
  }

  #attempt(action: () => number): number {
    try {
      return action();
    } catch (error) {
      return this.#fail(error);
    }
  }

  #fail(error: unknown): number {
    // Browsers name an endless recursion by their own stack.
    this.#error =
      error instanceof RangeError && /stack/i.test(error.message)
        ? "call stack exhausted"
        : error instanceof Error
          ? error.message
          : String(error);
    return 0;
  }
}

function wordsOf(running: Running): Int32Array {
  if (running.words.length === 0) running.words = new Int32Array(running.memory.buffer);
  return running.words;
}
