/** Runs an experiment in a background worker and reports the results one by one. */

import { Client } from "../engine/client.ts";
import { RefusedError } from "../engine/instance.ts";
import type { Report } from "../model.ts";
import { type Experiment, Results } from "./types.ts";

/** Outcome of a study. */
export type Outcome = { kind: "done"; results: Results } | { kind: "refused"; message: string };

/**
 * Returns the reports of all runs. `onProgress` receives the number of complete runs. An abort of the signal
 * terminates the worker at once and gives null. The failure of a worker is a refusal, so the study can be
 * repeated.
 */
export async function runStudy(
  start: () => Worker,
  module: WebAssembly.Module,
  experiment: Experiment,
  onProgress: (done: number) => void,
  signal: AbortSignal,
): Promise<Outcome | null> {
  if (signal.aborted) return null;
  const client = new Client(start, module);
  const close = (): void => client.close();
  signal.addEventListener("abort", close);
  const reports: Report[] = [];
  try {
    for (const { overrides, engine } of experiment.runs) {
      const request = { text: experiment.scenario, overrides };
      reports.push(
        await client.ask<Report>(engine ? { do: "answer", engine, ...request } : { do: "whole", ...request }),
      );
      if (signal.aborted) return null;
      onProgress(reports.length);
    }
    return { kind: "done", results: new Results(reports) };
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof RefusedError)) throw error;
    return { kind: "refused", message: error.refusal.message };
  } finally {
    signal.removeEventListener("abort", close);
    client.close();
  }
}
