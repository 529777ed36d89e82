/**
 * Colors of flows: eight that are distinguishable with any color vision (Okabe and Ito, 2008). All further
 * flows share a neutral color, so that no two named flows look alike.
 */

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#1f8fc4", "#7a4fbf", "#444444"];
const DARK = ["#4aa8e0", "#ff8f4a", "#2fd0a5", "#f0a3cf", "#f0e442", "#8fd3ff", "#c3a5ff", "#c9c9c9"];

/** Number of flows with a color of their own. */
export const COLORS = LIGHT.length;
/** Color of all further flows, and their name in a legend. */
export const NEUTRAL = "#888888";
export const OTHERS = "other flows";

/** Color of a flow. */
export function colorOf(flow: number, isDark: boolean): string {
  return (isDark ? DARK : LIGHT)[flow] ?? NEUTRAL;
}

/** Dash pattern of a flow's line, for flows beyond the eight colors. */
export function dashOf(flow: number): number[] {
  return [[], [6, 3], [2, 3], [8, 3, 2, 3]][Math.floor(flow / LIGHT.length) % 4] ?? [];
}
