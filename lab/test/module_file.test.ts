/** Modules that a user opens or lets run: the text of the scenario, and the requests to the engines. */

import { expect, test } from "vitest";
import { allowedModules } from "../src/engine/allowed_modules.ts";
import { Model } from "../src/model.ts";
import { openModule } from "../src/module_file.ts";
import { engines, HAS_ENGINES } from "./engines.ts";
import { type FakeWorker, NO_ENGINES, workers } from "./fake_worker.ts";
import { RESOLVED } from "./resolved.ts";
import { wasmModule } from "./wasm_module.ts";

const TEXT = 'cca = { wasm = "mine.wasm", source = "AAAA" }';

async function settled(): Promise<void> {
  await new Promise((later) => setImmediate(later));
}

async function refuse(worker: FakeWorker): Promise<void> {
  const refusal = {
    ...({ kind: "consent", message: "code", line: null, key: null } as const),
    module: { file: "mine.wasm", sha256: "f00d" },
  };
  worker.post({ kind: "no answer", ticket: worker.asked().at(-1)?.ticket ?? -1, refusal });
  await settled();
}

async function resolve(worker: FakeWorker, answer: unknown): Promise<void> {
  worker.post({ kind: "answer", ticket: worker.asked().at(-1)?.ticket ?? -1, answer });
  await settled();
}

test("a scenario with a module has no run and no controls until the user lets it run", async () => {
  const { started, start } = workers();
  const model = new Model(start, NO_ENGINES, "first");
  const worker = started[0] as FakeWorker;
  const resolved = { ...RESOLVED, controls: { groups: [] }, links: [], groups: [] };
  const first = model.load("text");
  await resolve(worker, resolved);
  await first;
  expect(model.isChangeable).toBe(true);
  void model.load(TEXT);
  await refuse(worker);
  model.play();
  model.restart();
  expect(model.isChangeable).toBe(false);
  const texts = worker.requests.flatMap((request) => (request.kind === "start" ? [request.text] : []));
  expect(texts).toEqual(["text"]);
  expect(allowedModules()).not.toContain("f00d");
  // A field does not hide the question.
  model.refuse("no number");
  expect(model.refusal?.module?.file).toBe("mine.wasm");
  void model.allowModule();
  await settled();
  expect(worker.asked().at(-1)?.request).toEqual({ do: "check", text: TEXT, modules: ["f00d"] });
  await resolve(worker, resolved);
  expect(worker.requests.at(-1)).toMatchObject({ kind: "start", text: TEXT, modules: ["f00d"] });
});

test.runIf(HAS_ENGINES)(
  "an opened file becomes the congestion control of its group, in one change",
  async () => {
    const instance = engines();
    const ask = <T>(request: object): Promise<T> => Promise.resolve(instance.ask<T>(request));
    const file = new File([wasmModule()], 'my "own" ü.wasm');
    const { name, value } = await openModule(file, ask);
    const text = '[link]\nrate = "1Mbps"\nbuffer = "10p"\n[[flows]]\nname = "a"\nrtt = "10ms"\n';
    const edited = await ask<string>({ do: "edit", text, changes: [{ set: `flows.a.cca=${value}` }] });
    const { groups } = await ask<{ groups: { controller: string }[] }>({
      ...{ do: "check", text: edited, modules: allowedModules() },
    });
    expect(groups[0]?.controller).toBe(name);
    expect(name).toMatch(/^my "own" ü\.wasm@[0-9a-f]{8}$/);
  },
);

test("a file beyond the limit is refused before it is read", async () => {
  const file = new File([new Uint8Array(2 ** 20 + 1)], "large.wasm");
  const ask = (): Promise<never> => Promise.reject(new Error("it was asked"));
  await expect(openModule(file, ask)).rejects.toThrow(
    "large.wasm: found 1048577 bytes; allowed: at most 1048576",
  );
});
