/** Tables of the trade-off: three engines at the current buffer, and every rule with its verdict. */

import { uncertain } from "./numbers.ts";
import { applies, type Rule, why } from "./rules.ts";
import { estimate, isOutsideDomain, type Point, TABLE_METRICS, type Tradeoff } from "./tradeoff.ts";

/** Results of each engine at a buffer: the one under the pointer, else the current one. */
export function Engines(props: {
  found: Tradeoff;
  own: number;
  /** Whether the current buffer has no room for a packet. The smallest buffer of the charts has one. */
  isOwnEmpty: boolean;
  looked: number | null;
}): preact.JSX.Element {
  const { found, own, isOwnEmpty, looked } = props;
  const shown = looked ?? own;
  const fits = found.isClosedOutside ? ", does not apply" : "";
  const isOutside = found.fluid.some((point) => point.packets === shown && isOutsideDomain(point));
  const lines: readonly (readonly [string, Point[]])[] = [
    [packetLabel(found.points.find(({ packets }) => packets === shown)), found.points],
    [`fluid model${isOutside ? ", outside of its domain" : ""}`, found.fluid],
    [`closed form${found.model && ` (${found.model}${fits})`}`, found.closed],
  ];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keys.
    <section class="wide engines" tabIndex={0} aria-label="Engines">
      <table>
        <caption>
          {looked !== null && looked !== own
            ? "At the chosen buffer"
            : isOwnEmpty
              ? "At the smallest buffer, because the current one has no room"
              : "At the current buffer"}
          , {shown} {shown === 1 ? "packet" : "packets"}
        </caption>
        <thead>
          <tr>
            <th scope="col">engine</th>
            {TABLE_METRICS.map(({ name, title, unit }) => (
              <th scope="col" key={name}>
                {title} <span class="unit">{unit}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(([name, line]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {TABLE_METRICS.map((metric) => (
                <td key={metric.name}>{cell(line, shown, metric)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Name of the packet-level model with the number of its runs, in contrast to the one run that is played. */
function packetLabel(point: Point | undefined): string {
  const count = point?.runs.length ?? 0;
  if (count === 0) return "packet-level model";
  return count === 1
    ? "packet-level model, 1 run"
    : `packet-level model, mean of ${count} runs ± 95 % interval`;
}

function cell(line: readonly Point[], own: number, metric: (typeof TABLE_METRICS)[number]): string {
  const point = line.find(({ packets }) => packets === own);
  const estimated = point && estimate(point, metric.name);
  if (!estimated) return "–";
  const { mean, half } = estimated;
  return uncertain(mean * metric.scale, half === null ? null : half * metric.scale);
}

/** All rules: those that apply first, then by buffer. */
export function Rules({ rules }: { rules: readonly Rule[] }): preact.JSX.Element {
  const estimated = rules.filter(({ packets }) => packets !== null);
  const order = (rule: Rule): number => (applies(rule) ? 0 : 1e12) + (rule.packets ?? 0);
  const sorted = [...estimated].sort((one, other) => order(one) - order(other));
  const fitting = estimated.filter(applies).length;
  return (
    <details class="rules">
      <summary>
        {estimated.length} rules with a buffer, {fitting} of which {fitting === 1 ? "applies" : "apply"} here
      </summary>
      <div class="wide">
        <table>
          <thead>
            <tr>
              <th scope="col">rule</th>
              <th scope="col">packets</th>
              <th scope="col">applies?</th>
              <th scope="col">why</th>
            </tr>
          </thead>
          <tbody>
            {sorted.map((rule) => (
              <tr class={applies(rule) ? "" : "fails"} key={rule.name}>
                <th scope="row">{rule.name}</th>
                <td>{Math.round(rule.packets ?? 0)}</td>
                <td>{applies(rule) ? "yes" : "no"}</td>
                <td class="why">{why(rule)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
