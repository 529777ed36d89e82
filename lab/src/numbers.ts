/** Number formats: three digits, a unit, and a narrow no-break space between them. */

const SPACE = "\u202f";
const PREFIXES: readonly (readonly [number, string])[] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

/** Formats a number with three significant digits, such as 0.123, 12.3, 100 or 1230. */
export function digits(value: number, most = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  // The rounded number may have one digit more before the decimal point: 99.97 is 100.
  const size = Math.abs(rounded(value, most));
  const places = Math.max(0, most - 1 - Math.floor(Math.log10(size)));
  return value.toFixed(Math.min(places, 12));
}

function rounded(value: number, most = 3): number {
  return Number(value.toPrecision(most));
}

/** Largest prefix whose scale a number reaches, once it is rounded. */
function prefixOf(value: number): readonly [number, string] {
  return PREFIXES.find(([least]) => Math.abs(rounded(value)) >= least) ?? [1, ""];
}

/** Share of a value below which its uncertainty is not shown. */
const LEAST_UNCERTAINTY = 1e-3;

/**
 * Formats a value with the half width of its interval, which has at most two significant digits: 97.0 ± 0.80.
 * A half width below a thousandth of the value is left out.
 */
export function uncertain(value: number, half: number | null): string {
  const text = digits(value);
  if (half === null || !(half >= LEAST_UNCERTAINTY * Math.abs(value)) || half === 0) return text;
  return `${text} ± ${digits(Number(half.toPrecision(2)), 2)}`;
}

/** Formats a rate in bit/s. */
export function rate(bps: number): string {
  if (!Number.isFinite(bps)) return "–";
  const [scale, prefix] = prefixOf(bps);
  return `${digits(bps / scale)}${SPACE}${prefix}b/s`;
}

/** Formats a time in seconds. */
export function time(seconds: number): string {
  if (!Number.isFinite(seconds)) return "–";
  const size = Math.abs(rounded(seconds));
  if (size >= 1 || size === 0) return `${digits(seconds)}${SPACE}s`;
  if (size >= 1e-3) return `${digits(seconds * 1e3)}${SPACE}ms`;
  return `${digits(seconds * 1e6)}${SPACE}µs`;
}

/** Formats a share in percent. */
export function share(value: number): string {
  return Number.isFinite(value) ? `${digits(value * 100)}${SPACE}%` : "–";
}

/** Formats a difference between two shares in percentage points, with the one decimal that single runs resolve. */
export function difference(points: number): string {
  const text = points.toFixed(1);
  return Number(text) === 0 ? "no difference" : text;
}

/** Formats a count, such as 12,345. */
export function amount(value: number): string {
  return Number.isFinite(value) ? Math.round(value).toLocaleString("en-US") : "–";
}

/** Formats a count in short form, such as 1.2 M. */
export function short(value: number): string {
  const [scale, prefix] = prefixOf(value);
  return prefix === "" ? amount(value) : `${digits(value / scale)}${SPACE}${prefix}`;
}
