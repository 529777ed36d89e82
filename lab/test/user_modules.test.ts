/** WebAssembly modules of users beside the engines: consent, equal results, and one line for each failure. */

import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Description, reader } from "../src/engine/figures.ts";
import type { Instance, Refusal } from "../src/engine/instance.ts";
import { RefusedError } from "../src/engine/instance.ts";
import { FOREVER } from "../src/engine/player.ts";
import type { Resolved } from "../src/engine/protocol.ts";
import type { Report } from "../src/model.ts";
import { base64Of } from "../src/share.ts";
import { engines, HAS_ENGINES } from "./engines.ts";
import { F64, field, I32, op, type Parts, setWindow, wasmModule } from "./wasm_module.ts";

/** Folder of the modules that `python -m checks.rust_modules` builds. */
const EXAMPLES = process.env.FOREBAY_MODULES ?? new URL("../../out/lab/modules", import.meta.url).pathname;

/** A scenario whose only group has this congestion control. */
function scenario(cca: string, traffic = 'count = 3\nrtt = "20ms"', queue = '"droptail"'): string {
  return `[link]
rate = "20Mbps"
buffer = "30p"
queue = ${queue}
[[flows]]
name = "flows"
cca = ${cca}
${traffic}
[run]
warmup = "1s"
measure = "4s"
`;
}

function module(bytes: Uint8Array, parameters = ""): string {
  return `{ wasm = "mine.wasm", source = "${base64Of(bytes)}"${parameters} }`;
}

/** Opens a module as a user does. The result is the consent. */
function opened(instance: Instance, bytes: Uint8Array): string[] {
  const { sha256 } = instance.ask<{ sha256: string }>({
    ...{ do: "open", file: "mine.wasm", source: base64Of(bytes) },
  });
  return [sha256];
}

function reportOf(instance: Instance, request: object): Report {
  instance.ask({ do: "begin", ...request });
  while (!instance.advance(FOREVER, 50_000));
  return instance.ask<Report>({ do: "finish" });
}

/** Everything that a report says except names, digest and cost. */
function numbers({ metrics, groups, warnings }: Report): object {
  return { metrics, groups, warnings };
}

function refusal(action: () => unknown): Refusal {
  try {
    action();
  } catch (error) {
    if (error instanceof RefusedError) return error.refusal;
    throw error;
  }
  throw new Error("it was not refused");
}

/** The refusal of a run with a module. */
function runRefusal(parts: Parts): Refusal {
  const instance = engines();
  const bytes = wasmModule(parts);
  const modules = opened(instance, bytes);
  return refusal(() => reportOf(instance, { text: scenario(module(bytes)), modules }));
}

/** Window of the only flow after two seconds, in packets. */
function windowOf(bytes: Uint8Array, parameters = ""): number | undefined {
  const instance = engines();
  const text = scenario(module(bytes, parameters), 'count = 1\nrtt = "20ms"');
  instance.ask({ do: "begin", text, modules: opened(instance, bytes) });
  instance.advance(2_000_000_000_000n, 1_000_000);
  const read = reader(instance.ask<Description>({ do: "describe" }).columns);
  return read(instance.look(1)).flows[0]?.cwndPackets;
}

function openRefusal(bytes: Uint8Array, file = "mine.wasm"): Refusal {
  return refusal(() => engines().ask({ do: "open", file, source: base64Of(bytes) }));
}

