/** The scenario's text, with what is wrong at the line where it is. */

import { useEffect, useRef } from "preact/hooks";
import type { Model } from "./model.ts";

export function Editor({ model }: { model: Model }): preact.JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const wrong = model.refusal?.kind === "scenario" ? model.refusal : null;
  const lines = model.text.split("\n").length;
  useEffect(() => {
    const own = area.current;
    // What a control has changed; what is typed stands there already.
    if (own && own.value !== model.text) own.value = model.text;
  }, [model.text]);
  return (
    <section class="editor" aria-label="Scenario as text">
      <h2>Scenario</h2>
      <div class="page">
        <div class="gutter" aria-hidden="true" ref={gutter}>
          {Array.from({ length: lines }, (_, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
            <div class={wrong?.line === at + 1 ? "wrong" : ""} key={at}>
              {at + 1}
            </div>
          ))}
        </div>
        <textarea
          ref={area}
          aria-label="Scenario in TOML"
          aria-invalid={wrong !== null}
          aria-describedby="wrong"
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          onInput={(event) => model.edit(event.currentTarget.value)}
          onScroll={(event) => {
            if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
          }}
        />
      </div>
      <p id="wrong" class="wrong" role="status">
        {wrong?.message ?? ""}
      </p>
    </section>
  );
}
