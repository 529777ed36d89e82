/** Workers of tests: they remember what they were told, and say what the test has them say. */

import type { News, Order } from "../src/engine/protocol.ts";

export class FakeWorker {
  onmessage: ((message: MessageEvent<News>) => void) | null = null;
  onerror: ((event: ErrorEvent) => void) | null = null;
  readonly orders: Order[] = [];
  isTerminated = false;

  postMessage(order: Order): void {
    if (!this.isTerminated) this.orders.push(order);
  }

  terminate(): void {
    this.isTerminated = true;
  }

  /** Says something, if it still can. */
  tell(news: News): void {
    if (!this.isTerminated) this.onmessage?.({ data: news } as MessageEvent<News>);
  }

  fail(message: string): void {
    this.onerror?.({ message } as ErrorEvent);
  }

  /** What it was asked, the first first. */
  asked(): Extract<Order, { kind: "ask" }>[] {
    return this.orders.filter((order) => order.kind === "ask");
  }
}

/** A way to start workers, and those that were started. */
export function workers(): { started: FakeWorker[]; start: () => Worker } {
  const started: FakeWorker[] = [];
  const start = (): Worker => {
    const worker = new FakeWorker();
    started.push(worker);
    return worker as unknown as Worker;
  };
  return { started, start };
}

/** The engines of workers that run none. */
export const NO_ENGINES = {} as WebAssembly.Module;
