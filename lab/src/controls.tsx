/** Sliders and lists for the keys that one tries first; everything else is in the text beside them. */

import { useState } from "preact/hooks";
import type { Model } from "./model.ts";
import { count as countOf, type Table } from "./toml.ts";

/** Groups that have controls, and how long a text may be that has some. */
const MOST_GROUPS = 12;
const MOST_TEXT = 100_000;
const LINK: Table = { name: "link" };
/** Rates of the slider, in bits per second. */
const RATES: readonly (readonly [string, number])[] = [
  ...["1", "2", "5", "10", "20", "50", "100", "200", "500"].map((it) => [`${it}Mbps`, Number(it)] as const),
  ["1Gbps", 1e3],
  ["2Gbps", 2e3],
  ["10Gbps", 1e4],
];
const ROUND_TRIPS = [
  "1ms",
  "2ms",
  "5ms",
  "10ms",
  "20ms",
  "30ms",
  "50ms",
  "80ms",
  "100ms",
  "150ms",
  "200ms",
  "300ms",
  "600ms",
];
const COUNTS = ["1", "2", "3", "4", "5", "8", "10", "16", "20", "32", "50", "100", "200", "500"];
const UNITS: readonly (readonly [string, string, readonly string[]])[] = [
  ["p", "packets", ["1", "2", "5", "10", "20", "50", "100", "200", "500", "1000", "2000", "5000"]],
  ["BDP", "× BDP", ["0.01", "0.02", "0.05", "0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "3", "5"]],
  ["ms", "ms", ["0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50", "100", "200", "500", "1000"]],
  ["kB", "kB", ["2", "5", "10", "20", "50", "100", "200", "500", "1000", "5000", "20000"]],
];

/** The controls of a model. */
export function Controls({ model }: { model: Model }): preact.JSX.Element {
  const groups = model.text.length > MOST_TEXT ? 0 : countOf(model.text, "flows");
  const queue = bare(model.value(LINK, "queue")) ?? "droptail";
  return (
    <section class="controls" aria-label="Scenario">
      <fieldset>
        <legend>Link</legend>
        <Steps
          label="Rate"
          value={bare(model.value(LINK, "rate"))}
          steps={RATES.map(([text]) => text)}
          set={(value) => model.set(LINK, "rate", quoted(value))}
        />
        <Buffer model={model} />
        <Choice
          label="Queue"
          value={queue}
          known={model.description?.disciplines ?? []}
          set={(value) => model.set(LINK, "queue", quoted(value))}
        />
      </fieldset>
      {Array.from({ length: Math.min(groups, MOST_GROUPS) }, (_, index) => (
        <Group model={model} index={index} key={index} />
      ))}
      {groups > MOST_GROUPS && <p>{groups - MOST_GROUPS} more groups are in the text.</p>}
    </section>
  );
}

function Buffer({ model }: { model: Model }): preact.JSX.Element {
  const text = bare(model.value(LINK, "buffer")) ?? "";
  const parts = /^([\d.]+)\s*([A-Za-z]+)$/.exec(text);
  const [unit, setUnit] = useState<string | null>(null);
  const shown = unit ?? parts?.[2] ?? "p";
  const known = UNITS.find(([suffix]) => suffix === shown) ?? UNITS[0];
  const number = parts && parts[2] === shown ? parts[1] : undefined;
  return (
    <div class="pair">
      <Steps
        label="Buffer"
        value={number}
        steps={known?.[2] ?? []}
        set={(value) => model.set(LINK, "buffer", quoted(`${value}${shown}`))}
        shown={text}
      />
      <label class="unit-of">
        <span class="hidden">Unit of the buffer</span>
        <select value={shown} onChange={(event) => setUnit(event.currentTarget.value)}>
          {UNITS.map(([suffix, name]) => (
            <option value={suffix} key={suffix}>
              {name}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Group({ model, index }: { model: Model; index: number }): preact.JSX.Element {
  const table: Table = { name: "flows", index };
  const workload = model.value(table, "workload");
  const yields = !workload || !/cbr|poisson|on_off|voip/.test(workload);
  const name = bare(model.value(table, "name")) ?? `flows ${index + 1}`;
  const isCounted = !workload?.includes("loop");
  return (
    <fieldset>
      <legend>{name}</legend>
      {isCounted && (
        <Steps
          label="Flows"
          value={model.value(table, "count") ?? "1"}
          steps={COUNTS}
          set={(value) => model.set(table, "count", value)}
        />
      )}
      {yields && (
        <Choice
          label="Controller"
          value={bare(model.value(table, "cca")) ?? "cubic"}
          known={model.description?.controllers ?? []}
          set={(value) => model.set(table, "cca", quoted(value))}
        />
      )}
      {yields && (
        <Steps
          label="Round trip"
          value={bare(model.value(table, "rtt"))}
          steps={ROUND_TRIPS}
          set={(value) => model.set(table, "rtt", quoted(value))}
        />
      )}
    </fieldset>
  );
}

interface StepsProps {
  label: string;
  value: string | undefined;
  steps: readonly string[];
  set: (value: string) => void;
  /** What is written beside the slider, where it is not the value. */
  shown?: string;
}

/** A slider over values that make sense; one that the text has and the slider has not lies between two. */
function Steps({ label, value, steps, set, shown }: StepsProps): preact.JSX.Element {
  const known = steps.indexOf(value ?? "");
  const at = known >= 0 ? known : nearest(steps, value);
  return (
    <label class="steps">
      <span class="name">{label}</span>
      <input
        type="range"
        min={0}
        max={steps.length - 1}
        step={1}
        value={at}
        aria-valuetext={shown ?? value ?? "set in the text"}
        onInput={(event) => {
          const chosen = steps[Number(event.currentTarget.value)];
          if (chosen !== undefined && chosen !== value) set(chosen);
        }}
      />
      <output>{shown ?? value ?? "in the text"}</output>
    </label>
  );
}

function Choice(props: {
  label: string;
  value: string;
  known: readonly { name: string; title: string }[];
  set: (value: string) => void;
}): preact.JSX.Element {
  const { label, value, known, set } = props;
  const isKnown = known.some(({ name }) => name === value);
  return (
    <label class="choice">
      <span class="name">{label}</span>
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {!isKnown && <option value={value}>as in the text</option>}
        {known.map(({ name, title }) => (
          <option value={name} title={title} key={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The step that is nearest to a number with a unit, on a scale of ratios. */
function nearest(steps: readonly string[], value: string | undefined): number {
  const wanted = magnitude(value ?? "");
  if (!wanted) return 0;
  const far = steps.map((step) => Math.abs(Math.log(magnitude(step) || 1e-12) - Math.log(wanted)));
  return far.indexOf(Math.min(...far));
}

const UNIT_OF: Record<string, number> = {
  Gbps: 1e9,
  Mbps: 1e6,
  kbps: 1e3,
  s: 1,
  ms: 1e-3,
  us: 1e-6,
  MB: 1e6,
  kB: 1e3,
};

function magnitude(text: string): number {
  const parts = /^([\d.]+)\s*([A-Za-z]*)$/.exec(text.trim());
  return parts ? Number(parts[1]) * (UNIT_OF[parts[2] ?? ""] ?? 1) : 0;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

/** A string without its quotes; undefined for what is no string. */
function bare(value: string | undefined): string | undefined {
  const found = value === undefined ? null : /^(["'])(.*)\1$/s.exec(value);
  return found?.[2];
}
