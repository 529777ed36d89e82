/** Plot of a share for each run: the guess, the guesses of a class, and the result in one picture. */

import type { Run } from "./experiments/types.ts";

const [WIDTH, HEIGHT] = [360, 210];
const [LEFT, RIGHT, TOP, BOTTOM] = [58, 350, 12, 160];

interface Props {
  runs: readonly Run[];
  axis: string;
  guess: readonly number[];
  /** Measured shares, if the runs are complete. */
  result: readonly number[] | null;
  others?: readonly (readonly number[])[];
  /** Sets the share of a run. */
  onDraw?: (run: number, share: number) => void;
}

export function CurvePlot({ runs, axis, guess, result, others = [], onDraw }: Props): preact.JSX.Element {
  const x = (at: number): number => LEFT + ((at + 0.5) / runs.length) * (RIGHT - LEFT);
  const y = (share: number): number => BOTTOM - share * (BOTTOM - TOP);
  const points = (shares: readonly number[]): string =>
    shares.map((share, at) => `${x(at).toFixed(1)},${y(share).toFixed(1)}`).join(" ");
  const draw = (event: PointerEvent & { currentTarget: SVGSVGElement }): void => {
    if (!onDraw || event.buttons === 0) return;
    const box = event.currentTarget.getBoundingClientRect();
    const [left, top] = [
      ((event.clientX - box.left) / box.width) * WIDTH,
      ((event.clientY - box.top) / box.height) * HEIGHT,
    ];
    const at = Math.floor(((left - LEFT) / (RIGHT - LEFT)) * runs.length);
    const share = Math.min(1, Math.max(0, (BOTTOM - top) / (BOTTOM - TOP)));
    onDraw(Math.min(runs.length - 1, Math.max(0, at)), Math.round(100 * share) / 100);
  };
  const label = runs.map(({ name }, at) => {
    const measured = result ? `, measured ${Math.round(100 * (result[at] ?? 0))} %` : "";
    return `${name}: guess ${Math.round(100 * (guess[at] ?? 0))} %${measured}`;
  });
  return (
    <svg
      class={onDraw ? "draw" : "draw fixed"}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`${axis}. ${label.join("; ")}.`}
      onPointerDown={draw}
      onPointerMove={draw}
    >
      {[0, 0.25, 0.5, 0.75, 1].map((share) => (
        <g key={share}>
          <line class="grid" x1={LEFT} x2={RIGHT} y1={y(share)} y2={y(share)} />
          <text x={LEFT - 5} y={y(share) + 4} text-anchor="end">
            {100 * share} %
          </text>
        </g>
      ))}
      <text class="axis" transform={`translate(13 ${(TOP + BOTTOM) / 2}) rotate(-90)`} text-anchor="middle">
        {axis}
      </text>
      {runs.map(({ name }, at) => (
        <text x={x(at)} y={BOTTOM + 16} text-anchor="middle" key={name}>
          {name.split(", ").map((part, row) => (
            <tspan x={x(at)} dy={row === 0 ? 0 : 14} key={part}>
              {part}
            </tspan>
          ))}
        </text>
      ))}
      {others.map((shares, at) => (
        <polyline class="other" points={points(shares)} key={at} />
      ))}
      {result?.map((share, at) => (
        <line
          class="gap"
          x1={x(at)}
          x2={x(at)}
          y1={y(share)}
          y2={y(guess[at] ?? share)}
          key={runs[at]?.name}
        />
      ))}
      <polyline class="guess" points={points(guess)} />
      {guess.map((share, at) => (
        <circle class="guess" cx={x(at)} cy={y(share)} r={6} key={runs[at]?.name} />
      ))}
      {result && <polyline class="result" points={points(result)} />}
      {result?.map((share, at) => (
        <circle class="result" cx={x(at)} cy={y(share)} r={5} key={runs[at]?.name} />
      ))}
    </svg>
  );
}
