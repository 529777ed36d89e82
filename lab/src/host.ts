/** The page's end of a notebook's cell: whose colors it takes, and who is told of another scenario. */

/** What the frame of a widget is called: by it the page knows where it is. */
export const FRAME = "forebay-laboratory";

/** What a widget says to the page in its frame: what is to be shown. */
export interface Shown {
  text: string;
  isDark: boolean;
}

/** What the page says to the widget around it. */
export type Told =
  /** It is there, and shows nothing yet. */
  | { kind: "begun" }
  /** The engines took another scenario. */
  | { kind: "text"; text: string }
  /** It is so high now, in pixels. */
  | { kind: "height"; pixels: number };

/** A notebook around the page. */
export class Host {
  shown: Shown;
  #hear: (shown: Shown) => void = () => {};

  private constructor(shown: Shown) {
    this.shown = shown;
  }

  /** The widget around this page, with what it wants to be shown first; null where the page is on its own. */
  static greeted(): Promise<Host | null> {
    if (window.parent === window || window.name !== FRAME) return Promise.resolve(null);
    return new Promise((resolve) => {
      let host: Host | null = null;
      addEventListener("message", ({ source, data }: MessageEvent<unknown>) => {
        if (source !== window.parent || !isShown(data)) return;
        if (host) {
          host.shown = data;
          host.#hear(data);
          return;
        }
        host = new Host(data);
        resolve(host);
      });
      tell({ kind: "begun" });
    });
  }

  /** Calls back with whatever the widget wants to be shown from now on. */
  listen(hear: (shown: Shown) => void): void {
    this.#hear = hear;
  }

  /** Tells the widget of a scenario that it does not have. */
  told(text: string): void {
    if (text === this.shown.text) return;
    this.shown = { ...this.shown, text };
    tell({ kind: "text", text });
  }

  /** Tells the widget of the height of what stands in this element, now and later. */
  measure(element: Element): void {
    new ResizeObserver(() => tell({ kind: "height", pixels: Math.ceil(element.scrollHeight) })).observe(
      element,
    );
  }
}

function isShown(data: unknown): data is Shown {
  if (typeof data !== "object" || data === null) return false;
  const { text, isDark } = data as Record<string, unknown>;
  return typeof text === "string" && typeof isDark === "boolean";
}

function tell(news: Told): void {
  // A page without an origin of its own knows none of the notebook's; nothing in this is a secret.
  window.parent.postMessage(news, "*");
}
