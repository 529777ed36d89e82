/** The forms of round trips and of background traffic that controls can read and write; others stay in the text. */

import { magnitude } from "./numbers.ts";

/** A string without its quotes; undefined for what is no string. */
export function bare(value: string | undefined): string | undefined {
  const found = value === undefined ? null : /^(["'])([^"']*)\1$/.exec(value.trim());
  return found?.[2];
}

export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** A round trip, and the widest that is added to it, drawn anew for each flow; both as they are written. */
export interface RoundTrip {
  value: string;
  jitter: string | null;
}

const STRING = `"([^"]*)"`;
const JITTERED = new RegExp(
  `^\\{\\s*value\\s*=\\s*${STRING}\\s*,\\s*jitter\\s*=\\s*\\{\\s*uniform\\s*=\\s*\\[\\s*"0\\w*"\\s*,\\s*${STRING}\\s*,?\\s*\\]\\s*\\}\\s*\\}$`,
);

/** A round trip as the text has it; null where it is of another form. */
export function roundTripOf(written: string | undefined): RoundTrip | null {
  const value = bare(written);
  if (value !== undefined) return { value, jitter: null };
  const [, base, jitter] = JITTERED.exec(written?.trim() ?? "") ?? [];
  return base !== undefined && jitter !== undefined ? { value: base, jitter } : null;
}

/** The same as it is to be written. */
export function roundTrip({ value, jitter }: RoundTrip): string {
  if (jitter === null) return quoted(value);
  return `{ value = ${quoted(value)}, jitter = { uniform = ["0s", ${quoted(jitter)}] } }`;
}

/** Unresponsive packets as a Poisson process or at equal distances: `kind`, and the rate of the whole group. */
export interface Background {
  kind: string;
  bps: number;
}

const BACKGROUND = new RegExp(`^\\{\\s*(poisson|cbr)\\s*=\\s*\\{\\s*rate\\s*=\\s*${STRING}\\s*\\}\\s*\\}$`);

/** Background traffic as the text has it; null where a workload is something else. */
export function backgroundOf(workload: string | undefined): Background | null {
  const [, kind, text] = BACKGROUND.exec(workload?.trim() ?? "") ?? [];
  const bps = magnitude(text ?? "");
  return kind && bps > 0 ? { kind, bps } : null;
}

/** The same as it is to be written. */
export function background({ kind, bps }: Background): string {
  return `{ ${kind} = { rate = ${quoted(rateText(bps))} } }`;
}

/** A rate as scenarios write it. */
export function rateText(bps: number): string {
  const [scale, unit] = bps >= 1e9 ? [1e9, "Gbps"] : bps >= 1e6 ? [1e6, "Mbps"] : [1e3, "kbps"];
  return `${Number((bps / scale).toPrecision(6))}${unit}`;
}
