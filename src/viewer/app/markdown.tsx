/**
 * Markdown as elements. The parser's tokens become elements directly and raw HTML stays text, so that
 * there is no HTML to sanitise. Images of the text are never loaded: they are shown as links.
 */

import { Lexer, type Token, Tokenizer, type Tokens } from "marked";
import type { ComponentChild } from "preact";
import { visibleText } from "../model/text.js";
import { Code } from "./code.js";
import { memo } from "./memo.js";
import { ScrolledTable } from "./scrolled-table.js";

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
