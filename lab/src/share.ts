/**
 * Encoding of a scenario in the fragment of the page's address. Browsers do not send the fragment to a
 * server.
 */

/** Largest number of characters of a fragment, and of bytes of the scenario in it. */
const MAX_FRAGMENT = 200_000;
const MAX_TEXT = 1_000_000;

/** Content of a link. */
export interface Shared {
  /** Text of the scenario. */
  text: string;
  /** Id of the open experiment. */
  experiment?: string;
  /** Whether the link is for a class, which collects guesses. */
  classroom?: boolean;
}

/** Returns the fragment, without `#`. A scenario that is too long is an error of one line. */
export async function fragmentOf(shared: Shared): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(shared));
  if (bytes.length > MAX_TEXT)
    throw new Error(`the scenario has ${bytes.length} bytes; a link holds at most ${MAX_TEXT}`);
  const packed = await collected(stream(bytes).pipeThrough(new CompressionStream("deflate-raw")), MAX_TEXT);
  const fragment = `s=${base64Of(packed).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  if (fragment.length > MAX_FRAGMENT)
    throw new Error(`the link would be ${fragment.length} characters long; allowed: ${MAX_FRAGMENT}`);
  return fragment;
}

/** Encodes bytes in Base64. */
export function base64Of(bytes: Uint8Array): string {
  let characters = "";
  for (const byte of bytes) characters += String.fromCharCode(byte);
  return btoa(characters);
}

/** Decodes a fragment; returns null if it is empty. An invalid fragment is an error of one line. */
export async function sharedOf(fragment: string): Promise<Shared | null> {
  const text = fragment.replace(/^#/, "");
  if (text === "") return null;
  if (text.length > MAX_FRAGMENT)
    throw new Error(`the link is ${text.length} characters long; allowed: ${MAX_FRAGMENT}`);
  if (!text.startsWith("s=")) throw new Error("the link holds no scenario");
  let json: string;
  try {
    const characters = atob(text.slice(2).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(characters, (character) => character.charCodeAt(0));
    const unpacked = await collected(
      stream(bytes).pipeThrough(new DecompressionStream("deflate-raw")),
      MAX_TEXT,
    );
    json = new TextDecoder("utf-8", { fatal: true }).decode(unpacked);
  } catch (error) {
    if (error instanceof TooLongError) throw new Error(error.message);
    throw new Error("the link is damaged: it is incomplete or was changed");
  }
  const found: unknown = parsed(json);
  if (!isShared(found)) throw new Error("the link holds no scenario");
  return found;
}

class TooLongError extends Error {}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

function isShared(found: unknown): found is Shared {
  if (typeof found !== "object" || found === null) return false;
  const { text, experiment, classroom } = found as Record<string, unknown>;
  return (
    typeof text === "string" &&
    (experiment === undefined || typeof experiment === "string") &&
    (classroom === undefined || typeof classroom === "boolean")
  );
}

function stream(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}

/** Reads a stream, up to a limit. */
async function collected(from: ReadableStream<Uint8Array>, most: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = from.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > most) {
      await reader.cancel();
      throw new TooLongError(`the link unpacks to more than ${most} bytes`);
    }
    parts.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
