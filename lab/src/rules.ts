/** What the closed forms say of a scenario, and whether what each assumes holds there: as `forebay recommend` does. */

/** One assumption, held against the scenario. */
export interface Check {
  assumption: string;
  holds: "yes" | "partly" | "no" | "unknown";
  /** Of the flows, or of the load, for which it holds. */
  share: number | null;
  why: string;
}

/** What a closed form says: crates/browser/src/answer.rs. */
export interface Rule {
  name: string;
  /** The buffer that it asks for; null where it asks for none. */
  packets: number | null;
  /** Why it says nothing. */
  refusal: string | null;
  checks: Check[];
}

/** Whether it answers, and nothing that it assumes fails. */
export function applies(rule: Rule): boolean {
  return rule.refusal === null && !rule.checks.some(({ holds }) => holds === "no");
}

/** What speaks against it, or which part it fits and what is taken for it, or that all is well. */
export function why(rule: Rule): string {
  const [failing, partial, unknown] = [
    reasons(rule, "no"),
    reasons(rule, "partly"),
    reasons(rule, "unknown"),
  ];
  if (failing.length > 0) return [...failing, ...partial].join("; ");
  if (rule.refusal !== null) return [rule.refusal, ...partial].join("; ");
  return [...partial, ...unknown].join("; ") || "everything that it assumes holds";
}

function reasons(rule: Rule, holds: Check["holds"]): string[] {
  const found = rule.checks.filter((check) => check.holds === holds);
  return [...new Set(found.map((check) => check.why))];
}
