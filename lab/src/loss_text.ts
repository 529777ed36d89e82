/** Text of a story: a label and a sentence for each step. */

import { SHOWN_ROUNDS, type Signal, type StateHistory } from "./engine/replay.ts";
import type { Story } from "./loss_story.ts";
import { amount, digits, time } from "./numbers.ts";

/** Flow or group that sent a packet. */
export interface Owner {
  /** Name of the group. */
  group: string;
  /** Number of the flow in its group, from 1; null if the group has one flow. */
  number: number | null;
  responsive: boolean;
  /** Loss recovery of the group, as the scenario names it. */
  recovery: string;
}

/** Queue that dropped or marked a packet. */
export interface QueueText {
  /** Name of the discipline, and its title. */
  discipline: string;
  title: string;
  /** Buffer in packets, and as the scenario writes it; empty if another key gives it. */
  bufferPackets: number;
  bufferText: string;
}

/** Formats a time of the run with a resolution of 0.1 ms. */
export function moment(seconds: number): string {
  return `${seconds.toFixed(4)}\u202fs`;
}

/** Headline of a story. */
export function headline(signal: Signal, owner: Owner): string {
  const group = `group “${owner.group}”`;
  const flow = owner.number === null ? `the flow of ${group}` : `flow ${owner.number} of ${group}`;
  const number = amount(signal.packet);
  const packet = signal.isAck ? `The acknowledgment of all packets before ${number}` : `Packet ${number}`;
  const subject = owner.responsive ? `${packet} of ${flow}` : `A packet of ${group}`;
  return `${subject} was ${signal.kind === "marked" ? "marked" : "lost"} at ${moment(signal.timeS)}`;
}

interface StoryParts {
  story: Story;
  history: StateHistory;
  isLater: boolean;
  queue: QueueText;
}

/** Contents of the queue at the signal, and the rule of its discipline. */
function queueText(signal: Signal, waiting: number, queue: QueueText): string {
  const { discipline, title, bufferPackets, bufferText } = queue;
  // Only a buffer in packets has room for a number of packets.
  const isInPackets = /^\d+p$/.test(bufferText);
  const content = isInPackets
    ? `held ${amount(waiting)} of ${amount(bufferPackets)} packets`
    : `held ${amount(waiting)} packets${bufferText && ` (buffer: ${bufferText})`}`;
  if (discipline === "droptail" && signal.kind === "dropped")
    return `${content}; drop-tail discards the packet that arrives at a full queue`;
  return title === "" ? content : `${content}; ${discipline} is “${title}”`;
}

/**
 * Rows of a story: label and sentence. `isLater` means that the replay has later events than the page shows.
 */
export function storyRows(
  signal: Signal,
  owner: Owner,
  { story, history, isLater, queue }: StoryParts,
): [string, string][] {
  const rows: [string, string][] = [["queue", queueText(signal, history.waitingPackets, queue)]];
  if (!owner.responsive) {
    rows.push([
      "effect",
      "none: these packets are not acknowledged, so the sender does not detect the loss and does not slow down",
    ]);
    return rows;
  }
  rows.push(["window", `${digits(story.windowPackets, 4)} packets`]);
  if (signal.isAck) {
    rows.push([
      "effect",
      "none: the next acknowledgment covers the same packets, so nothing is retransmitted",
    ]);
    return rows;
  }
  const after = (at: number): string => {
    const rounds = story.rttS > 0 ? ` (${digits((at - signal.timeS) / story.rttS, 2)} round trips)` : "";
    return `after ${time(at - signal.timeS)}${rounds}`;
  };
  const last = history.hasEnded
    ? "not before the run ended"
    : `not within ${time(history.untilS - signal.timeS)}`;
  const pending = isLater ? "not yet" : last;
  const { detection } = story;
  rows.push(["detected", detection ? `${after(detection.timeS)}: ${reason(signal, owner, story)}` : pending]);
  if (detection) rows.push(["window change", reductionText(story)]);
  if (signal.kind === "dropped") {
    const [retransmission] = story.retransmissionsS;
    rows.push([
      "retransmitted",
      retransmission === undefined
        ? pending
        : `arrived at the queue ${after(retransmission)}${repeatedLoss(story)}`,
    ]);
    rows.push(["acknowledged", story.acknowledgedS === null ? pending : after(story.acknowledgedS)]);
  }
  if (story.reduction) rows.push(["window restored", restorationText(story, { after, pending })]);
  return rows;
}

/** Reason why the sender detected the loss or mark. */
function reason(signal: Signal, owner: Owner, { detection, wasInRecovery }: Story): string {
  switch (detection?.method) {
    case "timeout":
      return "no acknowledgment arrived, and the retransmission timer expired";
    case "echo":
      return "the acknowledgment echoed the mark";
    case "same_recovery":
      return wasInRecovery
        ? "the sender was recovering from an earlier loss and found this one in the same recovery"
        : "a probe retransmitted the packet before any loss was known";
    default: {
      const first =
        detection && detection.sndUna !== signal.packet
          ? `; the first missing packet was ${amount(detection.sndUna)}`
          : "";
      return `${EVIDENCE[owner.recovery] ?? EVIDENCE.sack}, and fast recovery started${first}`;
    }
  }
}

/** Condition for loss detection, by the scenario's name of the loss recovery. */
const EVIDENCE: Record<string, string> = {
  newreno: "three duplicate acknowledgments arrived",
  sack: "later packets had been acknowledged (three of them, or as much data)",
  pipe: "later packets had been acknowledged (three duplicate acknowledgments)",
  fack: "packets far beyond it had been acknowledged",
  rack: "a later packet had been acknowledged, and the reordering window had passed",
};

function reductionText({ reduction, detection, ssthreshPackets, timeoutsS }: Story): string {
  if (!reduction)
    return detection?.method === "same_recovery"
      ? "no further reduction: one recovery reduces the window once"
      : "no reduction: this congestion control does not slow down here";
  const factor = digits(reduction.toPackets / reduction.fromPackets, 2);
  const change = `fell from ${digits(reduction.fromPackets, 4)} to ${digits(reduction.toPackets, 4)} packets (× ${factor})`;
  const isSlowStart = Number.isFinite(ssthreshPackets) && timeoutsS.length > 0;
  return isSlowStart ? `${change}; slow start up to ${digits(ssthreshPackets, 4)}` : change;
}

function repeatedLoss({ droppedAgainS }: Story): string {
  if (droppedAgainS.length === 0) return "";
  return droppedAgainS.length === 1
    ? ", and was lost again"
    : `, and was lost again ${droppedAgainS.length} times`;
}

function restorationText(story: Story, format: { after: (at: number) => string; pending: string }): string {
  const { restoredS, nextLossS } = story;
  const next = nextLossS === null ? "" : `the next loss was detected ${format.after(nextLossS)}`;
  if (restoredS === null) return next ? `not before ${next}` : format.pending;
  const isAfterNextLoss = nextLossS !== null && nextLossS < restoredS;
  return isAfterNextLoss ? `${format.after(restoredS)}, although ${next}` : format.after(restoredS);
}

/** Description of the period that the chart covers. */
export const CHART_SPAN = `from five round trips before to ${SHOWN_ROUNDS} after, or until the window is restored`;
