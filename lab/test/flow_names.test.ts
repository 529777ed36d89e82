import { expect, test } from "vitest";
import type { Description } from "../src/engine/figures.ts";
import { legendOf, shownName } from "../src/flow_names.ts";
import { engines, HAS_ENGINES } from "./engines.ts";
import { RESOLVED } from "./resolved.ts";

function resolved(name: string, controller: string, count = 2): typeof RESOLVED {
  const group = { name, count, controller, responsive: controller !== "", first_flow: 0 };
  return { ...RESOLVED, groups: [group] };
}

test("a group with the name of another congestion control shows its own one", () => {
  const second = { flow: 1, group: 0 };
  expect(shownName(resolved("bbr", "bbr"), second)).toBe("bbr 2");
  expect(shownName(resolved("bbr", "cubic"), second)).toBe("bbr 2 (cubic)");
  expect(shownName(resolved("CUBIC", "cubic"), second)).toBe("CUBIC 2");
  expect(shownName(resolved("reno", "newreno"), second)).toBe("reno 2");
  expect(shownName(resolved("users", "bbr"), second)).toBe("users 2");
  expect(shownName(resolved("vegas", ""), second)).toBe("vegas 2");
  expect(legendOf(resolved("bbr", "cubic", 1), false).map(({ name }) => name)).toEqual(["bbr (cubic)"]);
});

test.skipIf(!HAS_ENGINES)("every congestion control of the engines is known by its name", () => {
  // These two are also words for a group of flows.
  const words = ["fast", "scalable"];
  for (const { name } of engines().ask<Description>({ do: "describe" }).controllers) {
    const other = name === "cubic" ? "vegas" : "cubic";
    const expected = words.includes(name) ? name : `${name} (${other})`;
    expect(shownName(resolved(name, other, 1), { flow: 0, group: 0 })).toBe(expected);
  }
});
