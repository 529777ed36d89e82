/** Sliders and lists for the most common keys. All other keys are edited in the text. */

import { useState } from "preact/hooks";
import {
  type Edit,
  timeOf,
  withBackground,
  withBuffer,
  withCongestionControl,
  withCount,
  withLoad,
  withoutGroup,
  withQueue,
  withRate,
  withRoundTrip,
} from "./changes.ts";
import type { GroupControls, Controls as Values } from "./engine/protocol.ts";
import type { Model } from "./model.ts";
import { Choice, Steps } from "./steps.tsx";

/** Largest number of groups with controls. */
const MAX_GROUPS = 12;
/** Rates of the slider, in bit/s. */
const RATES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 10_000].map((megabits) => megabits * 1e6);
/** Round-trip times of the slider, in seconds. */
const ROUND_TRIPS = [1, 2, 5, 10, 20, 30, 50, 80, 100, 150, 200, 300, 600].map((ms) => ms / 1e3);
/** Jitter in percent of the round-trip time, and background load in percent of the link's rate. */
const JITTERS = [0, 1, 2, 5, 10, 20, 50, 100];
const SHARES = [0, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 100, 120];
const COUNTS = [1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 100, 200, 500];
const UNITS: readonly (readonly [string, string, readonly number[]])[] = [
  ["p", "packets", [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]],
  ["BDP", "× BDP", [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5]],
  ["ms", "ms", [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]],
  ["kB", "kB", [2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000]],
];

/** Control values before the first scenario. */
const EMPTY: Values = { rate: null, buffer: null, queue: "droptail", groups: [] };

interface Props {
  model: Model;
  values: Values;
}

/** Controls of a model. */
export function Controls({ model }: { model: Model }): preact.JSX.Element {
  const values = model.controls ?? EMPTY;
  const { groups } = values;
  const load = groups.find((group) => group.load) ?? null;
  const isOff = !model.isChangeable;
  return (
    <section class="controls" aria-label="Scenario">
      <fieldset disabled={isOff}>
        <legend>Link</legend>
        <Steps
          label="Rate"
          value={values.rate?.value ?? null}
          shown={values.rate?.text ?? null}
          steps={RATES}
          set={(bps) => model.change(withRate(values, bps))}
        />
        <Buffer model={model} values={values} />
        <Choice
          label="Queue"
          value={values.queue}
          options={model.description?.disciplines ?? []}
          set={(queue) => model.change(withQueue(values, queue))}
        />
      </fieldset>
      {groups
        .slice(0, MAX_GROUPS)
        .map(
          (group) =>
            group !== load && (
              <Group model={model} values={values} group={group} isOff={isOff} key={group.key} />
            ),
        )}
      {groups.length > MAX_GROUPS && <p>{groups.length - MAX_GROUPS} more groups are only in the text.</p>}
      <fieldset disabled={isOff}>
        <legend>{load?.name ?? "background"}</legend>
        <Load model={model} values={values} group={load} />
      </fieldset>
    </section>
  );
}

function Buffer({ model, values }: Props): preact.JSX.Element {
  const { buffer } = values;
  const [unit, setUnit] = useState<string | null>(null);
  const shown = unit ?? buffer?.unit ?? "p";
  const unitEntry = UNITS.find(([suffix]) => suffix === shown) ?? UNITS[0];
  return (
    <div class="pair">
      <Steps
        label="Buffer"
        value={buffer?.unit === shown ? buffer.value : null}
        shown={buffer?.text ?? null}
        steps={unitEntry?.[2] ?? []}
        set={(value) => model.change(withBuffer(values, value, shown))}
      />
      <label class="unit-of">
        <span class="hidden">Unit of the buffer</span>
        <select
          title="BDP is the bandwidth-delay product."
          value={shown}
          onChange={(event) => setUnit(event.currentTarget.value)}
        >
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

interface GroupProps extends Props {
  group: GroupControls;
}

function Group({ model, values, group, isOff }: GroupProps & { isOff: boolean }): preact.JSX.Element {
  const { count, controller } = group;
  return (
    <fieldset disabled={isOff}>
      <legend>{group.name}</legend>
      {group.counted && (
        <Steps
          label="Flows"
          value={count}
          shown={count === null ? null : String(count)}
          steps={COUNTS}
          set={(chosen) => model.change(withCount(values, group, chosen))}
        />
      )}
      {controller !== null && (
        <Choice
          label="Congestion control"
          value={controller}
          options={model.description?.controllers ?? []}
          set={(chosen) => model.change(withCongestionControl(values, group, chosen))}
        />
      )}
      {controller !== null && <RoundTrips model={model} values={values} group={group} />}
      {group.load && <Load model={model} values={values} group={group} />}
    </fieldset>
  );
}

/** Round-trip time of a group, and the random jitter that is added for each flow. */
function RoundTrips({ model, values, group }: GroupProps): preact.JSX.Element {
  const { rtt } = group;
  const share = rtt?.jitter && rtt.value > 0 ? rtt.jitter.value / rtt.value : 0;
  return (
    <>
      <Steps
        label="Round trip"
        value={rtt?.value ?? null}
        shown={rtt?.text ?? null}
        steps={ROUND_TRIPS}
        set={(seconds) => model.change(withRoundTrip(values, group, timeOf(seconds), share))}
      />
      {rtt && rtt.value > 0 && (
        <Steps
          label="Jitter"
          value={Math.round(100 * share)}
          shown={rtt.jitter ? `up to ${rtt.jitter.text}` : "none"}
          steps={JITTERS}
          set={(percent) => model.change(withRoundTrip(values, group, rtt, percent / 100))}
        />
      )}
    </>
  );
}

/**
 * Unresponsive traffic as a share of the link's rate, in an existing group or in a new one. A load of zero
 * removes the group. The next load restores it.
 */
function Load({ model, values, group }: Props & { group: GroupControls | null }): preact.JSX.Element {
  const link = values.rate?.value ?? 0;
  if (link === 0) return <p class="status">Set in the text, because the rate is set there.</p>;
  const load = group?.load;
  const share = load ? (100 * load.rate_bps) / link : 0;
  const editTo = (percent: number): Edit => {
    if (group && percent === 0) return withoutGroup(values, group);
    const own = load ?? model.background?.load ?? { kind: "poisson", text: null };
    const next = { ...own, rate_bps: (link * percent) / 100 };
    if (group) return withLoad(values, group, next);
    // With several links, a new group crosses the target link.
    const links = model.resolved?.links ?? [];
    const path = links.length > 1 ? (links[model.resolved?.target ?? 0]?.name ?? null) : null;
    return withBackground(values, next, model.background, path);
  };
  return (
    <Steps
      label="Load"
      value={Math.round(share)}
      shown={share > 0 ? `${Number(share.toPrecision(3))} % of the rate` : "none"}
      steps={SHARES}
      set={(percent) => model.change(editTo(percent))}
    />
  );
}
