/** Text of any length: its start, and a button for more, piece by piece, so that no text blocks the page. */

import Anser from "anser";
import { Lexer, type Token, Tokenizer, type Tokens } from "marked";
import type { ComponentChild, ComponentChildren } from "preact";
import { bytesText, visibleText } from "../model/text.js";
import { Code } from "./code.js";
import { memo, useUpdate, useViewer } from "./hooks.js";

/** How a text is shown. `text` is plain. */
type TextKind = "text" | "markdown" | "terminal" | "json" | "code";

interface FoldedTextProps {
  /** Unique in the session; remembers whether the text is open. */
  readonly id: string;
  readonly rowId: string;
  readonly text: string;
  readonly kind: TextKind;
  /** A language or a file name, for code. */
  readonly language?: string;
  readonly label?: string;
}

/** Characters and lines of a folded text. Markdown is for readers: more of it is shown. */
const foldedLength: Readonly<Record<TextKind, number>> = {
  text: 1500,
  markdown: 8000,
  terminal: 1500,
  json: 900,
  code: 1500,
};
const foldedLines: Readonly<Record<TextKind, number>> = {
  text: 16,
  markdown: 200,
  terminal: 16,
  json: 12,
  code: 16,
};
/** Characters that one click adds. */
const pieceLength = 40_000;
/** Less than this is not worth a fold. */
const slack = 1.3;

export function FoldedText({ id, rowId, text, kind, language, label }: FoldedTextProps) {
  const state = useViewer();
  const update = useUpdate();
  const open = (id: string, pieces: number) => {
    state.open(id, pieces);
    update();
  };
  const head = headLength(text, kind);
  const isShort = head >= text.length;
  const match = isShort ? -1 : state.patternFor(rowId) && indexOfMatch(text, state.patternFor(rowId), head);
  const needed = match === undefined || match < 0 ? 0 : Math.floor((match - head) / pieceLength) + 1;
  const pieces = isShort ? 0 : Math.max(state.opened(id), state.view.printing ? 1 : 0, needed);
  const end = pieces === 0 ? head : Math.min(text.length, cutAt(text, head + pieces * pieceLength));
  const rest = text.length - end;
  return (
    <div class="text">
      <Piece
        text={text.slice(0, isShort ? text.length : end)}
        kind={kind}
        language={language}
        label={label}
      />
      {!isShort && (
        <p class="fold">
          {rest > 0 && (
            <button
              type="button"
              data-fold={pieces === 0 ? "closed" : undefined}
              aria-expanded={pieces > 0}
              onClick={() => open(id, pieces + 1)}
            >
              {pieces === 0 ? "Show all" : "Show more"} ({textSize(text)})
            </button>
          )}
          {pieces > 0 && (
            <button type="button" data-fold="open" onClick={() => open(id, 0)}>
              Fold
            </button>
          )}
        </p>
      )}
    </div>
  );
}

interface PieceProps {
  readonly text: string;
  readonly kind: TextKind;
  readonly language: string | undefined;
  readonly label: string | undefined;
}

function Piece({ text, kind, language, label }: PieceProps) {
  switch (kind) {
    case "markdown":
      return <Markdown text={text} />;
    case "terminal":
      return <Terminal text={text} label={label ?? "Output"} />;
    case "json":
      return <Code text={text} language="json" label={label} />;
    case "code":
      return <Code text={text} language={language} label={label} />;
    case "text":
      return <p class="plain">{visibleText(text)}</p>;
  }
}

function headLength(text: string, kind: TextKind): number {
  const longest = foldedLength[kind];
  let end = 0;
  for (let line = 0; line < foldedLines[kind]; line++) {
    const next = text.indexOf("\n", end);
    if (next < 0 || next > longest) {
      end = next < 0 ? text.length : longest;
      break;
    }
    end = next + 1;
  }
  end = Math.min(end, longest);
  if (text.length <= end * slack && text.length <= longest * slack) return text.length;
  return cutAt(text, end);
}

/** A cut that splits no surrogate pair. */
function cutAt(text: string, end: number): number {
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code <= 0xdbff ? end + 1 : end;
}

function indexOfMatch(text: string, pattern: RegExp | undefined, from: number): number {
  if (pattern === undefined) return -1;
  const index = text.slice(from).search(pattern);
  return index < 0 ? -1 : from + index;
}

function textSize(text: string): string {
  let lines = text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at >= 0 && lines < 1_000_000; at = text.indexOf("\n", at + 1)) lines++;
  return `${lines === 1 ? "1 line" : `${lines.toLocaleString("en")} lines`}, ${bytesText(text.length)}`;
}

// Markdown as elements. The parser's tokens become elements directly and raw HTML stays text, so that
// there is no HTML to sanitise. Images of the text are never loaded: they are shown as links.

/** A longer piece is parsed in parts, since the time for hostile text may grow with its square. */
const maxPieceLength = 6000;
const maxDepth = 24;

/** Finds no HTML: agents write tags of their own, such as `<environment>`, around Markdown. */
class TextTokenizer extends Tokenizer {
  override html(): undefined {
    return undefined;
  }
  override tag(): undefined {
    return undefined;
  }
}

export function Markdown({ text }: { readonly text: string }) {
  return (
    <div class="markdown">
      {pieces(text).map((piece, at) => (
        <MarkdownPiece key={at} text={piece} />
      ))}
    </div>
  );
}

/** Of a reply that grows only the last piece is parsed again. */
const MarkdownPiece = memo(
  ({ text }: { readonly text: string }) => <>{render(text)}</>,
  (before, after) => before.text === after.text,
);

