/** Begins the page: the engines are unpacked from it, and the scenario comes with the link, the file or the shelf. */

import { render } from "preact";
import { App } from "./app.tsx";
import { Model } from "./model.ts";
import { sharedOf } from "./share.ts";

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

interface Shelf {
  name: string;
  text: string;
}

async function begin(): Promise<void> {
  const place = document.getElementById("app");
  if (!place) throw new Error("a page without a place for the laboratory");
  const scenarios = JSON.parse(kept("scenarios")) as Shelf[];
  const given = JSON.parse(kept("scenario") || "null") as Shelf | null;
  let complaint: string | null = null;
  let experiment = "";
  let text = given?.text ?? scenarios[0]?.text ?? "";
  try {
    const shared = await sharedOf(location.hash);
    text = shared?.text ?? text;
    experiment = shared?.experiment ?? "";
  } catch (error) {
    complaint = error instanceof Error ? error.message : String(error);
  }
  const source = URL.createObjectURL(new Blob([kept("worker")], { type: "text/javascript" }));
  const start = (): Worker => new Worker(source);
  const module = await engines();
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
      />,
      place,
    );
  show(experiment);
  addEventListener("hashchange", () => {
    sharedOf(location.hash).then(
      (shared) => {
        if (shared?.experiment) show(shared.experiment);
        if (shared && shared.text !== model.text) void model.take(shared.text);
      },
      () => {},
    );
  });
  await model.begin();
}

begin().catch((error: unknown) => {
  const place = document.getElementById("app");
  if (place)
    place.textContent = `The laboratory cannot begin: ${error instanceof Error ? error.message : String(error)}`;
});
