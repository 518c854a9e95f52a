/** Highlighted code as elements: highlight.js makes a tree of scopes, and no HTML is parsed. */

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import type { VNode } from "preact";
import { visibleText } from "../model/text.js";

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

// Code as a tree of scopes, by highlight.js.

/** Text, or a part with a scope such as `keyword`. */
type HighlightNode = string | { readonly scope?: string; readonly children: readonly HighlightNode[] };

const languages = {
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, json, kotlin, markdown, php, python },
  ...{ ruby, rust, sql, swift, typescript, xml, yaml },
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

/** Names and endings that highlight.js does not know as aliases. */
const others: Readonly<Record<string, string>> = {
  javascript: "typescript",
  js: "typescript",
  jsx: "typescript",
  mjs: "typescript",
  cjs: "typescript",
  mts: "typescript",
  cts: "typescript",
  jsonl: "json",
  jsonc: "json",
  json5: "json",
  h: "c",
  hpp: "cpp",
  htm: "xml",
  vue: "xml",
  scss: "css",
  less: "css",
  shellsession: "bash",
  console: "bash",
  zsh: "bash",
  fish: "bash",
  env: "ini",
  cfg: "ini",
};

/** Longer code is shown without colours: highlighting takes time in proportion to it, at best. */
const maxLength = 24_000;

/** The language of a name or of a path's ending; undefined for an unknown one. */
export function languageByName(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const base = name.slice(name.lastIndexOf("/") + 1).toLowerCase();
  const ending = base.slice(base.lastIndexOf(".") + 1).trim();
  const known = others[ending] ?? ending;
  return hljs.getLanguage(known) === undefined ? undefined : known;
}

/** Highlights code in a known language. */
export function highlight(text: string, language: string): readonly HighlightNode[] {
  if (text.length > maxLength) return [text];
  const { _emitter } = hljs.highlight(text, { language, ignoreIllegals: true });
  // The tree from which highlight.js writes its HTML, as lowlight takes it too.
  const { rootNode } = _emitter as unknown as { readonly rootNode?: EmittedNode };
  return rootNode === undefined ? [text] : rootNode.children.map(toNode);
}

interface EmittedNode {
  readonly scope?: string;
  readonly children: readonly (EmittedNode | string)[];
}

function toNode(node: EmittedNode | string): HighlightNode {
  if (typeof node === "string") return node;
  const [scope] = node.scope?.split(/[.:]/) ?? [];
  return { ...(scope !== undefined && { scope }), children: node.children.map(toNode) };
}
