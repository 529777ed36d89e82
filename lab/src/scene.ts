/** Paints the link: packets that come from the left, wait in the queue and leave to the right; drops fall out of it. */

import type { Flash, Line } from "./line.ts";
import { colorOf } from "./palette.ts";

/** What is painted besides packets. */
export interface View {
  /** Seconds of the run. */
  timeS: number;
  /** Packets that wait, as the engine counts them. */
  waiting: number;
  /** The most that may wait. */
  buffer: number;
  /** Share of the link's time that was used. */
  utilization: number;
  isDark: boolean;
  /** Whether nothing may move that needs not. */
  isStill: boolean;
  /** Whether the run goes on: what has been lost stays where it is while it does not. */
  isPlaying: boolean;
}

/** How long a flash is seen, in milliseconds; what falls out of the queue long enough to be clicked on. */
const SEEN_MS = 700;
const FALLS_MS = 2500;
/** How near to it a click must be, in pixels. */
const NEAR = 22;
/** The part of its way on which a flash stays while the run stands. */
const RESTS_AT = 0.6;

interface Seen extends Flash {
  since: number;
  /** Between 0 and 1: how much of its way it has gone. */
  age: number;
  /** The middle of where it was painted last. */
  left: number;
  top: number;
}

export class Scene {
  readonly #canvas: HTMLCanvasElement;
  #seen: Seen[] = [];

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  /** Paints a moment; `now` in milliseconds of a clock. */
  paint(line: Line, view: View, now: number): void {
    const context = this.#canvas.getContext("2d");
    if (!context) return;
    const { width, height, scale } = this.#fit();
    const style = getComputedStyle(this.#canvas);
    const ink = style.getPropertyValue("--ink").trim() || "#222";
    const faint = style.getPropertyValue("--line").trim() || "#ccc";
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const box = { left: width * 0.14, right: width * 0.78, top: height * 0.3, bottom: height * 0.7 };
    this.#take(line, view, now);
    this.#frame(context, box, width, { ink, faint });
    this.#queue(context, box, line, view);
    this.#flashes(context, box, width, view);
    this.#labels(context, box, width, height, view, ink);
  }

  /** The packet that was lost or marked and is seen at a place of the canvas; none where there is none. */
  at(left: number, top: number): Flash | null {
    let [nearest, found]: [number, Flash | null] = [NEAR, null];
    for (const flash of this.#seen) {
      if (flash.kind !== "dropped" && flash.kind !== "marked") continue;
      const away = Math.hypot(flash.left - left, flash.top - top);
      if (away <= nearest) [nearest, found] = [away, flash];
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

  #take(line: Line, view: View, now: number): void {
    const fresh = line.flashes.splice(0).filter(({ kind }) => kind !== "arrived");
    for (const seen of this.#seen) {
      const passed = (now - seen.since) / (seen.kind === "dropped" ? FALLS_MS : SEEN_MS);
      // A step brings others: then these have had their time.
      seen.age = view.isPlaying || fresh.length > 0 ? passed : Math.max(seen.age, Math.min(passed, RESTS_AT));
    }
    this.#seen.push(...fresh.map((flash) => ({ ...flash, since: now, age: 0, left: 0, top: 0 })));
    this.#seen = this.#seen.filter(({ age }) => age < 1).slice(-200);
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
    // Open where packets come in.
    context.beginPath();
    context.moveTo(box.left, box.top);
    context.lineTo(box.right, box.top);
    context.lineTo(box.right, box.bottom);
    context.lineTo(box.left, box.bottom);
    context.stroke();
  }

  /** The packets from the right, where they leave; as wide as the buffer is full. */
  #queue(context: CanvasRenderingContext2D, box: Box, line: Line, view: View): void {
    const inner = box.right - box.left - 4;
    const places = Math.max(view.buffer, view.waiting, 1);
    const each = inner / places;
    const gap = each > 6 ? 1.5 : 0;
    const high = box.bottom - box.top - 6;
    if (line.isLost) {
      const full = inner * Math.min(1, view.waiting / places);
      context.fillStyle = "#888888";
      context.fillRect(box.right - 2 - full, box.top + 3, full, high);
      return;
    }
    line.packets.forEach(({ flow }, at) => {
      const left = box.right - 2 - (at + 1) * each;
      if (left < box.left - 1) return;
      context.fillStyle = colorOf(flow, view.isDark);
      context.fillRect(left, box.top + 3, Math.max(each - gap, 0.75), high);
    });
  }

  #flashes(context: CanvasRenderingContext2D, box: Box, width: number, view: View): void {
    const size = Math.max(4, Math.min(12, (box.right - box.left) / Math.max(view.buffer, 1)));
    const middle = (box.top + box.bottom) / 2;
    for (const flash of this.#seen) {
      const { age } = flash;
      context.globalAlpha = 1 - age;
      context.fillStyle = colorOf(flash.flow, view.isDark);
      if (flash.kind === "dropped") {
        const fallen = view.isStill ? 0.5 : age;
        // Those that fall one after the other lie beside each other.
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
    context.font = `${width < 500 ? 11 : 13}px system-ui, sans-serif`;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillText("packets arrive", 4, box.top - 14);
    context.textAlign = "right";
    context.fillText("link", width - 4, box.top - 14);
    context.textAlign = "center";
    const held = `${Math.round(view.waiting)} of ${Math.round(view.buffer)} packets wait`;
    context.fillText(held, (box.left + box.right) / 2, box.top - 14);
    context.textAlign = "left";
    context.fillText("lost", 4, Math.min(height - 8, box.bottom + 14));
  }
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
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
