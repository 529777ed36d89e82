/**
 * Changes single keys of a scenario's text and leaves the rest as it is, comments included. The text is one that the
 * engines have read: this finds the place of a key and needs not know more of TOML.
 */

/** Where a table's own lines are: from its head to the next one. */
interface Section {
  head: string;
  first: number;
  end: number;
}

/** A table by its name, and which one of an array of tables. */
export interface Table {
  name: string;
  index?: number;
}

const HEAD = /^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$/;

/** The value of a key as it is written; undefined where the table does not have it. */
export function written(text: string, table: Table, key: string): string | undefined {
  const lines = text.split("\n");
  const section = find(lines, table);
  const found = section && findKey(lines, section, key);
  return (
    found &&
    lines
      .slice(found.first, found.end)
      .join("\n")
      .slice(found.from, -found.behind || undefined)
      .trim()
  );
}

/**
 * The text with a key set to a value as it is to be written, behind the other keys of its table where it is new. A text
 * that has table or key in another form (`link.rate = …`, `link = { … }`, `[link.queue]`) stays as it is.
 */
export function withValue(text: string, table: Table, key: string, value: string): string {
  const lines = text.split("\n");
  const section = find(lines, table);
  if (section ? isSpread(lines, section, key) : isElsewhere(lines, table.name)) return text;
  if (!section) {
    const head = table.index === undefined ? `[${table.name}]` : `[[${table.name}]]`;
    return `${text.trimEnd()}\n\n${head}\n${key} = ${value}\n`;
  }
  const found = findKey(lines, section, key);
  if (!found) {
    const behind = lastKey(lines, section) + 1;
    lines.splice(behind, 0, `${key} = ${value}`);
    return lines.join("\n");
  }
  const before = lines[found.first]?.slice(0, found.from) ?? "";
  const last = lines[found.end - 1] ?? "";
  const behind = found.behind ? last.slice(last.length - found.behind) : "";
  lines.splice(found.first, found.end - found.first, `${before}${value}${behind}`);
  return lines.join("\n");
}

/** The text without a key. */
export function without(text: string, table: Table, key: string): string {
  const lines = text.split("\n");
  const section = find(lines, table);
  const found = section && findKey(lines, section, key);
  if (found) lines.splice(found.first, found.end - found.first);
  return lines.join("\n");
}

/**
 * The text with one more table of an array, behind the others and their keys; its lines are to be written. A text that has
 * the array as a value stays as it is.
 */
export function withTable(text: string, name: string, body: readonly string[]): string {
  const lines = text.split("\n");
  const last = sections(lines)
    .filter((section) => section.head === `[[${name}`)
    .at(-1);
  if (!last && isElsewhere(lines, name)) return text;
  const added = ["", `[[${name}]]`, ...body];
  if (!last) return `${text.trimEnd()}\n${added.join("\n")}\n`;
  lines.splice(lastKey(lines, last) + 1, 0, ...added);
  return lines.join("\n");
}

/** The lines of a table, from its first to its last key. */
export function linesOf(text: string, table: Table): string[] {
  const lines = text.split("\n");
  const section = find(lines, table);
  return section ? lines.slice(section.first, lastKey(lines, section) + 1) : [];
}

/** The text without a table, and without the empty line before it. What is written above the next table stays. */
export function withoutTable(text: string, table: Table): string {
  const lines = text.split("\n");
  const section = find(lines, table);
  if (!section) return text;
  const head = section.first - 1;
  const from = (lines[head - 1] ?? "x").trim() === "" ? head - 1 : head;
  lines.splice(from, lastKey(lines, section) + 1 - from);
  return lines.join("\n");
}

/** How many tables of an array there are. */
export function count(text: string, name: string): number {
  return sections(text.split("\n")).filter((section) => section.head === `[[${name}`).length;
}

