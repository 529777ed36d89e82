import { expect, test } from "vitest";
import { difference, digits, rate, share, short, time, uncertain } from "../src/numbers.ts";

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

test("a number that is rounded up to a power of ten has three digits", () => {
  for (const [value, text] of [
    [99.97, "100"],
    [99.94, "99.9"],
    [9.996, "10.0"],
    [0.9996, "1.00"],
    [-99.97, "-100"],
    [999.7, "1000"],
  ] as const)
    expect(digits(value)).toBe(text);
  expect(share(0.9997)).toBe("100\u202f%");
});

test("a number that is rounded up to the next unit has that unit", () => {
  expect(time(0.99996)).toBe("1.00\u202fs");
  expect(time(0.00099996)).toBe("1.00\u202fms");
  expect(rate(999_700)).toBe("1.00\u202fMb/s");
  expect(short(999_700)).toBe("1.00\u202fM");
  expect(rate(999_400)).toBe("999\u202fkb/s");
});

test("a difference that runs cannot resolve is none", () => {
  expect(difference(0.000266)).toBe("no difference");
  expect(difference(-0.049)).toBe("no difference");
  expect(difference(0.06)).toBe("0.1");
  expect(difference(-3.21)).toBe("-3.2");
});

test("an unknown value has no unit, and a count has no decimals", () => {
  for (const format of [rate, share, time, short]) expect(format(Number.NaN)).toBe("–");
  expect(short(83)).toBe("83");
  expect(short(8300)).toBe("8.30\u202fk");
});
