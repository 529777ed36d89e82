/** Runs an experiment to its end in a background worker; several answers come one by one. */

import { Client } from "../engine/client.ts";
import { RefusedError } from "../engine/instance.ts";
import type { Report } from "../model.ts";
import { type Experiment, Results } from "./types.ts";

/** What became of a study. */
export type Outcome = { kind: "done"; found: Results } | { kind: "refused"; message: string };

/**
 * Reports of all runs; `tell` hears how many there are. The signal ends the worker at once, and the answer is then
 * null. A worker that fails is a refusal, too: the study can be done again.
 */
export async function studied(
  start: () => Worker,
  module: WebAssembly.Module,
  experiment: Experiment,
  tell: (done: number) => void,
  signal: AbortSignal,
): Promise<Outcome | null> {
  if (signal.aborted) return null;
  const client = new Client(start, module);
  const end = (): void => client.close();
  signal.addEventListener("abort", end);
  const reports: Report[] = [];
  try {
    for (const { overrides, engine } of experiment.runs) {
      const request = { text: experiment.scenario, overrides };
      reports.push(
        await client.ask<Report>(engine ? { do: "answer", engine, ...request } : { do: "whole", ...request }),
      );
      if (signal.aborted) return null;
      tell(reports.length);
    }
    return { kind: "done", found: new Results(reports) };
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof RefusedError)) throw error;
    return { kind: "refused", message: error.refusal.message };
  } finally {
    signal.removeEventListener("abort", end);
    client.close();
  }
}
