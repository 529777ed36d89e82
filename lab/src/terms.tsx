/** Terms of the field with their explanation, which hover, focus and tap open. */

import { useEffect, useState } from "preact/hooks";

/** Explanations, one sentence or two each. docs/reference/glossary.md has the full definitions. */
export const TERMS = {
  buffer: "The largest number of packets that may wait in the queue. A packet that finds it full is lost.",
  bdp: "Bandwidth-delay product: link rate × round-trip time. This much data is in flight if the link is busy and no packet waits.",
  queue:
    "The packets that wait at the link. A queue discipline decides which packet leaves next and which one is dropped.",
  droptail:
    "Drop-tail: packets leave in the order of arrival, and a packet that finds the buffer full is dropped.",
  utilization: "The share of the time in which the link sends packets.",
  loss: "Loss rate: packets that the queue drops, divided by packets that arrive.",
  delay: "Queueing delay: the time that a packet waits in the queue before the link sends it.",
  goodput: "The rate of payload that receivers get in order, without headers and repeated packets.",
  rtt: "Round-trip time: from the sending of a packet to its acknowledgment, here without waiting in the queue.",
  cwnd: "Congestion window: the number of packets that a sender may have in flight. It grows until a loss or a mark, then it shrinks.",
  cca: "Congestion control: the algorithm in a sender that changes its congestion window, such as New Reno, CUBIC or BBR.",
  jitter: "A random part of the round-trip time, drawn once for each flow.",
  load: "Traffic that does not slow down when packets are lost, as a share of the link's rate.",
  rate: "The number of bits per second that the link can send.",
  flows: "The number of senders in this group. Each has its own congestion window.",
  p99: "99th percentile: one packet in a hundred waits longer.",
  interval:
    "95 % interval: three runs with other random numbers give it. It would contain the true mean in 95 of 100 such cases.",
  fluid: "Fluid model: flows are rates without single packets. It needs no simulation, and ignores bursts.",
  closed: "Closed form: a formula from the literature, which gives its result at once.",
  packets: "Packet-level model: every packet is simulated.",
  pause:
    "A lossless queue stops a sender before its memory is full. A stopped link holds all of its packets, also those that go elsewhere.",
  threshold: "K: packets that find at least this many packets in the queue are marked.",
  long_flow:
    "A flow that lasts long enough for congestion control to set its rate. It is also called an elephant.",
} as const;

export type TermName = keyof typeof TERMS;

/** Open explanation, with its term in the page. */
interface Tip {
  name: TermName;
  element: Element;
}

let show: (tip: Tip | null) => void = () => {};

/** Time after which an explanation closes once the pointer has left it, in milliseconds. */
const CLOSE_DELAY_MS = 150;
let closing: ReturnType<typeof setTimeout> | undefined;

function open(name: TermName, element: Element): void {
  clearTimeout(closing);
  show({ name, element });
}

function close(delayMs = 0): void {
  clearTimeout(closing);
  closing = setTimeout(() => show(null), delayMs);
}

/** Term of the text. */
export function Term(props: { name: TermName; children: preact.ComponentChildren }): preact.JSX.Element {
  const { name, children } = props;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a button in a label would be a second control of the label.
    <span
      class="term"
      tabIndex={0}
      role="button"
      aria-describedby="tip"
      onPointerEnter={({ currentTarget }) => open(name, currentTarget)}
      onPointerLeave={() => close(CLOSE_DELAY_MS)}
      onFocus={({ currentTarget }) => open(name, currentTarget)}
      onBlur={() => close()}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        open(name, event.currentTarget);
      }}
      onClick={(event) => {
        // A tap explains the term. It does not operate the control of the label around it.
        event.preventDefault();
        event.currentTarget.focus();
        open(name, event.currentTarget);
      }}
    >
      {children}
    </span>
  );
}

/** Spellings of terms in sentences. */
const SPELLINGS: readonly (readonly [RegExp, TermName])[] = [
  [/bandwidth-delay products?/, "bdp"],
  [/99th percentile/, "p99"],
  [/round-trip times?/, "rtt"],
  [/congestion windows?/, "cwnd"],
  [/queueing delay/, "delay"],
  [/loss rate/, "loss"],
  [/utilization/, "utilization"],
  [/goodput/, "goodput"],
  [/drop-tail/, "droptail"],
  [/long flows?/i, "long_flow"],
];

/** Text whose terms are explained, each at its first place. */
export function Explained({ text }: { text: string }): preact.JSX.Element {
  const places = SPELLINGS.flatMap(([spelling, name]) => {
    const found = spelling.exec(text);
    return found ? [{ name, from: found.index, until: found.index + found[0].length }] : [];
  }).sort((one, other) => one.from - other.from);
  const parts: preact.ComponentChildren[] = [];
  let at = 0;
  for (const { name, from, until } of places) {
    if (from < at) continue;
    parts.push(
      text.slice(at, from),
      <Term name={name} key={name}>
        {text.slice(from, until)}
      </Term>,
    );
    at = until;
  }
  return (
    <>
      {parts}
      {text.slice(at)}
    </>
  );
}

const WIDTH = 280;
const GAP = 6;

/** The one explanation that is open. */
export function Explanation(): preact.JSX.Element {
  const [tip, setTip] = useState<Tip | null>(null);
  show = setTip;
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") setTip(null);
    };
    // The explanation stays at its term.
    const onScroll = (): void => setTip((before) => before && { ...before });
    document.addEventListener("keydown", onKey);
    document.addEventListener("scroll", onScroll, { capture: true, passive: true });
    return () => {
      document.removeEventListener("keydown", onKey);
      document.removeEventListener("scroll", onScroll, { capture: true });
    };
  }, []);
  const box = tip?.element.getBoundingClientRect();
  const isLow = box !== undefined && box.bottom > innerHeight - 120;
  const style = box
    ? {
        left: `${Math.max(GAP, Math.min(box.left, document.documentElement.clientWidth - WIDTH - GAP))}px`,
        ...(isLow ? { bottom: `${innerHeight - box.top + GAP}px` } : { top: `${box.bottom + GAP}px` }),
      }
    : {};
  return (
    <div
      id="tip"
      class="tip"
      role="tooltip"
      hidden={tip === null}
      style={style}
      onPointerEnter={() => clearTimeout(closing)}
      onPointerLeave={() => close(CLOSE_DELAY_MS)}
    >
      {tip && TERMS[tip.name]}
    </div>
  );
}
