/** Worker with the engines: it answers requests and plays one run. */

import { type Description, reader } from "./figures.ts";
import { Instance, type Refusal, RefusedError } from "./instance.ts";
import { FOREVER, Player } from "./player.ts";
import type { Started, WorkerMessage, WorkerRequest } from "./protocol.ts";
import {
  type ReplayContext,
  type SamplesRequest,
  type StateHistoryRequest,
  samplesOf,
  stateHistoryOf,
} from "./replay.ts";

/** Length of a slice in milliseconds. Messages are handled between slices. */
const SLICE_MS = 8;
/** Events per call while a complete run advances. */
const EVENTS_PER_CALL = 1_000_000;
/** Pause between slices of a run that keeps up with its clock, in milliseconds. */
const PAUSE_MS = 8;
/** Time between two signs of life during a complete run, in milliseconds. */
const ALIVE_MS = 1000;

/** Request to the engines, with the time limit of a complete run in seconds. */
type EngineRequest = {
  do?: string;
  most_s?: number;
  history?: StateHistoryRequest;
  samples?: SamplesRequest;
};

let instance: Instance | undefined;
let module: WebAssembly.Module | undefined;
let current: { run: number; player: Player; sinceMs: number; events: number } | undefined;
let isScheduled = false;

function post(message: WorkerMessage, transfer: Transferable[] = []): void {
  self.postMessage(message, { transfer });
}

function engines(): Instance {
  if (instance) return instance;
  if (!module) throw new Error("a request arrived before the engines");
  instance = new Instance(module);
  return instance;
}

/** Runs an action that the engines may refuse. After a trap the next action gets a new instance. */
function attempt(action: () => void, refused: (refusal: Refusal) => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    if (instance?.isBroken) {
      instance = undefined;
      current = undefined;
    }
    refused(error.refusal);
  }
}

function runSlice(): void {
  isScheduled = false;
  const now = current;
  if (!now) return;
  const { run, player } = now;
  attempt(
    () => {
      const slice = player.slice(() => performance.now(), SLICE_MS);
      if (slice.figures) {
        // Second column of the header: events so far. See crates/browser/src/picture.rs.
        const events = slice.figures[1] ?? 0;
        const seconds = (performance.now() - now.sinceMs) / 1000;
        const eventsPerSecond = seconds > 0 ? (events - now.events) / seconds : 0;
        now.sinceMs = performance.now();
        now.events = events;
        post({ kind: "picture", run, figures: slice.figures, eventsPerSecond }, [slice.figures.buffer]);
      }
      // The last picture shows the end before the report arrives.
      if (slice.hasEnded && (slice.figures || !player.isStale)) {
        current = undefined;
        post({ kind: "ended", run, report: engines().ask({ do: "finish" }) });
      } else if (slice.isBehind || player.isPlaying || player.isStale) {
        schedule(slice.isBehind ? 0 : PAUSE_MS);
      }
    },
    (refusal) => {
      current = undefined;
      post({ kind: "refused", run, refusal });
    },
  );
}

/**
 * Messages are handled between slices. A message to the worker itself arrives at once, whereas nested timers
 * wait 4 ms each.
 */
const channel = new MessageChannel();
channel.port1.onmessage = runSlice;

function schedule(milliseconds: number): void {
  if (isScheduled) return;
  isScheduled = true;
  if (milliseconds > 0) setTimeout(runSlice, milliseconds);
  else channel.port2.postMessage(null);
}

function startRun(request: Extract<WorkerRequest, { kind: "start" }>): void {
  const { run, text, overrides, modules, view } = request;
  const { packetEvents, flows, windows, columns } = view;
  current = undefined;
  attempt(
    () => {
      const started = engines().ask<Started>({
        do: "begin",
        text,
        overrides,
        modules,
        chart: { columns, flows: windows },
      });
      engines().watch(packetEvents);
      current = { run, player: new Player(engines(), flows), sinceMs: performance.now(), events: 0 };
      post({ kind: "started", run, endS: started.end_s });
      schedule(0);
    },
    (refusal) => post({ kind: "refused", run, refusal }),
  );
}

/**
 * Answers a request: with the report of a complete run, with the data of a replay, or with the engines' own
 * answer. A client with a time limit terminates the worker or sets `most_s`.
 */
function answerTo({
  most_s = Number.POSITIVE_INFINITY,
  history,
  samples,
  ...request
}: EngineRequest): unknown {
  if (!["whole", "state_history", "samples"].includes(request.do ?? "")) return engines().ask(request);
  const read = reader(engines().ask<Description>({ do: "describe" }).columns);
  current = undefined;
  engines().ask<Started>({ ...request, do: "begin" });
  const startedMs = performance.now();
  let aliveMs = startedMs;
  const check = (): void => {
    if (performance.now() - aliveMs > ALIVE_MS) {
      aliveMs = performance.now();
      post({ kind: "alive" });
    }
    if (performance.now() - startedMs < most_s * 1000) return;
    engines().ask({ do: "stop" });
    throw new RefusedError({ kind: "engine", message: timeLimitMessage(most_s), line: null, key: null });
  };
  if (history || samples) {
    const context: ReplayContext = { read, check };
    const answer = history
      ? stateHistoryOf(engines(), history, context)
      : samples && samplesOf(engines(), samples, context);
    engines().ask({ do: "stop" });
    return answer;
  }
  while (!engines().advance(FOREVER, EVENTS_PER_CALL)) check();
  return engines().ask({ do: "finish" });
}

function timeLimitMessage(seconds: number): string {
  return `the run takes more than ${seconds} s in this page: shorten run.measure, or run it on the command line`;
}

self.onmessage = (message: MessageEvent<WorkerRequest>) => {
  const request = message.data;
  switch (request.kind) {
    case "load":
      module = request.module;
      post({ kind: "loaded" });
      return;
    case "ping":
      post({ kind: "alive" });
      return;
    case "ask":
      attempt(
        () => post({ kind: "answer", ticket: request.ticket, answer: answerTo(request.request) }),
        (refusal) => post({ kind: "no answer", ticket: request.ticket, refusal }),
      );
      return;
    case "start":
      startRun(request);
      return;
  }
  const now = current;
  // Messages to a run that is over need no answer.
  if (!now || now.run !== request.run) return;
  if (request.kind === "play") now.player.play(request.pace);
  else if (request.kind === "pause") now.player.pause();
  else if (request.kind === "step") now.player.step(request.seconds);
  else now.player.seen();
  schedule(0);
};
