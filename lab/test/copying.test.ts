import { expect, test } from "vitest";
import { commandOf } from "../src/copying.ts";

test("a command runs the scenario of its text", () => {
  expect(commandOf("[link]\n\trate = 1\n\n")).toBe(
    "forebay run - <<'SCENARIO'\n[link]\n\trate = 1\nSCENARIO\n",
  );
});

test("no line of a scenario becomes a command", () => {
  for (const text of ["a\nSCENARIO\nrm -rf x", "a\rSCENARIO\rrm -rf x", "a\nSCENARIO\nSCENARIO_\r\nrm"]) {
    const [first = "", ...lines] = commandOf(text).trimEnd().split("\n");
    const end = /<<'(\w+)'$/.exec(first)?.[1];
    expect(lines.indexOf(end ?? "")).toBe(lines.length - 1);
    expect(commandOf(text)).not.toContain("\r");
  }
});

test("no control character reaches the terminal", () => {
  // The end of a bracketed paste, after which a terminal executes what follows.
  expect(commandOf("# \u001b[201~\u0007\u009b x")).toBe("forebay run - <<'SCENARIO'\n# [201~ x\nSCENARIO\n");
});
