/** The packets that were lost or marked last, and the story of the one that was chosen. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Signal } from "./engine/replay.ts";
import { Follow, type Followed } from "./follow.ts";
import { LossChart, marksOf } from "./loss_chart.tsx";
import { storyOf } from "./loss_story.ts";
import { COVERED, headline, moment, nameOf, type Owner, tellingOf } from "./loss_words.ts";
import type { Model } from "./model.ts";
import { short } from "./numbers.ts";
import { colorOf } from "./palette.ts";

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
  isDark: boolean;
}

export function LossView({ model, start, module, isDark }: Props): preact.JSX.Element {
  const [followed, setFollowed] = useState<Followed | null>(null);
  const follow = useMemo(() => new Follow(start, module, setFollowed), [start, module]);
  const { chosen, resolved } = model;
  const recoveries = useMemo(() => recoveriesOf(resolved?.canonical), [resolved?.canonical]);
  const ownerOf = ({ flow, group }: Signal): Owner => {
    const own = resolved?.groups[group];
    const number = own && own.count > 1 ? flow - own.first_flow + 1 : null;
    const recovery = recoveries[group] ?? "";
    return { group: own?.name ?? `${group}`, number, responsive: own?.responsive ?? false, recovery };
  };
  useEffect(() => {
    if (!chosen || !resolved) {
      follow.cancel();
      return;
    }
    const roundTripS = model.roundTripS;
    void follow.follow(model.text, {
      signal: chosen,
      beforeS: 8 * (roundTripS + resolved.buffer.seconds),
      roundTripS,
      target: resolved.target,
      responsive: ownerOf(chosen).responsive,
    });
  }, [chosen, follow]);
  useEffect(() => () => follow.cancel(), [follow]);
  return (
    <section class="lost" aria-label="Lost packets">
      <List model={model} ownerOf={ownerOf} isDark={isDark} />
      {chosen && (
        <Story
          model={model}
          signal={chosen}
          owner={ownerOf(chosen)}
          followed={followed?.signal === chosen ? followed : null}
          isDark={isDark}
        />
      )}
    </section>
  );
}

/** The last ones as buttons; one of them is in the order of tabs, and arrows go to the others. */
function List(props: {
  model: Model;
  ownerOf: (signal: Signal) => Owner;
  isDark: boolean;
}): preact.JSX.Element {
  const { model, ownerOf, isDark } = props;
  // While somebody is in it, what comes and goes must not move it.
  const [held, setHeld] = useState<Signal[] | null>(null);
  const place = useRef<HTMLDivElement>(null);
  const last = held ?? model.signals.list;
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
    return <p class="unit">Packets that are lost or marked stand here: choose one to see what followed.</p>;
  return (
    <div
      ref={place}
      class="signals"
      role="toolbar"
      aria-label="The packets that were lost or marked last, the latest first"
      onKeyDown={move}
      onFocusCapture={() => setHeld((before) => before ?? model.signals.list)}
      onBlurCapture={({ relatedTarget }) => {
        if (!place.current?.contains(relatedTarget as Node | null)) setHeld(null);
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
          <span class="hidden">{signal.kind === "dropped" ? "lost by" : "marked, of"} </span>
          {nameOf(ownerOf(signal))} <span class="unit">{moment(signal.timeS)}</span>
        </button>
      ))}
    </div>
  );
}

function Story(props: {
  model: Model;
  signal: Signal;
  owner: Owner;
  followed: Followed | null;
  isDark: boolean;
}): preact.JSX.Element {
  const { model, signal, owner, followed, isDark } = props;
  const [isWhole, setWhole] = useState(false);
  useEffect(() => setWhole(false), [signal]);
  const shownS = isWhole ? Number.POSITIVE_INFINITY : (model.picture?.timeS ?? 0);
  const course = followed?.course ?? null;
  const hasEnded = model.phase === "ended";
  const untilS = hasEnded ? Number.POSITIVE_INFINITY : shownS;
  // Once all is shown, no frame changes it.
  const bound = course && untilS >= course.untilS ? Number.POSITIVE_INFINITY : untilS;
  const story = useMemo(() => course && storyOf(signal, course, bound), [course, signal, bound]);
  const isLater = course !== null && untilS < course.untilS;
  const told = course && story && tellingOf(signal, owner, { story, course, isLater });
  return (
    <div class="story">
      <p class="headline" role="status">
        <b>{headline(signal, owner)}</b>
      </p>
      <button type="button" class="close" onClick={() => model.choose(null)}>
        Close
      </button>
      {followed?.refusal && <p class="wrong">{followed.refusal.message}</p>}
      {!followed?.refusal && !told && (
        <p class="unit">
          The same run goes once more, quietly, up to there: {short(model.picture?.events ?? 0)} events at the
          most…
        </p>
      )}
      {told && (
        <dl>
          {told.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {course && story && owner.responsive && !signal.acknowledges && (
        <figure>
          <figcaption>
            Its window <span class="unit">packets</span>
          </figcaption>
          <LossChart signal={signal} course={course} story={story} untilS={untilS} isDark={isDark} />
          <p class="legend">
            {marksOf(signal, story)
              .map(({ letter, name }) => `${letter} ${name}`)
              .join(" · ")}
            {course.isCut && " (more happened than can be kept)"}
            <span class="hidden">; {COVERED}</span>
          </p>
          {isLater && (
            <button type="button" onClick={() => setWhole(true)}>
              Show what follows at once
            </button>
          )}
        </figure>
      )}
    </div>
  );
}

function isSame(one: Signal, other: Signal | null): boolean {
  return other !== null && keyOf(one) === keyOf(other);
}

function keyOf({ kind, timeS, group, flow, packet }: Signal): string {
  return `${kind} ${timeS} ${group} ${flow} ${packet}`;
}

/** How each group finds losses, as the resolved scenario says. */
function recoveriesOf(canonical: string | undefined): string[] {
  const found = JSON.parse(canonical ?? "{}") as { flows?: { recovery?: string }[] };
  return (found.flows ?? []).map(({ recovery }) => recovery ?? "");
}
