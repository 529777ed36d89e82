/**
 * Charts over time: congestion windows and queue, with the previous run in pale lines. Each point is an
 * interval of simulated time: a band from the smallest to the largest value, and a line of the mean.
 */

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { alignSeries } from "./align_series.ts";
import { readingAt } from "./chart_reading.ts";
import { BAND, History, LOSSES_COLUMN, TIME_COLUMN } from "./history.ts";
import { colorOf, dashOf } from "./palette.ts";
import { Term, type TermName } from "./terms.tsx";

/** Interval between two updates of a chart, in milliseconds. */
const EVERY_MS = 80;

/** Opacity of a band, as two hexadecimal digits. */
const BAND_OPACITY = "40";

interface Chart {
  title: string;
  /** Term that explains the title. */
  term: TermName;
  /** Displayed bands: the place of the mean in the history, and the name. */
  columns: readonly { at: number; name: string; flow: number | null }[];
  unit: string;
  history: History;
  before: History | null;
  /** Whether the previous run had another scenario, such as another buffer. */
  isChanged: boolean;
  isDark: boolean;
  /** Smallest upper end of the scale. */
  least: number;
  /** Level of a horizontal line, such as the buffer; null for none. */
  level: number | null;
  /** Whether dots show losses: at the level, or at the largest value if there is no level. */
  hasLosses: boolean;
}

/** Chart of some columns over time. */
export function RunningChart(chart: Chart): preact.JSX.Element {
  const container = useRef<HTMLDivElement>(null);
  const reading = useRef<HTMLDivElement>(null);
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
    const read = (plot: uPlot): void => {
      const { history, hasLosses } = latest.current;
      const { left = -1 } = plot.cursor;
      const text = left < 0 ? "" : readingAt(history, columns, plot.posToVal(left, "x"), hasLosses);
      if (reading.current) reading.current.textContent = text;
    };
    const plot = new uPlot(
      { ...options(latest.current, parent), hooks: { setCursor: [read] } },
      data(),
      parent,
    );
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
        <Term name={chart.term}>{chart.title}</Term>{" "}
        <span class="unit">
          {chart.unit} (line: mean, band: smallest to largest{chart.hasLosses && ", dots: losses"}
          {chart.before && `, pale line: ${chart.isChanged ? "before the change" : "previous run"}`})
        </span>
      </figcaption>
      <div class="plot" ref={container} role="img" aria-label={chartLabel(chart)} />
      {/* The label has the latest values for those without a pointer. */}
      <div class="reading" ref={reading} aria-hidden="true" />
    </figure>
  );
}

/** Text alternative of a chart: its latest values, and the range of the whole run. */
function chartLabel({ title, unit, columns, history }: Chart): string {
  const last = columns.map(({ at, name }) => {
    const value = history.columns[at]?.at(-1);
    if (value === undefined || Number.isNaN(value)) return "";
    const least = extreme(history.columns[at + BAND.min], Math.min);
    const most = extreme(history.columns[at + BAND.max], Math.max);
    return `${name}: ${value.toFixed(1)} (so far ${least.toFixed(1)} to ${most.toFixed(1)})`;
  });
  return `${title}, ${unit}, over time. Now ${last.filter(Boolean).join(", ") || "nothing"}.`;
}

function extreme(series: readonly number[] | undefined, of: (...values: number[]) => number): number {
  return of(...(series ?? []).filter((value) => !Number.isNaN(value)));
}

function sizeOf(parent: HTMLElement): { width: number; height: number } {
  return { width: Math.max(parent.clientWidth, 200), height: Math.max(parent.clientHeight, 120) };
}

/**
 * Data of the plot: the mean, the largest and the smallest values of this run, the level, the level where
 * packets are lost, and the mean of the previous run up to the same time.
 */
function dataOf({ columns, history, before, level, hasLosses }: Chart): uPlot.AlignedData {
  const series = (of: History | null, part: number): number[][] =>
    columns.map(({ at }) => of?.columns[at + part] ?? []);
  const times = history.columns[TIME_COLUMN] ?? [];
  const past = before?.columns[TIME_COLUMN] ?? [];
  const tops = history.columns[(columns[0]?.at ?? 0) + BAND.max] ?? [];
  const shown = past.filter((time) => time <= history.untilS).length;
  const own = [
    times,
    ...series(history, BAND.mean),
    ...series(history, BAND.max),
    ...series(history, BAND.min),
    times.map(() => level ?? Number.NaN),
    times.map((_, at) =>
      hasLosses && (history.columns[LOSSES_COLUMN]?.[at] ?? 0) > 0 ? (level ?? tops[at] ?? 0) : Number.NaN,
    ),
  ];
  const previous = [past, ...series(before, BAND.mean)].map((values) => values.slice(0, shown));
  return alignSeries(own, previous) as uPlot.AlignedData;
}

function options(chart: Chart, parent: HTMLElement): uPlot.Options {
  const style = getComputedStyle(parent);
  const ink = style.getPropertyValue("--ink").trim();
  const faint = style.getPropertyValue("--line").trim();
  const wrong = style.getPropertyValue("--wrong").trim();
  // A presentation has larger letters.
  const letters = Number.parseFloat(style.getPropertyValue("--chart-letters")) || 12;
  const axis: uPlot.Axis = {
    stroke: ink,
    grid: { stroke: faint, width: 1 },
    ticks: { stroke: faint },
    font: `${letters}px system-ui`,
  };
  const line = (flow: number | null): string => (flow === null ? ink : colorOf(flow, chart.isDark));
  const count = chart.columns.length;
  const edge = ({ name }: { name: string }, label: string): uPlot.Series => ({
    label: `${name}, ${label}`,
    width: 0,
    points: { show: false },
  });
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
    // Series 1 to `count` are means, the next ones the largest values, the next ones the smallest.
    bands: chart.columns.map(({ flow }, at) => ({
      series: [1 + count + at, 1 + 2 * count + at],
      fill: `${toHex(line(flow))}${BAND_OPACITY}`,
    })),
    series: [
      {},
      ...chart.columns.map(({ name, flow }) => ({
        label: name,
        stroke: line(flow),
        width: 1.75,
        dash: dashOf(flow ?? 0),
        points: { show: false },
      })),
      ...chart.columns.map((column) => edge(column, "largest")),
      ...chart.columns.map((column) => edge(column, "smallest")),
      { label: "level", stroke: ink, width: 1, dash: [4, 4], points: { show: false } },
      { label: "losses", stroke: wrong, paths: () => null, points: { show: true, size: 5, fill: wrong } },
      ...chart.columns.map(({ name, flow }) => ({
        label: `${name}, previous run`,
        stroke: `${toHex(line(flow))}55`,
        width: 1,
        points: { show: false },
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
  return flows.map(({ name, flow }, at) => ({ at: History.window(at), name, flow }));
}
