/**
 * The context at an entry, as the model saw it, and as a request to a provider: items with links to their
 * origins, losses, size, body.
 */

import { useEffect, useMemo, useState } from "preact/hooks";
import { messageText } from "../../content/index.js";
import type { Loss } from "../../providers/index.js";
import { type SeenContext, type SeenItem, seenContext } from "../model/rows.js";
import {
  modelFor,
  type SentRequest,
  type SentTargetName,
  sentRequest,
  sentTargets,
} from "../model/sent-request.js";
import { bytesText, countText, firstLine, visibleText } from "../model/text.js";
import { FoldedText, ScrolledTable } from "./folded-text.js";
import { useViewer } from "./hooks.js";
import type { ContextPanel, ViewerState } from "./viewer-state.js";

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
  const text = messageText(message, { attachments: true });
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
    custom: "note",
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
          const text =
            entry?.type === "message" ? firstLine(messageText(entry.message, { attachments: true })) : "";
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

// A context as sent to a provider: the losses, the size, and the body.

interface SentRequestProps {
  readonly seen: SeenContext;
  readonly panel: ContextPanel;
}

function SentRequestView({ seen, panel }: SentRequestProps) {
  const state = useViewer();
  const provider = seen.context.model?.provider;
  const names = Object.keys(sentTargets) as SentTargetName[];
  const target = panel.target ?? names.find((name) => sentTargets[name].provider === provider) ?? "anthropic";
  const [given, setGiven] = useState<string>();
  const model = given ?? modelFor(target, seen.context.model);
  const request = useRequest(state, seen, target, model);
  return (
    <div class="panel-body">
      <h2>As sent to {sentTargets[target].title}</h2>
      <div class="fields">
        <label>
          Target{" "}
          <select
            value={target}
            onChange={(event) => {
              setGiven(undefined);
              state.set({ panel: { ...panel, target: event.currentTarget.value as SentTargetName } });
            }}
          >
            {names.map((name) => (
              <option key={name} value={name}>
                {sentTargets[name].title}
              </option>
            ))}
          </select>
        </label>
        <label>
          Model <input type="text" value={model} onChange={(event) => setGiven(event.currentTarget.value)} />
        </label>
      </div>
      {request === undefined ? (
        <p>Projecting…</p>
      ) : request instanceof Error ? (
        <p class="error-text">{visibleText(request.message)}</p>
      ) : (
        <Request request={request} panel={panel} state={state} target={target} />
      )}
    </div>
  );
}

function useRequest(
  state: ViewerState,
  seen: SeenContext,
  target: SentTargetName,
  model: string,
): SentRequest | Error | undefined {
  const [made, setMade] = useState<{ readonly key: unknown; readonly request: SentRequest | Error }>();
  const key = `${target} ${model} ${seen.leafId}`;
  useEffect(() => {
    let isWanted = true;
    // After a frame, so that the panel is there first.
    const timer = setTimeout(async () => {
      const request = await sentRequest(seen, target, model, state.images).catch((error: unknown) =>
        error instanceof Error ? error : new Error(String(error)),
      );
      if (isWanted) setMade({ key, request });
    }, 30);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [key]);
  return made?.key === key ? made.request : undefined;
}

interface RequestProps {
  readonly request: SentRequest;
  readonly panel: ContextPanel;
  readonly state: ViewerState;
  readonly target: SentTargetName;
}

function Request({ request, panel, state, target }: RequestProps) {
  const { body, bytes, losses, byPolicy, warnings, usage, prefix, absent } = request;
  const { entryId } = panel;
  return (
    <>
      <p class="small">
        {bytesText(bytes)}, about {countText(usage.total)} tokens
        {usage.imageCount > 0 && `, ${usage.imageCount} images`}.
      </p>
      <p class="small">Prefix: {visibleText(prefix)}</p>
      {warnings.map(({ code, message }) => (
        <p key={code} class="warning">
          Warning: {visibleText(message)}
        </p>
      ))}
      {absent > 0 && (
        <p class="warning">
          {absent} images are not in this page, so that the body and the losses below lack them.
        </p>
      )}
      <Losses title="Losses" empty="Nothing is lost or changed." losses={losses} state={state} />
      {byPolicy.length > 0 && <Losses title="Left out by options" empty="" losses={byPolicy} state={state} />}
      <h3>Body</h3>
      <FoldedText id={`sent/${entryId}/${target}`} rowId={entryId} text={body} kind="json" label="Body" />
    </>
  );
}

const maxLosses = 200;

interface LossesProps {
  readonly title: string;
  readonly empty: string;
  readonly losses: readonly Loss[];
  readonly state: ViewerState;
}

function Losses({ title, empty, losses, state }: LossesProps) {
  return (
    <>
      <h3>
        {title} {losses.length > 0 && `(${losses.length})`}
      </h3>
      {losses.length === 0 ? (
        <p class="small">{empty}</p>
      ) : (
        <ScrolledTable label={title}>
          <table>
            <thead>
              <tr>
                <th scope="col">Loss</th>
                <th scope="col">Reason</th>
                <th scope="col">Entry</th>
              </tr>
            </thead>
            <tbody>
              {losses.slice(0, maxLosses).map(({ code, by, entryId, block, reason, instead }) => (
                <tr key={`${code}/${entryId}/${block}`}>
                  <td>
                    {code} <span class="small">({by})</span>
                  </td>
                  <td>
                    {visibleText(reason)}
                    {instead !== undefined && (
                      <span class="small"> Instead: {visibleText(instead.slice(0, 300))}</span>
                    )}
                  </td>
                  <td>
                    <button type="button" class="link" onClick={() => state.goFromPanel(entryId)}>
                      {visibleText(entryId)}
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          {losses.length > maxLosses && <p class="small">and {losses.length - maxLosses} more</p>}
        </ScrolledTable>
      )}
    </>
  );
}
