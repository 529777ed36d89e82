import { expect, test } from "vitest";
import type { LinkFigures } from "../src/engine/figures.ts";
import { pausedLinks, pauseText } from "../src/pauses_view.tsx";

const IDLE = { waitingPackets: 0, backlogS: 0, utilization: 0, arrivals: 0, drops: 0, marks: 0 };

function link(pausedS: number): LinkFigures {
  return { ...IDLE, pauses: { isPaused: pausedS > 1, pausedS, pausedSenders: 2, pausingS: pausedS / 2 } };
}

test("links that take part in pauses are listed with the share of paused time since the warm-up", () => {
  const links = [link(2), { ...IDLE, pauses: null }, link(0)];
  expect(pausedLinks(["up", "fast", "slow"], { links, timeS: 9 }, 5)).toEqual([
    { name: "up", isPaused: true, senders: 2, pausedShare: 0.5, pausingShare: 0.25 },
    { name: "slow", isPaused: false, senders: 2, pausedShare: 0, pausingShare: 0 },
  ]);
  // Before the end of the warm-up, the share is one since the start.
  expect(pausedLinks(["up"], { links: [link(2)], timeS: 4 }, 5)[0]?.pausedShare).toBe(0.5);
  expect(pausedLinks(["up"], { links: [link(0)], timeS: 0 }, 5)[0]?.pausedShare).toBe(0);
});

test("of many links those that are paused longest are listed, in the order of the scenario", () => {
  const links = Array.from({ length: 20 }, (_, at) => link(at % 2 === 0 ? at : 0));
  const names = links.map((_, at) => `port ${at}`);
  const found = pausedLinks(names, { links, timeS: 20 }, 0).map(({ name }) => name);
  expect(found).toEqual([4, 6, 8, 10, 12, 14, 16, 18].map((at) => `port ${at}`));
  // A link without a pause so far is in no long list.
  const quiet = links.map((_, at) => link(at === 7 ? 1 : 0));
  expect(pausedLinks(names, { links: quiet, timeS: 20 }, 0).map(({ name }) => name)).toEqual(["port 7"]);
});

test("the state of a link is a text", () => {
  expect(pauseText({ isPaused: false, senders: 0 })).toBe("sends");
  expect(pauseText({ isPaused: true, senders: 0 })).toBe("paused");
  expect(pauseText({ isPaused: false, senders: 1 })).toBe("pauses 1 sender");
  expect(pauseText({ isPaused: true, senders: 3 })).toBe("paused, pauses 3 senders");
});
