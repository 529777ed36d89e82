/**
 * Entry point of the page: it unpacks the engines and opens the scenario of the link, of the file or of the
 * list.
 *
 * 1. `engine/` is a worker with the engines: `instance` calls the WebAssembly module, `player` plays a run by
 *    a clock, and `replay` repeats a run to record one flow. `protocol` and `client` connect the worker with
 *    the page.
 * 2. `model.ts` is the state of the page. `changes.ts` has the edits of the controls, and `share.ts` the
 *    link.
 * 3. `packet_queue.ts` and `scene.ts` show the queue, `history.ts` and `charts.tsx` a run over time.
 *    `buffer_scale.ts` maps the end of the queue to the buffer, and `readouts.ts` computes the numbers below.
 *    `recent_signals.ts`, `loss_replay.ts` and `loss_story.ts` explain a lost packet.
 * 4. `tradeoff.ts` runs models and simulations in the background, `panel.tsx` and `delay_panel.tsx` draw them
 *    on the axes of `axes.ts`. `rules.ts` evaluates the rules.
 * 5. `experiments/` has the guided experiments as data with their guides, levels and runs. `class_code.ts`
 *    encodes the guesses of a class.
 * 6. `terms.tsx` explains terms, and `flow_names.ts` names flows for all views.
 *
 * All other files are views. `build.mjs` bundles everything into one file.
 */

import { render } from "preact";
import { decoded } from "../base85.mjs";
import { App } from "./app.tsx";
import type { WorkerRequest } from "./engine/protocol.ts";
import { FIRST_SCENARIO } from "./first_scenario.ts";
import type { ScenarioEntry } from "./header.tsx";
import { Host } from "./host.ts";
import { Model } from "./model.ts";
import { sharedOf } from "./share.ts";

/** Time limit for a worker to accept the engines, in milliseconds. */
const LOAD_TIMEOUT_MS = 5000;

/** Text of an element that the build embedded in the page. */
function embedded(id: string): string {
  return document.getElementById(id)?.textContent?.trim() ?? "";
}

/** Unpacks the engines from text, which mail programs and editors do not change. */
async function engines(): Promise<WebAssembly.Module> {
  const packed = decoded(embedded("engines"));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** Returns a function that starts workers with this code. */
async function workerFactory(
  code: string,
  module: WebAssembly.Module,
  host: Host | null,
): Promise<() => Worker> {
  const blob = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const start = (): Worker => new Worker(blob);
  if (!host || (await canLoad(start, module))) return start;
  // The content security policy of VS Code's notebooks allows `data:` and no `blob:`. Firefox accepts
  // WebAssembly modules in `blob:` workers and not in `data:` workers.
  const data = `data:text/javascript,${encodeURIComponent(code)}`;
  return () => new Worker(data);
}

/** Whether a worker that is started this way accepts the engines. */
function canLoad(start: () => Worker, module: WebAssembly.Module): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (answer: boolean) => (): void => {
      worker.terminate();
      resolve(answer);
    };
    const worker = start();
    worker.onmessage = end(true);
    worker.onerror = end(false);
    // A worker that cannot read the message does not answer.
    setTimeout(end(false), LOAD_TIMEOUT_MS);
    worker.postMessage({ kind: "load", module } satisfies WorkerRequest);
  });
}

async function main(): Promise<void> {
  const root = document.getElementById("app");
  if (!root) throw new Error("the page has no element for the laboratory");
  const scenarios = [FIRST_SCENARIO, ...(JSON.parse(embedded("scenarios")) as ScenarioEntry[])];
  const own = JSON.parse(embedded("scenario") || "null") as ScenarioEntry | null;
  const host = await Host.connect();
  let linkError: string | null = null;
  let experiment = "";
  let isClass = false;
  const initial = host?.state.text ?? own?.text ?? FIRST_SCENARIO.text;
  let text = initial;
  try {
    const shared = await sharedOf(location.hash);
    text = shared?.text ?? text;
    experiment = shared?.experiment ?? "";
    isClass = shared?.classroom ?? false;
  } catch (error) {
    linkError = error instanceof Error ? error.message : String(error);
  }
  const module = await engines();
  const start = await workerFactory(embedded("worker"), module, host);
  const model = new Model(start, module, text);
  const show = (opened: string): void =>
    render(
      <App
        model={model}
        start={start}
        module={module}
        scenarios={scenarios}
        linkError={linkError}
        experiment={opened}
        isClass={isClass}
        isHostDark={host?.state.isDark ?? null}
      />,
      root,
    );
  show(experiment);
  if (host) syncWithHost(host, model, root, () => show(experiment));
  addEventListener("hashchange", () => {
    sharedOf(location.hash).then(
      (shared) => {
        linkError = null;
        isClass = shared?.classroom ?? false;
        show(shared?.experiment ?? "");
        const wanted = shared?.text ?? initial;
        if (wanted !== model.text) void model.load(wanted);
      },
      (error: Error) => {
        linkError = error.message;
        show(experiment);
      },
    );
  });
  // Something happens at once, unless the system asks for reduced motion.
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) model.play();
  await model.begin();
}

/** Synchronizes the page with a notebook. */
function syncWithHost(host: Host, model: Model, root: Element, redraw: () => void): void {
  host.listen(({ text }) => {
    redraw();
    if (text !== model.text) void model.load(text);
  });
  let { resolved } = model;
  model.subscribe(() => {
    // The engines have not accepted a text that is being typed.
    if (model.resolved === resolved) return;
    resolved = model.resolved;
    host.sendText(model.text);
  });
  host.reportHeight(root);
}

main().catch((error: unknown) => {
  const root = document.getElementById("app");
  if (root)
    root.textContent = `The laboratory cannot start: ${error instanceof Error ? error.message : String(error)}`;
});
