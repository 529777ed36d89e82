/** What a control's new value changes: the scenario's text, and the controls until the engines have changed it. */

import type { Change, Controls, GroupControls, Load, Quantity } from "./engine/protocol.ts";

/** Changes to the text, and what the controls show meanwhile. */
export interface Changed {
  changes: Change[];
  controls: Controls;
}

/** A rate as scenarios write it. */
export function rateText(bps: number): string {
  const [scale, unit] = bps >= 1e9 ? [1e9, "Gbps"] : bps >= 1e6 ? [1e6, "Mbps"] : [1e3, "kbps"];
  return `${Number((bps / scale).toPrecision(6))}${unit}`;
}

/** A time as scenarios write it. */
export function timeOf(seconds: number): Quantity {
  return { text: `${Number((1e3 * seconds).toPrecision(6))}ms`, value: seconds };
}

export function withRate(controls: Controls, bps: number): Changed {
  const rate = { text: rateText(bps), value: bps };
  return { changes: [{ set: `link.rate=${rate.text}` }], controls: { ...controls, rate } };
}

export function withBuffer(controls: Controls, value: number, unit: string): Changed {
  const buffer = { text: `${value}${unit}`, value, unit };
  return { changes: [{ set: `link.buffer=${buffer.text}` }], controls: { ...controls, buffer } };
}

export function withQueue(controls: Controls, queue: string): Changed {
  return { changes: [{ set: `link.queue=${queue}` }], controls: { ...controls, queue } };
}

export function withCount(controls: Controls, group: GroupControls, count: number): Changed {
  return withKey(controls, { ...group, count }, `count=${count}`);
}

export function withController(controls: Controls, group: GroupControls, controller: string): Changed {
  return withKey(controls, { ...group, controller }, `cca=${controller}`);
}

/** Another round trip, with a jitter of this share of it, which each flow draws. */
export function withRoundTrip(
  controls: Controls,
  group: GroupControls,
  { text, value }: Quantity,
  share: number,
): Changed {
  const jitter = share > 0 ? timeOf(value * share) : null;
  const law = jitter && `{ value = "${text}", jitter = { uniform = ["0s", "${jitter.text}"] } }`;
  return withKey(controls, { ...group, rtt: { text, value, jitter } }, `rtt=${law ?? text}`);
}

/** Another rate of a group's background traffic. */
export function withLoad(controls: Controls, group: GroupControls, load: Load): Changed {
  return withKey(controls, { ...group, load }, `workload=${workloadOf(load)}`);
}

/** Background traffic as a group of its own: the one that there was before, or a new one. */
export function withBackground(
  controls: Controls,
  load: Load,
  before: GroupControls | null,
  path: string | null,
): Changed {
  const own = path === null ? "" : `path = [${JSON.stringify(path)}]\n`;
  const text = `[[flows]]\nname = "background"\nworkload = ${workloadOf(load)}\n${own}`;
  const made = before ?? { ...BACKGROUND, load: { ...load, text } };
  // Without a name it is the last one.
  const key = made.key === made.name ? made.key : String(controls.groups.length);
  const lines = before?.load?.text ?? text;
  const group = { ...made, key, load: { ...load, text: lines } };
  return {
    changes: [{ add_group: lines }, { set: `flows.${key}.workload=${workloadOf(load)}` }],
    controls: { ...controls, groups: [...controls.groups, group] },
  };
}

const BACKGROUND: GroupControls = {
  key: "background",
  name: "background",
  counted: false,
  count: 1,
  controller: null,
  rtt: null,
  load: null,
};

export function withoutGroup(controls: Controls, group: GroupControls): Changed {
  const groups = controls.groups.filter(({ key }) => key !== group.key);
  return { changes: [{ remove: `flows.${group.key}` }], controls: { ...controls, groups } };
}

function workloadOf({ kind, rate_bps }: Load): string {
  return `{ ${kind} = { rate = "${rateText(rate_bps)}" } }`;
}

function withKey(controls: Controls, group: GroupControls, change: string): Changed {
  const groups = controls.groups.map((it) => (it.key === group.key ? group : it));
  return { changes: [{ set: `flows.${group.key}.${change}` }], controls: { ...controls, groups } };
}
