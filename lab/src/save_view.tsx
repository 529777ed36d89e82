/** Menu for saving: the scenario, the run as a picture or a table, the trade-off as a picture. */

import { Client } from "./engine/client.ts";
import { RefusedError } from "./engine/instance.ts";
import type { Resolved } from "./engine/protocol.ts";
import type { Samples, SamplesRequest } from "./engine/replay.ts";
import { plain, shownName } from "./flow_names.ts";
import { Menu } from "./menu.tsx";
import { type Model, SHOWN_FLOWS } from "./model.ts";
import { colorOf, dashOf } from "./palette.ts";
import { type Caption, chartsSvg } from "./picture.ts";
import { queueLimit } from "./queue_unit.ts";
import { pngOf, save, saveText, tradeoffSvg } from "./saving.ts";
import { COLUMNS, csvOf, samplesRequest } from "./trace_csv.ts";

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
}

/** Time limit of a run for a trace, in seconds. */
const TIME_LIMIT_S = 60;
/** Number of samples of a picture: more than its resolution. */
const MOMENTS = 2000;

const CHOICES = [
  ["toml", "scenario (TOML)"],
  ["csv", "trace of this run (CSV)"],
  ["png", "queue and windows (PNG)"],
  ["svg", "queue and windows (SVG)"],
  ["tradeoff png", "trade-off (PNG)"],
  ["tradeoff svg", "trade-off (SVG)"],
] as const;

export function SaveMenu({ say, ...props }: Props & { say: (status: string) => void }): preact.JSX.Element {
  const saveChoice = async (choice: string): Promise<void> => {
    try {
      say(await saveAs(choice, props));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      say(error instanceof RefusedError ? error.refusal.message : error.message);
    }
  };
  return <Menu label="Save" entries={CHOICES} onChoose={(choice) => void saveChoice(choice)} />;
}

/** Saves a file and returns a confirmation. */
async function saveAs(choice: string, props: Props): Promise<string> {
  const { model } = props;
  switch (choice) {
    case "csv":
      saveText("trace.csv", await traceOf(props), "text/csv");
      return "trace saved";
    case "png":
      save("run.png", await pngOf(await runSvg(props)));
      return "picture saved";
    case "svg":
      saveText("run.svg", await runSvg(props), "image/svg+xml");
      return "picture saved";
    case "tradeoff png":
    case "tradeoff svg": {
      const section = document.querySelector(".tradeoff");
      const svg = section && tradeoffSvg(captionOf(model), section);
      if (!svg) throw new Error("the trade-off is not computed yet");
      if (choice.endsWith("png")) save("tradeoff.png", await pngOf(svg));
      else saveText("tradeoff.svg", svg, "image/svg+xml");
      return "picture saved";
    }
    default:
      saveText("scenario.toml", model.text);
      return "scenario saved";
  }
}

/** Replays the run in the background up to the displayed time, and samples it at equal intervals. */
async function sampleRun(
  props: Props,
  makeRequest: (resolved: Resolved, untilS: number) => SamplesRequest,
): Promise<Samples> {
  const { model, start, module } = props;
  if (!model.resolved) throw new Error("no run has started yet");
  const samples = makeRequest(model.resolved, model.picture?.timeS || model.endS);
  const client = new Client(start, module);
  try {
    return await client.ask<Samples>({ do: "samples", text: model.text, samples, most_s: TIME_LIMIT_S });
  } finally {
    client.close();
  }
}

async function traceOf(props: Props): Promise<string> {
  const { resolved, description } = props.model;
  const samples = await sampleRun(props, samplesRequest);
  if (!resolved || !description) throw new Error("no run has started yet");
  return csvOf({ resolved, version: description.version }, samples);
}

async function runSvg(props: Props): Promise<string> {
  const { model } = props;
  const { resolved } = model;
  const { flows, rows } = await sampleRun(props, (resolved, untilS) => ({
    ...{ everyS: untilS / MOMENTS, untilS, flows: SHOWN_FLOWS, target: resolved.target },
  }));
  const column = (at: number): number[] => rows.map((row) => row[at] ?? Number.NaN);
  const packets = resolved?.buffer.packets ?? 0;
  const windows = flows.map((flow, at) => ({
    name: shownName(resolved, flow),
    color: colorOf(flow.flow, false),
    dash: dashOf(flow.flow),
    values: column(COLUMNS.length + at),
  }));
  const queue = { name: "queue", color: "#0072b2", dash: [], values: column(COLUMNS.indexOf("packets")) };
  const isInPackets = resolved !== null && queueLimit(resolved) === "packets";
  const level = isInPackets ? { name: `buffer: ${Math.round(packets)} packets`, value: packets } : null;
  return chartsSvg(captionOf(model), column(COLUMNS.indexOf("time_s")), [
    { title: "Queue", unit: "packets", lines: [queue], level },
    { title: "Congestion windows", unit: "packets", lines: windows, level: null },
  ]);
}

function captionOf({ resolved, description }: Model): Caption {
  const digest = resolved?.sha256.slice(0, 12) ?? "";
  return {
    title: plain(resolved?.title || "An untitled link"),
    source: `forebay ${description?.version ?? ""} · scenario ${digest} · seed ${resolved?.seed ?? ""}`,
  };
}
