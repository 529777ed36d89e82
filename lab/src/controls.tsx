/** Sliders and lists for the keys that one tries first; everything else is in the text beside them. */

import { useRef, useState } from "preact/hooks";
import { background, backgroundOf, bare, quoted, roundTrip, roundTripOf } from "./laws.ts";
import type { Model } from "./model.ts";
import { magnitude } from "./numbers.ts";
import { Choice, Steps } from "./steps.tsx";
import { count as countOf, linesOf, type Table, withoutTable, withTable, withValue } from "./toml.ts";

/** Groups that have controls, and how long a text may be that has some. */
const MOST_GROUPS = 12;
const MOST_TEXT = 100_000;
const LINK: Table = { name: "link" };
const RATES = ["1", "2", "5", "10", "20", "50", "100", "200", "500"]
  .map((it) => `${it}Mbps`)
  .concat(["1Gbps", "2Gbps", "10Gbps"]);
const ROUND_TRIPS = ["1", "2", "5", "10", "20", "30", "50", "80", "100", "150", "200", "300", "600"].map(
  (it) => `${it}ms`,
);
/** Jitter and background, in percent of the round trip and of the link's rate. */
const JITTERS = ["0", "1", "2", "5", "10", "20", "50", "100"];
const SHARES = ["0", "1", "2", "5", "10", "20", "30", "40", "50", "60", "70", "80", "90", "95", "100", "120"];
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
  const tables = Array.from({ length: groups }, (_, index): Table => ({ name: "flows", index }));
  const queue = bare(model.value(LINK, "queue")) ?? "droptail";
  const load = tables.find((table) => backgroundOf(model.value(table, "workload"))) ?? null;
  return (
    <section class="controls" aria-label="Scenario">
      <fieldset>
        <legend>Link</legend>
        <Steps
          label="Rate"
          value={bare(model.value(LINK, "rate"))}
          steps={RATES}
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
      {tables
        .slice(0, MOST_GROUPS)
        .map((table) => table !== load && <Group model={model} table={table} key={table.index} />)}
      {groups > MOST_GROUPS && <p>{groups - MOST_GROUPS} more groups are in the text.</p>}
      {model.text.length <= MOST_TEXT && (
        <fieldset>
          <legend>{bare(load ? model.value(load, "name") : undefined) ?? "background"}</legend>
          <Load model={model} table={load} />
        </fieldset>
      )}
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

function Group({ model, table }: { model: Model; table: Table }): preact.JSX.Element {
  const workload = model.value(table, "workload");
  const yields = !workload || !/cbr|poisson|on_off|voip/.test(workload);
  const name = bare(model.value(table, "name")) ?? `flows ${(table.index ?? 0) + 1}`;
  const loads = backgroundOf(workload) !== null;
  const isCounted = !loads && !workload?.includes("loop");
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
      {yields && <RoundTrips model={model} table={table} />}
      {loads && <Load model={model} table={table} />}
    </fieldset>
  );
}

/** The round trip of a group, and what is added to it for each flow anew. */
function RoundTrips({ model, table }: { model: Model; table: Table }): preact.JSX.Element {
  const found = roundTripOf(model.value(table, "rtt"));
  const base = magnitude(found?.value ?? "");
  const share = base > 0 ? (100 * magnitude(found?.jitter ?? "0s")) / base : 0;
  const set = (value: string, percent: number): void => {
    const jitter = percent > 0 ? `${Number((magnitude(value) * 10 * percent).toPrecision(6))}ms` : null;
    model.set(table, "rtt", roundTrip({ value, jitter }));
  };
  return (
    <>
      <Steps label="Round trip" value={found?.value} steps={ROUND_TRIPS} set={(value) => set(value, share)} />
      {found && base > 0 && (
        <Steps
          label="Jitter"
          value={String(Math.round(share))}
          steps={JITTERS}
          shown={found.jitter ? `up to ${found.jitter}` : "none"}
          set={(percent) => set(found.value, Number(percent))}
        />
      )}
    </>
  );
}

/**
 * Unresponsive traffic as a share of the link's rate: of a group, or of one that is to be made. Without any load there
 * is no group; the one that was there comes back with the next load.
 */
function Load({ model, table }: { model: Model; table: Table | null }): preact.JSX.Element {
  const before = useRef<string[]>(['name = "background"', "workload = {}"]);
  const link = magnitude(bare(model.value(LINK, "rate")) ?? "");
  const found = table && backgroundOf(model.value(table, "workload"));
  const kind = useRef("poisson");
  if (found) kind.current = found.kind;
  if (link === 0) return <p class="said">in the text, as the rate is</p>;
  const share = found ? (100 * found.bps) / link : 0;
  const set = (percent: string): void => {
    const workload = background({ kind: kind.current, bps: (link * Number(percent)) / 100 });
    if (table && percent !== "0") model.set(table, "workload", workload);
    else if (table) {
      before.current = linesOf(model.text, table);
      void model.take(withoutTable(model.text, table));
    } else {
      const added = withTable(model.text, "flows", before.current);
      const own = { name: "flows", index: countOf(added, "flows") - 1 };
      void model.take(withValue(added, own, "workload", workload));
    }
  };
  return (
    <Steps
      label="Load"
      value={String(Math.round(share))}
      steps={SHARES}
      shown={share > 0 ? `${Number(share.toPrecision(3))} % of the rate` : "none"}
      set={set}
    />
  );
}
