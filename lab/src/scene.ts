/**
 * Animation of the link: packets arrive from the left, queue, and depart to the right. Dropped packets fall
 * out of the queue.
 */

import type { Flash, PacketQueue } from "./packet_queue.ts";
import { colorOf, NEUTRAL } from "./palette.ts";

/** Values that are painted besides packets. */
export interface View {
  /** Time of the run, in seconds. */
  timeS: number;
  /** Packets in the queue, as the engine counts them. */
  waiting: number;
  /** Buffer, in packets. */
  buffer: number;
  /** Place of the buffer on its scale, from 0 to 1. It gives the length of the queue's box. */
  place: number;
  /** Shares of flows in recent arrivals, for a queue whose single packets are unknown. */
  shares: readonly { flow: number; share: number }[];
  /** Color of the arrivals that belong to none of these flows. */
  rest: string;
  /** Label of the link, such as its rate. */
  link: string;
  /** Whether a pause stops the link. */
  isHeld: boolean;
  /** Label of the queue's contents. */
  contents: string;
  isDark: boolean;
  /** Whether motion is reduced. */
  isStill: boolean;
  /** Whether the run is playing. While it is paused, dropped packets remain visible. */
  isPlaying: boolean;
}

/** Time for which an event is visible, in milliseconds. Dropped packets stay long enough to be clicked. */
const VISIBLE_MS = 700;
const FALL_MS = 2500;
/** Largest distance of a click from a packet, in pixels. */
const CLICK_RADIUS = 22;
/** Age at which a packet stays while the run is paused. */
const REST_AGE = 0.6;

interface PaintedFlash extends Flash {
  since: number;
  /** Age between 0 and 1: the share of the path that is completed. */
  age: number;
  /** Center of the last painted position. */
  left: number;
  top: number;
}

