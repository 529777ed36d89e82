/** Client of a worker: it turns requests into promises and passes the messages of a run to a listener. */

import { allowedModules, moduleIn } from "./allowed_modules.ts";
import { type Refusal, RefusedError } from "./instance.ts";
import type { RunView, WorkerMessage, WorkerRequest } from "./protocol.ts";
import { MAX_SILENCE_S, Watchdog } from "./watchdog.ts";

/** Message about a run, in contrast to an answer to a request. */
export type RunMessage = Exclude<WorkerMessage, { kind: "loaded" | "alive" | "answer" | "no answer" }>;

interface PendingRequest {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

export class Client {
  readonly #makeWorker: () => Worker;
  readonly #module: WebAssembly.Module;
  readonly #onRunMessage: (message: RunMessage) => void;
  readonly #pending = new Map<number, PendingRequest>();
  /** Null after a failure, until the next message starts another worker. */
  #worker: Worker | null;
  #ticket = 0;
  #run = 0;
  /** Module of a user in the latest scenario. */
  #moduleFile: string | null = null;
  readonly #watchdog = new Watchdog(
    () => this.#worker?.postMessage({ kind: "ping" } satisfies WorkerRequest),
    () => this.#onSilence(),
  );

  /** `makeWorker` starts a worker. `onRunMessage` receives the messages of the latest run. */
  constructor(
    makeWorker: () => Worker,
    module: WebAssembly.Module,
    onRunMessage: (message: RunMessage) => void = () => {},
  ) {
    this.#makeWorker = makeWorker;
    this.#module = module;
    this.#onRunMessage = onRunMessage;
    this.#worker = this.#startWorker();
  }

  /** Sends a request to the engines. The promise rejects with {@link RefusedError} if they refuse it. */
  ask<T>(request: object): Promise<T> {
    const ticket = ++this.#ticket;
    const { text, file } = request as { text?: string; file?: string };
    const module = file ?? moduleIn(text);
    if (module !== null || text !== undefined) this.#watch(module);
    const asked = module === null ? request : { ...request, modules: allowedModules() };
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(ticket, { resolve: (answer) => resolve(answer as T), reject });
      this.#post({ kind: "ask", ticket, request: asked });
    });
  }

  /** Starts a run, which replaces the previous one, and returns its number. */
  startRun(text: string, overrides: string[], view: RunView): number {
    const run = ++this.#run;
    const module = moduleIn(text);
    this.#watch(module);
    const modules = module === null ? [] : allowedModules();
    this.#post({ kind: "start", run, text, overrides, modules, view });
    return run;
  }

  /** Continues the latest run at `pace` simulated seconds per second; null means as fast as possible. */
  play(pace: number | null): void {
    this.#post({ kind: "play", run: this.#run, pace });
  }

  pause(): void {
    this.#post({ kind: "pause", run: this.#run });
  }

  step(seconds: number): void {
    this.#post({ kind: "step", run: this.#run, seconds });
  }

  seen(): void {
    this.#post({ kind: "seen", run: this.#run });
  }

  /** Whether a request is not answered yet. */
  get isPending(): boolean {
    return this.#pending.size > 0;
  }

  /** Terminates the worker at once and starts another one. Pending requests are rejected. */
  cancel(): void {
    this.close();
    this.#run += 1;
    this.#worker = this.#startWorker();
  }

  /** Terminates the worker for good. Pending requests are rejected. */
  close(): void {
    this.#watchdog.stop();
    this.#worker?.terminate();
    this.#rejectAll({ kind: "request", message: "canceled", line: null, key: null });
  }

  #startWorker(): Worker {
    const worker = this.#makeWorker();
    worker.onmessage = (message: MessageEvent<WorkerMessage>) => this.#handle(message.data);
    worker.onerror = (event) => {
      if (worker !== this.#worker) return;
      const message = `the worker failed: ${event.message || "it could not be started"}`;
      this.#fail({ kind: "defect", message, line: null, key: null });
    };
    worker.postMessage({ kind: "load", module: this.#module } satisfies WorkerRequest);
    return worker;
  }

  /** Ends a worker that failed: pending requests are rejected, and its run is over. */
  #fail(refusal: Refusal): void {
    this.#watchdog.stop();
    this.#worker?.terminate();
    this.#worker = null;
    this.#rejectAll(refusal);
    if (this.#run > 0) this.#onRunMessage({ kind: "refused", run: this.#run, refusal });
  }

  /** Watches the worker while the code of a user may run in it. */
  #watch(module: string | null): void {
    this.#moduleFile = module;
    if (module === null) this.#watchdog.stop();
    else this.#watchdog.start();
  }

  #onSilence(): void {
    const message = `${this.#moduleFile}: found no return from a call within ${MAX_SILENCE_S} s; the page has ended it`;
    this.#fail({ kind: "code", message, line: null, key: null });
  }

  #rejectAll(refusal: Refusal): void {
    for (const pending of this.#pending.values()) pending.reject(new RefusedError(refusal));
    this.#pending.clear();
  }

  #post(request: WorkerRequest): void {
    this.#worker ??= this.#startWorker();
    this.#worker.postMessage(request);
  }

  #handle(message: WorkerMessage): void {
    this.#watchdog.reset();
    switch (message.kind) {
      case "loaded":
      case "alive":
        return;
      case "answer":
        this.#pending.get(message.ticket)?.resolve(message.answer);
        this.#pending.delete(message.ticket);
        return;
      case "no answer":
        this.#pending.get(message.ticket)?.reject(new RefusedError(message.refusal));
        this.#pending.delete(message.ticket);
        return;
      default:
        if (message.run === this.#run) this.#onRunMessage(message);
    }
  }
}
