/** The context at an entry, as the model saw it: items with links to their origins, and messages outside. */

import { useMemo, useState } from "preact/hooks";
import { messageText } from "../../content/index.js";
import { type SeenContext, type SeenItem, seenContext } from "../model/seen-context.js";
import { countText, firstLine, visibleText } from "../model/text.js";
import { FoldedText } from "./folded-text.js";
import { useViewer } from "./hooks.js";
import { SentRequestView } from "./sent-request-view.js";
import type { ContextPanel } from "./view-state.js";
import type { ViewerState } from "./viewer-state.js";

const pageLength = 150;

export function ContextPanelView({ panel }: { readonly panel: ContextPanel }) {
  const state = useViewer();
  const { entryId, tab } = panel;
  const seen = useMemo(() => {
    return state.model.tree.has(entryId) ? seenContext(state.model, entryId) : undefined;
  }, [entryId, state.model, state.model.version]);
  const to = (next: ContextPanel["tab"]) => state.set({ panel: { ...panel, tab: next } });
  return (
    <aside class="panel" aria-label="Context">
      <div class="panel-head">
        {/* biome-ignore lint/a11y/useSemanticElements: a group of buttons, not of fields */}
        <div role="group" aria-label="View">
          <button type="button" aria-pressed={tab === "seen"} onClick={() => to("seen")}>
            What the model saw
          </button>
          <button type="button" aria-pressed={tab === "sent"} onClick={() => to("sent")}>
            As sent to
          </button>
        </div>
        <button type="button" onClick={() => state.set({ panel: undefined })}>
          Close
        </button>
      </div>
      {seen === undefined ? (
        <p>The entry is not in the session.</p>
      ) : tab === "seen" ? (
        <Seen seen={seen} entryId={entryId} state={state} />
      ) : (
        <SentRequestView seen={seen} panel={panel} />
      )}
    </aside>
  );
}

interface SeenProps {
  readonly seen: SeenContext;
  readonly entryId: string;
  readonly state: ViewerState;
}

function Seen({ seen, entryId, state }: SeenProps) {
  const [pages, setPages] = useState(1);
  const { items, estimated, reported, forgotten, compactionId, context } = seen;
  const shown = items.slice(0, pages * pageLength);
  const isReply = seen.leafId !== entryId;
  return (
    <div class="panel-body">
      <h2>{isReply ? "What the model saw here" : "What the next reply would see"}</h2>
      <p class="small">
        {items.length} messages, about {countText(estimated)} tokens
        {reported !== undefined && `; the reply reports ${countText(reported)} with instructions and tools`}.
        {context.model !== null && ` Model ${visibleText(context.model.modelId)}.`}
        {context.thinkingLevel !== "off" && ` Thinking ${visibleText(context.thinkingLevel)}.`}
      </p>
      <Shares items={items} total={estimated} />
      {forgotten.length > 0 && <Forgotten ids={forgotten} compactionId={compactionId} state={state} />}
      <ol class="seen">
        {shown.map((item, at) => (
          <Item
            key={`${item.entryId}/${item.origin}`}
            item={item}
            number={at + 1}
            total={estimated}
            state={state}
          />
        ))}
      </ol>
      {items.length > shown.length && (
        <button type="button" onClick={() => setPages(pages + 1)}>
          Show more ({items.length - shown.length})
        </button>
      )}
    </div>
  );
}

const originNames: Readonly<Record<SeenItem["origin"], string | undefined>> = {
  message: undefined,
  summary: "summary",
  system: "system",
  branchSummary: "branch summary",
  custom: undefined,
  retained: "kept",
};

interface ItemProps {
  readonly item: SeenItem;
  readonly number: number;
  readonly total: number;
  readonly state: ViewerState;
}