function render(piece: string): ComponentChild {
  if (piece.length > maxPieceLength) return <p class="plain">{visibleText(piece)}</p>;
  try {
    return blocks(new Lexer({ gfm: true, breaks: true, tokenizer: new TextTokenizer() }).lex(piece), 0);
  } catch {
    return <p class="plain">{visibleText(piece)}</p>; // nested too deep for the parser
  }
}

/** Splits at blank lines outside of fences, into pieces of bounded length. A paragraph stays whole. */
function pieces(text: string): readonly string[] {
  if (text.length <= maxPieceLength) return [text];
  const found: string[] = [];
  let piece: string[] = [];
  let length = 0;
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    const [, mark] = /^ {0,3}(`{3,1000}|~{3,1000})/.exec(line) ?? [];
    if (mark !== undefined && fence === undefined) fence = mark;
    else if (mark !== undefined && fence !== undefined && mark.startsWith(fence)) fence = undefined;
    const isBreak = line.trim() === "" && fence === undefined;
    if (isBreak && length > maxPieceLength / 3) {
      found.push(piece.join("\n"));
      [piece, length] = [[], 0];
    }
    piece.push(line);
    length += line.length + 1;
  }
  found.push(piece.join("\n"));
  return found;
}

function blocks(tokens: readonly Token[], depth: number): readonly ComponentChild[] {
  return tokens.map((token, at) => block(token as Tokens.Generic, at, depth));
}

function block(token: Tokens.Generic, key: number, depth: number): ComponentChild {
  if (depth > maxDepth) return visibleText(token.raw);
  const inner = depth + 1;
  switch (token.type) {
    case "space":
      return null;
    case "heading":
      return (
        <p class={`heading h${token.depth}`} key={key}>
          {inlines(token.tokens ?? [], inner)}
        </p>
      );
    case "code":
      return (
        <Code key={key} text={token.text} language={token.lang ? token.lang.split(/\s/)[0] : undefined} />
      );
    case "blockquote":
      return <blockquote key={key}>{blocks(token.tokens ?? [], inner)}</blockquote>;
    case "list": {
      const { ordered, start, items } = token as Tokens.List;
      const shown = items.map((item, at) => <li key={at}>{blocks(item.tokens, inner)}</li>);
      return ordered ? (
        <ol key={key} start={Number(start) || 1}>
          {shown}
        </ol>
      ) : (
        <ul key={key}>{shown}</ul>
      );
    }
    case "table":
      return <Table key={key} table={token as Tokens.Table} depth={inner} />;
    case "checkbox":
      return token.checked === true ? "☑ " : "☐ ";
    case "hr":
      return <hr key={key} />;
    case "paragraph":
      return <p key={key}>{inlines(token.tokens ?? [], inner)}</p>;
    case "text":
      return token.tokens === undefined ? (
        visibleText(token.text)
      ) : (
        <span key={key}>{inlines(token.tokens, inner)}</span>
      );
    default:
      return inline(token, key, depth);
  }
}

function Table({ table, depth }: { readonly table: Tokens.Table; readonly depth: number }) {
  const cell = ({ tokens, align }: Tokens.TableCell) => ({
    class: align ?? "",
    children: inlines(tokens, depth),
  });
  return (
    <ScrolledTable label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map((one, at) => (
              <th key={at} {...cell(one)} />
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={at}>
              {row.map((one, column) => (
                <td key={column} {...cell(one)} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrolledTable>
  );
}

function inlines(tokens: readonly Token[], depth: number): readonly ComponentChild[] {
  return tokens.map((token, at) => inline(token as Tokens.Generic, at, depth));
}

function inline(token: Tokens.Generic, key: number, depth: number): ComponentChild {
  if (depth > maxDepth) return visibleText(token.raw);
  const inner = () => inlines(token.tokens ?? [], depth + 1);
  switch (token.type) {
    case "strong":
      return <strong key={key}>{inner()}</strong>;
    case "em":
      return <em key={key}>{inner()}</em>;
    case "del":
      return <del key={key}>{inner()}</del>;
    case "codespan":
      return <code key={key}>{visibleText(token.text)}</code>;
    case "br":
      return <br key={key} />;
    case "link":
      return (
        <SafeLink key={key} href={token.href}>
          {inner()}
        </SafeLink>
      );
    case "image":
      return (
        <SafeLink key={key} href={token.href}>
          [image {visibleText(token.text)}]
        </SafeLink>
      );
    case "escape":
      return visibleText(token.text);
    case "text":
      return token.tokens === undefined ? visibleText(token.text) : inner();
    default:
      return visibleText(token.raw);
  }
}

/** A link to the web that opens in a window of its own; any other address is only text. */
function SafeLink({ href, children }: { readonly href: string; readonly children?: ComponentChild }) {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href) || !URL.canParse(href)) {
    return (
      <span class="no-link" title={visibleText(href.slice(0, 300))}>
        {children}
      </span>
    );
  }
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow" title={visibleText(href.slice(0, 300))}>
      {children}
    </a>
  );
}

// Output of a terminal, with its colours. Other control sequences are left out.

const controlStart = "\u001b";

function Terminal({ text, label }: { readonly text: string; readonly label: string }) {
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

// A table that scrolls sideways if it is wide. The keyboard reaches it, so that it can scroll.

interface ScrolledTableProps {
  readonly label: string;
  readonly children: ComponentChildren;
}

export function ScrolledTable({ label, children }: ScrolledTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: browsers without focus for scrollers need it
    <section class="table" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}
