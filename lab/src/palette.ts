/**
 * Colors of flows: eight that are distinguishable with any color vision (Okabe and Ito, 2008), then the same
 * with dashes.
 */

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#1f8fc4", "#7a4fbf", "#444444"];
const DARK = ["#4aa8e0", "#ff8f4a", "#2fd0a5", "#f0a3cf", "#f0e442", "#8fd3ff", "#c3a5ff", "#c9c9c9"];

/** Color of a flow. */
export function colorOf(flow: number, isDark: boolean): string {
  const colors = isDark ? DARK : LIGHT;
  return colors[flow % colors.length] ?? "#888888";
}

/** Dash pattern of a flow's line, for flows beyond the eight colors. */
export function dashOf(flow: number): number[] {
  return [[], [6, 3], [2, 3], [8, 3, 2, 3]][Math.floor(flow / LIGHT.length) % 4] ?? [];
}
