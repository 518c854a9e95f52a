/** Changed lines side by side; below each other in narrow windows. */

import type { DiffLine } from "../model/line-diff.js";
import { visibleText } from "../model/text.js";
import type { FileChange } from "../model/tool-views.js";
import { toElement } from "./code.js";
import { highlight, languageByName } from "./highlight.js";
import { useUpdate, useViewer } from "./hooks.js";

interface DiffViewProps {
  readonly id: string;
  readonly rowId: string;
  readonly files: readonly FileChange[];
}

const foldedLines = 24;
const pieceLines = 400;
/** A longer line is cut: it would be as long as a file. */
const maxLineLength = 2000;

export function DiffView({ id, rowId, files }: DiffViewProps) {
  return (
    <>
      {files.map((file, at) => (
        <FileDiffView key={at} id={`${id}/diff/${at}`} rowId={rowId} file={file} isNamed={files.length > 1} />
      ))}
    </>
  );
}

interface FileDiffProps {
  readonly id: string;
  readonly rowId: string;
  readonly file: FileChange;
  readonly isNamed: boolean;
}

function FileDiffView({ id, rowId, file, isNamed }: FileDiffProps) {
  const state = useViewer();
  const update = useUpdate();
  const open = (id: string, pieces: number) => {
    state.open(id, pieces);
    update();
  };
  const { lines, path } = file;
  const pattern = state.patternFor(rowId);
  const match = pattern === undefined ? -1 : lines.findIndex((line) => pattern.test(lineText(line)));
  const needed = match < foldedLines ? 0 : Math.ceil((match - foldedLines + 1) / pieceLines);
  const pieces = Math.max(state.opened(id), needed, state.view.printing ? 1 : 0);
  const end = foldedLines + pieces * pieceLines;
  const language = languageByName(path);
  return (
    <div class="diff-file">
      {isNamed && <p class="diff-path">{visibleText(path)}</p>}
      <table class="diff">
        <caption class="hidden">Changes of {visibleText(path)}</caption>
        <thead class="hidden">
          <tr>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {lines.slice(0, end).map((line, at) => (
            <Line key={at} line={line} language={language} />
          ))}
        </tbody>
      </table>
      {lines.length > end && (
        <p class="fold">
          <button type="button" data-fold="closed" aria-expanded="false" onClick={() => open(id, pieces + 1)}>
            Show {pieces === 0 ? "all" : "more"} ({lines.length} lines)
          </button>
        </p>
      )}
    </div>
  );
}

function Line({ line, language }: { readonly line: DiffLine; readonly language: string | undefined }) {
  if (line.kind === "gap") {
    return (
      <tr class="gap">
        <td colSpan={2}>⋯</td>
      </tr>
    );
  }
  if (line.kind === "same") {
    return (
      <tr class="same">
        <Side text={line.text} language={language} class="old" />
        <Side text={line.text} language={language} class="new" />
      </tr>
    );
  }
  return (
    <tr class="change">
      {line.kind === "added" ? (
        <td class="none" />
      ) : (
        <Side text={line.before} language={language} class="old removed" sign="−" />
      )}
      {line.kind === "removed" ? (
        <td class="none" />
      ) : (
        <Side text={line.after} language={language} class="new added" sign="+" />
      )}
    </tr>
  );
}

interface SideProps {
  readonly text: string;
  readonly language: string | undefined;
  readonly class: string;
  readonly sign?: "+" | "−";
}

function Side({ text, language, sign, class: name }: SideProps) {
  const line = visibleText(text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text);
  return (
    <td class={name}>
      <span class="sign">{sign ?? " "}</span>
      <code>{language === undefined ? line : highlight(line, language).map(toElement)}</code>
    </td>
  );
}

function lineText(line: DiffLine): string {
  switch (line.kind) {
    case "same":
      return line.text;
    case "added":
      return line.after;
    case "removed":
      return line.before;
    case "changed":
      return `${line.before}\n${line.after}`;
    case "gap":
      return "";
  }
}
