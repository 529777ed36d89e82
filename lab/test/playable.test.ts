import { expect, test } from "vitest";
import { RefusedError } from "../src/engine/instance.ts";
import { refusalOf } from "../src/playable.ts";

const answering =
  (answer: unknown) =>
  <T>(): Promise<T> =>
    Promise.resolve(answer as T);

test("a scenario that plays has no refusal", async () => {
  expect(await refusalOf(answering({ playable: true, reason: null, shorten: null }), "text")).toBeNull();
});

test("a refusal has its reason and the change that helps", async () => {
  const reason = { message: "the run may need 3 GB" };
  expect(await refusalOf(answering({ playable: false, reason, shorten: null }), "text")).toBe(reason.message);
  const shorten = { key: "run.measure", value: "3s" };
  expect(await refusalOf(answering({ playable: false, reason, shorten }), "text")).toBe(
    "the run may need 3 GB; with run.measure=3s it plays",
  );
});

test("engines that do not know the request refuse no scenario beforehand", async () => {
  const refusal = { kind: "request", message: "unknown", line: null, key: null } as const;
  expect(await refusalOf(() => Promise.reject(new RefusedError(refusal)), "text")).toBeNull();
  await expect(refusalOf(() => Promise.reject(new Error("broken")), "text")).rejects.toThrow("broken");
});
