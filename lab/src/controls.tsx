/** Sliders and lists for the most common keys besides the buffer. All other keys are edited in the text. */

import {
  type Edit,
  timeOf,
  withBackground,
  withCongestionControl,
  withCount,
  withLoad,
  withoutGroup,
  withQueue,
  withRate,
  withRoundTrip,
  withThreshold,
} from "./changes.ts";
import type { GroupControls, Controls as Values } from "./engine/protocol.ts";
import { plain } from "./flow_names.ts";
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
/** Thresholds of marks, in the unit of the text. */
const THRESHOLDS = [1, 2, 5, 10, 20, 30, 65, 100, 200, 400, 1000];
const COUNTS = [1, 2, 3, 4, 5, 8, 10, 16, 20, 32, 50, 100, 200, 500];
/** Control values before the first scenario. */
const EMPTY: Values = { rate: null, buffer: null, queue: "droptail", threshold: null, groups: [] };

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
          term="rate"
          value={values.rate?.value ?? null}
          shown={values.rate?.text ?? null}
          steps={RATES}
          set={(bps) => model.change(withRate(values, bps))}
        />
        <Choice
          label="Queue"
          term="queue"
          value={values.queue}
          options={model.description?.disciplines ?? []}
          set={(queue) => model.change(withQueue(values, queue))}
        />
        {values.threshold && (
          <Steps
            label="Threshold K"
            term="threshold"
            value={values.threshold.value}
            shown={values.threshold.text}
            steps={THRESHOLDS}
            set={(size) => model.change(withThreshold(values, size, values.threshold?.unit ?? "p"))}
          />
        )}
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
        <legend>{plain(load?.name ?? "background")}</legend>
        <Load model={model} values={values} group={load} />
      </fieldset>
    </section>
  );
}

interface GroupProps extends Props {
  group: GroupControls;
}

function Group({ model, values, group, isOff }: GroupProps & { isOff: boolean }): preact.JSX.Element {
  const { count, controller } = group;
  return (
    <fieldset disabled={isOff}>
      <legend>{plain(group.name)}</legend>
      {group.counted && (
        <Steps
          label="Flows"
          term="flows"
          value={count}
          shown={count === null ? null : String(count)}
          steps={COUNTS}
          set={(chosen) => model.change(withCount(values, group, chosen))}
        />
      )}
      {controller !== null && (
        <Choice
          label="Congestion control"
          term="cca"
          value={controller}
          options={model.description?.controllers ?? []}
          set={(chosen) => model.change(withCongestionControl(values, group, chosen))}
        />
      )}
      {controller !== null && (
        <label class="choice">
          <span class="name">or a .wasm file</span>
          <input
            type="file"
            accept=".wasm"
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? [];
              if (file) void model.openModule(group, file);
              // The same file can be opened again after a change.
              currentTarget.value = "";
            }}
          />
        </label>
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
        term="rtt"
        value={rtt?.value ?? null}
        shown={rtt?.text ?? null}
        steps={ROUND_TRIPS}
        set={(seconds) => model.change(withRoundTrip(values, group, timeOf(seconds), share))}
      />
      {rtt && rtt.value > 0 && (
        <Steps
          label="Jitter"
          term="jitter"
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
      term="load"
      value={Math.round(share)}
      shown={share > 0 ? `${Number(share.toPrecision(3))} % of the rate` : "none"}
      steps={SHARES}
      set={(percent) => model.change(editTo(percent))}
    />
  );
}
