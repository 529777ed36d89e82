/** The scenario's text, with what is wrong at the line where it is. */

import { useEffect, useRef } from "preact/hooks";
import type { Model } from "./model.ts";

/** The most lines that are numbered. */
const MOST_LINES = 20_000;

/** Numbers of lines, one below the other. */
function numbers(first: number, end: number): string {
  const last = Math.min(end, MOST_LINES);
  return Array.from({ length: Math.max(0, last - first) }, (_, at) => `${first + at}\n`).join("");
}

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
