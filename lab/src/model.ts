/** The laboratory's state: a scenario's text, what the engines say of it, and the run that is played. */

import type { Changed } from "./changes.ts";
import { Client, type RunNews } from "./engine/client.ts";
import { type Description, type Picture, reader } from "./engine/figures.ts";
import { type Refusal, RefusedError } from "./engine/instance.ts";
import type { Change, Controls, GroupControls, Resolved } from "./engine/protocol.ts";
import type { Signal } from "./engine/replay.ts";
import { History } from "./history.ts";
import { Line } from "./line.ts";
import { Signals } from "./signals.ts";

/** Flows whose windows are shown. */
export const SHOWN_FLOWS = 8;
/** Sightings between two pictures: beyond them packets are not told apart. */
const SIGHTINGS = 20_000;
/** Milliseconds after which a text that was typed is read. */
const PATIENCE_MS = 250;

/** What a report says of a metric. */
export interface Metric {
  mean: number;
  half_width: number | null;
}

/** What an engine answers. */
export interface Report {
  engine: string;
  metrics: Record<string, Metric | undefined>;
  groups?: { name: string; metrics: Record<string, Metric | undefined> }[];
  buffer: { packets: number; bytes: number; seconds: number; bdp: number | null };
  warnings?: string[];
}

/** How fast a run is played. */
export type Pace = { kind: "slow" } | { kind: "times"; factor: number } | { kind: "fast" };

/** What became of the run. */
export type Phase = "none" | "waiting" | "playing" | "paused" | "ended" | "refused";

export class Model {
  text: string;
  /** What the engines make of the text; the last one that was valid. */
  resolved: Resolved | null = null;
  /** The last background traffic that the text had: it can be added again. */
  background: GroupControls | null = null;
  /** What is wrong with the text or the run. */
  refusal: Refusal | null = null;
  description: Description | null = null;
  phase: Phase = "none";
  pace: Pace = { kind: "slow" };
  endS = 0;
  picture: Picture | null = null;
  eventsPerSecond = 0;
  report: Report | null = null;
  /** Time, packets that wait, drops so far, and the window of each flow that is shown. */
  history = new History(3 + SHOWN_FLOWS);
  /** The same of the run before. */
  before: History | null = null;
  line = new Line();
  /** The packets that were lost or marked last, and the one of which more is to be told. */
  signals = new Signals();
  chosen: Signal | null = null;
  readonly #client: Client;
  readonly #listeners = new Set<() => void>();
  #read: ((figures: Float64Array) => Picture) | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Changes that the text does not have yet, and what the controls show until it has them. */
  #changes: Change[] = [];
  #wished: Controls | null = null;
  #isChanging = false;
  /** How often another text took the place of all that was there. */
  #epoch = 0;
  #wish: "play" | "pause" | "step" = "pause";

  constructor(start: () => Worker, module: WebAssembly.Module, text: string) {
    this.text = whole(text);
    this.#client = new Client(start, module, (news) => this.#hear(news));
  }

  /** Asks the engines for themselves and for the first scenario. */
  async begin(): Promise<void> {
    this.description = await this.#client.ask<Description>({ do: "describe" });
    this.#read = reader(this.description.columns);
    await this.#check();
  }

  /** Calls back whenever something has changed; the answer ends that. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Another text, as it is typed. */
  edit(text: string): void {
    this.text = whole(text);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#replace(this.text), PATIENCE_MS);
    this.#tell();
  }

  /** Another text in the place of the one before, at once. */
  async take(text: string): Promise<void> {
    this.#epoch += 1;
    this.#changes = [];
    this.#wished = null;
    await this.#replace(text);
  }

  /** Another text with keys changed, `key=value` each. The one that was asked for last stays. */
  async takeChanged(text: string, overrides: readonly string[]): Promise<void> {
    this.#epoch += 1;
    const epoch = this.#epoch;
    const changed = await this.#changed(
      text,
      overrides.map((set) => ({ set })),
    );
    if (changed !== null && epoch === this.#epoch) await this.take(changed);
  }

  /** The values of the controls; null before the first scenario. */
  get controls(): Controls | null {
    return this.#wished ?? this.resolved?.controls ?? null;
  }

  /** Whether controls can change the text: not while something is wrong with it. */
  get isChangeable(): boolean {
    return this.resolved !== null && this.refusal?.kind !== "scenario";
  }

