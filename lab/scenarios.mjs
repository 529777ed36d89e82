/** Scenarios of the page: the shipped ones, with the files beside them written into their text. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** Steps of a rate in a line. */
const STEPS_PER_LINE = 8;

/**
 * Reads all scenarios of a folder, in the order of their names.
 * @param {string} folder
 * @returns {Promise<{ name: string, text: string }[]>}
 */
export async function scenarios(folder) {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".toml")).sort();
  const found = [];
  for (const name of names) {
    const text = await readFile(join(folder, name), "utf8");
    found.push({ name: name.replace(/\.toml$/, ""), text: await withSteps(text, folder) });
  }
  return found;
}

/**
 * Replaces the name of a file with rates by its steps, because a page reads no files.
 * @param {string} text
 * @param {string} folder
 */
async function withSteps(text, folder) {
  const found = /\bfile(\s*)=(\s*)"([^"]+)"/.exec(text);
  if (!found?.[3]) return text;
  const [head = "", ...rows] = (await readFile(join(folder, found[3]), "utf8")).trim().split("\n");
  const unit = /^time_s,rate_(\w+)$/.exec(head.trim())?.[1];
  if (!unit) throw new Error(`${found[3]}: found the header ${head}; expected time_s,rate_kbps`);
  const steps = rows.map((row) => {
    const [time, rate] = row.trim().split(",");
    return `["${time}s", "${rate}${unit}"]`;
  });
  /** @type {string[]} */
  const lines = [];
  for (let at = 0; at < steps.length; at += STEPS_PER_LINE) {
    lines.push(`    ${steps.slice(at, at + STEPS_PER_LINE).join(", ")},`);
  }
  return text.replace(found[0], () => `steps = [\n${lines.join("\n")}\n]`);
}
