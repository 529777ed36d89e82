/** A trace as a table of text: what native traces record, in columns of the same names. */

import type { Resolved } from "./engine/protocol.ts";
import type { Samples, SamplesAsked } from "./engine/replay.ts";

/** The most rows of a trace, and the most flows whose windows stand in it. */
const MOST_ROWS = 20_000;
const MOST_FLOWS = 100;

/** The columns before the windows. */
export const COLUMNS = ["time_s", "packets", "delay_s", "utilization", "drops", "marks"] as const;

/** What is asked for a trace up to a moment: at the scenario's `trace.every`, or a multiple where rows are too many. */
export function samplesAsked(resolved: Resolved, untilS: number): SamplesAsked {
  const everyS = resolved.trace_every_s;
  const times = Math.max(1, Math.ceil(untilS / everyS / MOST_ROWS));
  const flows = resolved.groups.reduce((sum, { responsive, count }) => sum + (responsive ? count : 0), 0);
  return { everyS: everyS * times, untilS, flows: Math.min(flows, MOST_FLOWS), target: resolved.target };
}

/** What a trace is of. */
export interface Traced {
  resolved: Resolved;
  version: string;
}

/** The table, with what it is of and what its columns mean before it. */
export function csvOf({ resolved, version }: Traced, { flows, rows }: Samples): string {
  // By their numbers, as native traces have them.
  const order = flows
    .map((_, at) => at)
    .sort((one, other) => (flows[one]?.flow ?? 0) - (flows[other]?.flow ?? 0));
  const names = order.map((at) => flowName(resolved, flows[at] ?? { flow: 0, group: 0 }));
  const about = [
    `forebay ${version}: ${resolved.title || "untitled"}`,
    `scenario sha256 ${resolved.sha256}, seed ${resolved.seed}, replication 0, engine packet`,
    "time_s: seconds since the beginning of the run; a row is of all that happened before",
    "packets: packets that wait at the target link, without the one in transmission",
    "delay_s: seconds until all that is there has left",
    "utilization: share of the link's time that was used since the row before, 0 to 1",
    "drops, marks: packets since the end of the warm-up; before it, since the beginning",
    "cwnd_packets: congestion window in packets; empty while the flow has nothing to send",
  ].map((line) => `# ${line.replaceAll(/\s+/g, " ")}`);
  const header = [...COLUMNS, ...names.map((name) => `cwnd_packets ${name}`)].map(quoted);
  const lines = rows.map((row) => {
    const windows = order.map((at) => row[COLUMNS.length + at]);
    return [...row.slice(0, COLUMNS.length), ...windows].map((value) => value ?? "").join(",");
  });
  return `${[...about, header.join(","), ...lines].join("\n")}\n`;
}

/** The name of a flow: its group's, with a number where that has several. */
export function flowName(
  resolved: Resolved | null,
  { flow, group }: { flow: number; group: number },
): string {
  const own = resolved?.groups[group];
  if (!own) return `flow ${flow + 1}`;
  return own.count > 1 ? `${own.name} ${flow - own.first_flow + 1}` : own.name;
}

/** A field as RFC 4180 has it. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
