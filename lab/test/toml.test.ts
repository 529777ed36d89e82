import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { count, linesOf, without, withoutTable, withTable, withValue, written } from "../src/toml.ts";

const FOLDER = join(import.meta.dirname, "../../scenarios");
const TEXT = `# A line.
title = "a # b"

[link]
rate   = "10Mbps"  # what it is
queue  = { kind = "red", marks = [
  "a", # inside
] }  # behind
buffer = "20p"

[[flows]]
name = "one"
note = """
[link]
rate = "no"
"""
count = 2

[[flows]]
"name" = 'two'

[run]
`;

test("a value is what stands there, whatever its shape", () => {
  expect(written(TEXT, { name: "link" }, "rate")).toBe('"10Mbps"');
  expect(written(TEXT, { name: "link" }, "queue")).toBe('{ kind = "red", marks = [\n  "a", # inside\n] }');
  expect(written(TEXT, { name: "flows", index: 0 }, "count")).toBe("2");
  expect(written(TEXT, { name: "flows", index: 1 }, "name")).toBe("'two'");
  expect(written(TEXT, { name: "flows", index: 1 }, "count")).toBeUndefined();
  expect(written(TEXT, { name: "" }, "title")).toBe('"a # b"');
  expect(count(TEXT, "flows")).toBe(2);
});

test("a change touches its own key and no comment", () => {
  const changed = withValue(TEXT, { name: "link" }, "rate", '"20Mbps"');
  expect(changed).toBe(TEXT.replace('"10Mbps"  #', '"20Mbps"  #'));
  const table = withValue(TEXT, { name: "link" }, "queue", '"codel"');
  expect(table).toContain('queue  = "codel"  # behind\nbuffer');
  const added = withValue(TEXT, { name: "flows", index: 1 }, "count", "3");
  expect(written(added, { name: "flows", index: 1 }, "count")).toBe("3");
  expect(written(added, { name: "flows", index: 0 }, "count")).toBe("2");
  expect(without(added, { name: "flows", index: 1 }, "count")).toBe(TEXT);
  expect(withValue(TEXT, { name: "run" }, "seed", "4")).toBe(`${TEXT.trimEnd()}\nseed = 4\n`);
  expect(withValue("", { name: "link" }, "rate", '"1Mbps"')).toBe('\n\n[link]\nrate = "1Mbps"\n');
});

test("a table that is added and taken out again leaves the text as it was", () => {
  for (const name of readdirSync(FOLDER).filter((it) => it.endsWith(".toml"))) {
    const text = readFileSync(join(FOLDER, name), "utf8");
    const groups = count(text, "flows");
    const added = withTable(text, "flows", ['name = "more"', 'rtt = "1ms"']);
    expect(count(added, "flows")).toBe(groups + 1);
    const own = { name: "flows", index: groups };
    expect(written(added, own, "rtt")).toBe('"1ms"');
    expect(linesOf(added, own)).toEqual(['name = "more"', 'rtt = "1ms"']);
    expect(withoutTable(added, own)).toBe(text);
    // The others stay, whichever goes.
    const first = written(text, { name: "flows", index: 1 }, "name");
    const rest = withoutTable(text, { name: "flows", index: 0 });
    expect(count(rest, "flows")).toBe(groups - 1);
    expect(written(rest, { name: "flows", index: 0 }, "name")).toBe(first);
    expect(written(rest, { name: "run" }, "measure")).toBe(written(text, { name: "run" }, "measure"));
  }
});

test("what was set is there, in every shipped scenario, and nothing else has changed", () => {
  for (const name of readdirSync(FOLDER).filter((it) => it.endsWith(".toml"))) {
    const text = readFileSync(join(FOLDER, name), "utf8");
    const tables = [
      { name: "link" },
      ...Array.from({ length: count(text, "flows") }, (_, index) => ({ name: "flows", index })),
    ];
    for (const table of tables) {
      for (const key of ["rate", "buffer", "count", "cca", "rtt", "new_key"]) {
        if (table.name === "link" && !text.includes("[link]")) continue;
        const before = written(text, table, key);
        const changed = withValue(text, table, key, '"7"');
        // A table of its own, as in `[link.rate]`, is left alone.
        if (new RegExp(`^\\[${table.name}\\.${key}\\]`, "m").test(text)) {
          expect(changed, `${name} ${key}`).toBe(text);
          continue;
        }
        expect(written(changed, table, key), `${name} ${key}`).toBe('"7"');
        const back =
          before === undefined ? without(changed, table, key) : withValue(changed, table, key, before);
        expect(back, `${name} ${key}`).toBe(text);
      }
    }
  }
});

const KEYS = '[run]\nmeasure = "1s"\n';
test.each([
  ["a table by keys with dots", `link.rate = "1Mbps"\n${KEYS}`],
  ["a table in braces", `link = { rate = "1Mbps" }\n${KEYS}`],
  ["a quoted table in braces", `"link" = { rate = "1Mbps" }\n${KEYS}`],
  ["keys with dots in the table", `[link]\nrate.steps = [["0s", "1Mbps"]]\n`],
  ["a table of the key's own", `[link]\nbuffer = "9p"\n[link.rate]\nsteps = [["0s", "1Mbps"]]\n`],
])("stays as it is: %s", (_, text) => {
  expect(withValue(text, { name: "link" }, "rate", '"2Mbps"')).toBe(text);
});

test("an array as a value takes no table beside it", () => {
  const text = `flows = [{ rtt = "1ms" }]\n${KEYS}`;
  expect(withTable(text, "flows", ['rtt = "2ms"'])).toBe(text);
});

test.each(['["link"]', "[ 'link' ]", "[link]"])(
  "quotes and spaces of a head are none of its name: %s",
  (head) => {
    const text = `${head}\n'rate' = "1Mbps" # fast\n`;
    expect(written(text, { name: "link" }, "rate")).toBe('"1Mbps"');
    expect(withValue(text, { name: "link" }, "rate", '"2Mbps"')).toBe(text.replace("1", "2"));
  },
);

test("a table of the key's own belongs to its table and to no other", () => {
  const text = '[[flows]]\nrtt = "1ms"\n[[flows]]\nrtt = "2ms"\n[flows.cca]\nkind = "cubic"\n';
  expect(withValue(text, { name: "flows", index: 0 }, "cca", '"bbr"')).toContain(
    'rtt = "1ms"\ncca = "bbr"\n',
  );
  expect(withValue(text, { name: "flows", index: 1 }, "cca", '"bbr"')).toBe(text);
});
