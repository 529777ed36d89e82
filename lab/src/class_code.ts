/**
 * Codes of guesses for a class without a server: a student copies a code, and the lecturer pastes the codes of
 * all students. A code is `experiment.guess.check`, such as `bufferbloat.2.k7`.
 */

import type { Experiment } from "./experiments/types.ts";

/** Guess of a code: the number of an answer, or a share for each run. */
export interface ClassGuess {
  id: string;
  guess: readonly number[];
}

const BASE = 36;
/**
 * Code, or the beginning of one whose end is missing. An id begins where no letter precedes it, so that the
 * search takes linear time.
 */
const CODE = /(?<![a-z-])([a-z][a-z-]*)\.([0-9a-z]+)(?:\.([0-9a-z]{1,2}))?(?![0-9a-z])/g;
/** Largest number of characters of pasted text. */
const MAX_TEXT = 200_000;

/** Code of a guess. */
export function codeOf(
  { id, prediction }: Pick<Experiment, "id" | "prediction">,
  guess: readonly number[],
): string {
  const digits =
    prediction.kind === "choice"
      ? `${guess[0] ?? 0}`
      : guess
          .map((share) =>
            Math.round(100 * share)
              .toString(BASE)
              .padStart(2, "0"),
          )
          .join("");
  return `${id}.${digits}.${checkOf(`${id}.${digits}`)}`;
}

/** Guesses of all codes in a text, and the number of damaged ones. */
export function guessesOf(
  text: string,
  experiments: readonly Pick<Experiment, "id" | "prediction" | "runs">[],
): { guesses: ClassGuess[]; damaged: number } {
  const guesses: ClassGuess[] = [];
  let damaged = 0;
  // A telephone may write the first letter as a capital.
  for (const [, id = "", digits = "", check = ""] of text.slice(0, MAX_TEXT).toLowerCase().matchAll(CODE)) {
    const experiment = experiments.find((it) => it.id === id);
    const guess = experiment && checkOf(`${id}.${digits}`) === check ? decoded(experiment, digits) : null;
    if (guess) guesses.push({ id, guess });
    // An address such as mail.example.org is no code.
    else if (experiment || (check !== "" && /\d/.test(digits))) damaged += 1;
  }
  return { guesses, damaged };
}

function decoded(
  { prediction, runs }: Pick<Experiment, "prediction" | "runs">,
  digits: string,
): number[] | null {
  if (prediction.kind === "choice") {
    const answer = Number.parseInt(digits, 10);
    return answer < prediction.options.length ? [answer] : null;
  }
  if (digits.length !== 2 * runs.length) return null;
  const shares = runs.map((_, at) => Number.parseInt(digits.slice(2 * at, 2 * at + 2), BASE) / 100);
  return shares.every((share) => share >= 0 && share <= 1) ? shares : null;
}

/** Two characters that detect a damaged code. */
function checkOf(text: string): string {
  let sum = 7;
  for (const character of text) sum = (31 * sum + character.charCodeAt(0)) % (BASE * BASE);
  return sum.toString(BASE).padStart(2, "0");
}
