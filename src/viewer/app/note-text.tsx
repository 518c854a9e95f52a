/** One line for an entry that is no message: changed settings, edits, pins, labels, state of extensions. */

import type { ComponentChildren } from "preact";
import type { SessionEntry } from "../../session/index.js";
import { visibleText } from "../model/text.js";
import { FoldedText } from "./folded-text.js";
import { useViewer } from "./hooks.js";

export function NoteText({ entry }: { readonly entry: SessionEntry }) {
  switch (entry.type) {
    case "model_change":
      return <Line>Model {visibleText(`${entry.provider}/${entry.modelId}`)}</Line>;
    case "thinking_level_change":
      return <Line>Thinking {visibleText(entry.thinkingLevel)}</Line>;
    case "label":
      return (
        <Line>
          {entry.label ? `Label “${visibleText(entry.label)}” on` : "Label removed from"}{" "}
          <Target id={entry.targetId} />
        </Line>
      );
    case "context_pin":
      return (
        <Line>
          {entry.pinned ? "Pinned" : "Unpinned"} <Target id={entry.targetId} />
        </Line>
      );
    case "context_edit":
      return (
        <Line>
          {entry.replacement === null ? "Removed from the context:" : "Replaced in the context:"}{" "}
          <Target id={entry.targetId} />
        </Line>
      );
    case "revert":
      return (
        <Line>
          {entry.undone === true ? "Work restored since" : "Work undone since"} <Target id={entry.targetId} />
        </Line>
      );
    case "session_info":
      return <Line>Session named “{visibleText(entry.title ?? entry.name ?? "")}”</Line>;
    case "resource_view":
      return <Line>The model asked to see {visibleText(entry.resourceId)} again</Line>;
    case "resource_observation":
      return (
        <Line>
          Observation of {visibleText(entry.resourceId)}: {visibleText(entry.text.slice(0, 500))}
        </Line>
      );
    case "custom":
      return (
        <details class="note">
          <summary>{visibleText(entry.customType)}</summary>
          <FoldedText
            id={`${entry.id}/data`}
            rowId={entry.id}
            text={JSON.stringify(entry.data, null, 2) ?? ""}
            kind="json"
          />
        </details>
      );
    default:
      return <Line>{entry.type.replaceAll("_", " ")}</Line>;
  }
}

function Line({ children }: { readonly children: ComponentChildren }) {
  return <p class="note">{children}</p>;
}

function Target({ id }: { readonly id: string }) {
  const state = useViewer();
  return (
    <button type="button" class="link" onClick={() => state.go(id)}>
      entry {visibleText(id)}
    </button>
  );
}
