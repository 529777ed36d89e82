/** A worker that holds the engines: answers what is asked, and plays one run. */

import { type Description, reader } from "./figures.ts";
import { Instance, type Refusal, RefusedError } from "./instance.ts";
import { FOREVER, Player } from "./player.ts";
import type { Begun, News, Order } from "./protocol.ts";
import { type CourseAsked, courseOf, type Reading, type SamplesAsked, samplesOf } from "./replay.ts";

/** Milliseconds of a slice, so that orders are heard. */
const SLICE_MS = 8;
/** Events between two calls of a run as a whole. */
const EVENTS = 1_000_000;
/** Milliseconds between slices of a run that keeps up. */
const PAUSE_MS = 8;

/** What is asked of the engines, and for how long a run as a whole may last. */
type Request = { do?: string; most_s?: number; course?: CourseAsked; samples?: SamplesAsked };

let instance: Instance | undefined;
let module: WebAssembly.Module | undefined;
let playing: { run: number; player: Player; begun: number; events: number } | undefined;
let isWaiting = false;

function tell(news: News, transfer: Transferable[] = []): void {
  self.postMessage(news, { transfer });
}

function engines(): Instance {
  if (instance) return instance;
  if (!module) throw new Error("orders before the engines");
  instance = new Instance(module);
  return instance;
}

/** Does something that may be refused; after a defect the instance is a new one. */
function attempt(what: () => void, refused: (refusal: Refusal) => void): void {
  try {
    what();
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    if (error.refusal.kind === "defect") {
      instance = undefined;
      playing = undefined;
    }
    refused(error.refusal);
  }
}

function goOn(): void {
  isWaiting = false;
  const now = playing;
  if (!now) return;
  const { run, player } = now;
  attempt(
    () => {
      const slice = player.slice(() => performance.now(), SLICE_MS);
      if (slice.figures) {
        // The header's second column: crates/browser/src/picture.rs.
        const events = slice.figures[1] ?? 0;
        const seconds = (performance.now() - now.begun) / 1000;
        const eventsPerSecond = seconds > 0 ? (events - now.events) / seconds : 0;
        now.begun = performance.now();
        now.events = events;
        tell({ kind: "picture", run, figures: slice.figures, eventsPerSecond }, [slice.figures.buffer]);
      }
      // The last picture shows the end before the report comes.
      if (slice.hasEnded && (slice.figures || !player.isStale)) {
        playing = undefined;
        tell({ kind: "ended", run, report: engines().ask({ do: "finish" }) });
      } else if (slice.isBehind || player.isPlaying || player.isStale) {
        wait(slice.isBehind ? 0 : PAUSE_MS);
      }
    },
    (refusal) => {
      playing = undefined;
      tell({ kind: "refused", run, refusal });
    },
  );
}

/** Orders are heard in between, and a message to oneself comes at once: timers in a row wait 4 ms each. */
const next = new MessageChannel();
next.port1.onmessage = goOn;

function wait(milliseconds: number): void {
  if (isWaiting) return;
  isWaiting = true;
  if (milliseconds > 0) setTimeout(goOn, milliseconds);
  else next.port2.postMessage(null);
}

function begin(order: Extract<Order, { kind: "begin" }>): void {
  const { run, text, overrides, sightings, flows } = order;
  playing = undefined;
  attempt(
    () => {
      const begun = engines().ask<Begun>({ do: "begin", text, overrides });
      engines().watch(sightings);
      playing = { run, player: new Player(engines(), flows), begun: performance.now(), events: 0 };
      tell({ kind: "begun", run, endS: begun.end_s });
      wait(0);
    },
    (refusal) => tell({ kind: "refused", run, refusal }),
  );
}

/**
 * The engines' answer; of a run as a whole its report, and of one that is run again what was asked. Whoever cannot
 * wait ends the worker, or says so before.
 */
function answerTo({ most_s = Number.POSITIVE_INFINITY, course, samples, ...request }: Request): unknown {
  if (!["whole", "course", "samples"].includes(request.do ?? "")) return engines().ask(request);
  const read = reader(engines().ask<Description>({ do: "describe" }).columns);
  playing = undefined;
  engines().ask<Begun>({ ...request, do: "begin" });
  const begun = performance.now();
  const check = (): void => {
    if (performance.now() - begun < most_s * 1000) return;
    engines().ask({ do: "stop" });
    throw new RefusedError({ kind: "engine", message: tooLong(most_s), line: null, key: null });
  };
  if (course || samples) {
    const reading: Reading = { read, check };
    const found = course
      ? courseOf(engines(), course, reading)
      : samples && samplesOf(engines(), samples, reading);
    engines().ask({ do: "stop" });
    return found;
  }
  while (!engines().advance(FOREVER, EVENTS)) check();
  return engines().ask({ do: "finish" });
}

function tooLong(seconds: number): string {
  return `a run takes more than ${seconds} s here: shorten run.measure, or use the command line`;
}

self.onmessage = (message: MessageEvent<Order>) => {
  const order = message.data;
  switch (order.kind) {
    case "load":
      module = order.module;
      tell({ kind: "loaded" });
      return;
    case "ask":
      attempt(
        () => tell({ kind: "answer", ticket: order.ticket, answer: answerTo(order.request) }),
        (refusal) => tell({ kind: "no answer", ticket: order.ticket, refusal }),
      );
      return;
    case "begin":
      begin(order);
      return;
  }
  const now = playing;
  // What is said to a run that is over needs no answer.
  if (!now || now.run !== order.run) return;
  if (order.kind === "play") now.player.play(order.pace);
  else if (order.kind === "pause") now.player.pause();
  else if (order.kind === "step") now.player.step(order.seconds);
  else now.player.seen();
  wait(0);
};
