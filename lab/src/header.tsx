/** Header of the page. Nothing in it changes its size, so it never moves. */

import { useRef, useState } from "preact/hooks";
import { commandOf, copyLink, copyText, type Say } from "./copying.ts";
import type { Model } from "./model.ts";
import { refusalOf } from "./playable.ts";
import { SaveMenu } from "./save_view.tsx";

export type Theme = "auto" | "light" | "dark";

/** Scenario of the list. */
export interface ScenarioEntry {
  name: string;
  text: string;
}

interface Props {
  model: Model;
  start: () => Worker;
  module: WebAssembly.Module;
  scenarios: readonly ScenarioEntry[];
  /** Id of the open experiment; an empty string for none. */
  experiment: string;
  isHosted: boolean;
  theme: Theme;
  onTheme: (theme: Theme) => void;
  isHall: boolean;
  onHall: () => void;
  /** Called when a scenario of the list replaces the present one. */
  onScenario: () => void;
  say: Say;
}

/** Reasons why scenarios cannot be played, by name. They are asked for once, when the list gets the focus. */
function useRefusals(
  model: Model,
  scenarios: readonly ScenarioEntry[],
): [ReadonlyMap<string, string>, () => void] {
  const [refusals, setRefusals] = useState<ReadonlyMap<string, string>>(new Map());
  const isAsked = useRef(false);
  const ask = async (): Promise<void> => {
    if (isAsked.current) return;
    isAsked.current = true;
    const found = new Map<string, string>();
    for (const { name, text } of scenarios) {
      const refusal = await refusalOf((request) => model.ask(request), text);
      if (refusal !== null) setRefusals(new Map(found.set(name, refusal)));
    }
  };
  return [refusals, () => void ask()];
}

export function Header(props: Props): preact.JSX.Element {
  const { model, start, module, scenarios, experiment, isHosted, theme, onTheme, isHall, onHall, say } =
    props;
  const open = (name: string): void => {
    const chosen = scenarios.find((it) => it.name === name);
    if (!chosen) return;
    props.onScenario();
    void model.load(chosen.text);
  };
  const [refusals, askForRefusals] = useRefusals(model, scenarios);
  const shared = (): { text: string; experiment?: string } =>
    experiment ? { text: model.text, experiment } : { text: model.text };
  return (
    <header>
      <h1>
        forebay <span>laboratory</span>
      </h1>
      <label class="scenarios">
        <span class="hidden">Scenario</span>
        <select
          value=""
          onFocus={askForRefusals}
          onPointerEnter={askForRefusals}
          onChange={(event) => {
            open(event.currentTarget.value);
            event.currentTarget.value = "";
          }}
        >
          <option value="">Open a scenario…</option>
          {scenarios.map(({ name }) => (
            <option value={name} disabled={refusals.has(name)} title={refusals.get(name)} key={name}>
              {name}
              {refusals.has(name) && ` (too large: ${refusals.get(name)})`}
            </option>
          ))}
        </select>
      </label>
      {/* A notebook cell has no address. */}
      {!isHosted && (
        <button type="button" onClick={() => void copyLink(shared(), "link", say)}>
          Copy link
        </button>
      )}
      <button
        type="button"
        class="wide-only command"
        onClick={() => void copyText(commandOf(model.text), "command", say)}
      >
        Copy command
      </button>
      <SaveMenu model={model} start={start} module={module} say={say} />
      <button type="button" class="wide-only" aria-pressed={isHall} title="Key: p" onClick={onHall}>
        Presentation
      </button>
      <label class="colors">
        <span class="hidden">Colors</span>
        <select value={theme} onChange={(event) => onTheme(event.currentTarget.value as Theme)}>
          <option value="auto">colors of the {isHosted ? "notebook" : "system"}</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
      </label>
    </header>
  );
}