describe.runIf(HAS_ENGINES)("consent", () => {
  const text = scenario(module(wasmModule()));

  test("no request with a module runs without consent", () => {
    const instance = engines();
    for (const request of ["check", "begin", "rules", "answer"]) {
      const { kind, message, module } = refusal(() => instance.ask({ do: request, text }));
      expect(kind).toBe("consent");
      expect(message).toContain("The author of this scenario added code, `mine.wasm`,");
      expect(module).toEqual({ file: "mine.wasm", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    }
  });

  test("consent is for one content of a file", () => {
    const instance = engines();
    const { module: wanted } = refusal(() => instance.ask({ do: "check", text }));
    const modules = [wanted?.sha256 ?? ""];
    expect(instance.ask<Resolved>({ do: "check", text, modules }).groups[0]?.controller).toMatch(
      /^mine\.wasm@[0-9a-f]{8}$/,
    );
    const other = scenario(module(wasmModule({ description: '{"title": "Other", "state_bytes": 0}' })));
    expect(refusal(() => instance.ask({ do: "check", text: other, modules })).kind).toBe("consent");
    // Consent ends with the list, also for a module that the engines know.
    expect(refusal(() => instance.ask({ do: "check", text })).kind).toBe("consent");
  });

  test("a change of a key can bring a module, which needs consent as well", () => {
    const overrides = [`flows.flows.cca=${module(wasmModule())}`];
    const request = { do: "check", text: scenario('"newreno"'), overrides };
    expect(refusal(() => engines().ask(request)).kind).toBe("consent");
  });

  test("a shown name is short and without control characters", () => {
    const named = text.replace("mine.wasm", `folder/a\\u202e${"b".repeat(100)}.wasm`);
    expect(refusal(() => engines().ask({ do: "check", text: named })).module?.file).toMatch(/^ab{59}$/);
  });

  test("Python never runs", () => {
    const python = scenario('{ python = "mine.py:Mine", source = "class Mine: pass" }');
    expect(refusal(() => engines().ask({ do: "check", text: python })).message).toContain(
      "this program runs no code of users",
    );
  });

  test("a module without its content is refused with its key", () => {
    const { kind, key, message } = refusal(() =>
      engines().ask({ do: "check", text: scenario('{ wasm = "mine.wasm" }') }),
    );
    expect([kind, key]).toEqual(["scenario", "flows.0.cca"]);
    expect(message).toContain("found `mine.wasm` without its content; allowed: the key `source`");
  });
});

describe.runIf(HAS_ENGINES)("results", () => {
  const TRAFFIC = {
    long: ['count = 3\nrtt = { uniform = ["10ms", "60ms"] }', '"droptail"'],
    timeouts: ['count = 12\nrtt = { uniform = ["5ms", "20ms"] }\nstack = "linux"', '"droptail"'],
    marks: ['count = 3\nrtt = "30ms"\necn = true\nstack = "linux"', '{ kind = "red" }'],
    pauses: [
      'rtt = "20ms"\nworkload = { closed_loop = { users = 4, size = { exponential = "80kB" }, think = { exponential = "300ms" } } }',
      '"droptail"',
    ],
  };
  const cases = Object.entries(TRAFFIC).flatMap(([name, [traffic, queue]]) =>
    (["newreno", "cubic"] as const).map((cca) => [cca, name, traffic, queue] as const),
  );

  test.runIf(existsSync(`${EXAMPLES}/cubic.wasm`)).each(cases)(
    "the example %s equals the built-in controller in all numbers with traffic %s",
    (cca, _, traffic, queue) => {
      const instance = engines();
      const bytes = new Uint8Array(readFileSync(`${EXAMPLES}/${cca}.wasm`));
      const modules = opened(instance, bytes);
      const built = `{ kind = "${cca}", variant = "rfc" }`;
      const expected = numbers(reportOf(instance, { text: scenario(built, traffic, queue) }));
      const text = scenario(module(bytes), traffic, queue);
      expect(numbers(reportOf(instance, { text, modules }))).toEqual(expected);
      // A second run has a new instance.
      expect(numbers(reportOf(instance, { text, modules }))).toEqual(expected);
    },
  );

  test("parameters of the scenario reach the module", () => {
    const description =
      '{"title": "Constant", "state_bytes": 8, "parameters": [{"name": "packets", "default": 3}]}';
    const keep = op.store(op.local(0), op.load(field(0)));
    const bytes = wasmModule({
      description,
      functions: {
        create: { arguments: [I32], body: keep },
        on_ack: { arguments: [I32], body: setWindow(op.load(op.local(0))) },
      },
    });
    expect(["", ", packets = 7"].map((parameters) => windowOf(bytes, parameters))).toEqual([3, 7]);
  });

  test("random numbers are those of the connection, in equal order in equal runs", () => {
    const bytes = wasmModule({
      imports: [{ module: "forebay", name: "random_uniform", arguments: [], results: [F64] }],
      functions: {
        on_ack: { arguments: [I32], body: setWindow(op.add(op.real(2), op.call(0))) },
      },
    });
    const instance = engines();
    const request = { text: scenario(module(bytes)), modules: opened(instance, bytes) };
    const first = numbers(reportOf(instance, request));
    expect(numbers(reportOf(instance, request))).toEqual(first);
    expect(numbers(reportOf(engines(), request))).toEqual(first);
    expect(numbers(reportOf(instance, { ...request, seed: 2 }))).not.toEqual(first);
  });
});

describe.runIf(HAS_ENGINES)("failures of a call are one line with file, method, time and window", () => {
  const onAck = (body: number[]): Parts => ({ functions: { on_ack: { arguments: [I32], body } } });
  test.each([
    ["not a number", setWindow(op.real(Number.NaN)), "`on_ack` left the window NaN"],
    ["a negative window", setWindow(op.real(-1)), "`on_ack` left the window -1"],
    ["a huge window", setWindow(op.real(1e300)), "`on_ack` left the window 1e300"],
    ["a trap", [op.unreachable], "`on_ack` failed: unreachable"],
    ["an address beyond the memory", op.store(op.constant(-8), op.real(1)), "`on_ack` failed: memory access"],
    // The plain module has five functions before `on_ack`.
    ["endless recursion", [...op.local(0), ...op.call(4)], "`on_ack` failed: call stack exhausted"],
  ])("%s", (_, body, reason) => {
    const { kind, message } = runRefusal(onAck(body));
    expect(message).toMatch(/^mine\.wasm: .* \(in `on_ack` at \S+s, window \d+\.\d{6} packets\)$/);
    expect(message).toContain(reason);
    expect(kind).toBe("code");
  });

  test("an instance that ended this way is marked as broken", () => {
    const instance = engines();
    const bytes = wasmModule(onAck([op.unreachable]));
    const modules = opened(instance, bytes);
    expect(instance.isBroken).toBe(false);
    refusal(() => reportOf(instance, { text: scenario(module(bytes)), modules }));
    expect(instance.isBroken).toBe(true);
  });

  test("memory grows to 64 MiB and not beyond", () => {
    // The window is the size of the memory in pages, after growth to its limit.
    const pages = [0x3f, 0, 0xb8];
    const most = onAck([...op.grow(op.constant(1022)), op.drop, ...setWindow(pages)]);
    const beyond = onAck([...op.grow(op.constant(1023)), op.drop, ...setWindow(pages)]);
    // One page is the module's own, and one has the states of connections.
    expect([most, beyond].map((parts) => windowOf(wasmModule(parts)))).toEqual([1024, 2]);
  });
});

describe.runIf(HAS_ENGINES)("files that are no such module are refused in one line", () => {
  const wrongImport = (name: string, results: number[]): Uint8Array =>
    wasmModule({ imports: [{ module: name === "cbrt" ? "forebay" : "env", name, arguments: [], results }] });
  test.each<[string, Uint8Array, string]>([
    ["text", new TextEncoder().encode("hello"), "found no WebAssembly module"],
    ["a damaged file", wasmModule().slice(0, 200), "the module is not valid"],
    ["more than 1 MiB", new Uint8Array(2 ** 20 + 1), "found 1048577 bytes; allowed: at most 1048576"],
    [
      "a foreign import",
      wrongImport("fetch", []),
      "found the import `env.fetch`; allowed: functions of `forebay`",
    ],
    [
      "an import of another type",
      wrongImport("cbrt", [F64]),
      "found the import `forebay.cbrt` of another type",
    ],
    ["no memory", wasmModule({ exportsMemory: false }), "found no export `memory`"],
    ["a missing method", wasmModule({ functions: { create: null } }), "found no export `create`"],
    [
      "a method of another type",
      wasmModule({ functions: { create: { arguments: [F64], body: [] } } }),
      "`create`: found (f64) -> (); allowed: (i32)",
    ],
    [
      "another version",
      wasmModule({ functions: { forebay_abi: { results: [I32], body: op.constant(2) } } }),
      "`forebay_abi` returned 2; allowed: 1",
    ],
    ["a description that is no JSON", wasmModule({ description: "{" }), "`forebay_describe`: EOF"],
    ["10 GB", wasmModule({ pages: 65_536 }), "found a memory of 4294967296 bytes; allowed: 64 MiB"],
    [
      "a random number before the first connection",
      wasmModule({
        imports: [{ module: "forebay", name: "random_normal", arguments: [], results: [F64] }],
        functions: { forebay_abi: { results: [I32], body: [...op.call(0), op.drop, ...op.constant(1)] } },
      }),
      "`forebay_abi` failed: there is no connection yet",
    ],
  ])("%s", (_, bytes, reason) => {
    const { kind, message } = openRefusal(bytes);
    expect(message).toContain(reason);
    expect(message).toMatch(/^mine\.wasm: [^\n]+$/);
    expect(kind).toBe("code");
  });

  test("another name than NAME.wasm", () => {
    expect(openRefusal(wasmModule(), "mine.py").message).toBe("found `mine.py`; allowed: a file `NAME.wasm`");
  });
});
