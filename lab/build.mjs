/**
 * Builds the page into one file, which needs no server and fetches nothing.
 * `node build.mjs ENGINES.wasm PAGE.html`
 */

import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { encoded } from "./base85.mjs";
import { scenarios } from "./scenarios.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [engines, page] = process.argv.slice(2);
if (!engines || !page) {
  console.error("usage: node build.mjs ENGINES.wasm PAGE.html");
  process.exit(2);
}

/**
 * Bundles an entry point with its imports.
 * @param {string} entry
 * @param {"iife" | "esm"} format
 */
async function bundle(entry, format = "iife") {
  const built = await build({
    entryPoints: [join(here, "src", entry)],
    bundle: true,
    minify: true,
    write: false,
    format,
    target: "es2022",
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
    legalComments: "none",
  });
  return built.outputFiles[0]?.text.trim() ?? "";
}

/** Escapes text so that no part of it can end the script element around it. @param {string} text */
function escaped(text) {
  return text.replaceAll("</", "<\\/").replaceAll("<!--", "<\\!--");
}

/** Source of the content security policy for a script or style. @param {string} text */
function policySource(text) {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

const css = await build({
  stdin: {
    contents: '@import "uplot/dist/uPlot.min.css";\n@import "./src/style.css";',
    resolveDir: here,
    loader: "css",
  },
  bundle: true,
  minify: true,
  write: false,
});
const style = css.outputFiles[0]?.text.trim() ?? "";
const main = escaped(await bundle("main.tsx"));
const worker = escaped(await bundle("engine/worker.ts"));
const widget = escaped(await bundle("widget.ts", "esm"));
const wasm = await readFile(engines);
const packed = encoded(gzipSync(wasm, { level: 9 }));
const policy = [
  "default-src 'none'",
  `script-src ${policySource(main)} 'wasm-unsafe-eval'`,
  "worker-src blob: data:",
  `style-src ${policySource(style)}`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
/** @type {Record<string, string>} */
const parts = {
  policy,
  style,
  main,
  worker,
  widget,
  engines: packed,
  scenarios: JSON.stringify(await scenarios(join(here, "..", "scenarios"))).replaceAll("<", "\\u003c"),
};
const template = await readFile(join(here, "page.html"), "utf8");
const html = template.replace(/\{\{(\w+)\}\}/g, (_, name) => parts[name] ?? "");
await mkdir(dirname(page), { recursive: true });
await writeFile(`${page}.part`, html);
await rename(`${page}.part`, page);
const kilo = (/** @type {number} */ bytes) => `${Math.round(bytes / 1000)} kB`;
console.log(
  `${page}: ${kilo(html.length)} (engines ${kilo(wasm.length)}, packed ${kilo(packed.length)}; page ${kilo(main.length)}, worker ${kilo(worker.length)})`,
);
