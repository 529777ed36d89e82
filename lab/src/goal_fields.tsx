/** Fields for the goals of the link, which the charts of the trade-off shade. */

import { useState } from "preact/hooks";
import type { Change, Goal } from "./engine/protocol.ts";
import type { Model } from "./model.ts";
import { numberOf } from "./number_field.ts";
import { METRICS } from "./tradeoff.ts";

/** Goals with a field: metric of the charts, key of the scenario, and the unit of the field. */
export const FIELDS = [
  { metric: METRICS[0], key: "utilization", sign: ">=", label: "utilization at least", unit: "%" },
  { metric: METRICS[1], key: "loss_rate", sign: "<=", label: "loss rate at most", unit: "%" },
  { metric: METRICS[2], key: "queue_delay_p99", sign: "<=", label: "99 % of delays at most", unit: "ms" },
] as const;

type Field = (typeof FIELDS)[number];

/** Number of a goal in the unit of its field; empty if the scenario has no such goal. */
export function shownBound({ metric }: Field, goals: readonly Goal[]): string {
  const goal = goals.find((it) => it.group === null && it.metric === metric.name);
  return goal ? `${Number((goal.bound * metric.scale).toPrecision(6))}` : "";
}

/** Why a field refuses a text; null if it takes the text. */
export function goalRefusal({ key, unit }: Field, text: string): string | null {
  if (text.trim() === "") return null;
  const value = numberOf(text, false);
  const isPossible = value !== null && (unit !== "%" || value <= 100);
  const allowed = unit === "%" ? "a number from 0 to 100 such as 2.5" : "a number such as 2.5";
  return isPossible ? null : `goal.${key}: expected ${allowed}, found \`${text}\``;
}

/** Change that sets a goal, or removes it if the text is empty; null if there is nothing to change. */
export function goalChange(field: Field, text: string, goals: readonly Goal[]): Change | null {
  const shown = shownBound(field, goals);
  const typed = text.trim();
  if (typed === shown) return null;
  if (typed === "") return { remove: `goal.${field.key}` };
  if (goalRefusal(field, typed) !== null) return null;
  const value = numberOf(typed, false);
  return { set: `goal.${field.key}=${field.sign} ${value}${field.unit}` };
}

export function GoalFields({ model }: { model: Model }): preact.JSX.Element {
  const goals = model.resolved?.goals ?? [];
  return (
    <fieldset class="goals" disabled={!model.isChangeable}>
      <legend>Goals</legend>
      {FIELDS.map((field) => (
        <GoalField model={model} field={field} goals={goals} key={field.key} />
      ))}
    </fieldset>
  );
}

function GoalField(props: { model: Model; field: Field; goals: readonly Goal[] }): preact.JSX.Element {
  const { model, field, goals } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const take = (text: string): void => {
    setTyped(null);
    model.refuse(goalRefusal(field, text));
    const change = goalChange(field, text, goals);
    const { controls } = model;
    if (change && controls) model.change({ changes: [change], controls });
  };
  return (
    <label>
      {field.label}{" "}
      <input
        class="number"
        type="text"
        inputMode="decimal"
        value={typed ?? shownBound(field, goals)}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => take(event.currentTarget.value)}
      />{" "}
      {field.unit}
    </label>
  );
}
