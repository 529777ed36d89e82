/** Live view of the link and its queue. */

import { useEffect, useRef } from "preact/hooks";
import type { Signal } from "./engine/replay.ts";
import type { Model } from "./model.ts";
import { amount, share, short, time } from "./numbers.ts";
import type { Flash } from "./packet_queue.ts";
import { Scene } from "./scene.ts";

interface Props {
  model: Model;
  isDark: boolean;
  isStill: boolean;
}

export function LinkView({ model, isDark, isStill }: Props): preact.JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const sceneRef = useRef<Scene | null>(null);
  const appearance = useRef({ isDark, isStill });
  appearance.current = { isDark, isStill };
  useEffect(() => {
    const own = canvas.current;
    if (!own) return;
    const scene = new Scene(own);
    sceneRef.current = scene;
    let painted: unknown = null;
    let frame = 0;
    const paint = (now: number): void => {
      const { picture, resolved, queue } = model;
      const link = picture?.links[resolved?.target ?? 0];
      queue.advanceTo(picture?.timeS ?? 0);
      scene.paint(
        queue,
        {
          timeS: picture?.timeS ?? 0,
          waiting: link?.waitingPackets ?? 0,
          buffer: resolved?.buffer.packets ?? 1,
          utilization: link?.utilization ?? 0,
          isPlaying: model.phase === "playing",
          ...appearance.current,
        },
        now,
      );
      if (picture && picture !== painted) {
        painted = picture;
        model.pictureShown();
      }
      frame = requestAnimationFrame(paint);
    };
    frame = requestAnimationFrame(paint);
    return () => cancelAnimationFrame(frame);
  }, [model]);
  const { picture, resolved } = model;
  const link = picture?.links[resolved?.target ?? 0];
  return (
    <section class="link" aria-label="The link">
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
        aria-label={`${Math.round(link?.waitingPackets ?? 0)} packets in the queue; ${amount(link?.drops ?? 0)} packets lost`}
      />
      <dl class="figures">
        <Figure name="time" value={time(picture?.timeS ?? 0)} />
        <Figure name="utilization" value={share(link?.utilization ?? Number.NaN)} />
        <Figure name="queueing delay" value={time(link?.backlogS ?? 0)} />
        <Figure name="packets" value={short(link?.arrivals ?? 0)} />
        <Figure name="lost" value={amount(link?.drops ?? 0)} />
        <Figure name="marked" value={amount(link?.marks ?? 0)} />
        <Figure name="events per second" value={short(model.eventsPerSecond)} />
      </dl>
    </section>
  );
}

/** Signal of an event that was clicked. */
function signalOf({ kind, timeS, flow, group, packet, bytes, isAck }: Flash): Signal {
  return { kind: kind === "marked" ? kind : "dropped", timeS, flow, group, packet, bytes, isAck };
}

function Figure({ name, value }: { name: string; value: string }): preact.JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
