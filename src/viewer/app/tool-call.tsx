/** A tool call: its name, its most telling argument, its state and duration, its change or output. */

import { useMemo } from "preact/hooks";
import { messageText } from "../../content/index.js";
import type { RowCall } from "../model/rows.js";
import { durationText, visibleText } from "../model/text.js";
import { toolView } from "../model/tool-views.js";
import { Blocks } from "./blocks.js";
import { DiffView } from "./diff-view.js";
import { Fold } from "./fold.js";
import { FoldedText } from "./folded-text.js";
import { StartedSubagents } from "./subagents.js";

const stateNames: Readonly<Record<RowCall["state"], string>> = {
  done: "✓ done",
  failed: "✗ failed",
  pending: "… no result yet",
  none: "– no result",
  aborted: "– aborted",
};

export function ToolCallView(props: { readonly id: string; readonly rowId: string; readonly call: RowCall }) {
  const { id, rowId } = props;
  const { call, result, state, durationMs } = props.call;
  const view = useMemo(() => toolView(call, result), [call, result]);
  const { body } = view;
  const summary = (
    <>
      <strong class="tool-name">{visibleText(call.name)}</strong>{" "}
      <bdi class="tool-summary">{view.summary}</bdi>
      {body.kind === "changes" && <Counts files={body.files} />}
      <span class={`tool-state ${state}`}>
        {stateNames[state]}
        {durationMs !== undefined && `, ${durationText(durationMs)}`}
      </span>
    </>
  );
  const text = JSON.stringify(call.arguments) + (result === undefined ? "" : messageText(result));
  return (
    <Fold id={`${id}/call`} rowId={rowId} text={text} class={`tool ${state}`} summary={summary} isOpenAtFirst>
      {body.kind === "command" && body.command !== view.summary && (
        <FoldedText
          id={`${id}/command`}
          rowId={rowId}
          text={body.command}
          kind="code"
          language="bash"
          label="Command"
        />
      )}
      {body.kind === "arguments" && (
        <FoldedText id={`${id}/arguments`} rowId={rowId} text={body.json} kind="json" label="Arguments" />
      )}
      {body.kind === "file" && (
        <FoldedText
          id={`${id}/file`}
          rowId={rowId}
          text={body.text}
          kind="code"
          language={body.path}
          label="Content"
        />
      )}
      {body.kind === "changes" && <DiffView id={id} rowId={rowId} files={body.files} />}
      <StartedSubagents toolCallId={call.id} />
      {result !== undefined && result.content.length > 0 && (
        <div class="result">
          <Blocks
            rowId={rowId}
            place={`/${id}/result`}
            content={result.content}
            calls={[]}
            isOutput
            path={result.isError ? undefined : view.resultPath}
          />
        </div>
      )}
    </Fold>
  );
}

function Counts({
  files,
}: {
  readonly files: readonly { readonly added: number; readonly removed: number }[];
}) {
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <span class="counts">
      <span class="added">+{added}</span> <span class="removed">−{removed}</span>
    </span>
  );
}
