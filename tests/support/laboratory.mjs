// Asks the engines of a WebAssembly file: requests as lines of JSON on standard input, answers as lines of
// `[state, answer]` on standard output. `{"do": "run", ...}` begins a run, lets it go on in steps, looks at it in
// between where `looks` says so, and finishes it.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

// No module of a user runs here.
const page = new Proxy({}, { get: () => () => 0 });
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), { page });
const engines = instance.exports;
const DONE = 0;
const ENDED = 1;

function ask(request) {
  const bytes = new TextEncoder().encode(JSON.stringify(request));
  const address = engines.forebay_reserve(bytes.length);
  if (address === 0) return [2, { kind: "request", message: "too long" }];
  new Uint8Array(engines.memory.buffer, address, bytes.length).set(bytes);
  return [engines.forebay_ask(), answer()];
}

function answer() {
  const bytes = new Uint8Array(engines.memory.buffer, engines.forebay_answer(), engines.forebay_answer_length());
  return new TextDecoder().decode(bytes);
}

function picture() {
  engines.forebay_look(50);
  const count = engines.forebay_figures_length();
  return Array.from(new Float64Array(engines.memory.buffer, engines.forebay_figures(), count));
}

function run(request) {
  const begun = ask({ ...request, do: "begin" });
  if (begun[0] !== DONE) return begun;
  if (request.looks) engines.forebay_watch(1000);
  let state = DONE;
  let last = -1;
  while (state === DONE) {
    state = engines.forebay_advance(2n ** 63n, BigInt(request.events ?? 50000));
    if (request.looks && state !== 2) {
      const time = picture()[0];
      if (!(time > last)) return [2, `time stood still at ${time}`];
      last = time;
    }
  }
  return state === ENDED ? ask({ do: "finish" }) : [state, answer()];
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  let told;
  try {
    told = request.do === "run" ? run(request) : ask(request);
  } catch (trap) {
    const length = engines.forebay_defect_length();
    const defect = new Uint8Array(engines.memory.buffer, engines.forebay_defect(), length);
    told = [3, `${trap}: ${new TextDecoder().decode(defect)}`];
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
}
