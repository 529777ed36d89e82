import { expect, test } from "vitest";
import {
  packetsAt,
  placeOf,
  scaleEnd,
  stepped,
  unitsPerPacket,
  withPackets,
  withTested,
} from "../src/buffer_scale.ts";
import { boxOf, placeAt } from "../src/scene.ts";
import { RESOLVED } from "./resolved.ts";

const BUFFER = { packets: 100, bytes: 150_000, seconds: 0.06, bdp: 0.5 };
const CONTROLS = {
  ...{ rate: null, queue: "droptail", threshold: null, groups: [] },
  buffer: { text: "100p", value: 100, unit: "p" },
};

test("every number of packets has a place, and the place gives it back", () => {
  for (const end of [100, 2000, 100_000])
    for (let packets = 1; packets <= end; packets = Math.ceil(packets * 1.3))
      expect(packetsAt(placeOf(packets, end), end)).toBe(packets);
  expect(placeOf(1, 100)).toBe(0);
  expect(placeOf(1e9, 100)).toBe(1);
});

test("the scale ends at a round number that a drag does not change", () => {
  expect(scaleEnd({ bdp_packets: 625, buffer: BUFFER })).toBe(5000);
  expect(scaleEnd({ bdp_packets: 625, buffer: { ...BUFFER, packets: 4000 } })).toBe(5000);
  expect(scaleEnd({ bdp_packets: null, buffer: { ...BUFFER, packets: 99 } })).toBe(100);
  expect(scaleEnd({ bdp_packets: null, buffer: BUFFER })).toBe(200);
  expect(scaleEnd({ bdp_packets: 10, buffer: { ...BUFFER, packets: 70_000 } })).toBe(140_000);
});

test("keys move by at least one packet, and by halves and doubles", () => {
  expect(stepped(4, 0.05, 100)).toBe(5);
  expect(stepped(1, -0.05, 100)).toBe(1);
  expect(stepped(100, -0.5, 1000)).toBe(50);
  expect(stepped(100, 1, 1000)).toBe(200);
  expect(stepped(80, 1, 100)).toBe(100);
});

test("a buffer is written in the unit of the text", () => {
  const resolved = { ...RESOLVED, buffer: BUFFER };
  const changes = (unit: string): unknown => withPackets(CONTROLS, resolved, 50, unit).changes;
  expect(changes("p")).toEqual([{ set: "link.buffer=50p" }]);
  expect(changes("BDP")).toEqual([{ set: "link.buffer=0.25BDP" }]);
  expect(changes("ms")).toEqual([{ set: "link.buffer=30ms" }]);
  expect(changes("kB")).toEqual([{ set: "link.buffer=75kB" }]);
  expect(unitsPerPacket({ buffer: { ...BUFFER, bdp: null } }, "BDP")).toBeNull();
});

test("a buffer of the trade-off is set as it was simulated", () => {
  const changes = (limit: string): unknown => {
    const canonical = JSON.stringify({ link: { buffer: limit } });
    const resolved = { ...RESOLVED, buffer: BUFFER, canonical, packet_bytes: 1500 };
    return withTested(CONTROLS, resolved, 50).changes;
  };
  expect(changes("200p")).toEqual([{ set: "link.buffer=50p" }]);
  expect(changes("300kB")).toEqual([{ set: "link.buffer=75kB" }]);
});

test("the end of the queue in the picture is where the pointer drags it", () => {
  for (const width of [360, 1280])
    for (const place of [0, 0.3, 1])
      expect(placeAt(width, boxOf(width, 160, place).left)).toBeCloseTo(place, 9);
  // A larger buffer is a longer box.
  expect(boxOf(800, 160, 0.9).left).toBeLessThan(boxOf(800, 160, 0.1).left);
});
