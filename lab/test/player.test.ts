import { expect, test } from "vitest";
import { Player, type Run } from "../src/engine/player.ts";

const SECOND = 10n ** 12n;

/** Run of ten seconds with an event per millisecond. Each event takes a fixed time of the clock. */
class Fake implements Run {
  at = 0n;
  clock = 0;
  readonly #cost: number;

  constructor(cost: number) {
    this.#cost = cost;
  }

  now(): bigint {
    return this.at;
  }

  advance(until: bigint, events: number): boolean {
    const event = SECOND / 1000n;
    for (let done = 0; done < events && this.at < until && this.at < 10n * SECOND; done += 1) {
      this.at += event;
      this.clock += this.#cost;
    }
    // An engine stops exactly at the requested time, between two events.
    if (this.at > until) this.at = until;
    return this.at >= 10n * SECOND;
  }

  look(): Float64Array<ArrayBuffer> {
    return new Float64Array([Number(this.at) / 1e12]);
  }
}

function played(run: Fake, player: Player, frames: number): number[] {
  const shown: number[] = [];
  for (let frame = 0; frame < frames; frame += 1) {
    run.clock += 16;
    const { figures } = player.slice(() => run.clock, 8);
    if (figures) {
      shown.push(figures[0] ?? Number.NaN);
      player.seen();
    }
  }
  return shown;
}

test("a run follows its clock", () => {
  const run = new Fake(0.0001);
  const player = new Player(run, 8);
  player.play(0.5);
  const shown = played(run, player, 101);
  // A hundred frames of 16 ms at half of real time.
  expect(shown.at(-1)).toBeCloseTo(0.8, 2);
  expect(shown).toEqual([...shown].sort((one, other) => one - other));
  player.pause();
  expect(player.isPlaying).toBe(false);
  const stood = run.now();
  played(run, player, 10);
  expect(run.now()).toBe(stood);
  player.step(0.25);
  played(run, player, 2);
  expect(run.now() - stood).toBe(SECOND / 4n);
});

test("a slow run continues with a bounded lag", () => {
  const run = new Fake(1);
  const player = new Player(run, 8);
  player.play(1000);
  const before = run.clock;
  player.slice(() => run.clock, 8);
  run.clock += 1e6;
  player.slice(() => run.clock, 8);
  player.pause();
  expect(run.clock - before).toBeLessThan(1e6 + 30_000);
});

test("a run at full speed shows its end once", () => {
  const run = new Fake(0.01);
  const player = new Player(run, 8);
  player.play(null);
  const shown = played(run, player, 100);
  expect(shown.at(-1)).toBe(10);
  expect(shown.filter((time) => time === 10)).toHaveLength(1);
  expect(player.isPlaying).toBe(false);
});

test("no picture is taken before the previous one was shown", () => {
  const run = new Fake(0.001);
  const player = new Player(run, 8);
  player.play(1);
  let pictures = 0;
  for (let frame = 0; frame < 10; frame += 1) {
    run.clock += 16;
    pictures += player.slice(() => run.clock, 8).figures ? 1 : 0;
  }
  expect(pictures).toBe(1);
});
