/** Fake workers: they record requests, and post the messages of a test. */

import type { WorkerMessage, WorkerRequest } from "../src/engine/protocol.ts";

export class FakeWorker {
  onmessage: ((message: MessageEvent<WorkerMessage>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly requests: WorkerRequest[] = [];
  isTerminated = false;

  postMessage(request: WorkerRequest): void {
    if (!this.isTerminated) this.requests.push(request);
  }

  terminate(): void {
    this.isTerminated = true;
  }

  /** Posts a message, unless the worker is terminated. */
  post(message: WorkerMessage): void {
    if (!this.isTerminated) this.onmessage?.({ data: message } as MessageEvent<WorkerMessage>);
  }

  fail(message: string): void {
    this.onerror?.({ message } as ErrorEvent);
  }

  /** Requests to the engines, in order. */
  asked(): Extract<WorkerRequest, { kind: "ask" }>[] {
    return this.requests.filter((request) => request.kind === "ask");
  }
}

/** Returns a function that starts fake workers, and the list of started ones. */
export function workers(): { started: FakeWorker[]; start: () => Worker } {
  const started: FakeWorker[] = [];
  const start = (): Worker => {
    const worker = new FakeWorker();
    started.push(worker);
    return worker as unknown as Worker;
  };
  return { started, start };
}

/** Module of workers that run no engines. */
export const NO_ENGINES = {} as WebAssembly.Module;
