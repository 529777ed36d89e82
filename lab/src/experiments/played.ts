/** An experiment's run as a scenario's text, so that the live view can play it and the visitor can change it. */

import { count, type Table, withValue, written } from "../toml.ts";
import type { Experiment, Run } from "./types.ts";

/** The scenario's text with the changes of a run in the places of their keys. */
export function playedText(experiment: Experiment, run: Run): string {
  return run.overrides.reduce((text, override) => {
    const equals = override.indexOf("=");
    const path = override.slice(0, equals).split(".");
    const key = path.at(-1) ?? "";
    return withValue(text, tableOf(text, path.slice(0, -1)), key, asWritten(override.slice(equals + 1)));
  }, experiment.scenario);
}

/** `link` is a table; `flows.NAME` is the group of that name. */
function tableOf(text: string, path: readonly string[]): Table {
  const [name = "", member] = path;
  if (member === undefined) return { name };
  const places = Array.from({ length: count(text, name) }, (_, index) => ({ name, index }));
  const found = places.find((table) => written(text, table, "name") === JSON.stringify(member));
  if (!found) throw new Error(`no ${name} of the name ${member}`);
  return found;
}

/** A value as TOML has it: what is no number, no truth value and nothing in brackets or quotes is a text. */
function asWritten(value: string): string {
  return /^(true|false|[-+]?\d+(\.\d+)?|[[{"'].*)$/.test(value) ? value : JSON.stringify(value);
}
