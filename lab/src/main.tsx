/**
 * Begins the page: the engines are unpacked from it, and the scenario comes with the link, the file or the shelf.
 *
 * 1. `engine/` is a worker with the engines: `instance` has the calls, `player` a run and its clock, `replay` the same
 *    run again with one flow followed; `protocol` and `client` are the two ends of the thread.
 * 2. `model.ts` is the state of the page. `changes.ts` has what controls change, and `share.ts` the link.
 * 3. `line.ts` and `scene.ts` show the queue, `history.ts` and `charts.tsx` a run over time. `signals.ts`, `follow.ts`
 *    and `loss_story.ts` explain a lost packet.
 * 4. `tradeoff.ts` asks models and runs in the background, and `panel.tsx` draws them; `rules.ts` judges the rules.
 * 5. `experiments/` has the guided experiments as data, and their runs.
 *
 * All other files are views. `build.mjs` makes one file of everything.
 */

import { render } from "preact";
import { App } from "./app.tsx";
import type { Order } from "./engine/protocol.ts";
import { Host } from "./host.ts";
import { Model } from "./model.ts";
import { sharedOf } from "./share.ts";

/** Milliseconds that a worker has to take the engines. */
const PATIENCE_MS = 5000;

/** What stands in the page between its marks. */
function kept(id: string): string {
  return document.getElementById(id)?.textContent?.trim() ?? "";
}

/** The engines, from text that mail and editors leave alone. */
async function engines(): Promise<WebAssembly.Module> {
  const packed = Uint8Array.from(atob(kept("engines")), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(stream).arrayBuffer());
}

/** How workers are started that run this code. */
async function workers(code: string, module: WebAssembly.Module, host: Host | null): Promise<() => Worker> {
  const blob = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const start = (): Worker => new Worker(blob);
  if (!host || (await works(start, module))) return start;
  // The rules of VS Code's notebooks allow data and no blobs; Firefox sends engines to blobs and not to data.
  const data = `data:text/javascript,${encodeURIComponent(code)}`;
  return () => new Worker(data);
}

/** Whether a worker that is started so takes the engines. */
function works(start: () => Worker, module: WebAssembly.Module): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (answer: boolean) => (): void => {
      worker.terminate();
      resolve(answer);
    };
    const worker = start();
    worker.onmessage = end(true);
    worker.onerror = end(false);
    // One that cannot read what it is sent says nothing.
    setTimeout(end(false), PATIENCE_MS);
    worker.postMessage({ kind: "load", module } satisfies Order);
  });
}

interface Shelf {
  name: string;
  text: string;
}

async function begin(): Promise<void> {
  const place = document.getElementById("app");
  if (!place) throw new Error("a page without a place for the laboratory");
  const scenarios = JSON.parse(kept("scenarios")) as Shelf[];
  const given = JSON.parse(kept("scenario") || "null") as Shelf | null;
  const host = await Host.greeted();
  let complaint: string | null = null;
  let experiment = "";
  const first = host?.shown.text ?? given?.text ?? scenarios[0]?.text ?? "";
  let text = first;
  try {
    const shared = await sharedOf(location.hash);
    text = shared?.text ?? text;
    experiment = shared?.experiment ?? "";
  } catch (error) {
    complaint = error instanceof Error ? error.message : String(error);
  }
  const module = await engines();
  const start = await workers(kept("worker"), module, host);
  const model = new Model(start, module, text);
  const show = (opened: string): void =>
    render(
      <App
        model={model}
        start={start}
        module={module}
        scenarios={scenarios}
        complaint={complaint}
        experiment={opened}
        isHostDark={host?.shown.isDark ?? null}
      />,
      place,
    );
  show(experiment);
  if (host) hosted(host, model, place, () => show(experiment));
  addEventListener("hashchange", () => {
    sharedOf(location.hash).then(
      (shared) => {
        complaint = null;
        show(shared?.experiment ?? "");
        const wanted = shared?.text ?? first;
        if (wanted !== model.text) void model.take(wanted);
      },
      (error: Error) => {
        complaint = error.message;
        show(experiment);
      },
    );
  });
  await model.begin();
}

/** Lets a notebook and the page follow each other. */
function hosted(host: Host, model: Model, place: Element, redraw: () => void): void {
  host.listen(({ text }) => {
    redraw();
    if (text !== model.text) void model.take(text);
  });
  let { resolved } = model;
  model.subscribe(() => {
    // A text that is being typed is none yet: the engines have not taken it.
    if (model.resolved === resolved) return;
    resolved = model.resolved;
    host.told(model.text);
  });
  host.measure(place);
}

begin().catch((error: unknown) => {
  const place = document.getElementById("app");
  if (place)
    place.textContent = `The laboratory cannot begin: ${error instanceof Error ? error.message : String(error)}`;
});