function sections(lines: string[]): Section[] {
  const found: Section[] = [{ head: "", first: 0, end: lines.length }];
  let depth = 0;
  let quote = "";
  for (const [at, line] of lines.entries()) {
    const head = depth === 0 && quote === "" ? HEAD.exec(line) : null;
    if (head) {
      const before = found.at(-1);
      if (before) before.end = at;
      found.push({ head: `${head[1]}${plain(head[2] ?? "")}`, first: at + 1, end: lines.length });
      continue;
    }
    ({ depth, quote } = scan(line, depth, quote));
  }
  return found;
}

/** The parts of a head's name without the quotes and spaces that they need not have. */
function plain(name: string): string {
  const part = /\s*(?:"([\w-]+)"|'([\w-]+)'|([^.]+?))\s*(\.|$)/g;
  return name.replace(part, (_, double, single, bare, dot) => `${double ?? single ?? bare}${dot}`);
}

/** Whether a table stands before the first head, as a value or by its keys. */
function isElsewhere(lines: string[], name: string): boolean {
  const [root] = sections(lines);
  return root !== undefined && findKey(lines, root, name, "[=.]") !== undefined;
}

/** Whether a key of a table stands there by its own keys, or under a head of its own. */
function isSpread(lines: string[], section: Section, key: string): boolean {
  if (findKey(lines, section, key, "[.]")) return true;
  const all = sections(lines);
  const heads = all.slice(all.findIndex(({ first }) => first === section.first) + 1);
  const name = section.head.replace(/^\[+/, "");
  for (const { head } of heads) {
    if (head === section.head) return false;
    if (head.replace(/^\[+/, "") === `${name}.${key}`) return true;
  }
  return false;
}

function find(lines: string[], table: Table): Section | undefined {
  // Before the first head stand the keys of no table.
  const head = table.name === "" ? "" : `${table.index === undefined ? "[" : "[["}${table.name}`;
  return sections(lines).filter((section) => section.head === head)[table.index ?? 0];
}

interface Found {
  first: number;
  end: number;
  /** Where the value begins in its first line, and how many characters stand behind it in its last. */
  from: number;
  behind: number;
}

function findKey(lines: string[], section: Section, key: string, behind = "="): Found | undefined {
  const own = escaped(key);
  const begin = new RegExp(`^\\s*(?:${own}|"${own}"|'${own}')\\s*${behind}\\s*`);
  let at = section.first;
  while (at < section.end) {
    const start = begin.exec(lines[at] ?? "");
    const first = at;
    let depth = 0;
    let quote = "";
    let comment = -1;
    do {
      ({ depth, quote, comment } = scan(lines[at] ?? "", depth, quote));
      at += 1;
    } while ((depth > 0 || quote !== "") && at < section.end);
    if (start) {
      const last = lines[at - 1] ?? "";
      const value = comment < 0 ? last : last.slice(0, comment);
      return { first, end: at, from: start[0].length, behind: last.length - value.trimEnd().length };
    }
  }
  return undefined;
}

function lastKey(lines: string[], section: Section): number {
  let last = section.first - 1;
  for (let at = section.first; at < section.end; at += 1) {
    const line = (lines[at] ?? "").trim();
    if (line !== "" && !line.startsWith("#")) last = at;
  }
  return last;
}

/** How deep in brackets and in which quotes a line ends, and where its comment begins. */
function scan(line: string, depth: number, quote: string): { depth: number; quote: string; comment: number } {
  let at = 0;
  let within = quote;
  let deep = depth;
  while (at < line.length) {
    const rest = line.slice(at);
    if (within !== "") {
      if (within.startsWith('"') && rest.startsWith("\\")) at += 2;
      else if (rest.startsWith(within)) {
        at += within.length;
        within = "";
      } else at += 1;
      continue;
    }
    const opened = ['"""', "'''", '"', "'"].find((mark) => rest.startsWith(mark));
    if (opened) {
      within = opened;
      at += opened.length;
      continue;
    }
    const character = rest[0] ?? "";
    if (character === "#") return { depth: deep, quote: within, comment: at };
    if ("[{".includes(character)) deep += 1;
    if ("]}".includes(character)) deep -= 1;
    at += 1;
  }
  // A string of one line ends with it.
  return { depth: deep, quote: within.length === 1 ? "" : within, comment: -1 };
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
