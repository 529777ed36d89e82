import { expect, test } from "vitest";
import { History } from "../src/history.ts";

test("a history covers the whole run with a bounded number of rows", () => {
  const history = new History(2);
  for (let at = 1; at <= 100_000; at += 1) history.add([at, -at]);
  expect(history.length).toBeLessThan(2000);
  expect(history.length).toBeGreaterThan(500);
  const [times, values] = history.columns;
  expect(times?.every((time, at) => values?.[at] === -time)).toBe(true);
  const gaps = times?.slice(1).map((time, at) => time - (times[at] ?? 0)) ?? [];
  expect(Math.max(...gaps)).toBeLessThanOrEqual(2 * Math.min(...gaps));
  expect(times?.at(-1)).toBeGreaterThan(99_000);
});
