/** Hooks of the components: changes of the model, and media queries of the browser. */

import { useEffect, useReducer, useState } from "preact/hooks";
import type { Model } from "./model.ts";

/** Renders the component again when the model has changed, at most once per frame. */
export function useModel(model: Model): void {
  const [, rerender] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    let isDue = false;
    return model.subscribe(() => {
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(() => {
        isDue = false;
        rerender(undefined);
      });
    });
  }, [model]);
}

/** Whether a media query matches, now and later. */
export function useMedia(query: string): boolean {
  const [holds, setHolds] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const take = (): void => setHolds(media.matches);
    media.addEventListener("change", take);
    return () => media.removeEventListener("change", take);
  }, [query]);
  return holds;
}
