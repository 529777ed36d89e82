/** Trace as a CSV table, with the column names of native traces. */

import type { Resolved } from "./engine/protocol.ts";
import type { Samples, SamplesRequest } from "./engine/replay.ts";

/** Largest number of rows of a trace, and of flows with a window column. */
const MAX_ROWS = 20_000;
const MAX_FLOWS = 100;

/** Columns before the windows. */
export const COLUMNS = ["time_s", "packets", "delay_s", "utilization", "drops", "marks"] as const;

/**
 * Request for a trace up to a time in seconds. The interval is `trace.every` of the scenario, or a multiple
 * if the rows are too many.
 */
export function samplesRequest(resolved: Resolved, untilS: number): SamplesRequest {
  const everyS = resolved.trace_every_s;
  const times = Math.max(1, Math.ceil(untilS / everyS / MAX_ROWS));
  const flows = resolved.groups.reduce((sum, { responsive, count }) => sum + (responsive ? count : 0), 0);
  return { everyS: everyS * times, untilS, flows: Math.min(flows, MAX_FLOWS), target: resolved.target };
}

/** Source of a trace. */
export interface TraceSource {
  resolved: Resolved;
  version: string;
}

/** Table with comment lines about its source and its columns. */
export function csvOf({ resolved, version }: TraceSource, { flows, rows }: Samples): string {
  // Flows in the order of their numbers, as in native traces.
  const order = flows
    .map((_, at) => at)
    .sort((one, other) => (flows[one]?.flow ?? 0) - (flows[other]?.flow ?? 0));
  const names = order.map((at) => flowName(resolved, flows[at] ?? { flow: 0, group: 0 }));
  const preamble = [
    `forebay ${version}: ${resolved.title || "untitled"}`,
    `scenario sha256 ${resolved.sha256}, seed ${resolved.seed}, replication 0, engine packet`,
    "time_s: seconds since the start of the run; a row includes all events before its time",
    "packets: packets in the queue of the target link, without the packet in transmission",
    "delay_s: seconds until all of these packets have departed",
    "utilization: share of the time since the previous row in which the link was busy, 0 to 1",
    "drops, marks: packets since the end of the warm-up; during the warm-up, since the start",
    "cwnd_packets: congestion window in packets; empty while the flow has nothing to send",
  ].map((line) => `# ${line.replaceAll(/\s+/g, " ")}`);
  const header = [...COLUMNS, ...names.map((name) => `cwnd_packets ${name}`)].map(quoted);
  const lines = rows.map((row) => {
    const windows = order.map((at) => row[COLUMNS.length + at]);
    return [...row.slice(0, COLUMNS.length), ...windows].map((value) => value ?? "").join(",");
  });
  return `${[...preamble, header.join(","), ...lines].join("\n")}\n`;
}

/** Name of a flow: that of its group, with a number if the group has several flows. */
export function flowName(
  resolved: Resolved | null,
  { flow, group }: { flow: number; group: number },
): string {
  const own = resolved?.groups[group];
  if (!own) return `flow ${flow + 1}`;
  return own.count > 1 ? `${own.name} ${flow - own.first_flow + 1}` : own.name;
}

/** Quotes a field as RFC 4180 requires. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
