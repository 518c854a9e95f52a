/** Output of a terminal, with its colours. Other control sequences are left out. */

import Anser from "anser";
import { visibleText } from "../model/text.js";

const controlStart = "\u001b";

export function Terminal({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <pre class="terminal">
      <span class="hidden">{label}: </span>
      {parts(printed(text))}
    </pre>
  );
}

function parts(text: string) {
  if (!text.includes(controlStart)) return visibleText(text);
  return Anser.ansiToJson(text, { use_classes: true, remove_empty: true }).map((part, at) => {
    const classes = [
      colour("fg", part.fg),
      colour("bg", part.bg),
      ...(part.decorations ?? []).map((name) => `ansi-${name}`),
    ];
    const named = classes.filter((name) => name !== undefined).join(" ");
    const content = visibleText(part.content);
    return named === "" ? (
      content
    ) : (
      <span key={at} class={named}>
        {content}
      </span>
    );
  });
}

/** The sixteen colours have classes; others are shown as plain text, which stays readable in both themes. */
function colour(place: "fg" | "bg", name: string | null): string | undefined {
  return name !== null && /^ansi-(bright-)?(black|red|green|yellow|blue|magenta|cyan|white)$/.test(name)
    ? `${place}-${name}`
    : undefined;
}

function withoutReturns(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end--;
  return line.slice(0, end);
}

/** The text as a terminal would show it: a carriage return starts its line again. */
function printed(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .split("\n")
    .map((line, index, lines) => (index < lines.length - 1 ? withoutReturns(line) : line))
    .map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1).replace(/\r$/, ""))
    .join("\n");
}
