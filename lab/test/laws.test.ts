import { expect, test } from "vitest";
import { background, backgroundOf, rateText, roundTrip, roundTripOf } from "../src/laws.ts";
import { magnitude } from "../src/numbers.ts";

test("what is written is read again", () => {
  for (const jitter of [null, "0.5ms", "20ms"]) {
    const law = { value: "50ms", jitter };
    expect(roundTripOf(roundTrip(law))).toEqual(law);
  }
  for (const kind of ["poisson", "cbr"])
    for (const bps of [1e3, 25e6, 333.333e6, 1e9, 4e11]) {
      expect(backgroundOf(background({ kind, bps }))).toEqual({ kind, bps });
      expect(magnitude(rateText(bps))).toBe(bps);
    }
});

test("other spellings of the same are read, other laws are left alone", () => {
  expect(roundTripOf("'80ms'")).toEqual({ value: "80ms", jitter: null });
  expect(roundTripOf('{value="1ms",jitter={uniform=["0ms","2ms"]}}')).toEqual({
    value: "1ms",
    jitter: "2ms",
  });
  for (const law of [
    '["10ms", "20ms"]',
    '{ uniform = ["10ms", "120ms"] }',
    '{ value = "1ms", jitter = { uniform = ["1ms", "2ms"] } }',
    '{ value = "1ms", jitter = { exponential = "2ms" } }',
    undefined,
  ])
    expect(roundTripOf(law)).toBeNull();
  for (const law of [
    '"persistent"',
    '{ poisson = { rate = "none" } }',
    '{ on_off = { peak = "15Mbps" } }',
    undefined,
  ])
    expect(backgroundOf(law)).toBeNull();
});

test("numbers with units", () => {
  expect([magnitude("5ms"), magnitude("2 Gbps"), magnitude("20p"), magnitude("x"), magnitude("")]).toEqual([
    0.005, 2e9, 20, 0, 0,
  ]);
});
