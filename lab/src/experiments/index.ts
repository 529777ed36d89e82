/** All guided experiments in four levels, from one buffer to lossless links. */

import { GUIDES } from "./guides.ts";
import { LOSSLESS } from "./lossless.ts";
import { PAPERS } from "./papers.ts";
import { TODAY } from "./today.ts";
import type { GuidedExperiment } from "./types.ts";

/** Levels in their order, with the ids of their experiments. */
export const LEVELS = [
  {
    title: "One queue",
    goal: "What a larger buffer gives, and what it costs.",
    ids: ["bufferbloat", "rate-and-delay", "elastic-buffer", "pacing", "small-buffer-loss"],
  },
  {
    title: "Many flows",
    goal: "Why the number of flows matters, and when it does not.",
    ids: ["elastic-flows", "square-root", "in-step", "losing-together", "highspeed"],
  },
  {
    title: "Algorithms",
    goal: "What queues and senders of today change.",
    ids: ["fair-queueing", "marks", "bbr-shallow", "bbr-deep", "incast"],
  },
  {
    title: "Lossless links",
    goal: "What pauses do, and whom they stop.",
    ids: ["ecn-and-pauses", "pause-spreads"],
  },
] as const;

const ALL = [...PAPERS, ...TODAY, ...LOSSLESS];

export const EXPERIMENTS: readonly GuidedExperiment[] = LEVELS.flatMap(({ ids }, level) =>
  ids.flatMap((id) => {
    const [experiment, guide] = [ALL.find((it) => it.id === id), GUIDES[id]];
    return experiment && guide ? [{ ...experiment, ...guide, level }] : [];
  }),
);

export function experimentOf(id: string): GuidedExperiment | undefined {
  return EXPERIMENTS.find((experiment) => experiment.id === id);
}
