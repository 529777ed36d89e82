/** Resolved scenario with a buffer of 100 packets. */

import type { Resolved } from "../src/engine/protocol.ts";

export const RESOLVED = {
  buffer: { packets: 100, bytes: 150_000, seconds: 0.1, bdp: 1 },
  bdp_packets: 100,
  most_events: 1e6,
  warmup_s: 10,
  measure_s: 60,
} as Resolved;
