/** Modules of users that may run in this page. The engines refuse all others. */

/** Largest number of characters of a name in messages. */
const MAX_NAME = 60;

const allowed = new Set<string>();

/** Lets a module run, by the SHA-256 that the engines told. */
export function allowModule(sha256: string): void {
  allowed.add(sha256);
}

/** SHA-256 of the modules that may run. */
export function allowedModules(): string[] {
  return [...allowed];
}

/** Name of the first module in a scenario; null if there is none. */
export function moduleIn(text: string | undefined): string | null {
  // A pattern that also matched the name would take the square of the text's length.
  const end = text?.search(/\.wasm["']/) ?? -1;
  if (end < 0 || text === undefined) return null;
  const name = text.slice(Math.max(0, end - MAX_NAME), end).split(/["'/\\]/);
  return `${name.at(-1)}.wasm`;
}
