/** Links that pause or are paused, with their present state: below the picture of the target link. */

import type { Picture } from "./engine/figures.ts";
import { plain } from "./flow_names.ts";
import type { Model } from "./model.ts";
import { share } from "./numbers.ts";
import { countedSince } from "./readouts.ts";
import { Term } from "./terms.tsx";

/** Largest number of links in the list. */
const MOST_LINKS = 8;

/** State of a link in the list. */
interface PausedLink {
  name: string;
  isPaused: boolean;
  /** Number of senders that the link pauses now. */
  senders: number;
  /**
   * Shares of the time since the end of the warm-up, or since the start before that, in which the link was paused
   * and in which it paused a sender.
   */
  pausedShare: number;
  pausingShare: number;
}

/**
 * Links that take part in pauses, in the order of the scenario; of many links those with pauses so far, and of many
 * such links those with the longest ones.
 */
export function pausedLinks(
  names: readonly string[],
  { links, timeS }: Pick<Picture, "links" | "timeS">,
  warmupS: number,
): PausedLink[] {
  const spanS = timeS - countedSince(timeS, warmupS);
  const shareOf = (seconds: number): number => (spanS > 0 ? Math.min(1, seconds / spanS) : 0);
  const all = links.flatMap(({ pauses }, at) => {
    if (!pauses) return [];
    const { isPaused, pausedSenders, pausedS, pausingS } = pauses;
    const shares = { pausedShare: shareOf(pausedS), pausingShare: shareOf(pausingS) };
    return [{ name: names[at] ?? "", isPaused, senders: pausedSenders, ...shares }];
  });
  if (all.length <= MOST_LINKS) return all;
  const longest = all
    .filter(({ pausedShare, pausingShare }) => pausedShare + pausingShare > 0)
    .sort((one, other) => other.pausedShare + other.pausingShare - one.pausedShare - one.pausingShare)
    .slice(0, MOST_LINKS);
  return all.filter((link) => longest.includes(link));
}

/** Says what a link does now. */
export function pauseText({ isPaused, senders }: Pick<PausedLink, "isPaused" | "senders">): string {
  const pausing = senders > 0 ? `pauses ${senders} sender${senders === 1 ? "" : "s"}` : "";
  return [isPaused ? "paused" : "", pausing].filter(Boolean).join(", ") || "sends";
}

export function PausesView({ model }: { model: Model }): preact.JSX.Element | null {
  const { picture, resolved } = model;
  if (!picture || !resolved) return null;
  if (picture.links.every(({ pauses }) => pauses === null)) return null;
  const names = resolved.links.map(({ name }) => name);
  const links = pausedLinks(names, picture, resolved.warmup_s);
  return (
    <section class="pauses" aria-label="Pauses">
      <table>
        <thead>
          <tr>
            <th>
              <Term name="pause">Pauses</Term>
            </th>
            <th>now</th>
            <th>paused</th>
            <th>pauses senders</th>
          </tr>
        </thead>
        <tbody>
          {links.map((link) => (
            <tr class={link.isPaused ? "paused" : ""} key={link.name}>
              <th>
                <span class="sign" aria-hidden="true">
                  {link.isPaused ? "❚❚" : "▶"}
                </span>{" "}
                {plain(link.name)}
              </th>
              <td class="state">{pauseText(link)}</td>
              <td>
                <Bar part={link.pausedShare} />
              </td>
              <td>
                <Bar part={link.pausingShare} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {links.length === 0 && <p class="unit">No link has been paused yet.</p>}
    </section>
  );
}

/** Share of the time, as a bar and a number. */
function Bar({ part }: { part: number }): preact.JSX.Element {
  return (
    <>
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${100 * part}%` }} />
      </span>{" "}
      {share(part)}
    </>
  );
}
