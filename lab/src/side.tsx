/** Side of the page with tabs: experiments, controls and text. On a phone it is a sheet over the picture. */

import { useRef } from "preact/hooks";

const TABS = [
  ["experiments", "Experiments"],
  ["controls", "Controls"],
  ["text", "Text"],
] as const;

export type Tab = (typeof TABS)[number][0];

interface Props {
  tab: Tab;
  onTab: (tab: Tab) => void;
  /** Whether the sheet of a phone is open. A wide page shows the side always. */
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
  children: Record<Tab, preact.ComponentChildren>;
}

export function Side({ tab, onTab, isOpen, onOpen, children }: Props): preact.JSX.Element {
  const tabs = useRef<HTMLDivElement>(null);
  const panels = useRef<HTMLDivElement>(null);
  const choose = (next: Tab): void => {
    onOpen(next !== tab || !isOpen);
    onTab(next);
    panels.current?.scrollTo(0, 0);
  };
  const onKey = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = TABS.findIndex(([name]) => name === tab);
    const next =
      event.key === "Home"
        ? TABS[0]
        : event.key === "End"
          ? TABS.at(-1)
          : step && TABS.at((at + step) % TABS.length);
    if (!next) return;
    event.preventDefault();
    onTab(next[0]);
    onOpen(true);
    tabs.current?.querySelector<HTMLElement>(`#tab-${next[0]}`)?.focus();
  };
  return (
    <aside class={isOpen ? "side open" : "side"} aria-label="Experiments and scenario">
      <div class="tabs">
        <div role="tablist" aria-label="Side" ref={tabs} onKeyDown={onKey}>
          {TABS.map(([name, title]) => (
            <button
              type="button"
              role="tab"
              id={`tab-${name}`}
              aria-controls={`panel-${name}`}
              aria-selected={name === tab}
              tabIndex={name === tab ? 0 : -1}
              onClick={() => choose(name)}
              key={name}
            >
              {title}
            </button>
          ))}
        </div>
        <button
          type="button"
          class="sheet-toggle"
          aria-label={isOpen ? "Close the sheet" : "Open the sheet"}
          onClick={() => onOpen(!isOpen)}
        >
          {isOpen ? "▾" : "▴"}
        </button>
      </div>
      <div class="tab-panels" ref={panels}>
        {TABS.map(([name]) => (
          <div
            role="tabpanel"
            id={`panel-${name}`}
            aria-labelledby={`tab-${name}`}
            hidden={name !== tab}
            key={name}
          >
            {children[name]}
          </div>
        ))}
      </div>
    </aside>
  );
}
