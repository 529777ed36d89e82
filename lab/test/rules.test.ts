import { expect, test } from "vitest";
import { applies, type Check, type Rule, why } from "../src/rules.ts";

function rule(refusal: string | null, ...holds: Check["holds"][]): Rule {
  const checks = holds.map((each, at) => ({
    assumption: `a${at}`,
    holds: each,
    share: null,
    why: `${each} ${at}`,
  }));
  return { name: "rule", is_default: false, packets: 7, refusal, checks };
}

test("a rule with a result applies if no check fails, even with unknown ones", () => {
  expect(applies(rule(null))).toBe(true);
  expect(applies(rule(null, "yes", "partly", "unknown"))).toBe(true);
  expect(applies(rule(null, "yes", "no"))).toBe(false);
  expect(applies(rule("has no result", "yes"))).toBe(false);
});

test("failed checks come before partly met and unknown ones", () => {
  expect(why(rule(null, "yes"))).toBe("all its assumptions hold");
  expect(why(rule(null, "partly", "no", "unknown"))).toBe("no 1; partly 0");
  expect(why(rule("has no result", "partly", "unknown"))).toBe("has no result; partly 0");
  expect(why(rule(null, "unknown", "partly", "yes"))).toBe("partly 1; unknown 0");
});

test("equal reasons are listed once", () => {
  const twice = rule(null, "no", "no");
  for (const check of twice.checks) check.why = "the same";
  expect(why(twice)).toBe("the same");
});
