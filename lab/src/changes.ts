/**
 * Edits that controls make: changes to the scenario's text, and the values to display until the engines apply
 * them.
 */

import type { Change, Controls, GroupControls, Load, Quantity } from "./engine/protocol.ts";
import type { OpenedModule } from "./module_file.ts";

/** Edit of a scenario: changes to its text, and the control values to display meanwhile. */
export interface Edit {
  changes: Change[];
  controls: Controls;
}

/** Formats a rate in bit/s as scenarios write it. */
export function rateText(bps: number): string {
  const [scale, unit] = bps >= 1e9 ? [1e9, "Gbps"] : bps >= 1e6 ? [1e6, "Mbps"] : [1e3, "kbps"];
  return `${Number((bps / scale).toPrecision(6))}${unit}`;
}

/** Formats a time in seconds as scenarios write it. */
export function timeOf(seconds: number): Quantity {
  return { text: `${Number((1e3 * seconds).toPrecision(6))}ms`, value: seconds };
}

export function withRate(controls: Controls, bps: number): Edit {
  const rate = { text: rateText(bps), value: bps };
  return { changes: [{ set: `link.rate=${rate.text}` }], controls: { ...controls, rate } };
}

export function withBuffer(controls: Controls, value: number, unit: string): Edit {
  const buffer = { text: `${value}${unit}`, value, unit };
  return { changes: [{ set: `link.buffer=${buffer.text}` }], controls: { ...controls, buffer } };
}

export function withQueue(controls: Controls, queue: string): Edit {
  return { changes: [{ set: `link.queue=${queue}` }], controls: { ...controls, queue, threshold: null } };
}

/** Sets the threshold of marks, in the unit that the text has. */
export function withThreshold(controls: Controls, value: number, unit: string): Edit {
  const threshold = { text: `${value}${unit}`, value, unit };
  return {
    changes: [{ set: `link.queue.threshold=${threshold.text}` }],
    controls: { ...controls, threshold },
  };
}

export function withCount(controls: Controls, group: GroupControls, count: number): Edit {
  return withKey(controls, { ...group, count }, `count=${count}`);
}

export function withCongestionControl(controls: Controls, group: GroupControls, controller: string): Edit {
  return withKey(controls, { ...group, controller }, `cca=${controller}`);
}

/** Makes a module of the user the congestion control of a group. */
export function withModule(controls: Controls, group: GroupControls, { name, value }: OpenedModule): Edit {
  return withKey(controls, { ...group, controller: name }, `cca=${value}`);
}

/** Sets the round-trip time, with a random jitter per flow of up to `share` of it. */
export function withRoundTrip(
  controls: Controls,
  group: GroupControls,
  { text, value }: Quantity,
  share: number,
): Edit {
  const jitter = share > 0 ? timeOf(value * share) : null;
  const distribution = jitter && `{ value = "${text}", jitter = { uniform = ["0s", "${jitter.text}"] } }`;
  return withKey(controls, { ...group, rtt: { text, value, jitter } }, `rtt=${distribution ?? text}`);
}

/** Sets the rate of a group's background traffic. */
export function withLoad(controls: Controls, group: GroupControls, load: Load): Edit {
  return withKey(controls, { ...group, load }, `workload=${workloadOf(load)}`);
}

/** Adds background traffic as a group: the group `before` if there was one, else a new group. */
export function withBackground(
  controls: Controls,
  load: Load,
  before: GroupControls | null,
  path: string | null,
): Edit {
  const own = path === null ? "" : `path = [${JSON.stringify(path)}]\n`;
  const text = `[[flows]]\nname = "background"\nworkload = ${workloadOf(load)}\n${own}`;
  const template = before ?? { ...BACKGROUND, load: { ...load, text } };
  // A group without a name is addressed by its position, the last one.
  const key = template.key === template.name ? template.key : String(controls.groups.length);
  const lines = before?.load?.text ?? text;
  const group = { ...template, key, load: { ...load, text: lines } };
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

export function withoutGroup(controls: Controls, group: GroupControls): Edit {
  const groups = controls.groups.filter(({ key }) => key !== group.key);
  return { changes: [{ remove: `flows.${group.key}` }], controls: { ...controls, groups } };
}

function workloadOf({ kind, rate_bps }: Load): string {
  return `{ ${kind} = { rate = "${rateText(rate_bps)}" } }`;
}

function withKey(controls: Controls, group: GroupControls, change: string): Edit {
  const groups = controls.groups.map((it) => (it.key === group.key ? group : it));
  return { changes: [{ set: `flows.${group.key}.${change}` }], controls: { ...controls, groups } };
}
