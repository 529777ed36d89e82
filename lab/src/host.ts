/**
 * Connection of the page to a notebook widget: the widget sends scenario and colors, the page sends edited
 * text.
 */

/** Name of the widget's frame, by which the page recognizes it. */
export const FRAME = "forebay-laboratory";

/** State that a widget sends to the page in its frame. */
export interface WidgetState {
  text: string;
  isDark: boolean;
}

/** Message from the page to the widget around it. */
export type PageMessage =
  /** The page has loaded and shows nothing yet. */
  | { kind: "ready" }
  /** The engines accepted another scenario. */
  | { kind: "text"; text: string }
  /** Height of the page, in pixels. */
  | { kind: "height"; pixels: number };

/** Connection to the widget around the page. */
export class Host {
  state: WidgetState;
  #listener: (state: WidgetState) => void = () => {};

  private constructor(state: WidgetState) {
    this.state = state;
  }

  /**
   * Connects to the widget around this page and waits for its first state. Resolves to null outside of a
   * widget.
   */
  static connect(): Promise<Host | null> {
    if (window.parent === window || window.name !== FRAME) return Promise.resolve(null);
    return new Promise((resolve) => {
      let host: Host | null = null;
      addEventListener("message", ({ source, data }: MessageEvent<unknown>) => {
        if (source !== window.parent || !isWidgetState(data)) return;
        if (host) {
          host.state = data;
          host.#listener(data);
          return;
        }
        host = new Host(data);
        resolve(host);
      });
      post({ kind: "ready" });
    });
  }

  /** Sets the listener for later states of the widget. */
  listen(listener: (state: WidgetState) => void): void {
    this.#listener = listener;
  }

  /** Sends a scenario to the widget, unless the widget has it. */
  sendText(text: string): void {
    if (text === this.state.text) return;
    this.state = { ...this.state, text };
    post({ kind: "text", text });
  }

  /** Reports the height of an element to the widget, now and after each change. */
  reportHeight(element: Element): void {
    new ResizeObserver(() => post({ kind: "height", pixels: Math.ceil(element.scrollHeight) })).observe(
      element,
    );
  }
}

function isWidgetState(data: unknown): data is WidgetState {
  if (typeof data !== "object" || data === null) return false;
  const { text, isDark } = data as Record<string, unknown>;
  return typeof text === "string" && typeof isDark === "boolean";
}

function post(message: PageMessage): void {
  // A page without an origin does not know the origin of the notebook. The message contains no secret.
  window.parent.postMessage(message, "*");
}
