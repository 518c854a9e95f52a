/** A row of the conversation: a message with its calls, a summary, a note, or a reply while it is written. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { SessionEntry } from "../../session/index.js";
import {
  contextTokens,
  costOfReply,
  type QuietItem,
  type Reply,
  type Row,
  systemNote,
} from "../model/rows.js";
import { searchPattern } from "../model/search.js";
import { costText, countText, durationText, timeText, typeName, visibleText } from "../model/text.js";
import { Blocks, Fold, Replies } from "./blocks.js";
import { FoldedText, Markdown } from "./folded-text.js";
import { memo, useViewer } from "./hooks.js";
import type { PartialReply, ViewerState } from "./viewer-state.js";

interface MessageRowProps {
  readonly row: Row;
  readonly index: number;
  readonly count: number;
  readonly leafId: string | null;
  readonly isFocused: boolean;
  /** Its context is in the panel. */
  readonly isInPanel: boolean;
  readonly isPrinting: boolean;
  /** The words of the search, if the row is its current hit. */
  readonly words: string | undefined;
  /** The same function throughout. */
  readonly measure: (element: Element | null) => void;
}

/** Renders only if its properties changed: a scroll renders the list many times. */
export const MessageRow = memo(Message, (before, after) =>
  Object.entries(after).every(([name, value]) => before[name as keyof MessageRowProps] === value),
);

/** The focus and the panel do not render the content again; a search and a print open its folds. */
const RowBody = memo(
  function RowBody({ row, state }: RowBodyProps) {
    switch (row.kind) {
      case "custom":
        return <Blocks rowId={row.id} content={row.message.content} calls={[]} />;
      case "user":
        return <Blocks rowId={row.id} content={row.message.content} calls={[]} shown="typed" />;
      case "assistant":
        return (
          <>
            <Replies row={row} facts={(reply) => <ReplyFacts reply={reply} state={state} />} />
            {row.message.errorMessage !== undefined && (
              <p class="error-text">
                <bdi>{visibleText(row.message.errorMessage.slice(0, 4000))}</bdi>
              </p>
            )}
          </>
        );
      case "result":
        return (
          <>
            <p class="tool-name">{visibleText(row.message.toolName)}</p>
            <Blocks rowId={row.id} content={row.message.content} calls={[]} shown="printed" />
          </>
        );
      case "bash":
        return (
          <>
            <FoldedText
              id={`${row.id}/command`}
              rowId={row.id}
              text={`$ ${row.message.command}`}
              kind="terminal"
            />
            <FoldedText id={`${row.id}/output`} rowId={row.id} text={row.message.output} kind="terminal" />
            <p class="small">
              {row.message.cancelled ? "cancelled" : `exit code ${row.message.exitCode ?? "unknown"}`}
              {row.message.excludeFromContext === true && ", not shown to the model"}
            </p>
          </>
        );
      case "system":
        return <Blocks rowId={row.id} content={systemNote(row.message).content} calls={[]} />;
      case "compaction":
        return (
          <>
            <p class="small">
              {countText(row.entry.tokensBefore)} tokens before.{" "}
              <button type="button" class="link" onClick={() => state.go(row.entry.firstKeptEntryId)}>
                The first kept entry
              </button>
              {row.entry.retain !== undefined &&
                row.entry.retain.length > 0 &&
                `, and ${row.entry.retain.length} earlier`}
              {row.entry.strategy !== undefined && ` (${visibleText(row.entry.strategy)})`}
            </p>
            <FoldedText id={`${row.id}/summary`} rowId={row.id} text={row.entry.summary} kind="markdown" />
          </>
        );
      case "branchSummary":
        return (
          <>
            <p class="small">
              <button type="button" class="link" onClick={() => state.go(row.entry.fromId)}>
                The branch that was left
              </button>
            </p>
            <FoldedText id={`${row.id}/summary`} rowId={row.id} text={row.entry.summary} kind="markdown" />
          </>
        );
      case "quiet":
        return <Quiet rowId={row.id} items={row.items} />;
      case "note":
        return <NoteText entry={row.entry} />;
      case "unknown":
        return (
          <>
            <p class="small">
              Entry of unknown type <code>{visibleText(row.entry.entryType)}</code>
            </p>
            <FoldedText id={`${row.id}/raw`} rowId={row.id} text={row.entry.raw} kind="json" />
          </>
        );
    }
  },
  (before, after) =>
    before.row === after.row && before.isPrinting === after.isPrinting && before.words === after.words,
);