function Item({ item, number, total, state }: ItemProps) {
  const { entryId, message, origin, editedBy, pinnedBy, tokens } = item;
  const [isOpen, setOpen] = useState(false);
  const name = originNames[origin];
  const share = total === 0 ? 0 : (tokens / total) * 100;
  const text = messageText(message);
  const calls =
    message.role === "assistant"
      ? message.content.flatMap((block) => (block.type === "toolCall" ? [block.name] : [])).join(", ")
      : "";
  return (
    <li>
      <button type="button" class="seen-item" onClick={() => state.goFromPanel(entryId)}>
        <span class="seen-number">{number}</span>
        <span class="seen-role">{roleName(message.role)}</span>
        {name !== undefined && <span class={`tag ${origin}`}>{name}</span>}
        <span class="seen-tokens">{countText(tokens)}</span>
        <bdi class="seen-text">{firstLine(text) || visibleText(calls) || "(no text)"}</bdi>
        <span class="share" style={{ width: `${Math.max(0.5, share)}%` }} />
      </button>
      {text !== "" && (
        <button
          type="button"
          class="seen-open"
          aria-expanded={isOpen}
          aria-label={`Text of message ${number}`}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? "▾" : "▸"}
        </button>
      )}
      {(editedBy !== undefined || pinnedBy !== undefined) && (
        <span class="seen-changes">
          {editedBy !== undefined && <Change name="edited" entryId={editedBy} state={state} />}
          {pinnedBy !== undefined && <Change name="pinned" entryId={pinnedBy} state={state} />}
        </span>
      )}
      {isOpen && <FoldedText id={`seen/${number}/${entryId}`} rowId="" text={text} kind="text" />}
    </li>
  );
}

interface ChangeProps {
  readonly name: "edited" | "pinned";
  readonly entryId: string;
  readonly state: ViewerState;
}

/** The way to the entry that changed an item. */
function Change({ name, entryId, state }: ChangeProps) {
  return (
    <button type="button" class={`tag ${name}`} onClick={() => state.goFromPanel(entryId)}>
      {name} by entry {visibleText(entryId)}
    </button>
  );
}

/** Which kind of message fills the context. */
function Shares({ items, total }: { readonly items: readonly SeenItem[]; readonly total: number }) {
  const sums = new Map<string, number>();
  for (const { message, tokens } of items) {
    const name = roleName(message.role);
    sums.set(name, (sums.get(name) ?? 0) + tokens);
  }
  const parts = [...sums].sort(([, a], [, b]) => b - a);
  if (total === 0) return null;
  return (
    <ul class="shares" aria-label="Tokens by kind">
      {parts.map(([name, tokens]) => (
        <li key={name}>
          <span>{name}</span>
          <span class="share-bar" aria-hidden="true">
            <span style={{ width: `${(tokens / total) * 100}%` }} />
          </span>
          <span class="right">
            {countText(tokens)} ({Math.round((tokens / total) * 100)}%)
          </span>
        </li>
      ))}
    </ul>
  );
}

function roleName(role: string): string {
  const names: Readonly<Record<string, string>> = {
    user: "user",
    assistant: "assistant",
    toolResult: "tool result",
    bashExecution: "shell",
    custom: "custom",
    system: "system",
    compactionSummary: "summary",
    branchSummary: "branch summary",
  };
  return names[role] ?? visibleText(role);
}

interface ForgottenProps {
  readonly ids: readonly string[];
  readonly compactionId: string | undefined;
  readonly state: ViewerState;
}

const maxForgotten = 200;

function Forgotten({ ids, compactionId, state }: ForgottenProps) {
  return (
    <details class="forgotten">
      <summary>{ids.length} earlier messages of the branch were not in the context</summary>
      <p class="small">
        {compactionId === undefined ? (
          "Edits or rules of the context left them out."
        ) : (
          <>
            <button type="button" class="link" onClick={() => state.goFromPanel(compactionId)}>
              A compaction
            </button>{" "}
            replaced them by a summary, or an edit removed them.
          </>
        )}
      </p>
      <ul>
        {ids.slice(0, maxForgotten).map((id) => {
          const entry = state.model.entry(id);
          const text = entry?.type === "message" ? firstLine(messageText(entry.message)) : "";
          const role = entry?.type === "message" ? roleName(entry.message.role) : "";
          return (
            <li key={id}>
              <button type="button" class="link" onClick={() => state.goFromPanel(id)}>
                {role}: {text === "" ? "(no text)" : text}
              </button>
            </li>
          );
        })}
      </ul>
      {ids.length > maxForgotten && <p class="small">and {ids.length - maxForgotten} more</p>}
    </details>
  );
}
