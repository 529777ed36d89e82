/** The page's end of a worker: requests become promises, and a run's news go to whoever plays it. */

import { type Refusal, RefusedError } from "./instance.ts";
import type { News, Order } from "./protocol.ts";

/** What a run tells. */
export type RunNews = Exclude<News, { kind: "loaded" | "answer" | "no answer" }>;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export class Client {
  readonly #start: () => Worker;
  readonly #module: WebAssembly.Module;
  readonly #hear: (news: RunNews) => void;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker;
  #ticket = 0;
  #run = 0;

  /** `start` makes a worker; `hear` is told what becomes of runs. */
  constructor(start: () => Worker, module: WebAssembly.Module, hear: (news: RunNews) => void = () => {}) {
    this.#start = start;
    this.#module = module;
    this.#hear = hear;
    this.#worker = this.#begin();
  }

  /** The answer of the engines; a refusal is an exception. */
  ask<T>(request: object): Promise<T> {
    const ticket = ++this.#ticket;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(ticket, { resolve: (answer) => resolve(answer as T), reject });
      this.#say({ kind: "ask", ticket, request });
    });
  }

  /** Begins a run in the place of the one before; its number. */
  begin(text: string, overrides: string[], sightings: number, flows: number): number {
    const run = ++this.#run;
    this.#say({ kind: "begin", run, text, overrides, sightings, flows });
    return run;
  }

  /** Orders about the latest run. */
  play(pace: number | null): void {
    this.#say({ kind: "play", run: this.#run, pace });
  }

  pause(): void {
    this.#say({ kind: "pause", run: this.#run });
  }

  step(seconds: number): void {
    this.#say({ kind: "step", run: this.#run, seconds });
  }

  seen(): void {
    this.#say({ kind: "seen", run: this.#run });
  }

  /** Whether something that was asked is not answered yet. */
  get isAsked(): boolean {
    return this.#waiting.size > 0;
  }

  /** Ends whatever the worker does, at once: what was asked is refused, and another worker is there. */
  cancel(): void {
    this.close();
    this.#run += 1;
    this.#worker = this.#begin();
  }

  /** Ends the worker for good, at once; what was asked is refused. */
  close(): void {
    this.#worker.terminate();
    this.#refuse({ kind: "request", message: "canceled", line: null, key: null });
  }

  #begin(): Worker {
    const worker = this.#start();
    worker.onmessage = (message: MessageEvent<News>) => this.#take(message.data);
    worker.onerror = (event) => {
      const message = `the worker failed: ${event.message || "it could not be started"}`;
      this.#refuse({ kind: "defect", message, line: null, key: null });
    };
    worker.postMessage({ kind: "load", module: this.#module } satisfies Order);
    return worker;
  }

  #refuse(refusal: Refusal): void {
    for (const waiting of this.#waiting.values()) waiting.reject(new RefusedError(refusal));
    this.#waiting.clear();
  }

  #say(order: Order): void {
    this.#worker.postMessage(order);
  }

  #take(news: News): void {
    switch (news.kind) {
      case "loaded":
        return;
      case "answer":
        this.#waiting.get(news.ticket)?.resolve(news.answer);
        this.#waiting.delete(news.ticket);
        return;
      case "no answer":
        this.#waiting.get(news.ticket)?.reject(new RefusedError(news.refusal));
        this.#waiting.delete(news.ticket);
        return;
      default:
        if (news.run === this.#run) this.#hear(news);
    }
  }
}
