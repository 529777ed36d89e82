/** Charts over time: congestion windows and queue, with the previous run in pale lines. */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { alignSeries } from "./align_series.ts";
import type { History } from "./history.ts";
import { SHOWN_FLOWS } from "./model.ts";
import { colorOf, dashOf } from "./palette.ts";
import { Term, type TermName } from "./terms.tsx";

/** Interval between two updates of a chart, in milliseconds. */
const EVERY_MS = 80;

interface Chart {
  title: string;
  /** Term that explains the title. */
  term: TermName;
  /** Displayed columns of the history, with their names. */
  columns: readonly { at: number; name: string; flow: number | null }[];
  unit: string;
  history: History;
  before: History | null;
  isDark: boolean;
  /** Smallest upper end of the scale. */
  least: number;
  /** Level of a horizontal line, such as the buffer; null for none. */
  level: number | null;
}

/** Columns of a history: 0 is time, 1 the queue, 2 drops, and the windows follow. */
export const QUEUE_COLUMN = 1;
export const FIRST_WINDOW = 3;

/** Chart of some columns over time. */
export function RunningChart(chart: Chart): preact.JSX.Element {
  const container = useRef<HTMLDivElement>(null);
  const latest = useRef(chart);
  latest.current = chart;
  const signature = chart.columns.map(({ name }) => name).join("|");
  // A change of series or colors needs a new plot.
  useEffect(() => {
    const parent = container.current;
    if (!parent) return;
    // A restarted run has no flows for a moment. The plot retains its own columns.
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
        <Term name={chart.term}>{chart.title}</Term> <span class="unit">{chart.unit}</span>
      </figcaption>
      <div class="plot" ref={container} role="img" aria-label={chartLabel(chart)} />
    </figure>
  );
}

/** Text alternative of a chart: its latest values. */
function chartLabel({ title, unit, columns, history }: Chart): string {
  const last = columns.map(({ at, name }) => {
    const value = history.columns[at]?.at(-1);
    return value === undefined || Number.isNaN(value) ? "" : `${name}: ${value.toFixed(1)}`;
  });
  return `${title}, ${unit}, over time. Now ${last.filter(Boolean).join(", ") || "nothing"}.`;
}

function sizeOf(parent: HTMLElement): { width: number; height: number } {
  return { width: Math.max(parent.clientWidth, 200), height: Math.max(parent.clientHeight, 120) };
}

/** Data of the plot: this run, the level, and the previous run up to the same time. */
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
  const previous = [
    past.slice(0, shown),
    ...columns.map(({ at }) => (before?.columns[at] ?? []).slice(0, shown)),
  ];
  return alignSeries(own, previous) as uPlot.AlignedData;
}

function options(chart: Chart, parent: HTMLElement): uPlot.Options {
  const style = getComputedStyle(parent);
  const ink = style.getPropertyValue("--ink").trim();
  const faint = style.getPropertyValue("--line").trim();
  // A presentation has larger letters.
  const letters = Number.parseFloat(style.getPropertyValue("--chart-letters")) || 12;
  const axis: uPlot.Axis = {
    stroke: ink,
    grid: { stroke: faint, width: 1 },
    ticks: { stroke: faint },
    font: `${letters}px system-ui`,
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
      {
        ...axis,
        size: 26 + 2 * letters,
        space: 4 * letters,
        values: (_plot, ticks) => ticks.map((tick) => `${tick}${"\u202f"}s`),
      },
      { ...axis, size: 16 + 3 * letters, space: 2 * letters },
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
        label: `${name}, previous run`,
        stroke: `${toHex(line(flow))}55`,
        width: 1,
        points: { show: false },
        spanGaps: true,
      })),
    ],
  };
}

/** Color with six digits, to which an opacity can be appended. */
function toHex(color: string): string {
  return /^#[0-9a-f]{6}$/i.test(color) ? color : "#888888";
}

/** Columns of the displayed windows. */
export function windowColumns(flows: readonly { name: string; flow: number }[]): Chart["columns"] {
  return flows.slice(0, SHOWN_FLOWS).map(({ name, flow }, at) => ({ at: FIRST_WINDOW + at, name, flow }));
}
