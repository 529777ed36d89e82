/** What can be taken along: the scenario, the run as a picture and as a table, the trade-off as a picture. */

import { useState } from "preact/hooks";
import { Client } from "./engine/client.ts";
import { RefusedError } from "./engine/instance.ts";
import type { Resolved } from "./engine/protocol.ts";
import type { Samples, SamplesAsked } from "./engine/replay.ts";
import { type Model, SHOWN_FLOWS } from "./model.ts";
import { colorOf, dashOf } from "./palette.ts";
import { type Caption, chartsSvg } from "./picture.ts";
import { pngOf, save, saveText, tradeoffSvg } from "./saving.ts";
import { COLUMNS, csvOf, flowName, samplesAsked } from "./trace_csv.ts";

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
}

/** The most seconds that a run for a trace may take. */
const MOST_S = 60;
/** Moments of a picture: more than it has room for. */
const MOMENTS = 2000;

const CHOICES = [
  ["toml", "scenario (TOML)"],
  ["csv", "trace of this run (CSV)"],
  ["png", "queue and windows (PNG)"],
  ["svg", "queue and windows (SVG)"],
  ["tradeoff png", "trade-off (PNG)"],
  ["tradeoff svg", "trade-off (SVG)"],
] as const;

export function SaveMenu({ model, start, module }: Props): preact.JSX.Element {
  const [said, setSaid] = useState("");
  const take = async (choice: string): Promise<void> => {
    setSaid("");
    try {
      setSaid(await saved(choice, { model, start, module }));
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      setSaid(error instanceof RefusedError ? error.refusal.message : error.message);
    }
    setTimeout(() => setSaid(""), 6000);
  };
  return (
    <>
      <label>
        <span class="hidden">Save</span>
        <select
          value=""
          onChange={(event) => {
            const choice = event.currentTarget.value;
            event.currentTarget.value = "";
            if (choice) void take(choice);
          }}
        >
          <option value="">Save…</option>
          {CHOICES.map(([value, title]) => (
            <option value={value} key={value}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <span role="status" class="said saved">
        {said}
      </span>
    </>
  );
}

/** Saves something; says what. */
async function saved(choice: string, props: Props): Promise<string> {
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
      if (!svg) throw new Error("there is no trade-off yet");
      if (choice.endsWith("png")) save("tradeoff.png", await pngOf(svg));
      else saveText("tradeoff.svg", svg, "image/svg+xml");
      return "picture saved";
    }
    default:
      saveText("scenario.toml", model.text);
      return "scenario saved";
  }
}

/** What has been played is run once more, quietly, and looked at at equal distances. */
async function sampled(
  props: Props,
  ask: (resolved: Resolved, untilS: number) => SamplesAsked,
): Promise<Samples> {
  const { model, start, module } = props;
  if (!model.resolved) throw new Error("there is no run yet");
  const samples = ask(model.resolved, model.picture?.timeS || model.endS);
  const client = new Client(start, module);
  try {
    return await client.ask<Samples>({ do: "samples", text: model.text, samples, most_s: MOST_S });
  } finally {
    client.close();
  }
}

async function traceOf(props: Props): Promise<string> {
  const { resolved, description } = props.model;
  const samples = await sampled(props, samplesAsked);
  if (!resolved || !description) throw new Error("there is no run yet");
  return csvOf({ resolved, version: description.version }, samples);
}

async function runSvg(props: Props): Promise<string> {
  const { model } = props;
  const { resolved } = model;
  const { flows, rows } = await sampled(props, (resolved, untilS) => ({
    ...{ everyS: untilS / MOMENTS, untilS, flows: SHOWN_FLOWS, target: resolved.target },
  }));
  const column = (at: number): number[] => rows.map((row) => row[at] ?? Number.NaN);
  const packets = resolved?.buffer.packets ?? 0;
  const windows = flows.map((flow, at) => ({
    name: flowName(resolved, flow),
    color: colorOf(flow.flow, false),
    dash: dashOf(flow.flow),
    values: column(COLUMNS.length + at),
  }));
  const waiting = { name: "waiting", color: "#0072b2", dash: [], values: column(COLUMNS.indexOf("packets")) };
  const level = { name: `buffer: ${Math.round(packets)} packets`, value: packets };
  return chartsSvg(captionOf(model), column(COLUMNS.indexOf("time_s")), [
    { title: "Queue", unit: "packets", lines: [waiting], level },
    { title: "Congestion windows", unit: "packets", lines: windows, level: null },
  ]);
}

function captionOf({ resolved, description }: Model): Caption {
  const digest = resolved?.sha256.slice(0, 12) ?? "";
  return {
    title: resolved?.title || "An untitled link",
    source: `forebay ${description?.version ?? ""} · scenario ${digest} · seed ${resolved?.seed ?? ""}`,
  };
}
