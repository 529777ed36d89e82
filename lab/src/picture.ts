/** Pictures for use outside of the page, such as in slides: title, axes with units, legend, and source. */

import { digits } from "./numbers.ts";

/** Line of a chart. */
export interface PictureLine {
  name: string;
  color: string;
  dash: readonly number[];
  values: readonly number[];
}

/** Chart over time. */
export interface PictureChart {
  title: string;
  unit: string;
  lines: readonly PictureLine[];
  /** Level with its name, such as the buffer. */
  level: { name: string; value: number } | null;
}

/** Title and source of a picture. */
export interface Caption {
  title: string;
  /** Source: version, digest of the scenario, and seed. */
  source: string;
}

const WIDTH = 1200;
const CHART = 330;
const [LEFT, RIGHT, TOP] = [90, WIDTH - 30, 70];
const INK = "#1d2330";
const FAINT = "#d5d9e0";
const FONT = 'font-family="system-ui, sans-serif"';

/** Escapes a text for XML and removes characters that XML forbids. */
export function escaped(text: string): string {
  return [...text]
    .filter((character) => character >= " ")
    .join("")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/** Draws charts over the same times, one below the other, as SVG. */
export function chartsSvg(
  caption: Caption,
  times: readonly number[],
  charts: readonly PictureChart[],
): string {
  const height = TOP + charts.length * CHART + 60;
  const end = Math.max(times.at(-1) ?? 0, 1e-9);
  const x = (at: number): number => LEFT + (at / end) * (RIGHT - LEFT);
  const drawn = charts.map((chart, row) => chartSvg(chart, times, { x, top: TOP + row * CHART }));
  const bottom = TOP + charts.length * CHART;
  const ticks = steps(end).map((at) => label(x(at), bottom - 8, "middle", `${Number(at.toPrecision(6))}`));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ${FONT} font-size="15">`,
    `<title>${escaped(caption.title)}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="${LEFT}" y="38" font-size="22" font-weight="600" fill="${INK}">${escaped(caption.title)}</text>`,
    ...drawn,
    ...ticks,
    label((LEFT + RIGHT) / 2, bottom + 16, "middle", "time (s)"),
    `<text x="${RIGHT}" y="${height - 12}" font-size="12" text-anchor="end" fill="#525b6b">${escaped(caption.source)}</text>`,
    "</svg>",
  ].join("\n");
}

function chartSvg(
  { title, unit, lines, level }: PictureChart,
  times: readonly number[],
  { x, top }: { x: (at: number) => number; top: number },
): string {
  const [high, low] = [top + 58, top + CHART - 30];
  const values = lines.flatMap(({ values }) => values).filter(Number.isFinite);
  const most = values.reduce((one, other) => Math.max(one, other), level?.value ?? 1) * 1.05;
  const y = (value: number): number => low - (value / most) * (low - high);
  const grid = steps(most).map((value) => {
    const at = y(value).toFixed(1);
    const line = `<line x1="${LEFT}" x2="${RIGHT}" y1="${at}" y2="${at}" stroke="${FAINT}"/>`;
    return line + label(LEFT - 8, y(value) + 5, "end", digits(value));
  });
  const paths = lines.map(
    (line) =>
      `<path d="${pathOf(times, line.values, { x, y })}" fill="none" stroke="${line.color}" stroke-width="2" stroke-dasharray="${line.dash.join(" ")}"/>`,
  );
  const keys = lines.map(({ name, color, dash }) => ({ name, color, dash: dash.join(" ") }));
  if (level) keys.push({ name: level.name, color: INK, dash: "5 5" });
  let left = LEFT;
  const legend = keys.map(({ name, color, dash }) => {
    const key = `<line x1="${left}" x2="${left + 26}" y1="${top + 38}" y2="${top + 38}" stroke="${color}" stroke-width="3" stroke-dasharray="${dash}"/>`;
    const text = label(left + 32, top + 43, "start", name);
    // Estimated width of the text.
    left += 56 + 8.5 * name.length;
    return key + text;
  });
  const bar = level
    ? `<line x1="${LEFT}" x2="${RIGHT}" y1="${y(level.value)}" y2="${y(level.value)}" stroke="${INK}" stroke-dasharray="5 5"/>`
    : "";
  return [
    `<text x="${LEFT}" y="${top + 20}" font-size="17" font-weight="600" fill="${INK}">${escaped(title)} (${escaped(unit)})</text>`,
    ...legend,
    ...grid,
    bar,
    ...paths,
  ].join("\n");
}

/** Path of a line. Unknown values interrupt it. */
function pathOf(
  times: readonly number[],
  values: readonly number[],
  { x, y }: { x: (at: number) => number; y: (value: number) => number },
): string {
  let path = "";
  let isDown = false;
  for (const [at, timeS] of times.entries()) {
    const value = values[at] ?? Number.NaN;
    if (Number.isFinite(value)) path += `${isDown ? "L" : "M"}${x(timeS).toFixed(1)} ${y(value).toFixed(1)}`;
    isDown = Number.isFinite(value);
  }
  return path;
}

function label(left: number, top: number, anchor: "start" | "middle" | "end", text: string): string {
  return `<text x="${left.toFixed(1)}" y="${top.toFixed(1)}" text-anchor="${anchor}" fill="${INK}">${escaped(text)}</text>`;
}

/** Round numbers from zero to at most `most`: four to ten of them. */
export function steps(most: number): number[] {
  const scale = 10 ** Math.floor(Math.log10(most / 4));
  const step = scale * ([1, 2, 2.5, 5, 10].find((times) => most / (times * scale) <= 8) ?? 10);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, at) => at * step);
}
