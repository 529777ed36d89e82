/** All guided experiments, in the order of the list. */

import { PAPERS } from "./papers.ts";
import { TODAY } from "./today.ts";
import type { Experiment } from "./types.ts";

export const EXPERIMENTS: readonly Experiment[] = [...PAPERS, ...TODAY];

export function experimentOf(id: string | undefined): Experiment | undefined {
  return EXPERIMENTS.find((experiment) => experiment.id === id);
}
