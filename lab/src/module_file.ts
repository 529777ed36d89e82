/** Opening of a WebAssembly module as the congestion control of a group. */

import { allowModule } from "./engine/allowed_modules.ts";
import { base64Of } from "./share.ts";

/** Largest size of a module, in bytes: `MOST_BYTES` of crates/webassembly. */
const MAX_BYTES = 2 ** 20;

/** Module that the engines have checked. */
export interface OpenedModule {
  /** Its name as a controller. */
  name: string;
  /** The value of `cca` in a scenario. */
  value: string;
}

/** Opens a file. The choice of the user is the consent to run it. A wrong file is an error of one line. */
export async function openModule(file: File, ask: <T>(request: object) => Promise<T>): Promise<OpenedModule> {
  if (file.size > MAX_BYTES)
    throw new Error(`${file.name}: found ${file.size} bytes; allowed: at most ${MAX_BYTES}`);
  const source = base64Of(new Uint8Array(await file.arrayBuffer()));
  const { name, sha256 } = await ask<{ name: string; sha256: string }>({
    ...{ do: "open", file: file.name, source },
  });
  allowModule(sha256);
  return { name, value: `{ wasm = ${JSON.stringify(file.name)}, source = "${source}" }` };
}
