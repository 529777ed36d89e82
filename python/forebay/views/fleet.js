// The table of ports and the view of one port. Texts come from the data of the page and are only ever text.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const count = data.answer.length;
  const columns = data.columns;
  const byName = new Map(columns.map((column) => [column.name, column]));
  const shownColumns = columns.filter((column) => column.kind !== "port");
  const ROWS = 50;
  const CUT = 80;
  const SHORT = 28;

  /** The number of the text that a port has in a column; -1 for none. */
  const at = (column, row) => (column.rows ? column.rows[row] : column.answers[data.answer[row]]);
  const text = (name, row) => {
    const column = byName.get(name);
    const place = column ? at(column, row) : -1;
    return place < 0 ? "" : column.texts ? column.texts[place] : String(place);
  };
  const cut = (words) => (words.length > CUT ? `${words.slice(0, CUT - 1)}…` : words);
  const number = new Intl.NumberFormat("en");
  const ports = (amount) => `${number.format(amount)} ${amount === 1 ? "port" : "ports"}`;

  const make = (tag, words = "", properties = {}) => {
    const element = document.createElement(tag);
    element.textContent = words;
    return Object.assign(element, properties);
  };
  const verdictSign = (verdict) => make("span", verdict, { className: `v v-${data.series[verdict]}` });
  const byId = (id) => document.getElementById(id);

  // Addresses of ports ---------------------------------------------------------------------------------------------

  const KEY = ["device", "port", "service_class"];
  const names = (row) => KEY.filter((name) => byName.has(name) && at(byName.get(name), row) >= 0).map((name) => text(name, row));
  const address = (row) => `#port=${names(row).map(encodeURIComponent).join("/")}`;

  /** The port that an address names; -1 for none. */
  const found = (hash) => {
    let wanted;
    try {
      wanted = hash.slice("#port=".length).split("/").map(decodeURIComponent);
    } catch {
      return -1;
    }
    // A reader may write the slashes of a port's name as they are.
    const [device, ...rest] = wanted;
    const tries = [wanted, [device, rest.join("/")], [device, rest.slice(0, -1).join("/"), rest.at(-1)]];
    return tries.map(named).find((row) => row >= 0) ?? -1;
  };
  const named = (wanted) => {
    const places = KEY.map((name, index) => {
      const column = byName.get(name);
      return column && index < wanted.length ? column.texts.indexOf(wanted[index]) : -1;
    });
    if (wanted.length > KEY.length || wanted.some((_, index) => places[index] < 0)) return -1;
    for (let row = 0; row < count; row++) {
      if (KEY.every((name, index) => !byName.has(name) || at(byName.get(name), row) === places[index])) return row;
    }
    return -1;
  };

  // Filter and order -----------------------------------------------------------------------------------------------

  const find = byId("find");
  const verdict = byId("verdict");
  const profile = byId("profile");
  const sort = byId("sort");
  /** Ports of one mark of the picture, or of one question. */
  let only = null;
  let sorted = { name: "", down: false };
  let order = [];
  let shown = [];
  let first = 0;

  const SEARCHED = shownColumns.filter((column) => !column.numeric || column.name === "rate_bps");

  /** For each port, whether each word stands in one of its texts. */
  const wordFilter = (words) => {
    const tests = words.map((word) => {
      const ofRows = [];
      const answers = new Uint8Array(data.answers.link.length);
      for (const column of SEARCHED) {
        const hits = Uint8Array.from(column.texts, (each) => (each.toLowerCase().includes(word) ? 1 : 0));
        if (!hits.includes(1)) continue;
        if (column.rows) ofRows.push([column.rows, hits]);
        else column.answers.forEach((place, answer) => { if (place >= 0 && hits[place]) answers[answer] = 1; });
      }
      return { ofRows, answers };
    });
    return (row) => tests.every(({ ofRows, answers }) =>
      answers[data.answer[row]] === 1 || ofRows.some(([rows, hits]) => rows[row] >= 0 && hits[rows[row]] === 1));
  };

  /** For each answer, whether the lists and the picture let it through. */
  const answerFilter = () => {
    const passes = new Uint8Array(data.answers.link.length).fill(1);
    for (const [list, name] of [[verdict, "verdict"], [profile, "profile_used"]]) {
      if (list.value === "") continue;
      const column = byName.get(name);
      column.answers.forEach((place, answer) => { if (place !== Number(list.value)) passes[answer] = 0; });
    }
    if (only) passes.forEach((_, answer) => { if (!only.answers.has(answer)) passes[answer] = 0; });
    return passes;
  };

  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const passes = answerFilter();
    const contains = wordFilter(words);
    shown = order.filter((row) => passes[data.answer[row]] === 1 && contains(row));
    first = 0;
    render();
    dim();
  };

  const arrange = () => {
    const rows = Array.from({ length: count }, (_, row) => row);
    const column = byName.get(sorted.name);
    const key = column ? (row) => at(column, row) : (row) => data.answer[row];
    const keys = Int32Array.from(rows, key);
    const sign = sorted.down ? -1 : 1;
    // Ports without a value come last in both directions.
    order = rows.sort((one, other) => {
      if ((keys[one] < 0) !== (keys[other] < 0)) return keys[one] < 0 ? 1 : -1;
      return sign * (keys[one] - keys[other]) || one - other;
    });
    for (const head of document.querySelectorAll("#table th")) {
      const state = head.dataset.name !== sorted.name ? "none" : sorted.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", state);
    }
    sort.value = sorted.name ? `${sorted.name} ${sorted.down ? "down" : "up"}` : "";
  };

  // The table ------------------------------------------------------------------------------------------------------

  const body = document.querySelector("#table tbody");

  const cell = (column, row) => {
    const words = text(column.name, row);
    const element = make("td");
    element.dataset.label = column.title;
    element.className = `${column.kind}${column.numeric ? " number" : ""}${column.name === "reason" ? " reason" : ""}`;
    if (column.name === "port") element.append(make("a", cut(words), { href: address(row) }));
    else if (column.name === "verdict") element.append(verdictSign(words));
    else element.append(make("bdi", column.name === "reason" ? words : cut(words)));
    if (words.length <= SHORT) element.classList.add("short");
    return element;
  };

  const render = () => {
    body.replaceChildren(...shown.slice(first, first + ROWS).map((row) => {
      const line = make("tr");
      line.append(...shownColumns.map((column) => cell(column, row)));
      return line;
    }));
    const last = Math.min(first + ROWS, shown.length);
    byId("count").textContent = shown.length === count ? `All ${ports(count)}` : `${number.format(shown.length)} of ${ports(count)}`;
    byId("range").textContent = `${number.format(first + 1)} to ${number.format(last)} of ${number.format(shown.length)}`;
    byId("before").disabled = first === 0;
    byId("after").disabled = last === shown.length;
    document.querySelector(".pager").hidden = shown.length <= ROWS;
    byId("only").hidden = only === null;
    byId("only").textContent = only ? only.words : "";
  };

  /** Marks of ports that are not listed are pale, and so are all bars. */
  const dim = () => {
    const listed = new Set();
    const all = shown.length === count;
    if (!all) for (const row of shown) listed.add(data.answers.spot[data.answer[row]]);
    byId("pictures").classList.toggle("filtered", !all);
    for (const mark of document.querySelectorAll("#pictures .pt")) {
      mark.classList.toggle("off", !all && !listed.has(Number(mark.dataset.buffer)));
    }
  };

  const list = (select, column, all) => {
    select.append(make("option", all, { value: "" }));
    if (!column) return;
    const amounts = new Array(column.texts.length).fill(0);
    for (let row = 0; row < count; row++) if (at(column, row) >= 0) amounts[at(column, row)]++;
    column.texts.forEach((words, place) =>
      select.append(make("option", `${cut(words)} (${number.format(amounts[place])})`, { value: String(place) })));
  };

  const order_by = (name, down) => {
    sorted = { name, down };
    arrange();
    filter();
  };

  const show_only = (wanted) => {
    only = wanted;
    filter();
    byId("ports").scrollIntoView();
  };

  const reset = () => {
    find.value = verdict.value = profile.value = "";
    only = null;
    order_by("", false);
  };

  const head = make("tr");
  head.append(...shownColumns.map((column) => {
    const cellOfHead = make("th", "", { scope: "col", className: column.kind });
    cellOfHead.dataset.name = column.name;
    const button = make("button", column.title, { type: "button" });
    button.addEventListener("click", () => order_by(column.name, sorted.name === column.name && !sorted.down));
    cellOfHead.append(button);
    return cellOfHead;
  }));
  document.querySelector("#table thead").append(head);
  list(verdict, byName.get("verdict"), "all");
  list(profile, byName.get("profile_used"), "all");
  sort.append(make("option", "what to change first", { value: "" }));
  for (const column of shownColumns) {
    sort.append(make("option", `${column.title}, rising`, { value: `${column.name} up` }));
    sort.append(make("option", `${column.title}, falling`, { value: `${column.name} down` }));
  }
  find.addEventListener("input", filter);
  verdict.addEventListener("change", filter);
  profile.addEventListener("change", filter);
  sort.addEventListener("change", () => {
    const [name, direction] = sort.value.split(" ");
    order_by(name, direction === "down");
  });
  byId("reset").addEventListener("click", reset);
  const turn = (rows) => {
    first += rows;
    render();
    byId("ports").scrollIntoView();
  };
  byId("before").addEventListener("click", () => turn(-ROWS));
  byId("after").addEventListener("click", () => turn(ROWS));
  document.querySelector(".filters").addEventListener("submit", (event) => event.preventDefault());
  document.querySelector(".filters").hidden = false;
  for (const button of document.querySelectorAll("button[data-verdict]")) {
    const column = byName.get("verdict");
    const place = column ? column.texts.indexOf(button.dataset.verdict) : -1;
    button.disabled = place < 0;
    button.addEventListener("click", () => {
      reset();
      verdict.value = String(place);
      show_only(null);
    });
  }

  // The picture ----------------------------------------------------------------------------------------------------

  const choose = () => {
    const mark = document.querySelector("#pictures .pt.here");
    if (!mark) return;
    const spot = Number(mark.dataset.buffer);
    const answers = new Set(data.answers.spot.flatMap((each, answer) => (each === spot ? [answer] : [])));
    show_only({ answers, words: `Only the ports of a mark in the picture: ${mark.dataset.tip.split("\n").slice(0, 2).join("; ")}.` });
  };
  for (const svg of document.querySelectorAll("#pictures svg")) {
    svg.addEventListener("click", choose);
    svg.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      choose();
    });
  }

  // One port -------------------------------------------------------------------------------------------------------

  const audit = byId("audit");
  const view = byId("port");
  const title = document.title;
  let scrolled = 0;

  const section = (heading, ...parts) => {
    const element = make("section");
    element.append(make("h2", heading), ...parts);
    return element;
  };
  const facts = (rows) => {
    const table = make("table", "", { className: "facts" });
    for (const [name, words] of rows) {
      if (!words) continue;
      const line = make("tr");
      const value = make("td");
      value.append(typeof words === "string" ? make("bdi", words) : words);
      line.append(make("th", name, { scope: "row" }), value);
      table.append(line);
    }
    return table;
  };
  /** A paragraph in which backticks enclose code. */
  const paragraph = (words) => {
    const element = make("p");
    element.append(...words.split("`").map((part, index) => (index % 2 ? make("code", part) : part)));
    return element;
  };
  const block = (words, className = "") => make("pre", words, { className, tabIndex: 0 });

  const measured = (link, own, advice) => {
    const mark = (place) => (place === own ? " (as configured)" : place === advice ? " (recommended)" : "");
    const heads = link.heads;
    const table = make("table", "", { className: "stack" });
    const line = make("tr");
    line.append(...heads.map((words) => make("th", words, { scope: "col" })));
    const top = make("thead");
    top.append(line);
    const rows = make("tbody");
    link.measured.forEach((cells, place) => {
      const each = make("tr", "", { className: place === own ? "own" : "" });
      each.append(...cells.map((words, index) => {
        const value = make("td", index === 0 ? `${words}${mark(place)}` : words);
        value.dataset.label = heads[index];
        return value;
      }));
      rows.append(each);
    });
    table.append(top, rows);
    return table;
  };

  /** The scenario with the port's buffer, as a file that forebay reads. */
  const scenario = (link, size) => {
    const written = JSON.stringify(JSON.parse(link.scenario.replaceAll(data.mark, size)), null, 2);
    return written.replace(/[\u007f-\uffff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
  };

  const back = () => {
    const element = make("p", "", { className: "back" });
    element.append(make("a", "All ports", { href: "#" }));
    return element;
  };

  /** A value at the configured buffer, and at the recommended one. */
  const nowAndThen = (name, row) => {
    const [now, then] = [text(name, row), text(`recommended_${name}`, row)];
    return now && then ? `${now} now, ${then} with the recommended buffer` : now;
  };

  const portParts = (row) => {
    const answer = data.answer[row];
    const own = data.answers;
    const link = own.link[answer] < 0 ? null : data.links[own.link[answer]];
    const parts = [];
    const lead = make("p", "", { className: "sentence" });
    const recommended = text("recommended_bytes", row);
    lead.append(verdictSign(text("verdict", row)));
    if (recommended) lead.append(`: ${recommended} recommended`);
    const range = text("range", row);
    const margin = text("margin", row) + (range && range !== text("margin", row) ? ` (${range})` : "");
    const kind = { fine: "good", undecided: "undecided", "not answerable": "undecided" }[text("verdict", row)] ?? "impossible";
    const written = text("buffer", row);
    const differs = written.replace(/\s/g, "") !== text("buffer_bytes", row).replace(/\s/g, "");
    const bytes = text("buffer_bytes", row);
    const boxes = shownColumns.filter((column) => column.name.startsWith("would_do_"));
    const verdictPart = section("The answer", lead, make("p", text("reason", row), { className: "lead" }), facts([
      ["configured buffer", written && bytes && differs ? `${written} (${bytes})` : bytes || written],
      ["needed buffer", text("needed_bytes", row) && `about ${text("needed_bytes", row)}`],
      ["configured / needed", margin],
      ["recommended buffer", recommended],
      ["delay (99th percentile)", nowAndThen("delay_ms", row)],
      ["loss", nowAndThen("loss", row)],
      ["confidence", text("confidence", row)],
      ["warnings", text("notes", row)],
      ["evidence", [text("stage", row), text("runs", row) && `${text("runs", row)} runs`].filter(Boolean).join(", ")],
      ["too small in year", text("too_small_in", row)],
      ["needed in that year", text("needed_bytes_then", row)],
      ["enough until year", text("enough_until", row)],
      ...boxes.map((column) => [column.title, text(column.name, row)]),
    ]));
    verdictPart.className = `answer ${kind}`;
    parts.push(verdictPart);

    const like = data.answer.reduce((sum, each) => sum + (each === answer ? 1 : 0), 0) - 1;
    let others = "";
    if (like > 0) {
      others = make("button", `Show all ${ports(like + 1)} with this question`, { type: "button" });
      others.addEventListener("click", () => {
        reset();
        only = { answers: new Set([answer]), words: `Only the ports with the same question as ${names(row).map(cut).join(" ")}.` };
        filter();
        location.hash = "#";
      });
    }
    parts.push(section("The port", facts([
      ["rate", text("rate_bps", row)],
      ...["platform", "role", "service_class", "mtu_bytes", "queue", "file", "line"].map((name) => [byName.get(name)?.title ?? "", text(name, row)]),
      ["profile", text("profile_used", row)],
      ["equal ports", others],
    ])));
    if (text("config", row)) parts.push(section("Present configuration", block(text("config", row))));
    if (text("change", row)) parts.push(section("New configuration", block(text("change", row))));

    if (link) {
      const goals = make("ul");
      goals.append(...link.goals.map((words) => make("li", words)));
      const question = section("The question", make("p", "Does the buffer meet these goals with the traffic of the profile?"), goals);
      if (link.scenario !== null) {
        const details = make("details");
        details.append(
          make("summary", "The scenario of this port"),
          paragraph("Save it as port.json. Then `forebay check port.json` judges the buffer, and `forebay recommend port.json` finds the smallest one."),
          block(scenario(link, own.size[answer]), "wide"),
        );
        question.append(details);
      } else question.append(make("p", "The scenario is not in this page, because all scenarios together are too large.", { className: "hint" }));
      parts.push(question);
      if (link.measured.length > 0) {
        const hint = make("p", "Each row is a buffer that packet runs measured for this port or for one with the same traffic. A percentage in parentheses is the confidence of the verdict.", { className: "hint" });
        const table = section("Measured buffers", hint, measured(link, own.point[answer], own.advice[answer]));
        table.className = "dense";
        parts.push(table);
      }
    }
    if (own.text[answer] >= 0) {
      parts.push(section("Full search", paragraph("`forebay recommend` searched the scenario with these results. Ports with the same traffic share one search, for one of their buffers."), block(data.texts[own.text[answer]], "wide")));
    }
    return parts;
  };

  let focused = null;

  const showPort = (row) => {
    if (!audit.hidden) [scrolled, focused] = [window.scrollY, document.activeElement];
    const heading = make("h1", row < 0 ? "This port is not in the audit" : names(row).join(" "), { tabIndex: -1 });
    const header = make("header");
    header.append(make("p", "Port", { className: "kind" }), heading);
    view.replaceChildren(back(), header, ...(row < 0 ? [] : portParts(row)));
    audit.hidden = true;
    view.hidden = false;
    document.title = `${cut(heading.textContent)}: ${title}`;
    window.scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  };
  const showAudit = () => {
    if (view.hidden) return;
    view.hidden = true;
    audit.hidden = false;
    document.title = title;
    window.scrollTo(0, scrolled);
    if (focused?.isConnected) focused.focus({ preventScroll: true });
  };
  const follow = () => (location.hash.startsWith("#port=") ? showPort(found(location.hash)) : showAudit());

  window.addEventListener("hashchange", follow);
  history.scrollRestoration = "manual";
  arrange();
  filter();
  follow();
})();
