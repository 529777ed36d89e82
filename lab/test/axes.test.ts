import { expect, test } from "vitest";
import { logAxis, textOf, utilizationAxis } from "../src/axes.ts";

const texts = (axis: ReturnType<typeof logAxis>): string[] =>
  axis.ticks.map(({ text }) => text.replace("\u202f", " "));

test("ticks are readable numbers with their unit", () => {
  expect(texts(logAxis([0.2, 4], "%"))).toEqual(["0.2 %", "0.5 %", "1 %", "2 %", "5 %"]);
  expect(texts(logAxis([0.002, 1], "%"))).toEqual(["0.01 %", "0.1 %", "1 %"]);
  expect(texts(logAxis([2, 20_000], ""))).toEqual(["10", "100", "1000", "10k"]);
  expect(textOf(0.1 + 0.2, "%")).toBe("0.3\u202f%");
});

test("zero is at the end of a logarithmic axis", () => {
  const axis = logAxis([0, 0.1, 2], "%");
  expect(axis.place(0)).toBe(0);
  expect(texts(axis)[0]).toBe("0 %");
  expect(axis.place(0.1)).toBeGreaterThan(0.1);
  expect(logAxis([0.1, 2], "%").place(0.1)).toBe(0);
});

test("all values are on the axis, in their order, and a place gives its value back", () => {
  for (const values of [[3], [5, 5], [0.3, 70, 1200], [1e-6, 1e6]]) {
    const axis = logAxis(values, "ms");
    const places = values.map(axis.place);
    expect(places).toEqual([...places].sort((one, other) => one - other));
    for (const value of values)
      expect(axis.value(axis.place(value))).toBeCloseTo(value, 6 - Math.log10(value));
    for (const { place } of axis.ticks) expect(place).toBeGreaterThanOrEqual(0);
  }
});

test("a utilization of 98 % and one of 99.5 % are far apart, and 100 % is at the top", () => {
  const axis = utilizationAxis([60, 98, 99.5, 100]);
  expect(axis.place(100)).toBe(1);
  expect(axis.place(99.5) - axis.place(98)).toBeGreaterThan(0.15);
  expect(axis.value(axis.place(98))).toBeCloseTo(98, 6);
  expect(texts(axis)).toContain("90 %");
});
