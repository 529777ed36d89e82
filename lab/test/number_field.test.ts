import { expect, test } from "vitest";
import { numberOf, sizeOf } from "../src/number_field.ts";

test("a thousand packets stay a thousand, however they are grouped", () => {
  for (const text of ["1000", "1,000", "1 000", "1\u202f000", "1'000", " 1e3 ", "1000,0", "1.000,0"])
    expect(numberOf(text, true), text).toBe(1000);
  expect(numberOf("1,234,567", true)).toBe(1_234_567);
  expect(numberOf("1.234.567", true)).toBe(1_234_567);
});

test("a decimal comma is a decimal point", () => {
  for (const [text, value] of [
    ["2,5", 2.5],
    ["0,125", 0.125],
    [",5", 0.5],
    ["1.5", 1.5],
    ["1.000,5", 1000.5],
    ["1,000.5", 1000.5],
  ] as const)
    expect(numberOf(text, false), text).toBe(value);
});

test("text with two meanings and text that is no number are refused", () => {
  expect(numberOf("1,000", false)).toBeNull();
  for (const text of ["", "abc", "-5", "0x10", "NaN", "Infinity", "1e400", "1.2.3", "٣٠", "1,0,0"])
    expect(numberOf(text, true), text).toBeNull();
});

test("a size may name its unit", () => {
  expect(sizeOf("50p", "BDP")).toEqual({ value: 50, unit: "p" });
  expect(sizeOf("1.5 bdp", "p")).toEqual({ value: 1.5, unit: "BDP" });
  expect(sizeOf("20 ms", "p")).toEqual({ value: 20, unit: "ms" });
  expect(sizeOf("1,500 packets", "ms")).toEqual({ value: 1500, unit: "p" });
  expect(sizeOf("7", "kB")).toEqual({ value: 7, unit: "kB" });
  for (const text of ["", "0", "5 parsecs", "p", "-1p"]) expect(sizeOf(text, "p"), text).toBeNull();
});
