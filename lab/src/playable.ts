/** Which scenarios of the list the page can play, known before one is opened. */

import { RefusedError } from "./engine/instance.ts";
import type { Playable } from "./engine/protocol.ts";

/** Returns why the page cannot play a scenario, with a change that helps; null if it can or if that is unknown. */
export async function refusalOf(
  ask: <T>(request: object) => Promise<T>,
  text: string,
): Promise<string | null> {
  try {
    const { playable, reason, shorten } = await ask<Playable>({ do: "playable", text });
    if (playable) return null;
    const change = shorten ? `; with ${shorten.key}=${shorten.value} it plays` : "";
    return `${reason?.message ?? "too large for a page"}${change}`;
  } catch (error) {
    // If the engines refuse the request itself, the start of the run reports the reason.
    if (error instanceof RefusedError) return null;
    throw error;
  }
}
