/** List of the packets that were lost or marked, and the story of the chosen one. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Signal } from "./engine/replay.ts";
import { plain, shownName } from "./flow_names.ts";
import { LossChart, marksOf } from "./loss_chart.tsx";
import { LossReplay, type ReplayResult } from "./loss_replay.ts";
import { storyOf } from "./loss_story.ts";
import { CHART_SPAN, headline, moment, type Owner, type QueueText, storyRows } from "./loss_text.ts";
import type { Model } from "./model.ts";
import { amount, short } from "./numbers.ts";
import { colorOf } from "./palette.ts";
import { PAGE_LENGTH, type SignalPage } from "./recent_signals.ts";

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
  isDark: boolean;
}

export function LossView({ model, start, module, isDark }: Props): preact.JSX.Element {
  const [replay, setReplay] = useState<ReplayResult | null>(null);
  const replayer = useMemo(() => new LossReplay(start, module, setReplay), [start, module]);
  const { chosen, resolved } = model;
  const recoveries = useMemo(() => recoveriesOf(resolved?.canonical), [resolved?.canonical]);
  const ownerOf = ({ flow, group }: Signal): Owner => {
    const own = resolved?.groups[group];
    const number = own && own.count > 1 ? flow - own.first_flow + 1 : null;
    const recovery = recoveries[group] ?? "";
    return { group: plain(own?.name ?? `${group}`), number, responsive: own?.responsive ?? false, recovery };
  };
  useEffect(() => {
    if (!chosen || !resolved) {
      replayer.cancel();
      return;
    }
    const roundTripS = model.roundTripS;
    void replayer.replay(model.text, {
      signal: chosen,
      beforeS: 8 * (roundTripS + resolved.buffer.seconds),
      roundTripS,
      target: resolved.target,
      responsive: ownerOf(chosen).responsive,
    });
  }, [chosen, replayer]);
  useEffect(() => () => replayer.cancel(), [replayer]);
  return (
    <section class="lost" aria-label="Lost packets">
      <List model={model} isDark={isDark} />
      {chosen && (
        <Story
          model={model}
          signal={chosen}
          owner={ownerOf(chosen)}
          replay={replay?.signal === chosen ? replay : null}
          isDark={isDark}
        />
      )}
    </section>
  );
}

/** Signals as buttons. One of them is in the tab order, and arrow keys move between them. */
function List({ model, isDark }: { model: Model; isDark: boolean }): preact.JSX.Element {
  // While the list has the focus, new signals must not move its entries.
  const [frozen, setFrozen] = useState<Signal[] | null>(null);
  // A page of earlier signals; null shows the latest ones.
  const [page, setPage] = useState<SignalPage | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const { signals: recent } = model;
  // Another run has other signals.
  useEffect(() => {
    setPage(null);
    setFrozen(null);
  }, [recent]);
  // The latest packet is at the left. The first page shows its other end, with the first packet of the run.
  useEffect(() => {
    const list = place.current;
    if (list) list.scrollLeft = page && page.from <= page.first ? list.scrollWidth : 0;
  }, [page]);
  const last = page?.list ?? frozen ?? recent.list;
  const isOld = model.chosen !== null && !last.some((signal) => isSame(signal, model.chosen));
  const signals = isOld && model.chosen ? [...last, model.chosen] : last;
  const chosen = signals.findIndex((signal) => isSame(signal, model.chosen));
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const buttons = [...(place.current?.querySelectorAll("button") ?? [])];
    const at = buttons.indexOf(event.target as HTMLButtonElement);
    const next = event.key === "Home" ? 0 : event.key === "End" ? buttons.length - 1 : at + (step ?? 0);
    if (next === at || !buttons[next]) return;
    event.preventDefault();
    buttons[next].focus();
    buttons[next].click();
  };
  if (signals.length === 0)
    return (
      <p class="unit">This list shows lost and marked packets. Choose one to see how its flow reacted.</p>
    );
  return (
    <>
      <Pages model={model} page={page} onPage={setPage} />
      <div
        ref={place}
        class="signals"
        role="toolbar"
        aria-label="Packets that were lost or marked, the latest first"
        onKeyDown={move}
        onFocusCapture={() => setFrozen((before) => before ?? model.signals.list)}
        onBlurCapture={({ relatedTarget }) => {
          if (!place.current?.contains(relatedTarget as Node | null)) setFrozen(null);
        }}
      >
        {signals.map((signal, at) => (
          <button
            type="button"
            key={keyOf(signal)}
            tabIndex={at === Math.max(0, chosen) ? 0 : -1}
            aria-pressed={at === chosen}
            onClick={() => model.choose(signal)}
          >
            <svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">
              <path
                d={signal.kind === "dropped" ? "M1 1L9 9M9 1L1 9" : "M1 1H9V9H1Z"}
                stroke={colorOf(signal.flow, isDark)}
                stroke-width="2.5"
                fill="none"
              />
            </svg>{" "}
            <span class="hidden">{signal.kind === "dropped" ? "lost packet of" : "marked packet of"} </span>
            {shownName(model.resolved, signal)} <span class="unit">{moment(signal.timeS)}</span>
          </button>
        ))}
      </div>
    </>
  );
}

