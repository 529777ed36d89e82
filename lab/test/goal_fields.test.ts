import { expect, test } from "vitest";
import { FIELDS, goalChange, goalRefusal, shownBound } from "../src/goal_fields.tsx";

const [UTILIZATION, , DELAY] = FIELDS;
const GOALS = [
  { group: "call", metric: "queue_delay_p99_s", at_least: false, bound: 0.01, text: "" },
  { group: null, metric: "utilization", at_least: true, bound: 0.975, text: "" },
];

test("a field shows the goal of the link in its unit", () => {
  expect(shownBound(UTILIZATION, GOALS)).toBe("97.5");
  expect(shownBound(DELAY, GOALS)).toBe("");
});

test("a typed number sets the goal, and an empty field removes it", () => {
  expect(goalChange(UTILIZATION, "95", GOALS)).toEqual({ set: "goal.utilization=>= 95%" });
  expect(goalChange(DELAY, "2,5", GOALS)).toEqual({ set: "goal.queue_delay_p99=<= 2.5ms" });
  expect(goalChange(UTILIZATION, " ", GOALS)).toEqual({ remove: "goal.utilization" });
});

test("an unchanged field and text that is no number change nothing", () => {
  expect(goalChange(UTILIZATION, "97.5", GOALS)).toBeNull();
  expect(goalChange(DELAY, "", GOALS)).toBeNull();
  for (const text of ["x", "-1", "1e999"]) expect(goalChange(DELAY, text, GOALS)).toBeNull();
});

test("a share beyond 100 % is refused with a reason", () => {
  expect(goalRefusal(UTILIZATION, "101")).toBe(
    "goal.utilization: expected a number from 0 to 100 such as 2.5, found `101`",
  );
  expect(goalChange(UTILIZATION, "101", GOALS)).toBeNull();
  for (const text of ["", "100", "99,9"]) expect(goalRefusal(UTILIZATION, text)).toBeNull();
  expect(goalRefusal(DELAY, "101")).toBeNull();
});
