/** What components share: the model's news, and the browser's wishes. */

import { useEffect, useReducer, useState } from "preact/hooks";
import type { Model } from "./model.ts";

/** Draws the component again when the model has changed, at most once a frame. */
export function useModel(model: Model): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    let isDue = false;
    return model.subscribe(() => {
      if (isDue) return;
      isDue = true;
      requestAnimationFrame(() => {
        isDue = false;
        again(undefined);
      });
    });
  }, [model]);
}

/** Whether a media query holds, now and later. */
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
