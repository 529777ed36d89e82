import { expect, test } from "vitest";
import { ARRIVAL, DEPARTURE, DROP, type PacketEvent } from "../src/engine/figures.ts";
import { PacketQueue } from "../src/packet_queue.ts";

function packetEvent(timeS: number, kind: number, flow: number, packet: number): PacketEvent {
  return { timeS, kind, flow, group: 0, packet, bytes: 1500, isAck: false };
}

test("the queue has the packets that arrived and did not depart, in order", () => {
  const queue = new PacketQueue();
  // A departure is reported with the arrival, ahead of its time.
  queue.add(
    [
      packetEvent(1, ARRIVAL, 0, 7),
      packetEvent(1.5, DEPARTURE, 0, 7),
      packetEvent(1.2, ARRIVAL, 1, 3),
      packetEvent(2, DEPARTURE, 1, 3),
      packetEvent(1.3, ARRIVAL, 2, 9),
      packetEvent(1.3, DROP, 2, 9),
    ],
    0,
  );
  const flows = (timeS: number): number[] => {
    queue.advanceTo(timeS);
    return queue.packets.map(({ flow }) => flow);
  };
  expect(flows(0.9)).toEqual([]);
  expect(flows(1)).toEqual([0]);
  expect(flows(1.25)).toEqual([0, 1]);
  expect(flows(1.4)).toEqual([0, 1]);
  expect(flows(1.6)).toEqual([1]);
  expect(flows(3)).toEqual([]);
  expect(queue.flashes.filter(({ kind }) => kind === "dropped").map(({ flow }) => flow)).toEqual([2]);
});

test("a dropped retransmission leaves the first copy in its place", () => {
  const queue = new PacketQueue();
  queue.add(
    [
      packetEvent(1, ARRIVAL, 0, 7),
      packetEvent(2, ARRIVAL, 1, 1),
      packetEvent(3, ARRIVAL, 0, 7),
      packetEvent(3, DROP, 0, 7),
    ],
    0,
  );
  queue.advanceTo(4);
  expect(queue.packets.map(({ flow, arrivedS }) => [flow, arrivedS])).toEqual([
    [0, 1],
    [1, 2],
  ]);
  expect([...queue.countsByFlow()]).toEqual([
    [0, 1],
    [1, 1],
  ]);
});

test("missed events make the queue stale, and memory is bounded", { timeout: 60_000 }, () => {
  const queue = new PacketQueue();
  for (let round = 0; round < 100; round += 1) {
    queue.add(
      Array.from({ length: 5000 }, (_, at) => packetEvent(round, ARRIVAL, at % 5, at)),
      0,
    );
    queue.advanceTo(round);
  }
  expect(queue.packets.length).toBeLessThanOrEqual(40_000);
  expect(queue.flashes.length).toBeLessThanOrEqual(1000);
  expect(queue.isStale).toBe(false);
  queue.add([packetEvent(1, ARRIVAL, 0, 1)], 3);
  expect(queue.isStale).toBe(true);
  expect(queue.packets).toEqual([]);
});
