import { expect, test } from "vitest";
import { fragmentOf, sharedOf } from "../src/share.ts";

test("a link restores the shared scenario", async () => {
  for (const text of ["", "a", '[link]\nrate = "µ"\n'.repeat(2000), "\u{1f600}</script>"]) {
    const fragment = await fragmentOf({ text });
    expect(fragment).toMatch(/^s=[A-Za-z0-9_-]*$/);
    expect(await sharedOf(`#${fragment}`)).toEqual({ text });
    expect(await sharedOf(fragment)).toEqual({ text });
  }
  expect(await sharedOf("")).toBeNull();
  const shared = { text: "a", experiment: "why-root-n" };
  expect(await sharedOf(await fragmentOf(shared))).toEqual(shared);
});

test("a hostile link gives an error of one line", async () => {
  const whole = await fragmentOf({ text: "a".repeat(5000) });
  const hostile = [
    whole.slice(0, -4),
    `${whole}x`.replace("s=", "s=AAAA"),
    "s=",
    "s=%3Cscript%3E",
    "x=1",
    `s=${"A".repeat(300_000)}`,
    `s=${Buffer.from("{}").toString("base64url")}`,
  ];
  for (const fragment of hostile) {
    await expect(sharedOf(fragment), fragment.slice(0, 40)).rejects.toThrow(/^the link [^\n]+$/);
  }
});

test("an oversized link is refused before it is unpacked completely", async () => {
  const { deflateRawSync } = await import("node:zlib");
  const bomb = deflateRawSync(Buffer.alloc(100_000_000)).toString("base64url");
  expect(bomb.length).toBeLessThan(200_000);
  await expect(sharedOf(`s=${bomb}`)).rejects.toThrow(/unpacks to more than/);
});

test("a scenario that is too long for a link is refused", async () => {
  await expect(fragmentOf({ text: "a".repeat(1_000_001) })).rejects.toThrow(
    /^the scenario has \d+ bytes; [^\n]+$/,
  );
  // Random digits compress to about three bits each: https://en.wikipedia.org/wiki/Xorshift
  let state = 1;
  const digit = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state & 7;
  };
  const digits = Array.from({ length: 800_000 }, digit).join("");
  await expect(fragmentOf({ text: digits })).rejects.toThrow(/^the link would be \d+ characters long/);
});
