/** Sketch of an experiment: a row for each situation, with senders, a queue and a link. */

import type { SketchRow } from "./experiments/types.ts";
import { colorOf } from "./palette.ts";

const [WIDTH, ROW] = [200, 34];
const [LEFT, RIGHT] = [44, 168];

export function Sketch({
  rows,
  isDark,
}: {
  rows: readonly SketchRow[];
  isDark: boolean;
}): preact.JSX.Element {
  return (
    <svg class="sketch" viewBox={`0 0 ${WIDTH} ${rows.length * ROW}`} aria-hidden="true">
      {rows.map((row, at) => (
        <g transform={`translate(0 ${at * ROW})`} key={at}>
          <Row row={row} isDark={isDark} />
        </g>
      ))}
    </svg>
  );
}

function Row({ row, isDark }: { row: SketchRow; isDark: boolean }): preact.JSX.Element {
  const { flows, buffer, fill, has = [] } = row;
  const senders = Array.from({ length: Math.min(flows, 8) }, (_, flow) => flow);
  const left = RIGHT - buffer * (RIGHT - LEFT);
  const places = Math.max(3, Math.round(buffer * 14));
  const each = (RIGHT - left) / places;
  const full = Math.round(fill * places);
  const lanes = has.includes("lanes") ? 3 : 1;
  const packets = Array.from({ length: lanes }, (_, lane) =>
    // Of the lanes, the last one belongs to a flow that hardly waits.
    Array.from({ length: lane === 2 ? 1 : full }, (_, at) => ({ lane, at })),
  ).flat();
  const high = 16 / lanes;
  return (
    <>
      {senders.map((flow) => (
        <circle
          cx={8 + (flow % 2) * 11}
          cy={17 + (Math.floor(flow / 2) - (Math.ceil(senders.length / 2) - 1) / 2) * 8}
          r={3.5}
          fill={colorOf(flow, isDark)}
          key={flow}
        />
      ))}
      <path class="wire" d={`M27 17H${left - 3}M${RIGHT} 17H${WIDTH - 2}`} />
      <path class="box" d={`M${left} 8H${RIGHT}V26H${left}`} />
      {packets.map(({ lane, at }) => (
        <rect
          x={RIGHT - (at + 1) * each + 0.7}
          y={9 + lane * high + 0.5}
          width={Math.max(1, each - 1.4)}
          height={high - 1}
          fill={colorOf(colorAt({ lane, at, lanes, flows, isBursty: has.includes("bursts") }), isDark)}
          key={`${lane} ${at}`}
        />
      ))}
      {has.includes("losses") && <path class="cross" d={`M${left - 7} 25l6 6m0 -6l-6 6`} />}
      {has.includes("pauses") && <path class="pause" d={`M${left - 9} 12v10m5 -10v10`} />}
      {has.includes("marks") && <rect class="marked" x={RIGHT + 10} y={13} width={8} height={8} />}
    </>
  );
}

/** Flow of a packet in the sketch: alternating ones, or groups of one flow if packets come in bursts. */
function colorAt(of: { lane: number; at: number; lanes: number; flows: number; isBursty: boolean }): number {
  const { lane, at, lanes, flows, isBursty } = of;
  if (lanes > 1) return lane === 2 ? Math.min(flows, 8) - 1 : lane;
  return (isBursty ? Math.floor(at / 3) : (at * 5) % 7) % Math.min(flows, 8);
}
