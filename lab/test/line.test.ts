import { expect, test } from "vitest";
import { ARRIVES, DEPARTS, IS_DROPPED, type Sighting } from "../src/engine/figures.ts";
import { Line } from "../src/line.ts";

function seen(timeS: number, happening: number, flow: number, packet: number): Sighting {
  return { timeS, happening, flow, group: 0, packet, bytes: 1500, acknowledges: false };
}

test("the line is who arrived and has not left, in that order, at every moment", () => {
  const line = new Line();
  // A departure is told with its arrival, ahead of its time.
  line.see(
    [
      seen(1, ARRIVES, 0, 7),
      seen(1.5, DEPARTS, 0, 7),
      seen(1.2, ARRIVES, 1, 3),
      seen(2, DEPARTS, 1, 3),
      seen(1.3, ARRIVES, 2, 9),
      seen(1.3, IS_DROPPED, 2, 9),
    ],
    0,
  );
  const flows = (timeS: number): number[] => {
    line.pass(timeS);
    return line.packets.map(({ flow }) => flow);
  };
  expect(flows(0.9)).toEqual([]);
  expect(flows(1)).toEqual([0]);
  expect(flows(1.25)).toEqual([0, 1]);
  expect(flows(1.4)).toEqual([0, 1]);
  expect(flows(1.6)).toEqual([1]);
  expect(flows(3)).toEqual([]);
  expect(line.flashes.filter(({ kind }) => kind === "dropped").map(({ flow }) => flow)).toEqual([2]);
});

test("a repetition that is dropped leaves the first one in its place", () => {
  const line = new Line();
  line.see(
    [seen(1, ARRIVES, 0, 7), seen(2, ARRIVES, 1, 1), seen(3, ARRIVES, 0, 7), seen(3, IS_DROPPED, 0, 7)],
    0,
  );
  line.pass(4);
  expect(line.packets.map(({ flow, arrivedS }) => [flow, arrivedS])).toEqual([
    [0, 1],
    [1, 2],
  ]);
  expect([...line.byFlow()]).toEqual([
    [0, 1],
    [1, 1],
  ]);
});

test("what was missed is said, and memory stays", () => {
  const line = new Line();
  for (let round = 0; round < 100; round += 1) {
    line.see(
      Array.from({ length: 5000 }, (_, at) => seen(round, ARRIVES, at % 5, at)),
      0,
    );
    line.pass(round);
  }
  expect(line.packets.length).toBeLessThanOrEqual(40_000);
  expect(line.flashes.length).toBeLessThanOrEqual(1000);
  expect(line.isLost).toBe(false);
  line.see([seen(1, ARRIVES, 0, 1)], 3);
  expect(line.isLost).toBe(true);
  expect(line.packets).toEqual([]);
});
