/** Numbers that a visitor types into a field, as people write them in different countries. */

import { UNITS } from "./buffer_scale.ts";

/** Digits in groups of three, with a space, an apostrophe or an underscore between them. */
const GROUPED = /^\d{1,3}(?:[\s'’_]\d{3})+(?:[.,]\d+)?$/;
/** Digits in groups of three with commas. One group may also be the decimals of a number, as in Germany. */
const COMMAS = /^[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/;
/** Digits in groups of three with points, whose meaning is certain: several groups, or decimals after a comma. */
const POINTS = /^[1-9]\d{0,2}(?:\.\d{3})+(?:\.\d{3}|,\d+)$/;
const PLAIN = /^(?:\d+[.,]?\d*|[.,]\d+)(?:e[+-]?\d+)?$/i;

/**
 * Returns the number that a text means; null if it is none, is negative, or has two meanings. `1,000` is a
 * thousand if the field has whole numbers. In other fields it could also be one.
 */
export function numberOf(text: string, isWhole: boolean): number | null {
  const typed = text.trim();
  const isSure = isWhole || (typed.match(/,/g)?.length ?? 0) > 1 || typed.includes(".");
  let plain: string;
  if (COMMAS.test(typed)) {
    if (!isSure) return null;
    plain = typed.replaceAll(",", "");
  } else if (POINTS.test(typed)) plain = typed.replaceAll(".", "").replace(",", ".");
  else if (GROUPED.test(typed)) plain = typed.replace(/[\s'’_]/g, "").replace(",", ".");
  else if (PLAIN.test(typed)) plain = typed.replace(",", ".");
  else return null;
  const value = Number(plain);
  return Number.isFinite(value) ? value : null;
}

/** Size of a buffer. */
export interface Size {
  value: number;
  unit: string;
}

/** Returns the size that a text means, such as `100`, `1.5 BDP` or `20ms`; null if it is none. */
export function sizeOf(text: string, unit: string): Size | null {
  const [, number = "", name = ""] = /^(.*?)\s*(\p{L}*)$/su.exec(text.trim()) ?? [];
  const written = name.toLowerCase();
  const named = UNITS.find(([suffix, title]) => [suffix, title].some((it) => it.toLowerCase() === written));
  if (name !== "" && !named) return null;
  const own = named?.[0] ?? unit;
  const value = numberOf(number, own === "p");
  return value !== null && value > 0 ? { value, unit: own } : null;
}
