/** Live view of the link and its queue. The end of the queue can be dragged: it is the size of the buffer. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { packetsAt, placeOf, scaleEnd, stepped } from "./buffer_scale.ts";
import type { Signal } from "./engine/replay.ts";
import { legendOf, plain } from "./flow_names.ts";
import type { Model } from "./model.ts";
import { amount, rate, time } from "./numbers.ts";
import type { Flash } from "./packet_queue.ts";
import { colorOf, NEUTRAL } from "./palette.ts";
import { contentsText, queueLimit } from "./queue_unit.ts";
import { boxOf, placeAt, Scene } from "./scene.ts";
import { Term } from "./terms.tsx";

interface Props {
  model: Model;
  isDark: boolean;
  isStill: boolean;
  /** Size of the buffer in packets that is shown, and its setter. */
  packets: number;
  onPackets: (packets: number) => void;
}

export function LinkView({ model, isDark, isStill, packets, onPackets }: Props): preact.JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const handle = useRef<HTMLDivElement>(null);
  const sceneRef = useRef<Scene | null>(null);
  const { resolved } = model;
  const limit = useMemo(() => (resolved ? queueLimit(resolved) : "packets"), [resolved]);
  const latest = useRef({ isDark, isStill, packets, limit });
  latest.current = { isDark, isStill, packets, limit };
  useEffect(() => {
    const own = canvas.current;
    if (!own) return;
    const scene = new Scene(own);
    sceneRef.current = scene;
    let painted: unknown = null;
    let frame = 0;
    const paint = (now: number): void => {
      const { picture, resolved, queue } = model;
      const { packets, limit, ...appearance } = latest.current;
      const at = resolved?.target ?? 0;
      const link = picture?.links[at];
      const place = placeOf(packets, scaleEnd(resolved));
      queue.advanceTo(picture?.timeS ?? 0);
      scene.paint(
        queue,
        {
          timeS: picture?.timeS ?? 0,
          waiting: link?.waitingPackets ?? 0,
          buffer: limit === "bytes" ? placesOf(model, packets) : packets,
          place,
          shares: queue.isStale ? model.readouts.shares : [],
          rest: restColor(model, appearance.isDark),
          link: resolved?.links[at]
            ? `${rate(resolved.links[at].rate_bps).replace(/\.0+(?=\D)/, "")} link`
            : "link",
          isHeld: link?.pauses?.isPaused ?? false,
          contents: contentsText(link?.waitingPackets ?? 0, packets, limit),
          isPlaying: model.phase === "playing",
          ...appearance,
        },
        now,
      );
      if (handle.current) {
        const { left, top, bottom } = boxOf(own.clientWidth, own.clientHeight, place);
        handle.current.style.transform = `translate(${left}px, ${top}px)`;
        handle.current.style.height = `${bottom - top}px`;
      }
      if (picture && picture !== painted) {
        painted = picture;
        model.pictureShown();
      }
      frame = requestAnimationFrame(paint);
    };
    frame = requestAnimationFrame(paint);
    return () => cancelAnimationFrame(frame);
  }, [model]);
  const link = model.picture?.links[resolved?.target ?? 0];
  return (
    <div class="link-picture">
      <canvas
        ref={canvas}
        role="img"
        onClick={({ offsetX, offsetY }) => {
          const flash = sceneRef.current?.at(offsetX, offsetY);
          if (flash) model.choose(signalOf(flash));
        }}
        onPointerMove={({ offsetX, offsetY, currentTarget }) => {
          currentTarget.style.cursor = sceneRef.current?.at(offsetX, offsetY) ? "pointer" : "";
        }}
        aria-label={`${Math.round(link?.waitingPackets ?? 0)} packets in the queue; ${amount(model.signals.dropped)} packets lost since the start of the run`}
      />
      <QueueEnd model={model} packets={packets} onPackets={onPackets} own={handle} />
    </div>
  );
}

