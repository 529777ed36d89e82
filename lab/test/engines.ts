/** Where the engines are that tests run: `make lab` builds them, or FOREBAY_ENGINES names them. */

import { existsSync, readFileSync } from "node:fs";
import { Instance } from "../src/engine/instance.ts";

const FILE = process.env.FOREBAY_ENGINES ?? new URL("../../out/lab/forebay.wasm", import.meta.url).pathname;

/** Without them there is nothing to run. */
export const HAS_ENGINES = existsSync(FILE);

/** A new instance of the engines. */
export function engines(): Instance {
  return new Instance(new WebAssembly.Module(readFileSync(FILE)));
}
