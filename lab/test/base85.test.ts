/** Text of the engines in the page. */

import { expect, test } from "vitest";
import { decoded, encoded } from "../base85.mjs";

/** Bytes in a fixed order without pattern. */
function bytes(count: number): Uint8Array {
  let state = 12_345;
  return Uint8Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state >>> 16;
  });
}

test("bytes of every length come back", () => {
  for (let count = 0; count < 40; count += 1) expect(decoded(encoded(bytes(count)))).toEqual(bytes(count));
  for (const value of [0, 255]) {
    for (let count = 1; count < 10; count += 1) {
      const same = new Uint8Array(count).fill(value);
      expect(decoded(encoded(same))).toEqual(same);
    }
  }
  expect(decoded(encoded(bytes(100_000)))).toEqual(bytes(100_000));
});

test("the text is a quarter longer than the bytes, and cannot end the element around it", () => {
  const text = encoded(bytes(100_000));
  expect(text).toHaveLength(125_000);
  expect(text).toMatch(/^[(-;=-}]+$/);
});
