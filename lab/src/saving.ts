/** Files to save: texts, and pictures of the page. */

import { type Caption, escaped } from "./picture.ts";

/** Passes a file to the browser, which asks for a location or saves it. */
export function save(name: string, content: Blob): void {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(content);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
}

export function saveText(name: string, text: string, type = "text/plain"): void {
  save(name, new Blob([text], { type }));
}

/** Pixels per unit of a picture: enough for a slide. */
const SCALE = 2;

/** Converts an SVG into a PNG. */
export async function pngOf(svg: string): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * SCALE;
  canvas.height = image.naturalHeight * SCALE;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("the browser cannot draw pictures");
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser cannot save pictures"))));
  });
}

/** Properties that a style sheet gives to a shape. A picture outside of the page needs them as attributes. */
const STYLES = [
  ...["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight"],
  "text-anchor",
];
const [PANEL, GAP, HEAD] = [380, 20, 60];
/** Width of an entry of the legend. */
const ENTRY_WIDTH = 280;

/** Draws the panels of the trade-off side by side with their names and a legend, as SVG. */
export function tradeoffSvg(caption: Caption, section: Element): string | null {
  const figures = [...section.querySelectorAll(".panels figure")];
  const style = getComputedStyle(section);
  const [ink, paper] = [style.color, style.getPropertyValue("--paper").trim() || "#ffffff"];
  const panels = figures.flatMap((figure, at) => {
    const own = figure.querySelector("svg");
    if (!own) return [];
    const copy = withInlineStyles(own);
    const { width, height } = own.viewBox.baseVal;
    const high = (PANEL / width) * height;
    copy.setAttribute("x", `${GAP + at * (PANEL + GAP)}`);
    copy.setAttribute("y", `${HEAD + 30}`);
    copy.setAttribute("width", `${PANEL}`);
    copy.setAttribute("height", `${high}`);
    const name = figure.querySelector("figcaption")?.textContent?.trim() ?? "";
    const left = GAP + at * (PANEL + GAP);
    const title = `<text x="${left}" y="${HEAD + 20}" font-size="15" font-weight="600" fill="${ink}">${escaped(name)}</text>`;
    return [{ text: title + new XMLSerializer().serializeToString(copy), high }];
  });
  if (panels.length === 0) return null;
  const width = GAP + panels.length * (PANEL + GAP);
  const below = HEAD + 30 + Math.max(...panels.map(({ high }) => high));
  const height = below + 94;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif">`,
    `<title>${escaped(caption.title)}</title>`,
    `<rect width="${width}" height="${height}" fill="${paper}"/>`,
    `<text x="${GAP}" y="34" font-size="20" font-weight="600" fill="${ink}">${escaped(caption.title)}: trade-off over the buffer (packets)</text>`,
    ...panels.map(({ text }) => text),
    legend(section, { top: below + 26, width, ink }),
    `<text x="${width - GAP}" y="${height - 12}" font-size="11" text-anchor="end" fill="${ink}">${escaped(caption.source)}</text>`,
    "</svg>",
  ].join("\n");
}

/** Copies an SVG with its styles as attributes. */
function withInlineStyles(own: SVGSVGElement): SVGSVGElement {
  const copy = own.cloneNode(true) as SVGSVGElement;
  const [originals, copies] = [own.querySelectorAll("*"), copy.querySelectorAll("*")];
  copies.forEach((element, at) => {
    const original = originals[at];
    if (!original) return;
    const style = getComputedStyle(original);
    for (const name of STYLES) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute("class");
  });
  return copy;
}

/** Draws the legend of the page. Keys become lines, marks become texts. */
function legend(section: Element, box: { top: number; width: number; ink: string }): string {
  const { width, ink } = box;
  let [left, top] = [GAP, box.top];
  const parts: string[] = [];
  const write = (text: string): void => {
    const label = text.replaceAll(/\s+/g, " ").trim();
    if (!label) return;
    parts.push(`<text x="${left}" y="${top}" font-size="13" fill="${ink}">${escaped(label)}</text>`);
    left += 7 * label.length + 12;
  };
  for (const node of section.querySelector(".legend")?.childNodes ?? []) {
    if (!(node instanceof Element) || !node.classList.contains("key")) {
      write(node.textContent ?? "");
      continue;
    }
    // A key and its text stay together.
    if (left > width - ENTRY_WIDTH) [left, top] = [GAP, top + 20];
    const styleName = [...node.classList].find((name) => name !== "key");
    const drawn = styleName ? section.querySelector(`.panels svg .${styleName}`) : null;
    const style = getComputedStyle(drawn ?? node);
    // Shaded and hatched areas have a wide key, filled as they are.
    const isArea = ["goal", "outside"].includes(styleName ?? "");
    const paint = drawn ? (style.stroke === "none" ? style.fill : style.stroke) : style.borderTopColor;
    const stroke = isArea && !drawn ? "none" : paint.replaceAll('"', "'");
    const dash = drawn && !isArea ? style.strokeDasharray : "none";
    parts.push(
      `<line x1="${left}" x2="${left + 24}" y1="${top - 4}" y2="${top - 4}" stroke="${stroke}" stroke-width="${isArea ? 12 : 3}" stroke-dasharray="${dash}" opacity="${isArea ? style.opacity : 1}"/>`,
    );
    left += 30;
  }
  return parts.join("\n");
}
