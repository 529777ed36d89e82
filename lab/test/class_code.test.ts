import { expect, test } from "vitest";
import { codeOf, guessesOf } from "../src/class_code.ts";
import { EXPERIMENTS, experimentOf, LEVELS } from "../src/experiments/index.ts";
import type { GuidedExperiment } from "../src/experiments/types.ts";

function experiment(id: string): GuidedExperiment {
  const found = experimentOf(id);
  if (!found) throw new Error(id);
  return found;
}

/** All guesses of a choice, and some curves. */
function guesses({ prediction, runs }: GuidedExperiment): number[][] {
  if (prediction.kind === "choice") return prediction.options.map((_, at) => [at]);
  return [0, 0.01, 0.5, 0.99, 1].map((share) => runs.map((_, at) => (at === 0 ? share : 0.37)));
}

test("a code gives its guess back, wherever it is in a text", () => {
  for (const each of EXPERIMENTS)
    for (const guess of guesses(each)) {
      const text = `Anna: ${codeOf(each, guess)}, Ben: ${codeOf(each, guess)}.`;
      expect(guessesOf(text, EXPERIMENTS)).toEqual({
        guesses: [
          { id: each.id, guess },
          { id: each.id, guess },
        ],
        damaged: 0,
      });
    }
});

test("a damaged code is counted and not shown", () => {
  const code = codeOf(experiment("elastic-buffer"), [0.2, 0.5, 1]);
  for (let at = code.indexOf(".") + 1; at < code.length; at += 1) {
    if (code[at] === ".") continue;
    const changed = `${code.slice(0, at)}${code[at] === "z" ? "y" : "z"}${code.slice(at + 1)}`;
    expect(guessesOf(changed, EXPERIMENTS)).toEqual({ guesses: [], damaged: 1 });
  }
  expect(guessesOf("nothing.2.aa of an experiment", EXPERIMENTS).damaged).toBe(1);
  expect(guessesOf("<script>alert(1)</script> e.g. a.b", EXPERIMENTS).guesses).toEqual([]);
});

test("a code whose end is missing is a damaged one", () => {
  const code = codeOf(experiment("bufferbloat"), [1]);
  for (const cut of [code.slice(0, -1), code.slice(0, -3), `${code}x`])
    expect(guessesOf(`Anna: ${cut}`, EXPERIMENTS), cut).toEqual({ guesses: [], damaged: 1 });
});

test("capital letters do not damage a code", () => {
  const code = codeOf(experiment("elastic-buffer"), [0.2, 0.5, 1]);
  for (const typed of [code.toUpperCase(), `E${code.slice(1)}`])
    expect(guessesOf(typed, EXPERIMENTS), typed).toMatchObject({ guesses: [{}], damaged: 0 });
});

test("addresses beside the codes are no damaged codes", () => {
  const text = "From: Ann.lee@mail.example.org, www.uni.de, e.g. version 1.2.34 of john.smith.uk";
  expect(guessesOf(text, EXPERIMENTS)).toEqual({ guesses: [], damaged: 0 });
});

test("long text without a code is searched at once", () => {
  const startedMs = performance.now();
  for (const text of ["a".repeat(200_000), `a.${"b".repeat(199_000)}`, "a-".repeat(100_000)])
    expect(guessesOf(text, EXPERIMENTS)).toEqual({ guesses: [], damaged: 0 });
  // A search that begins at each letter takes seconds.
  expect(performance.now() - startedMs).toBeLessThan(1000);
});

test("each experiment is in one level and has a sketch, a reason, a meaning and a paper", () => {
  expect(LEVELS).toHaveLength(4);
  expect(EXPERIMENTS.map(({ id }) => id)).toEqual(LEVELS.flatMap(({ ids }) => ids));
  for (const { id, rows, reason, meaning, links } of EXPERIMENTS) {
    expect(rows.length, id).toBeGreaterThanOrEqual(2);
    for (const sentence of [reason, meaning]) expect(sentence, id).toMatch(/^[A-Z][^.]*[a-z)]\.$/);
    expect(links.length, id).toBeGreaterThanOrEqual(1);
    for (const { url } of links) expect(new URL(url).protocol, id).toBe("https:");
  }
});

test("the regions of a number line are the answers", () => {
  for (const { id, prediction, scale } of EXPERIMENTS) {
    if (!scale || prediction.kind !== "choice") continue;
    const { bounds, answers, range } = scale;
    expect(answers.length, id).toBe(bounds.length + 1);
    expect([...answers].sort(), id).toEqual(prediction.options.map((_, at) => at));
    const ends = [range[0], ...bounds, range[1]];
    expect(ends, id).toEqual([...ends].sort((one, other) => one - other));
  }
});