/** Numbers of all lost and marked packets of the run, and buttons to earlier ones. */
function Pages(props: {
  model: Model;
  page: SignalPage | null;
  onPage: (page: SignalPage | null) => void;
}): preact.JSX.Element {
  const { model, page, onPage } = props;
  const { signals } = model;
  const show = (asked: Promise<SignalPage>): void => {
    // A request of a run that was replaced meanwhile has no answer to show.
    const own = signals;
    void asked.then(
      (found) => own === model.signals && onPage(found),
      () => onPage(null),
    );
  };
  const showBefore = (kind: Signal["kind"], until: number): void => show(model.signalsBefore(kind, until));
  const noun = (kind: Signal["kind"]): string => (kind === "dropped" ? "lost" : "marked");
  const kinds = (["dropped", "marked"] as const).filter((kind) => signals.total(kind) > 0);
  if (!page)
    return (
      <p class="pages unit">
        {kinds.map((kind) => `${amount(signals.total(kind))} ${noun(kind)}`).join(", ")} since the start of
        the run{" "}
        {kinds.map((kind) => (
          <button type="button" key={kind} onClick={() => showBefore(kind, signals.total(kind))}>
            {kind === "dropped" ? "List all losses" : "List all marks"}
          </button>
        ))}
      </p>
    );
  const { kind, from, until, first } = page;
  const total = Math.max(page.total, signals.total(kind));
  const [isFirst, isLast] = [from <= first, until >= total];
  // Buttons that do nothing stay, so that the others do not move.
  return (
    <p class="pages unit">
      {noun(kind)} packets {amount(from + 1)} to {amount(until)} of {amount(total)} since the start of the run{" "}
      <button type="button" disabled={isFirst} onClick={() => show(model.firstSignals(kind))}>
        First
      </button>
      <button type="button" disabled={isFirst} onClick={() => showBefore(kind, from)}>
        Earlier
      </button>
      <button
        type="button"
        disabled={isLast}
        onClick={() => showBefore(kind, Math.min(until + PAGE_LENGTH, total))}
      >
        Later
      </button>
      <button type="button" disabled={isLast} onClick={() => showBefore(kind, total)}>
        Last
      </button>
      <button type="button" onClick={() => onPage(null)}>
        Close the list
      </button>
    </p>
  );
}

function Story(props: {
  model: Model;
  signal: Signal;
  owner: Owner;
  replay: ReplayResult | null;
  isDark: boolean;
}): preact.JSX.Element {
  const { model, signal, owner, replay, isDark } = props;
  const [isWhole, setWhole] = useState(false);
  useEffect(() => setWhole(false), [signal]);
  const shownS = isWhole ? Number.POSITIVE_INFINITY : (model.picture?.timeS ?? 0);
  const history = replay?.history ?? null;
  const hasEnded = model.phase === "ended";
  const untilS = hasEnded ? Number.POSITIVE_INFINITY : shownS;
  // A complete story no longer depends on the frame.
  const bound = history && untilS >= history.untilS ? Number.POSITIVE_INFINITY : untilS;
  const story = useMemo(() => history && storyOf(signal, history, bound), [history, signal, bound]);
  const isLater = history !== null && untilS < history.untilS;
  const rows =
    history && story && storyRows(signal, owner, { story, history, isLater, queue: queueOf(model) });
  return (
    <div class="story">
      <p class="headline" role="status">
        <b>{headline(signal, owner)}</b>
      </p>
      <button type="button" class="close" onClick={() => model.choose(null)}>
        Close
      </button>
      {replay?.refusal && <p class="wrong">{replay.refusal.message}</p>}
      {!replay?.refusal && !rows && (
        <p class="unit">
          The run is replayed in the background, up to {short(model.picture?.events ?? 0)} events…
        </p>
      )}
      {rows && (
        <dl>
          {rows.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {history && story && owner.responsive && !signal.isAck && (
        <figure>
          <figcaption>
            Congestion window of the flow <span class="unit">packets</span>
          </figcaption>
          <LossChart signal={signal} history={history} story={story} untilS={untilS} isDark={isDark} />
          <p class="legend">
            {marksOf(signal, story)
              .map(({ letter, name }) => `${letter} ${name}`)
              .join(" · ")}
            {history.isTruncated && " (the record is incomplete because it reached its limit)"}
            <span class="hidden">; {CHART_SPAN}</span>
          </p>
          {isLater && (
            <button type="button" onClick={() => setWhole(true)}>
              Show all that follows
            </button>
          )}
        </figure>
      )}
    </div>
  );
}

/** Queue of the target link, for the text of a story. */
function queueOf({ resolved, description }: Model): QueueText {
  const name = resolved?.links[resolved.target]?.queue ?? "";
  return {
    discipline: name,
    title: description?.disciplines.find((it) => it.name === name)?.title ?? "",
    bufferPackets: resolved?.buffer.packets ?? Number.NaN,
    bufferText: resolved?.controls.buffer?.text ?? "",
  };
}

function isSame(one: Signal, other: Signal | null): boolean {
  return other !== null && keyOf(one) === keyOf(other);
}

function keyOf({ kind, timeS, group, flow, packet }: Signal): string {
  return `${kind} ${timeS} ${group} ${flow} ${packet}`;
}

/** Loss recovery of each group, from the resolved scenario. */
function recoveriesOf(canonical: string | undefined): string[] {
  const found = JSON.parse(canonical ?? "{}") as { flows?: { recovery?: string }[] };
  return (found.flows ?? []).map(({ recovery }) => recovery ?? "");
}
