/** Highlighted code, as elements: no HTML is parsed. */

import type { VNode } from "preact";
import { visibleText } from "../model/text.js";
import { type HighlightNode, highlight, languageByName } from "./highlight.js";

interface CodeProps {
  readonly text: string;
  /** A language, or a path whose ending tells it. */
  readonly language: string | undefined;
  readonly label?: string | undefined;
}

export function Code({ text, language, label }: CodeProps) {
  const known = languageByName(language);
  const shown = visibleText(text);
  return (
    <pre class="code">
      {label !== undefined && <span class="hidden">{label}: </span>}
      <code>{known === undefined ? shown : highlight(shown, known).map(toElement)}</code>
    </pre>
  );
}

/** Highlighted code without its block, for lines of a diff. */
export function toElement(node: HighlightNode, at: number): VNode | string {
  if (typeof node === "string") return node;
  return (
    <span key={at} class={node.scope === undefined ? "" : `hl-${node.scope}`}>
      {node.children.map(toElement)}
    </span>
  );
}