export class Scene {
  readonly #canvas: HTMLCanvasElement;
  #painted: PaintedFlash[] = [];

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  /** Paints a frame; `now` is in milliseconds of a clock. */
  paint(queue: PacketQueue, view: View, now: number): void {
    const context = this.#canvas.getContext("2d");
    if (!context) return;
    const { width, height, scale } = this.#fit();
    const style = getComputedStyle(this.#canvas);
    const ink = style.getPropertyValue("--ink").trim() || "#222";
    const faint = style.getPropertyValue("--line").trim() || "#ccc";
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const box = boxOf(width, height, view.place);
    this.#addFlashes(queue, view, now);
    this.#frame(context, box, width, { ink, faint });
    this.#queue(context, box, queue, view);
    this.#flashes(context, box, width, view);
    this.#labels(context, box, width, height, view, ink);
  }

  /** Returns the lost or marked packet at a position of the canvas, or null. */
  at(left: number, top: number): Flash | null {
    let [nearest, found]: [number, Flash | null] = [CLICK_RADIUS, null];
    for (const flash of this.#painted) {
      if (flash.kind !== "dropped" && flash.kind !== "marked") continue;
      const distance = Math.hypot(flash.left - left, flash.top - top);
      if (distance <= nearest) [nearest, found] = [distance, flash];
    }
    return found;
  }

  #fit(): { width: number; height: number; scale: number } {
    const canvas = this.#canvas;
    const scale = Math.min(globalThis.devicePixelRatio || 1, 3);
    const { clientWidth: width, clientHeight: height } = canvas;
    const [across, down] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== across || canvas.height !== down) {
      canvas.width = across;
      canvas.height = down;
    }
    return { width, height, scale };
  }

  #addFlashes(queue: PacketQueue, view: View, now: number): void {
    const added = queue.flashes.splice(0).filter(({ kind }) => kind !== "arrived");
    for (const flash of this.#painted) {
      const passed = (now - flash.since) / (flash.kind === "dropped" ? FALL_MS : VISIBLE_MS);
      // After a step, new events replace the old ones.
      flash.age =
        view.isPlaying || added.length > 0 ? passed : Math.max(flash.age, Math.min(passed, REST_AGE));
    }
    this.#painted.push(...added.map((flash) => ({ ...flash, since: now, age: 0, left: 0, top: 0 })));
    this.#painted = this.#painted.filter(({ age }) => age < 1).slice(-200);
  }

  #frame(
    context: CanvasRenderingContext2D,
    box: Box,
    width: number,
    colors: { ink: string; faint: string },
  ): void {
    const middle = (box.top + box.bottom) / 2;
    context.strokeStyle = colors.faint;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(0, middle);
    context.lineTo(box.left, middle);
    context.moveTo(box.right, middle);
    context.lineTo(width, middle);
    context.stroke();
    context.strokeStyle = colors.ink;
    // The box is open where packets arrive.
    context.beginPath();
    context.moveTo(box.left, box.top);
    context.lineTo(box.right, box.top);
    context.lineTo(box.right, box.bottom);
    context.lineTo(box.left, box.bottom);
    context.stroke();
    // Arrows show the direction of the packets.
    context.fillStyle = colors.ink;
    for (const tip of [box.left - 8, width - 6]) {
      context.beginPath();
      context.moveTo(tip, middle);
      context.lineTo(tip - 9, middle - 5);
      context.lineTo(tip - 9, middle + 5);
      context.fill();
    }
  }

  /** Paints the queue from the right, where packets depart. Its width shows the occupancy of the buffer. */
  #queue(context: CanvasRenderingContext2D, box: Box, queue: PacketQueue, view: View): void {
    const inner = box.right - box.left - 4;
    const places = Math.max(view.buffer, view.waiting, 1);
    const each = inner / places;
    const gap = each > 6 ? 1.5 : 0;
    const high = box.bottom - box.top - 6;
    if (queue.isStale) {
      this.#shares(context, box, inner * Math.min(1, view.waiting / places), view);
      return;
    }
    // The first packet is in transmission if there is one more than those that wait. It lies on the link.
    const sent = queue.packets.length > view.waiting ? 1 : 0;
    queue.packets.forEach(({ flow }, at) => {
      const left = box.right - 2 - (at + 1 - sent) * each;
      if (left < box.left - 1) return;
      context.fillStyle = colorOf(flow, view.isDark);
      if (at < sent) context.fillRect(box.right + 4, box.top + high / 4, Math.min(each, 12), high / 2);
      else context.fillRect(left, box.top + 3, Math.max(each - gap, 0.75), high);
    });
  }

  /** Paints a queue whose single packets are unknown: a layer for each flow, by its share of recent arrivals. */
  #shares(context: CanvasRenderingContext2D, box: Box, full: number, view: View): void {
    const high = box.bottom - box.top - 6;
    let top = box.top + 3;
    const layer = (share: number, color: string): void => {
      context.fillStyle = color;
      context.fillRect(box.right - 2 - full, top, full, high * share);
      top += high * share;
    };
    for (const { flow, share } of view.shares) layer(share, colorOf(flow, view.isDark));
    layer(Math.max(0, (box.bottom - 3 - top) / high), view.shares.length > 0 ? view.rest : NEUTRAL);
  }

  #flashes(context: CanvasRenderingContext2D, box: Box, width: number, view: View): void {
    const size = Math.max(4, Math.min(12, (box.right - box.left) / Math.max(view.buffer, 1)));
    const middle = (box.top + box.bottom) / 2;
    for (const flash of this.#painted) {
      const { age } = flash;
      context.globalAlpha = 1 - age;
      context.fillStyle = colorOf(flash.flow, view.isDark);
      if (flash.kind === "dropped") {
        const fallen = view.isStill ? 0.5 : age;
        // Packets that fall one after the other lie beside each other.
        const left = box.left - size + (flash.packet % 5) * (size + 4);
        const top = box.bottom + 6 + fallen * (middle * 0.3);
        cross(context, left, top, size);
        [flash.left, flash.top] = [left + size / 2, top + size / 2];
      } else {
        const gone = view.isStill ? 0.5 : age;
        const left = box.right + 4 + gone * (width - box.right - size - 4);
        context.fillRect(left, middle - size / 2, size, size);
        [flash.left, flash.top] = [left + size / 2, middle];
        if (flash.kind === "marked") {
          context.strokeStyle = context.fillStyle;
          context.strokeRect(left - 2.5, middle - size / 2 - 2.5, size + 5, size + 5);
        }
      }
    }
    context.globalAlpha = 1;
  }

  #labels(
    context: CanvasRenderingContext2D,
    box: Box,
    width: number,
    height: number,
    view: View,
    ink: string,
  ): void {
    context.fillStyle = ink;
    const letters = Number.parseFloat(getComputedStyle(this.#canvas).fontSize) || 13;
    context.font = `${width < 500 ? Math.min(letters, 12) : letters}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillText(view.link, width - 4, box.bottom + 14);
    context.fillText(view.contents, box.right, box.top - letters);
    if (view.isHeld) {
      // A sign and a word: color alone would not tell.
      context.fillStyle = getComputedStyle(this.#canvas).getPropertyValue("--wrong").trim() || ink;
      const middle = (box.top + box.bottom) / 2;
      for (const left of [box.right + 8, box.right + 15]) context.fillRect(left, middle - 9, 4, 18);
      context.fillText("paused", width - 4, box.top - letters);
      context.fillStyle = ink;
    }
    context.textAlign = "left";
    context.fillText("packets", 4, (box.top + box.bottom) / 2 - letters);
    if (this.#painted.some(({ kind }) => kind === "dropped"))
      context.fillText("lost", 4, Math.min(height - 8, box.bottom + 14));
  }
}

/** Box of the queue, in pixels. */
export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** Ends of the box's left side, as shares of the width: of the largest and of the smallest buffer. */
const [FARTHEST, NEAREST, RIGHT] = [0.1, 0.7, 0.82];
/** Room for the label of the arriving packets, in pixels. */
const LABEL_ROOM = 64;

/** Box of the queue in a picture. Its left side is the end of the queue, at the place of the buffer. */
export function boxOf(width: number, height: number, place: number): Box {
  const farthest = Math.max(FARTHEST * width, LABEL_ROOM);
  const left = NEAREST * width + place * (farthest - NEAREST * width);
  return { left, right: RIGHT * width, top: height * 0.3, bottom: height * 0.72 };
}

/** Place of the end of the queue at a horizontal position of the picture. */
export function placeAt(width: number, left: number): number {
  const farthest = Math.max(FARTHEST * width, LABEL_ROOM);
  return Math.min(1, Math.max(0, (left - NEAREST * width) / (farthest - NEAREST * width)));
}

function cross(context: CanvasRenderingContext2D, left: number, top: number, size: number): void {
  context.strokeStyle = context.fillStyle;
  context.lineWidth = 2.5;
  context.beginPath();
  context.moveTo(left, top);
  context.lineTo(left + size, top + size);
  context.moveTo(left + size, top);
  context.lineTo(left, top + size);
  context.stroke();
}