/** End of the queue: a slider for pointer and keys. */
function QueueEnd(props: {
  model: Model;
  packets: number;
  onPackets: (packets: number) => void;
  own: preact.RefObject<HTMLDivElement>;
}): preact.JSX.Element {
  const { model, packets, onPackets, own } = props;
  const { resolved } = model;
  const end = scaleEnd(resolved);
  const isOff = !model.isChangeable || !resolved?.controls.buffer;
  const drag = (event: PointerEvent): void => {
    const box = own.current?.parentElement?.getBoundingClientRect();
    if (!box || isOff || !own.current?.hasPointerCapture(event.pointerId)) return;
    onPackets(packetsAt(placeAt(box.width, event.clientX - box.left), end));
  };
  // The keys move the end as the pointer does: to the left the buffer grows.
  const onKey = (event: KeyboardEvent): void => {
    const share = {
      ...{ ArrowLeft: 0.05, ArrowUp: 0.05, ArrowRight: -0.05, ArrowDown: -0.05 },
      ...{ PageUp: 1, PageDown: -0.5 },
    }[event.key];
    const next =
      event.key === "Home" ? 1 : event.key === "End" ? end : share ? stepped(packets, share, end) : null;
    if (next === null || isOff) return;
    event.preventDefault();
    onPackets(next);
  };
  const perPacketS =
    resolved && resolved.buffer.packets > 0 ? resolved.buffer.seconds / resolved.buffer.packets : 0;
  return (
    <div
      ref={own}
      class="queue-end"
      role="slider"
      tabIndex={0}
      aria-label="End of the queue: size of the buffer. Left and up enlarge it, right and down shrink it."
      aria-orientation="horizontal"
      aria-valuemin={1}
      aria-valuemax={end}
      aria-valuenow={Math.round(packets)}
      aria-valuetext={`${Math.round(packets)} packets, ${time(packets * perPacketS)}`}
      aria-disabled={isOff}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={drag}
      onKeyDown={onKey}
    >
      <span class="grip" aria-hidden="true">
        ⟷
      </span>
    </div>
  );
}

/**
 * Number of packets like those in the queue that a buffer of bytes has room for, where `packets` is the buffer in
 * packets of full size. The length of the queue in the picture is then its share of the buffer.
 */
function placesOf({ picture, resolved }: Model, packets: number): number {
  const link = picture?.links[resolved?.target ?? 0];
  if (!resolved || !link || !(link.backlogS > 0)) return packets;
  const bufferS = (resolved.buffer.seconds * packets) / resolved.buffer.packets;
  return (link.waitingPackets * bufferS) / link.backlogS;
}

/** Color of packets without congestion control: that of their flow if there is one such flow. */
function restColor({ resolved }: Model, isDark: boolean): string {
  const others = (resolved?.groups ?? []).filter(({ responsive }) => !responsive);
  const [only] = others;
  return only && others.length === 1 && only.count === 1 ? colorOf(only.first_flow, isDark) : NEUTRAL;
}

/** Names and colors of the flows. */
export function Legend({ model, isDark }: { model: Model; isDark: boolean }): preact.JSX.Element {
  return (
    <ul class="flows" aria-label="Flows and their colors">
      {legendOf(model.resolved, isDark).map(({ name, color }) => (
        <li key={name}>
          <span class="swatch" style={{ background: color }} /> {name}
        </li>
      ))}
    </ul>
  );
}

/** Facts of the link that a buffer is compared with. */
export function Facts({ model }: { model: Model }): preact.JSX.Element | null {
  const { resolved } = model;
  const link = resolved?.links[resolved.target];
  if (!resolved || !link) return null;
  const isDroptail = link.queue === "droptail";
  return (
    <p class="facts">
      {resolved.bdp_packets !== null && (
        <>
          <Term name="bdp">BDP</Term> {amount(resolved.bdp_packets)} packets,{" "}
          <Term name="rtt">round trip</Term> {time(model.roundTripS)},{" "}
        </>
      )}
      <Term name={isDroptail ? "droptail" : "queue"}>{plain(link.queue)}</Term> queue
    </p>
  );
}

/** Signal of an event that was clicked. */
function signalOf({ kind, timeS, flow, group, packet, bytes, isAck }: Flash): Signal {
  return { kind: kind === "marked" ? kind : "dropped", timeS, flow, group, packet, bytes, isAck };
}
