/** The story of a lost or marked packet in words: a name and a sentence each. */

import { type Course, SHOWN_ROUNDS, type Signal } from "./engine/replay.ts";
import type { Story } from "./loss_story.ts";
import { amount, digits, time } from "./numbers.ts";

/** Whose packet it is. */
export interface Owner {
  /** The group's name. */
  group: string;
  /** Number of the flow in its group, from 1; none where the group has one. */
  number: number | null;
  responsive: boolean;
  /** How the group finds losses: the scenario's word. */
  recovery: string;
}

/** A moment of the run to a tenth of a millisecond. */
export function moment(seconds: number): string {
  return `${seconds.toFixed(4)}\u202fs`;
}

/** Who it was, in a few words. */
export function nameOf({ group, number }: Owner): string {
  return number === null ? group : `${group} ${number}`;
}

/** What happened, in a sentence. */
export function headline(signal: Signal, owner: Owner): string {
  const who =
    owner.number === null
      ? `The flow of group “${owner.group}”`
      : `Flow ${owner.number} of group “${owner.group}”`;
  const what = signal.acknowledges ? "an acknowledgment, of all before packet" : "packet";
  const did = signal.kind === "marked" ? "had marked" : "lost";
  const which = owner.responsive ? `${what} ${amount(signal.packet)}` : "a packet";
  return `${owner.responsive ? who : `Group “${owner.group}”`} ${did} ${which} at ${moment(signal.timeS)}`;
}

/** What is said, by names of rows. `isLater` where more has happened than is shown. */
export function tellingOf(
  signal: Signal,
  owner: Owner,
  { story, course, isLater }: { story: Story; course: Course; isLater: boolean },
): [string, string][] {
  const rows: [string, string][] = [["queue then", `${amount(course.waitingPackets)} packets waited`]];
  if (!owner.responsive) {
    rows.push(["what follows", "nobody acknowledges these packets: nobody notices, and nobody slows down"]);
    return rows;
  }
  rows.push(["window then", `${digits(story.windowPackets, 4)} packets`]);
  if (signal.acknowledges) {
    rows.push([
      "what follows",
      "the next acknowledgment says the same and more: nothing is sent again for it",
    ]);
    return rows;
  }
  const after = (at: number): string => {
    const rounds = story.rttS > 0 ? ` (${digits((at - signal.timeS) / story.rttS, 2)} round trips)` : "";
    return `after ${time(at - signal.timeS)}${rounds}`;
  };
  const last = course.hasEnded
    ? "not before the run ended"
    : `not within ${time(course.untilS - signal.timeS)}`;
  const open = isLater ? "not yet" : last;
  const { noticed } = story;
  rows.push(["noticed", noticed ? `${after(noticed.timeS)}: ${how(signal, owner, story)}` : open]);
  if (noticed) rows.push(["its window", fallen(story)]);
  if (signal.kind === "dropped") {
    const [again] = story.againS;
    rows.push([
      "sent again",
      again === undefined ? open : `back in the queue ${after(again)}${lostAgain(story)}`,
    ]);
    rows.push(["acknowledged", story.acknowledgedS === null ? open : after(story.acknowledgedS)]);
  }
  if (story.fall) rows.push(["grown back", grown(story, { after, open })]);
  return rows;
}

function how(signal: Signal, owner: Owner, story: Story): string {
  const { noticed } = story;
  switch (noticed?.how) {
    case "timeout":
      return "no acknowledgment came, and the retransmission timer expired";
    case "echo":
      return "the acknowledgment told of the mark";
    case "repair":
      return story.wasRepairing
        ? "it was repairing an earlier loss, and found this one in the same repair"
        : "a probe sent it again before anything was known to be lost";
    default: {
      const first =
        noticed && noticed.unacknowledged !== signal.packet
          ? `; the first one missing was packet ${amount(noticed.unacknowledged)}`
          : "";
      return `${EVIDENCE[owner.recovery] ?? EVIDENCE.sack}, and fast recovery began${first}`;
    }
  }
}

/** What a sender takes for a sign of loss. */
const EVIDENCE: Record<string, string> = {
  newreno: "three duplicate acknowledgments came",
  sack: "later packets had arrived (three of them, or as much)",
  pipe: "later packets had arrived (three duplicate acknowledgments)",
  fack: "packets well behind it had arrived",
  rack: "a later packet had arrived and the time for reordering had passed",
};

function fallen({ fall, noticed, ssthreshPackets, timeoutsS }: Story): string {
  if (!fall)
    return noticed?.how === "repair"
      ? "did not fall again: a repair lowers it once"
      : "did not fall: its controller does not slow down for this";
  const factor = digits(fall.toPackets / fall.fromPackets, 2);
  const into = `fell from ${digits(fall.fromPackets, 4)} to ${digits(fall.toPackets, 4)} packets (× ${factor})`;
  const slow = Number.isFinite(ssthreshPackets) && timeoutsS.length > 0;
  return slow ? `${into}; slow start up to ${digits(ssthreshPackets, 4)}` : into;
}

function lostAgain({ droppedAgainS }: Story): string {
  if (droppedAgainS.length === 0) return "";
  return droppedAgainS.length === 1 ? ", and lost again" : `, and lost again ${droppedAgainS.length} times`;
}

function grown(story: Story, say: { after: (at: number) => string; open: string }): string {
  const { grownBackS, nextS } = story;
  const next = nextS === null ? "" : `the next loss was noticed ${say.after(nextS)}`;
  if (grownBackS === null) return next ? `not before ${next}` : say.open;
  const isFirst = nextS !== null && nextS < grownBackS;
  return isFirst ? `${say.after(grownBackS)}, though ${next}` : say.after(grownBackS);
}

/** What the chart covers, in words. */
export const COVERED = `from five round trips before to ${SHOWN_ROUNDS} after, or until the window has grown back`;
