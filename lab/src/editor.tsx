/** Editor of the scenario's text, with an error message and a mark at its line. */

import { useEffect, useRef } from "preact/hooks";
import type { Model } from "./model.ts";

/** Largest number of numbered lines. */
const MAX_LINES = 20_000;

/** Line numbers, one per line. */
function numbers(first: number, end: number): string {
  const last = Math.min(end, MAX_LINES);
  return Array.from({ length: Math.max(0, last - first) }, (_, at) => `${first + at}\n`).join("");
}

export function Editor({ model }: { model: Model }): preact.JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const wrong = model.refusal?.kind === "scenario" ? model.refusal : null;
  const lines = model.text.split("\n").length;
  useEffect(() => {
    const own = area.current;
    // A control may have changed the text. Typed text is in the area already.
    if (own && own.value !== model.text) own.value = model.text;
  }, [model.text]);
  return (
    <section class="editor" aria-label="Scenario as text">
      <h2>Scenario</h2>
      <div class="page">
        <div class="gutter" aria-hidden="true" ref={gutter}>
          {wrong?.line ? (
            <>
              {numbers(1, wrong.line)}
              <span class="wrong">{`${wrong.line}\n`}</span>
              {numbers(wrong.line + 1, lines + 1)}
            </>
          ) : (
            numbers(1, lines + 1)
          )}
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
