/**
 * Notebook side of the page: a widget for anywidget that shows the page in a frame. The page is part of the
 * widget's model. The frame has no origin, so its content cannot access the notebook.
 */

import { FRAME, type PageMessage, type WidgetState } from "./host.ts";

/** State that the widget shares with Python: python/forebay/laboratory/widget.py. */
interface Traits {
  _page: string;
  text: string;
  height: number | null;
}

/** Model of anywidget: https://anywidget.dev/en/afm/ */
interface SharedModel {
  get<Name extends keyof Traits>(name: Name): Traits[Name];
  set<Name extends keyof Traits>(name: Name, value: Traits[Name]): void;
  save_changes(): void;
  on(event: string, listener: () => void): void;
  off(event: string, listener: () => void): void;
}

/**
 * Time after the last edit until Python receives the text, in milliseconds. A moving slider makes many edits.
 */
const SAVE_DELAY_MS = 200;
/** Height before the page reports its own, and the largest accepted height, in pixels. */
const HEIGHT = 700;
const MAX_HEIGHT = 20_000;

/** Shows the page in an element. The returned function removes it and its workers. */
function render({ model, el }: { model: SharedModel; el: HTMLElement }): () => void {
  const frame = document.createElement("iframe");
  frame.name = FRAME;
  frame.title = "forebay laboratory";
  frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-modals");
  frame.allow = "clipboard-write";
  frame.style.cssText = "display: block; width: 100%; border: 0; color-scheme: normal";
  let pixels = HEIGHT;
  let isReady = false;
  let due: ReturnType<typeof setTimeout> | undefined;
  let unsaved: string | null = null;
  let sent: WidgetState | null = null;

  const setHeight = (): void => {
    frame.style.height = `${model.get("height") ?? pixels}px`;
  };
  const show = (): void => {
    const state = { text: unsaved ?? model.get("text"), isDark: isDark(el) };
    if (!isReady || (state.text === sent?.text && state.isDark === sent.isDark)) return;
    sent = state;
    frame.contentWindow?.postMessage(state, "*");
  };
  const save = (): void => {
    clearTimeout(due);
    if (unsaved === null) return;
    model.set("text", unsaved);
    unsaved = null;
    model.save_changes();
  };
  const onTextChange = (): void => {
    // The latest text from Python takes precedence.
    clearTimeout(due);
    unsaved = null;
    show();
  };
  const listener = ({ source, data }: MessageEvent<PageMessage>): void => {
    if (source !== frame.contentWindow || source === null) return;
    if (data.kind === "ready") {
      // The page loads again if a notebook moves the frame.
      isReady = true;
      sent = null;
      show();
    } else if (data.kind === "height") {
      pixels = Math.min(data.pixels, MAX_HEIGHT);
      setHeight();
    } else if (data.kind === "text") {
      sent = { text: data.text, isDark: sent?.isDark ?? isDark(el) };
      unsaved = data.text;
      clearTimeout(due);
      due = setTimeout(save, SAVE_DELAY_MS);
    }
  };

  addEventListener("message", listener);
  model.on("change:text", onTextChange);
  model.on("change:height", setHeight);
  const stopWatching = watchColors(show);
  frame.srcdoc = model.get("_page");
  setHeight();
  el.append(frame);
  return () => {
    save();
    stopWatching();
    removeEventListener("message", listener);
    model.off("change:text", onTextChange);
    model.off("change:height", setHeight);
    frame.remove();
  };
}

/**
 * Whether the notebook has light text. Each notebook marks its dark theme differently, so the color is
 * measured.
 */
function isDark(el: HTMLElement): boolean {
  const canvas = document.createElement("canvas");
  canvas.width = 1;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  if (!context) return false;
  // A canvas converts any notation of a color, such as oklch or rgb.
  context.fillStyle = getComputedStyle(el).color;
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 128;
}

/** Calls a listener when the notebook's colors may have changed. The returned function stops this. */
function watchColors(listener: () => void): () => void {
  const onChange = (): void => void requestAnimationFrame(listener);
  const observer = new MutationObserver(onChange);
  for (const element of [document.documentElement, document.body])
    observer.observe(element, { attributes: true, attributeFilter: ["class", "style", ...THEMES] });
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", onChange);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", onChange);
  };
}

/** Attributes in which notebooks write their theme. */
const THEMES = ["theme", "data-theme", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind"];

export default { render };
