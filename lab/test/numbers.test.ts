import { expect, test } from "vitest";
import { uncertain } from "../src/numbers.ts";

test("an uncertainty has two digits, and a tiny one is left out", () => {
  for (const [value, half, text] of [
    [90.4, 0.0412, "90.4"],
    [97.04, 0.8, "97.0 ± 0.80"],
    [319, 0.000091, "319"],
    [39.8, 0.0000015, "39.8"],
    [319, 0.319, "319 ± 0.32"],
    [1234, 178.4, "1234 ± 180"],
    [0.894, 0.0468, "0.894 ± 0.047"],
    [0.01, 0.023, "0.0100 ± 0.023"],
    [0, 0, "0"],
    [0, 0.5, "0 ± 0.50"],
    [90, null, "90.0"],
    [90, Number.NaN, "90.0"],
  ] as const)
    expect(uncertain(value, half)).toBe(text);
});
