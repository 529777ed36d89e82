/** Names and colors of flows as the page shows them: the same in the picture, the charts and the lists. */

import type { Resolved } from "./engine/protocol.ts";
import { COLORS, colorOf, NEUTRAL, OTHERS } from "./palette.ts";
import { flowName } from "./trace_csv.ts";

/** Entry of the legend. */
export interface LegendEntry {
  name: string;
  color: string;
}

/** Replaces a term that readers need not know. The text of the scenario stays. */
export function plain(text: string): string {
  return text
    .replace(/\belephants\b/g, "long flows")
    .replace(/\belephant\b/g, "long flow")
    .replace(/\bdroptail\b/g, "drop-tail");
}

/** Names of congestion controls that a scenario may give to a group of flows as well. */
const CONGESTION_CONTROLS: ReadonlySet<string> = new Set([
  ...["newreno", "reno", "cubic", "hstcp", "htcp", "aimd", "bbr", "bbr3", "vegas", "westwood"],
  ...["illinois", "dctcp", "prague", "ledbat", "ledbatpp", "bic", "copa", "cdg"],
  ...["swift", "dcqcn", "timely", "hpcc"],
]);

/**
 * Name of a flow. If its group has the name of another congestion control than its own, the own one follows:
 * the flows of a group `bbr` are `bbr 1 (cubic)` after a change to CUBIC.
 */
export function shownName(resolved: Resolved | null, flow: { flow: number; group: number }): string {
  const name = plain(flowName(resolved, flow));
  const own = resolved?.groups[flow.group];
  const called = own?.name.toLowerCase() ?? "";
  if (!own?.responsive || !CONGESTION_CONTROLS.has(called)) return name;
  const isOwn = called === own.controller || (called === "reno" && own.controller === "newreno");
  return isOwn ? name : `${name} (${own.controller})`;
}

/** Legend of the flows: one entry each for the first flows, and one for the others. */
export function legendOf(resolved: Resolved | null, isDark: boolean): LegendEntry[] {
  const entries: LegendEntry[] = [];
  for (const [group, { count: flows, first_flow }] of (resolved?.groups ?? []).entries())
    for (let at = 0; at < flows; at += 1) {
      const flow = first_flow + at;
      if (flow >= COLORS) break;
      entries.push({ name: shownName(resolved, { flow, group }), color: colorOf(flow, isDark) });
    }
  const all = (resolved?.groups ?? []).reduce((sum, { count }) => sum + count, 0);
  if (all > entries.length) entries.push({ name: `${OTHERS} (${all - entries.length})`, color: NEUTRAL });
  return entries;
}