function Message(props: MessageRowProps) {
  const { row, index, count, isFocused, isInPanel, words, measure } = props;
  const state = useViewer();
  const element = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    measure(element.current);
    return () => measure(null);
  }, []);
  useLayoutEffect(() => {
    if (words === undefined) return;
    highlightMatches(element.current, searchPattern(words));
    return () => highlightMatches(null, undefined);
  }, [words]);
  return (
    <article
      ref={element}
      class={`row ${row.kind}${row.isContinued ? " continued" : ""}`}
      data-index={index}
      data-entry={row.id}
      tabIndex={isFocused ? 0 : -1}
      aria-posinset={index + 1}
      aria-setsize={count}
      aria-label={`${rowName(row)}, ${timeText(row.time)}`}
      onFocus={(event) => {
        if (event.target === event.currentTarget && !isFocused) state.set({ focusId: row.id });
      }}
    >
      <RowHead row={row} state={state} isInPanel={isInPanel} />
      <RowBody row={row} state={state} isPrinting={props.isPrinting} words={words} />
    </article>
  );
}

function rowName(row: Row): string {
  switch (row.kind) {
    case "user":
      return row.message.name === undefined ? "User" : `User ${visibleText(row.message.name)}`;
    case "assistant":
      return row.message.summary === true ? "Summary by the assistant" : "Assistant";
    case "result":
      return "Result without a call";
    case "bash":
      return "Shell command of the user";
    case "custom":
      return typeName(row.message.customType).replace(/^[a-z]/, (letter) => letter.toUpperCase());
    case "quiet":
      return "Note";
    case "system":
      return "System";
    case "compaction":
      return "Compaction";
    case "branchSummary":
      return "Summary of another branch";
    case "note":
      return "Note";
    case "unknown":
      return "Entry of unknown type";
  }
}

interface RowHeadProps {
  readonly row: Row;
  readonly state: ViewerState;
  readonly isInPanel: boolean;
}

function RowHead({ row, state, isInPanel }: RowHeadProps) {
  const { branches } = row;
  const isNote = row.kind === "note" || row.kind === "unknown" || row.kind === "quiet";
  const to = (by: number) => {
    const id = branches?.ids[branches.at + by];
    if (id !== undefined) state.goBranch(id);
  };
  return (
    <header class="row-head">
      {!isNote && <h3>{rowName(row)}</h3>}
      {row.kind === "assistant" && <AssistantFacts message={row.message} state={state} />}
      {row.updated && <span class="tag">updated later</span>}
      {row.label !== undefined && <span class="tag label">{visibleText(row.label)}</span>}
      {branches !== undefined && (
        // biome-ignore lint/a11y/useSemanticElements: a group of buttons, not of fields
        <span class="branches" role="group" aria-label="Branches">
          <button
            type="button"
            aria-label="Previous branch"
            disabled={branches.at === 0}
            onClick={() => to(-1)}
          >
            ‹
          </button>
          <span>
            branch {branches.at + 1}/{branches.ids.length}
          </span>
          <button
            type="button"
            aria-label="Next branch"
            disabled={branches.at === branches.ids.length - 1}
            onClick={() => to(1)}
          >
            ›
          </button>
        </span>
      )}
      <span class="row-end">
        {row.kind === "assistant" && <ContextButton id={row.id} state={state} isOpen={isInPanel} />}
        {state.isEmbedded ? (
          <span class="time">{timeText(row.time)}</span>
        ) : (
          <a
            class="time"
            href={state.addressByEntryId(row.id)}
            title={`${timeText(row.time)}, entry ${visibleText(row.id)}`}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              state.go(row.id);
            }}
          >
            {sinceStart(row.time, state)}
          </a>
        )}
      </span>
    </header>
  );
}

/** The time since the first message: `start`, `+3 min 20 s`. Of a row before it, the time itself. */
function sinceStart(time: number, { model }: ViewerState): string {
  const { first } = model.facts;
  if (first === undefined || !(time > first - 1000)) return timeText(time);
  return time <= first ? "start" : `+${durationText(time - first)}`;
}

interface ContextButtonProps {
  readonly id: string;
  readonly state: ViewerState;
  readonly isOpen: boolean;
}

function ContextButton({ id, state, isOpen }: ContextButtonProps) {
  if (state.isEmbedded) return null;
  return (
    <button
      type="button"
      class="context-button"
      aria-label="Context: what the model saw here"
      aria-expanded={isOpen}
      onClick={() => state.set({ panel: { entryId: id, tab: "seen" } })}
    >
      Context
    </button>
  );
}

/** The facts of a reply within the row of an earlier one. */
function ReplyFacts({ reply, state }: { readonly reply: Reply; readonly state: ViewerState }) {
  return (
    <>
      <AssistantFacts message={reply.message} state={state} />
      <span class="row-end">
        <ContextButton id={reply.id} state={state} isOpen={state.view.panel?.entryId === reply.id} />
        <span class="time" title={timeText(reply.time)}>
          {state.isEmbedded ? timeText(reply.time) : sinceStart(reply.time, state)}
        </span>
      </span>
    </>
  );
}

