/** Menu that a button opens. Arrow keys move in it, and Escape closes it. */

import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  label: string;
  /** Entries: value and title. */
  entries: readonly (readonly [string, string])[];
  onChoose: (value: string) => void;
}

export function Menu({ label, entries, onChoose }: Props): preact.JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const own = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    own.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const onOutside = (event: Event): void => {
      if (!own.current?.contains(event.target as Node | null)) setOpen(false);
    };
    document.addEventListener("pointerdown", onOutside);
    return () => document.removeEventListener("pointerdown", onOutside);
  }, [isOpen]);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!isOpen) return;
    if (event.key === "Escape") close();
    const items = [...(own.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const next =
      event.key === "Home" ? 0 : event.key === "End" ? -1 : step ? (at + step) % items.length : null;
    if (next === null) return;
    event.preventDefault();
    items.at(next)?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys belong to the button and its menu.
    <div class="menu" ref={own} onKeyDown={onKey}>
      <button
        type="button"
        ref={button}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {label} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && (
        <div role="menu" aria-label={label}>
          {entries.map(([value, title]) => (
            <button
              type="button"
              role="menuitem"
              data-value={value}
              tabIndex={-1}
              key={value}
              onClick={() => {
                close();
                onChoose(value);
              }}
            >
              {title}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
