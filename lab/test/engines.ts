/** Engines for tests: the file that `make lab` builds, or the one that FOREBAY_ENGINES names. */

import { existsSync, readFileSync } from "node:fs";
import { Instance } from "../src/engine/instance.ts";

const FILE = process.env.FOREBAY_ENGINES ?? new URL("../../out/lab/forebay.wasm", import.meta.url).pathname;

/** Whether the file exists. Without it, tests with engines are skipped. */
export const HAS_ENGINES = existsSync(FILE);

/** Makes a new instance of the engines. */
export function engines(): Instance {
  return new Instance(new WebAssembly.Module(readFileSync(FILE)));
}
