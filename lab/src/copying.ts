/** Copying of texts to the clipboard, and the links of the page. */

import { fragmentOf, type Shared } from "./share.ts";

/** Shows a short message for some seconds. */
export type Say = (status: string) => void;

/** Copies a text and says so, or says where it is otherwise. */
export async function copyText(text: string, subject: string, say: Say, elsewhere = ""): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${subject} copied`);
  } catch {
    say(`this browser does not allow the page to copy the ${subject}${elsewhere}`);
  }
}

/** Puts content into the address of the page, which stays as it is, and copies the address. */
export async function copyLink(shared: Shared, subject: string, say: Say): Promise<void> {
  try {
    setAddress(`#${await fragmentOf(shared)}`);
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}; save the scenario instead`);
    return;
  }
  await copyText(location.href, subject, say, "; it is in the address bar");
}

/** Adds an address to the history without opening it: a link for a class has another scenario than the page. */
function setAddress(address: string): void {
  try {
    history.pushState(null, "", address);
  } catch {
    // Some frames allow a fragment only.
    location.hash = address;
  }
}

/**
 * Shell command that runs the scenario natively. The text may come from a link, so none of its lines may end
 * the document, and no control character may reach the terminal.
 */
export function commandOf(text: string): string {
  const clean = text
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "")
    .trimEnd();
  const lines = new Set(clean.split("\n"));
  let end = "SCENARIO";
  while (lines.has(end)) end += "_";
  return `forebay run - <<'${end}'\n${clean}\n${end}\n`;
}