function AssistantFacts({
  message,
  state,
}: {
  readonly message: Reply["message"];
  readonly state: ViewerState;
}) {
  const { usage, stopReason, errorMessage } = message;
  const context = contextTokens(usage);
  const cost = costOfReply(message, state.data.prices);
  const stops: Readonly<Record<string, string>> = {
    error: "failed",
    aborted: "aborted",
    length: "cut off at the token limit",
  };
  const stop = stopReason === undefined ? undefined : stops[stopReason];
  return (
    <span class="facts">
      <bdi>{visibleText(message.responseModel ?? message.model)}</bdi>
      {context !== undefined && (
        <span title={`${context} tokens in the request, ${usage?.cacheRead ?? 0} of them from a cache`}>
          {countText(context)} in, {countText(usage?.output ?? 0)} out
        </span>
      )}
      {cost !== undefined && cost > 0 && <span>{costText(cost)}</span>}
      {stop !== undefined && (
        <span class="tag failed" title={errorMessage ?? ""}>
          {stop}
        </span>
      )}
    </span>
  );
}

interface RowBodyProps {
  readonly row: Row;
  readonly state: ViewerState;
  readonly isPrinting: boolean;
  readonly words: string | undefined;
}

/** Messages that a user does not see, and records of extensions, in one line. */
function Quiet({ rowId, items }: { readonly rowId: string; readonly items: readonly QuietItem[] }) {
  const names = (isMessage: boolean) => [
    ...new Set(
      items
        .filter(({ content }) => (content !== undefined) === isMessage)
        .map(({ customType }) => typeName(customType)),
    ),
  ];
  const [messages, records] = [names(true), names(false)];
  const summary = [
    ...(messages.length > 0 ? [`For the model only: ${messages.join(", ")}`] : []),
    ...(records.length > 0 ? [`Recorded: ${records.join(", ")}`] : []),
  ];
  const text = () => JSON.stringify(items);
  return (
    <Fold
      id={`${rowId}/quiet`}
      rowId={rowId}
      text={text}
      class="quiet-part"
      summary={<span class="quiet-names">{summary.join("; ")}</span>}
    >
      {items.map(({ id, customType, content, data }) => (
        <div key={id} class="quiet-item">
          {items.length > 1 && <p class="small">{typeName(customType)}</p>}
          {content === undefined ? (
            <FoldedText
              id={`${id}/data`}
              rowId={rowId}
              text={JSON.stringify(data, null, 2) ?? ""}
              kind="json"
            />
          ) : (
            <Blocks rowId={rowId} place={`/${id}`} content={content} calls={[]} />
          )}
        </div>
      ))}
    </Fold>
  );
}

// A reply while it is written: the last row, which is no entry of the session yet.

interface ReplyRowProps {
  readonly reply: PartialReply;
  readonly index: number;
  readonly measure: (element: Element | null) => void;
}

export function ReplyRow({ reply, index, measure }: ReplyRowProps) {
  const element = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    measure(element.current);
    return () => measure(null);
  }, []);
  const { text, isBroken } = reply;
  return (
    <article
      ref={element}
      class={`row assistant reply ${isBroken ? "broken" : ""}`}
      data-index={index}
      aria-label={isBroken ? "A reply that broke off" : "The reply, being written"}
    >
      <header class="row-head">
        <h3>Assistant</h3>
      </header>
      {text !== "" && <Markdown text={text} />}
      {isBroken ? (
        <p class="small">The reply broke off here. It is not part of the session.</p>
      ) : (
        <span class="caret" aria-hidden="true" />
      )}
    </article>
  );
}

// One line for an entry that is no message: changed settings, edits, pins, labels, state of extensions.

function NoteText({ entry }: { readonly entry: SessionEntry }) {
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
          <summary>{typeName(entry.customType)}</summary>
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

// Marks the words of a search in a row, without changes to the document.

const highlightName = "find";
const maxRanges = 500;

/** Marks all matches in an element, and shows the first. Browsers without highlights only show the row. */
function highlightMatches(element: Element | null, pattern: RegExp | undefined): void {
  if (!("highlights" in CSS)) return;
  CSS.highlights.delete(highlightName);
  if (element === null || pattern === undefined) return;
  const ranges = matchRanges(element, new RegExp(pattern.source, `${pattern.flags}g`));
  if (ranges.length === 0) return;
  CSS.highlights.set(highlightName, new Highlight(...ranges));
  ranges[0]?.startContainer.parentElement?.scrollIntoView({ block: "nearest" });
}

/** Matches may span elements, such as the parts of highlighted code. */
function matchRanges(element: Element, pattern: RegExp): readonly Range[] {
  const nodes: { readonly node: Text; readonly start: number }[] = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  let text = "";
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push({ node: node as Text, start: text.length });
    text += (node as Text).data;
  }
  const ranges: Range[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (ranges.length >= maxRanges) break;
    const range = document.createRange();
    const end = match.index + match[0].length;
    while ((nodes[at + 1]?.start ?? Number.POSITIVE_INFINITY) <= match.index) at++;
    let last = at;
    while ((nodes[last + 1]?.start ?? Number.POSITIVE_INFINITY) < end) last++;
    const [from, to] = [nodes[at], nodes[last]];
    if (from === undefined || to === undefined) break;
    range.setStart(from.node, match.index - from.start);
    range.setEnd(to.node, end - to.start);
    ranges.push(range);
  }
  return ranges;
}
