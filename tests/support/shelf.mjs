// The guided experiments of the laboratory for tests in Python. The first line on standard output is their definitions;
// then each line `{"id", "reports"}` on standard input is answered with what the page says of such reports.
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const lab = process.argv[2];
const { build } = await import(pathToFileURL(join(lab, "node_modules/esbuild/lib/main.js")).href);
const { outputFiles } = await build({
  stdin: {
    contents: 'export { EXPERIMENTS } from "./index.ts"; export { Results, rightOption } from "./types.ts";',
    resolveDir: join(lab, "src/experiments"),
    loader: "ts",
  },
  bundle: true,
  write: false,
  format: "esm",
});
const source = Buffer.from(outputFiles[0].contents).toString("base64");
const { EXPERIMENTS, Results, rightOption } = await import(`data:text/javascript;base64,${source}`);

function say(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

// Functions do not go into JSON; what they say of reports is asked for below.
say(EXPERIMENTS);
for await (const line of createInterface({ input: process.stdin })) {
  const { id, reports } = JSON.parse(line);
  const { claim, explanation, paper, prediction } = EXPERIMENTS.find((experiment) => experiment.id === id);
  const found = new Results(reports);
  say({
    claim: claim(found),
    happened: explanation(found),
    compared: paper.comparison?.(found) ?? null,
    right: prediction.kind === "choice" ? rightOption(prediction.options, found) : null,
  });
}
