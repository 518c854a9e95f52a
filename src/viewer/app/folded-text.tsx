/** Text of any length: its start, and a button for more, piece by piece, so that no text blocks the page. */

import { bytesText, visibleText } from "../model/text.js";
import { Code } from "./code.js";
import { useUpdate, useViewer } from "./hooks.js";
import { Markdown } from "./markdown.js";
import { Terminal } from "./terminal.js";

/** How a text is shown. `text` is plain. */
export type TextKind = "text" | "markdown" | "terminal" | "json" | "code";

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
