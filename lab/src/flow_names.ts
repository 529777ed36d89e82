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

/** Name of a flow. */
export function shownName(resolved: Resolved | null, flow: { flow: number; group: number }): string {
  return plain(flowName(resolved, flow));
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
