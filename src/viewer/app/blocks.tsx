/** The content of a message: text, thinking, tool calls, and attachments. */

import { Fragment } from "preact";
import { isResource } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import type { RowCall } from "../model/rows.js";
import { bytesText } from "../model/text.js";
import { Attachment, InlineImage } from "./attachments.js";
import { Fold } from "./fold.js";
import { FoldedText } from "./folded-text.js";
import { ToolCallView } from "./tool-call.js";

interface BlocksProps {
  readonly rowId: string;
  readonly content: string | readonly unknown[];
  readonly calls: readonly RowCall[];
  /** The output of a tool: text as in a terminal, instead of Markdown. */
  readonly isOutput?: boolean;
  /** The file that a tool has read. */
  readonly path?: string | undefined;
  readonly place?: string;
}

export function Blocks({ rowId, content, calls, isOutput = false, path, place = "" }: BlocksProps) {
  const blocks: readonly unknown[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  let call = 0;
  return (
    <>
      {blocks.map((block, at) => {
        const id = `${rowId}${place}/${at}`;
        if (!isRecord(block)) return null;
        if (block.type === "toolCall") {
          const shown = calls[call++];
          return shown === undefined ? null : <ToolCallView key={id} id={id} rowId={rowId} call={shown} />;
        }
        if (block.type === "thinking") return <Thinking key={id} id={id} rowId={rowId} block={block} />;
        if (block.type === "image") return <InlineImage key={id} block={block} />;
        if (block.type === "text" && typeof block.text === "string") {
          const { resource } = block;
          if (isResource(resource)) return <Attachment key={id} resource={resource} />;
          if (block.text.trim() === "") return null;
          const kind = !isOutput ? "markdown" : path === undefined ? "terminal" : "code";
          return (
            <FoldedText
              key={id}
              {...{ id, rowId, kind, text: block.text }}
              {...(path && { language: path })}
            />
          );
        }
        const { resources, viewerMedia, ...own } = block;
        const text = JSON.stringify(own, null, 2);
        return (
          <Fragment key={id}>
            {listed(resources).map((each) => isResource(each) && <Attachment resource={each} />)}
            {listed(viewerMedia).map((each) => isRecord(each) && <InlineImage block={each} />)}
            <FoldedText id={id} rowId={rowId} text={text} kind="json" label="Provider's own block" />
          </Fragment>
        );
      })}
    </>
  );
}

const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function Thinking(props: {
  readonly id: string;
  readonly rowId: string;
  readonly block: Readonly<Record<string, unknown>>;
}) {
  const { thinking, redacted } = props.block;
  const text = typeof thinking === "string" ? thinking : "";
  if (redacted === true || text === "") {
    return <p class="small">Thinking, which the provider does not show</p>;
  }
  return (
    <Fold
      id={`${props.id}/thinking`}
      rowId={props.rowId}
      text={text}
      class="thinking"
      summary={`Thinking (${bytesText(text.length)})`}
    >
      <FoldedText id={props.id} rowId={props.rowId} text={text} kind="markdown" />
    </Fold>
  );
}
