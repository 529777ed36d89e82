/** Which scenarios of the list the page can play, known before one is opened. */

import { RefusedError } from "./engine/instance.ts";

/** Answer of the engines to the request `playable`. */
interface Answer {
  playable: boolean;
  reason: { message: string } | null;
  /** Change with which the page can play the scenario. */
  shorten: { key: string; value: string } | null;
}

/** Returns why the page cannot play a scenario, with a change that helps; null if it can or if that is unknown. */
export async function refusalOf(
  ask: <T>(request: object) => Promise<T>,
  text: string,
): Promise<string | null> {
  try {
    const { playable, reason, shorten } = await ask<Answer>({ do: "playable", text });
    if (playable) return null;
    const change = shorten ? `; with ${shorten.key}=${shorten.value} it plays` : "";
    return `${reason?.message ?? "too large for a page"}${change}`;
  } catch (error) {
    // Engines without this request say at the start of a run what they refuse.
    if (error instanceof RefusedError) return null;
    throw error;
  }
}
