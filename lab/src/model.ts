/** State of the page: the scenario's text, its resolved form, and the run that is played. */

import { type Edit, withModule } from "./changes.ts";
import { type ComparedRun, keyWithoutBuffer, runKey, type Totals } from "./comparison.ts";
import { allowModule } from "./engine/allowed_modules.ts";
import { Client, type RunMessage } from "./engine/client.ts";
import { type Description, type Picture, reader } from "./engine/figures.ts";
import { type Refusal, RefusedError } from "./engine/instance.ts";
import type { Change, Controls, GroupControls, Resolved } from "./engine/protocol.ts";
import type { Signal } from "./engine/replay.ts";
import { History } from "./history.ts";
import { openModule } from "./module_file.ts";
import { PacketQueue } from "./packet_queue.ts";
import { bufferText } from "./queue_unit.ts";
import { Readouts } from "./readouts.ts";
import { firstPage, pageBefore, RecentSignals, type SignalPage } from "./recent_signals.ts";

/** Number of flows whose windows are shown. */
export const SHOWN_FLOWS = 8;
/** Number of flows in a picture, from which readouts and the colors of the queue are computed. */
const LOOKED_FLOWS = 64;
/**
 * Largest number of packet events between two pictures. If there are more, the page shows no single packets.
 */
const MAX_PACKET_EVENTS = 20_000;
/** Largest number of columns of the chart. From the first moments on there are at least half as many. */
const MAX_COLUMNS = 1200;
/** Time after the last keystroke until the text is checked, in milliseconds. */
const TYPING_DELAY_MS = 250;

/** Metric of a report. */
export interface Metric {
  mean: number;
  half_width: number | null;
}

/** Report of an engine. */
export interface Report {
  engine: string;
  metrics: Record<string, Metric | undefined>;
  groups?: { name: string; metrics: Record<string, Metric | undefined> }[];
  /** Links besides the target. */
  links?: { name: string; metrics: Record<string, Metric | undefined> }[];
  buffer: { packets: number; bytes: number; seconds: number; bdp: number | null };
  warnings?: string[];
}

/** Speed of a run: round trips per second, a multiple of real time, or as fast as possible. */
export type Pace =
  | { kind: "round trips"; perSecond: number }
  | { kind: "times"; factor: number }
  | { kind: "fast" };

/** Phase of the run. */
export type Phase = "none" | "starting" | "playing" | "paused" | "ended" | "refused";

export class Model {
  text: string;
  /** Resolved form of the last valid text. */
  resolved: Resolved | null = null;
  /** Last background traffic of the text, which the page can restore. */
  background: GroupControls | null = null;
  /** Error of the text or of the run. */
  refusal: Refusal | null = null;
  description: Description | null = null;
  phase: Phase = "none";
  pace: Pace = { kind: "round trips", perSecond: 5 };
  endS = 0;
  picture: Picture | null = null;
  eventsPerSecond = 0;
  report: Report | null = null;
  /** Chart of the queue and of the windows of the displayed flows. */
  history = new History(SHOWN_FLOWS);
  /** Previous run of the same scenario, also with other values. */
  before: ComparedRun | null = null;
  queue = new PacketQueue();
  readouts = new Readouts(null, 0);
  /** Lost and marked packets, and the chosen one. */
  signals = new RecentSignals();
  chosen: Signal | null = null;
  readonly #client: Client;
  readonly #listeners = new Set<() => void>();
  #read: ((figures: Float64Array) => Picture) | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Changes that are not applied yet, and the control values to display meanwhile. */
  #changes: Change[] = [];
  #pendingControls: Controls | null = null;
  #isChanging = false;
  /** Number of times that another text replaced the scenario. */
  #epoch = 0;
  /** Resolved scenario of the run. */
  #played: Resolved | null = null;
  #keys = { key: "", keyWithoutBuffer: "" };
  #intent: "play" | "pause" | "step" = "pause";

  constructor(start: () => Worker, module: WebAssembly.Module, text: string) {
    this.text = wellFormed(text);
    this.#client = new Client(start, module, (message) => this.#onRunMessage(message));
  }

  /** Loads the description of the engines and the first scenario. */
  async begin(): Promise<void> {
    this.description = await this.#client.ask<Description>({ do: "describe" });
    this.#read = reader(this.description.columns);
    await this.#check();
  }

  /** Adds a listener for changes. The returned function removes it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Sets the text while it is typed. The check follows after a pause. */
  edit(text: string): void {
    this.text = wellFormed(text);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#load(this.text), TYPING_DELAY_MS);
    this.#notify();
  }

  /** Replaces the scenario at once. */
  async load(text: string): Promise<void> {
    this.#epoch += 1;
    this.#changes = [];
    this.#pendingControls = null;
    await this.#load(text);
  }

