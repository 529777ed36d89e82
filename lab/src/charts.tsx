/** Running charts: windows and queue over time, with the run before behind them. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import type { History } from "./history.ts";
import { joined } from "./joined.ts";
import { SHOWN_FLOWS } from "./model.ts";
import { colorOf, dashOf } from "./palette.ts";

/** Milliseconds between two drawings of a chart. */
const EVERY_MS = 80;

interface Chart {
  title: string;
  /** Which columns of the history it shows, with their names. */
  columns: readonly { at: number; name: string; flow: number | null }[];
  unit: string;
  history: History;
  before: History | null;
  isDark: boolean;
  /** The top of the scale at least. */
  least: number;
  /** A level that is drawn, such as the buffer. */
  level: number | null;
}

/** Columns of a history: time, what waits, drops, and windows. */
export const QUEUE_COLUMN = 1;
export const FIRST_WINDOW = 3;

/** One chart over time. */
export function RunningChart(chart: Chart): preact.JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(chart);
  latest.current = chart;
  const signature = chart.columns.map(({ name }) => name).join("|");
  // The plot is made anew where its series or colors are others.
  useEffect(() => {
    const parent = place.current;
    if (!parent) return;
    // A run that begins anew shows no flows for a moment: this plot keeps its own.
    const { columns } = latest.current;
    const data = (): uPlot.AlignedData => dataOf({ ...latest.current, columns });
    const plot = new uPlot(options(latest.current, parent), data(), parent);
    const resized = new ResizeObserver(() => plot.setSize(sizeOf(parent)));
    resized.observe(parent);
    const timer = setInterval(() => plot.setData(data()), EVERY_MS);
    return () => {
      clearInterval(timer);
      resized.disconnect();
      plot.destroy();
    };
  }, [signature, chart.isDark, chart.unit]);
  return (
    <figure class="chart">
      <figcaption>
        {chart.title} <span class="unit">{chart.unit}</span>
      </figcaption>
      <div class="plot" ref={place} role="img" aria-label={said(chart)} />
    </figure>
  );
}

/** What a chart shows now, in words. */
function said({ title, unit, columns, history }: Chart): string {
  const last = columns.map(({ at, name }) => {
    const value = history.columns[at]?.at(-1);
    return value === undefined || Number.isNaN(value) ? "" : `${name}: ${value.toFixed(1)}`;
  });
  return `${title}, ${unit}, over time. Now ${last.filter(Boolean).join(", ") || "nothing"}.`;
}

function sizeOf(parent: HTMLElement): { width: number; height: number } {
  return { width: Math.max(parent.clientWidth, 200), height: Math.max(parent.clientHeight, 120) };
}

/** This run, its level, and as much of the one before as this one has lasted. */
function dataOf({ columns, history, before, level }: Chart): uPlot.AlignedData {
  const times = history.columns[0] ?? [];
  const now = times.at(-1) ?? 0;
  const past = before?.columns[0] ?? [];
  const shown = past.filter((time) => time <= now).length;
  const own = [
    times,
    ...columns.map(({ at }) => history.columns[at] ?? []),
    times.map(() => level ?? Number.NaN),
  ];
  const pale = [
    past.slice(0, shown),
    ...columns.map(({ at }) => (before?.columns[at] ?? []).slice(0, shown)),
  ];
  return joined(own, pale) as uPlot.AlignedData;
}

function options(chart: Chart, parent: HTMLElement): uPlot.Options {
  const style = getComputedStyle(parent);
  const ink = style.getPropertyValue("--ink").trim();
  const faint = style.getPropertyValue("--line").trim();
  const axis: uPlot.Axis = {
    stroke: ink,
    grid: { stroke: faint, width: 1 },
    ticks: { stroke: faint },
    font: "12px system-ui",
  };
  const line = (flow: number | null): string => (flow === null ? ink : colorOf(flow, chart.isDark));
  return {
    ...sizeOf(parent),
    legend: { show: false },
    cursor: { drag: { x: false, y: false } },
    scales: {
      x: { time: false },
      y: { range: (_plot, _low, high) => [0, Math.max(chart.least, (high ?? 0) * 1.05)] },
    },
    axes: [
      { ...axis, values: (_plot, ticks) => ticks.map((tick) => `${tick}${"\u202f"}s`) },
      { ...axis, size: 52 },
    ],
    series: [
      {},
      ...chart.columns.map(({ name, flow }) => ({
        label: name,
        stroke: line(flow),
        width: 1.75,
        dash: dashOf(flow ?? 0),
        points: { show: false },
        spanGaps: true,
      })),
      { label: "level", stroke: ink, width: 1, dash: [4, 4], points: { show: false }, spanGaps: true },
      ...chart.columns.map(({ name, flow }) => ({
        label: `${name} before`,
        stroke: `${toHex(line(flow))}55`,
        width: 1,
        points: { show: false },
        spanGaps: true,
      })),
    ],
  };
}

/** Six digits of a color, to which its opacity can be added. */
function toHex(color: string): string {
  return /^#[0-9a-f]{6}$/i.test(color) ? color : "#888888";
}

/** The windows that are shown. */
export function windowColumns(names: readonly string[]): Chart["columns"] {
  return names.slice(0, SHOWN_FLOWS).map((name, flow) => ({ at: FIRST_WINDOW + flow, name, flow }));
}
