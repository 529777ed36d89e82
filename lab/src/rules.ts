/**
 * Closed-form rules: their buffers for a scenario, and the checks of their assumptions, as in `forebay
 * recommend`.
 */

/** Check of one assumption of a rule against the scenario. */
export interface Check {
  assumption: string;
  holds: "yes" | "partly" | "no" | "unknown";
  /** Share of the flows or of the load for which the assumption holds. */
  share: number | null;
  why: string;
}

/** Result of a rule, from crates/browser/src/answer.rs. */
export interface Rule {
  name: string;
  /** Whether the closed-form engine chooses this rule's model. */
  is_default: boolean;
  /** Recommended buffer in packets; null if the rule gives none. */
  packets: number | null;
  /** Reason why the rule gives no result. */
  refusal: string | null;
  checks: Check[];
}

/** Whether the rule gives a result and no check fails. */
export function applies(rule: Rule): boolean {
  return rule.refusal === null && !rule.checks.some(({ holds }) => holds === "no");
}

/**
 * Explanation of the verdict: failed checks, else partly met and unknown ones, else a sentence that all
 * assumptions hold.
 */
export function why(rule: Rule): string {
  const [failing, partial, unknown] = [
    reasons(rule, "no"),
    reasons(rule, "partly"),
    reasons(rule, "unknown"),
  ];
  if (failing.length > 0) return [...failing, ...partial].join("; ");
  if (rule.refusal !== null) return [rule.refusal, ...partial].join("; ");
  return [...partial, ...unknown].join("; ") || "all its assumptions hold";
}

function reasons(rule: Rule, holds: Check["holds"]): string[] {
  const found = rule.checks.filter((check) => check.holds === holds);
  return [...new Set(found.map((check) => check.why))];
}