  /** Replaces the scenario with overrides such as `key=value`. The latest call wins. */
  async loadWithOverrides(text: string, overrides: readonly string[]): Promise<void> {
    this.#epoch += 1;
    const epoch = this.#epoch;
    const edited = await this.#applyChanges(
      text,
      overrides.map((set) => ({ set })),
    );
    if (edited !== null && epoch === this.#epoch) await this.load(edited);
  }

  /** Values of the controls; null before the first scenario. */
  get controls(): Controls | null {
    return this.#pendingControls ?? this.resolved?.controls ?? null;
  }

  /** Whether controls can change the text: not while the text has an error. */
  get isChangeable(): boolean {
    return this.resolved !== null && !this.#isTextRefused;
  }

  /** Whether the engines have refused the text, so that the present run is of another one. */
  get #isTextRefused(): boolean {
    return this.refusal?.kind === "scenario" || this.refusal?.kind === "consent";
  }

  /** Opens a module of the user as the congestion control of a group. */
  async openModule(group: GroupControls, file: File): Promise<void> {
    try {
      const module = await openModule(file, (request) => this.#client.ask(request));
      if (this.controls) this.change(withModule(this.controls, group, module));
    } catch (error) {
      this.refuse(error instanceof Error ? error.message : String(error));
    }
  }

  /** Lets the module run that the scenario waits for. */
  async allowModule(): Promise<void> {
    const { module } = this.refusal ?? {};
    if (!module) return;
    allowModule(module.sha256);
    await this.#check();
  }

  /** Shows why a field refuses its text; null ends such a message. The text of the scenario stays. */
  refuse(message: string | null): void {
    if (message === null && this.refusal?.kind !== "request") return;
    // An error of the text is the reason why no field can be changed.
    if (this.#isTextRefused) return;
    this.refusal = message === null ? null : { kind: "request", message, line: null, key: null };
    this.#notify();
  }

  /** Applies the edit of a control. Edits that arrive meanwhile are applied together afterwards. */
  change({ changes, controls }: Edit): void {
    this.#changes.push(...changes);
    this.#pendingControls = controls;
    this.#notify();
    if (!this.#isChanging) void this.#drainChanges();
  }

  async #drainChanges(): Promise<void> {
    this.#isChanging = true;
    while (this.#changes.length > 0) {
      // Typed text is checked first. Controls do not change a text with an error.
      while (this.#timer !== undefined) await this.#load(this.text);
      if (!this.isChangeable) this.#changes = [];
      if (this.#changes.length === 0) break;
      const { text } = this;
      const epoch = this.#epoch;
      const changes = this.#changes;
      this.#changes = [];
      const edited = await this.#applyChanges(text, changes);
      if (epoch !== this.#epoch || edited === null) continue;
      // The changes also apply to text that was typed meanwhile.
      if (text !== this.text) this.#changes = [...changes, ...this.#changes];
      else await this.#load(edited);
    }
    this.#isChanging = false;
    this.#pendingControls = null;
    this.#notify();
  }

  /** Returns the text after changes, or null if the engines refuse them. The page then shows the reason. */
  async #applyChanges(text: string, changes: readonly Change[]): Promise<string | null> {
    try {
      return await this.#client.ask<string>({ do: "edit", text, changes });
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      // The text is unchanged and has no error.
      this.refusal = { ...error.refusal, kind: "request" };
      this.#notify();
      return null;
    }
  }

  async #load(text: string): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.text = wellFormed(text);
    await this.#check();
  }

  /** Simulated seconds per second at the chosen pace; null means as fast as possible. */
  get speed(): number | null {
    if (this.pace.kind === "fast") return null;
    return this.pace.kind === "times" ? this.pace.factor : this.pace.perSecond * this.roundTripS;
  }

  /** Round-trip time of the scenario in seconds: its bandwidth-delay product divided by its rate. */
  get roundTripS(): number {
    const { resolved } = this;
    const link = resolved?.links[resolved.target];
    if (!resolved || !link || !resolved.bdp_packets) return 0.1;
    return (resolved.bdp_packets * resolved.packet_bytes * 8) / link.rate_bps;
  }

  /** Present run, for a comparison; null before the first one. */
  get run(): ComparedRun | null {
    const { history } = this;
    const link = this.#played?.links[this.#played.target];
    if (!this.#played || !link) return null;
    return {
      ...{ history, ...this.#keys, whole: this.#totals },
      bufferText: bufferText(this.#played),
      rateBps: link.rate_changes ? Number.NaN : link.rate_bps,
      packetBytes: this.#played.packet_bytes,
    };
  }

  /** Totals of the complete run; null before its end. */
  get #totals(): Totals | null {
    const { report, picture } = this;
    const mean = (name: string): number => report?.metrics[name]?.mean ?? Number.NaN;
    const losses = picture?.links[this.#played?.target ?? 0]?.drops;
    if (!report || losses === undefined) return null;
    return { utilization: mean("utilization"), losses, queuePackets: mean("queue_mean_packets") };
  }

  setPace(pace: Pace): void {
    this.pace = pace;
    if (this.phase === "playing") this.#client.play(this.speed);
    this.#notify();
  }

  play(): void {
    this.#intent = "play";
    if (this.phase === "ended" || this.phase === "none" || this.phase === "refused") this.restart();
    else {
      this.phase = "playing";
      this.#client.play(this.speed);
    }
    this.#notify();
  }

  pause(): void {
    this.#intent = "pause";
    if (this.phase !== "playing") return;
    this.phase = "paused";
    this.#client.pause();
    this.#notify();
  }

  /** Advances by a twentieth of a round trip. */
  step(): void {
    if (this.phase === "playing") this.pause();
    if (this.phase === "starting") this.#intent = "step";
    if (this.phase !== "paused") return;
    this.#client.step(this.roundTripS / 20);
  }

  /** Restarts the run with the same random numbers. The previous run remains as pale lines. */
  restart(): void {
    if (!this.resolved || this.#isTextRefused) return;
    // The run of another scenario is no comparison.
    const isSame = this.resolved.title === this.#played?.title;
    if (this.history.length > 1) this.before = isSame ? this.run : null;
    this.#played = this.resolved;
    this.#keys = {
      key: runKey(this.resolved.canonical),
      keyWithoutBuffer: keyWithoutBuffer(this.resolved),
    };
    this.history = new History(SHOWN_FLOWS);
    this.queue = new PacketQueue();
    this.readouts = new Readouts(this.resolved, this.roundTripS);
    this.signals = new RecentSignals();
    this.chosen = null;
    this.picture = null;
    this.report = null;
    this.refusal = null;
    this.phase = "starting";
    this.#client.startRun(this.text, [], {
      packetEvents: MAX_PACKET_EVENTS,
      flows: LOOKED_FLOWS,
      windows: SHOWN_FLOWS,
      columns: MAX_COLUMNS,
    });
    this.#notify();
  }

  /** Reports that the last picture is on the screen. */
  pictureShown(): void {
    this.#client.seen();
  }

  /**
   * Chooses the signal whose story is shown; null closes the story. A packet without acknowledgment has the
   * number 0, as in the list.
   */
  choose(signal: Signal | null): void {
    const isNumbered = !signal || (this.resolved?.groups[signal.group]?.responsive ?? true);
    this.chosen = isNumbered ? signal : { ...signal, packet: 0 };
    this.#notify();
  }

  /** Sends a request to the engines beside the run. */
  ask<T>(request: object): Promise<T> {
    return this.#client.ask<T>(request);
  }

  /** Returns the packets before number `until` that were lost or marked, whatever the speed of the run. */
  signalsBefore(kind: Signal["kind"], until: number): Promise<SignalPage> {
    return pageBefore((request) => this.#client.ask(request), kind, until);
  }

  /** Returns the first packets of the run that were lost or marked and that the engines still list. */
  firstSignals(kind: Signal["kind"]): Promise<SignalPage> {
    return firstPage((request) => this.#client.ask(request), kind);
  }

  async #check(): Promise<void> {
    const { text } = this;
    try {
      const resolved = await this.#client.ask<Resolved>({ do: "check", text });
      if (text !== this.text) return;
      this.resolved = resolved;
      this.background = resolved.controls.groups.find(({ load }) => load?.text) ?? this.background;
      this.refusal = null;
      this.restart();
    } catch (error) {
      if (text !== this.text || !(error instanceof RefusedError)) return;
      this.refusal = error.refusal;
      this.#notify();
    }
  }

  #onRunMessage(message: RunMessage): void {
    switch (message.kind) {
      case "started":
        this.endS = message.endS;
        this.phase = this.#intent === "play" ? "playing" : "paused";
        if (this.#intent === "play") this.#client.play(this.speed);
        if (this.#intent === "step") {
          this.#intent = "pause";
          this.step();
        }
        break;
      case "picture":
        this.#show(message.figures);
        this.eventsPerSecond = message.eventsPerSecond;
        break;
      case "ended":
        this.phase = "ended";
        this.report = message.report as Report;
        break;
      case "refused":
        this.phase = "refused";
        this.refusal = withAdvice(message.refusal);
        break;
    }
    this.#notify();
  }

  #show(figures: Float64Array): void {
    if (!this.#read) return;
    const picture = this.#read(figures);
    this.picture = picture;
    this.queue.add(picture.packetEvents, picture.missedPacketEvents);
    this.signals.add(picture);
    this.readouts.add(picture);
    this.history.update(picture.chart, picture.timeS);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Adds what to do about a defect, which may not happen again. */
function withAdvice(refusal: Refusal): Refusal {
  if (refusal.kind !== "defect") return refusal;
  return { ...refusal, message: `The run has stopped (${refusal.message}). Press Play to start it again.` };
}

/** Replaces lone surrogates, which UTF-8 cannot encode. A forged link may contain them. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
