/**
 * The notebook's end: a widget of anywidget's that shows the page in a frame of its own. The page comes with the
 * model, as everything does; the frame has no origin, so that what is in it reaches nothing of the notebook.
 */

import { FRAME, type Shown, type Told } from "./host.ts";

/** What the widget shares with Python: python/forebay/laboratory/widget.py. */
interface Traits {
  _page: string;
  text: string;
  height: number | null;
}

/** As anywidget hands it over: https://anywidget.dev/en/afm/ */
interface SharedModel {
  get<Name extends keyof Traits>(name: Name): Traits[Name];
  set<Name extends keyof Traits>(name: Name, value: Traits[Name]): void;
  save_changes(): void;
  on(event: string, hear: () => void): void;
  off(event: string, hear: () => void): void;
}

/** Milliseconds after which Python is told of another text: a slider that is moved makes many. */
const PATIENCE_MS = 200;
/** Pixels before the page has said how high it is, and the most that it is believed. */
const HEIGHT = 700;
const MOST_HEIGHT = 20_000;

/** Shows the page in an element; the answer takes it away, and its workers with it. */
function render({ model, el }: { model: SharedModel; el: HTMLElement }): () => void {
  const frame = document.createElement("iframe");
  frame.name = FRAME;
  frame.title = "forebay laboratory";
  frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-modals");
  frame.allow = "clipboard-write";
  frame.style.cssText = "display: block; width: 100%; border: 0; color-scheme: normal";
  let pixels = HEIGHT;
  let isThere = false;
  let due: ReturnType<typeof setTimeout> | undefined;
  let unsaved: string | null = null;
  let last: Shown | null = null;

  const stretch = (): void => {
    frame.style.height = `${model.get("height") ?? pixels}px`;
  };
  const show = (): void => {
    const shown = { text: unsaved ?? model.get("text"), isDark: isDark(el) };
    if (!isThere || (shown.text === last?.text && shown.isDark === last.isDark)) return;
    last = shown;
    frame.contentWindow?.postMessage(shown, "*");
  };
  const save = (): void => {
    clearTimeout(due);
    if (unsaved === null) return;
    model.set("text", unsaved);
    unsaved = null;
    model.save_changes();
  };
  const another = (): void => {
    // What Python says last holds.
    clearTimeout(due);
    unsaved = null;
    show();
  };
  const hear = ({ source, data }: MessageEvent<Told>): void => {
    if (source !== frame.contentWindow || source === null) return;
    if (data.kind === "begun") {
      // Again where a notebook has moved the frame.
      isThere = true;
      last = null;
      show();
    } else if (data.kind === "height") {
      pixels = Math.min(data.pixels, MOST_HEIGHT);
      stretch();
    } else if (data.kind === "text") {
      last = { text: data.text, isDark: last?.isDark ?? isDark(el) };
      unsaved = data.text;
      clearTimeout(due);
      due = setTimeout(save, PATIENCE_MS);
    }
  };

  addEventListener("message", hear);
  model.on("change:text", another);
  model.on("change:height", stretch);
  const colors = watched(show);
  frame.srcdoc = model.get("_page");
  stretch();
  el.append(frame);
  return () => {
    save();
    colors();
    removeEventListener("message", hear);
    model.off("change:text", another);
    model.off("change:height", stretch);
    frame.remove();
  };
}

/** Whether the notebook writes in light letters: every one of them has its own word for a dark theme. */
function isDark(el: HTMLElement): boolean {
  const canvas = document.createElement("canvas");
  canvas.width = 1;
  canvas.height = 1;
  const context = canvas.getContext("2d");
  if (!context) return false;
  // Whatever way the color is written, as oklch or as rgb.
  context.fillStyle = getComputedStyle(el).color;
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 128;
}

/** Calls back when the notebook's colors may have changed; the answer ends that. */
function watched(hear: () => void): () => void {
  const later = (): void => void requestAnimationFrame(hear);
  const observer = new MutationObserver(later);
  for (const element of [document.documentElement, document.body])
    observer.observe(element, { attributes: true, attributeFilter: ["class", "style", ...THEMES] });
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", later);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", later);
  };
}

/** Where notebooks write their theme. */
const THEMES = ["theme", "data-theme", "data-jp-theme-light", "data-jp-theme-name", "data-vscode-theme-kind"];

export default { render };