  /** Changes the text as a control asks. Later changes wait for those before and then come all at once. */
  change({ changes, controls }: Changed): void {
    this.#changes.push(...changes);
    this.#wished = controls;
    this.#tell();
    if (!this.#isChanging) void this.#work();
  }

  async #work(): Promise<void> {
    this.#isChanging = true;
    while (this.#changes.length > 0) {
      // What was typed is read first. Controls change no text that has a mistake.
      while (this.#timer !== undefined) await this.#replace(this.text);
      if (!this.isChangeable) this.#changes = [];
      if (this.#changes.length === 0) break;
      const { text } = this;
      const epoch = this.#epoch;
      const changes = this.#changes;
      this.#changes = [];
      const changed = await this.#changed(text, changes);
      if (epoch !== this.#epoch || changed === null) continue;
      // What was typed meanwhile is changed, too.
      if (text !== this.text) this.#changes = [...changes, ...this.#changes];
      else await this.#replace(changed);
    }
    this.#isChanging = false;
    this.#wished = null;
    this.#tell();
  }

  /** The engines' text after changes; null where they refuse them, and then the page says why. */
  async #changed(text: string, changes: readonly Change[]): Promise<string | null> {
    try {
      return await this.#client.ask<string>({ do: "edit", text, changes });
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      // The text is as it was: nothing is wrong with it.
      this.refusal = { ...error.refusal, kind: "request" };
      this.#tell();
      return null;
    }
  }

  async #replace(text: string): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.text = whole(text);
    await this.#check();
  }

  /** Simulated seconds in a second, for the pace that was chosen. */
  get speed(): number | null {
    if (this.pace.kind === "fast") return null;
    return this.pace.kind === "times" ? this.pace.factor : this.roundTripS;
  }

  /** A round trip of the scenario, in seconds: its bandwidth-delay product over its rate. */
  get roundTripS(): number {
    const { resolved } = this;
    const link = resolved?.links[resolved.target];
    if (!resolved || !link || !resolved.bdp_packets) return 0.1;
    return (resolved.bdp_packets * resolved.packet_bytes * 8) / link.rate_bps;
  }

  setPace(pace: Pace): void {
    this.pace = pace;
    if (this.phase === "playing") this.#client.play(this.speed);
    this.#tell();
  }

  play(): void {
    this.#wish = "play";
    if (this.phase === "ended" || this.phase === "none" || this.phase === "refused") this.restart();
    else {
      this.phase = "playing";
      this.#client.play(this.speed);
    }
    this.#tell();
  }

  pause(): void {
    this.#wish = "pause";
    if (this.phase !== "playing") return;
    this.phase = "paused";
    this.#client.pause();
    this.#tell();
  }

  /** Goes on by a twentieth of a round trip. */
  step(): void {
    if (this.phase === "playing") this.pause();
    if (this.phase === "waiting") this.#wish = "step";
    if (this.phase !== "paused") return;
    this.#client.step(this.roundTripS / 20);
  }

  /** From the beginning, with the same random numbers; the run before stays as a pale trace. */
  restart(): void {
    if (!this.resolved || this.refusal?.kind === "scenario") return;
    if (this.history.length > 1) this.before = this.history;
    this.history = new History(3 + SHOWN_FLOWS);
    this.line = new Line();
    this.signals = new Signals();
    this.chosen = null;
    this.picture = null;
    this.report = null;
    this.refusal = null;
    this.phase = "waiting";
    this.#client.begin(this.text, [], SIGHTINGS, SHOWN_FLOWS);
    this.#tell();
  }

  /** The last picture is on the screen. */
  shown(): void {
    this.#client.seen();
  }

  /** More is to be told of this packet; of none where null. */
  choose(signal: Signal | null): void {
    this.chosen = signal;
    this.#tell();
  }

  /** A question to the engines beside the run. */
  ask<T>(request: object): Promise<T> {
    return this.#client.ask<T>(request);
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
      this.#tell();
    }
  }

  #hear(news: RunNews): void {
    switch (news.kind) {
      case "begun":
        this.endS = news.endS;
        this.phase = this.#wish === "play" ? "playing" : "paused";
        if (this.#wish === "play") this.#client.play(this.speed);
        if (this.#wish === "step") {
          this.#wish = "pause";
          this.step();
        }
        break;
      case "picture":
        this.#take(news.figures);
        this.eventsPerSecond = news.eventsPerSecond;
        break;
      case "ended":
        this.phase = "ended";
        this.report = news.report as Report;
        break;
      case "refused":
        this.phase = "refused";
        this.refusal = news.refusal;
        break;
    }
    this.#tell();
  }

  #take(figures: Float64Array): void {
    if (!this.#read) return;
    const picture = this.#read(figures);
    this.picture = picture;
    const link = picture.links[this.resolved?.target ?? 0];
    this.line.see(picture.sightings, picture.missedSightings);
    this.signals.see(picture);
    const windows = Array.from(
      { length: SHOWN_FLOWS },
      (_, at) => picture.flows[at]?.cwndPackets ?? Number.NaN,
    );
    this.history.add([picture.timeS, link?.waitingPackets ?? 0, link?.drops ?? 0, ...windows]);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A text that can be sent as UTF-8: halves of characters, which a forged link may have, become question marks. */
function whole(text: string): string {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}
