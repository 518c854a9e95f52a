/**
 * The items of a thread as entries: replies with their usage, messages of users and of the harness, results
 * of tools.
 */

import type { AssistantMessage, ToolResultMessage, Usage } from "../../content/index.js";
import { plainContent } from "../../content/internal.js";
import { type ForeignObject, readObject, readText } from "../shared/values.js";
import type { DraftEntry, ForeignRecord, ForeignSource } from "../types.js";
import {
  type ContentBlock,
  contentBlocks,
  contentTexts,
  initialContextType,
  modelItems,
  type Outcome,
  outputBlocks,
  outputFailed,
  outputItems,
  type ReadCall,
  readReply,
  readUsage,
  spawnedThread,
  textDirectory,
  userPieces,
} from "./items.js";
import type { Draft, DraftPlace, ThreadState, Timeline } from "./thread-state.js";

type MessageDraft = Draft<Extract<DraftEntry, { readonly type: "message" }>>;

/** An item with its place. `isKept`: it is part of the history after a compaction. */
export interface ItemLine {
  readonly item: ForeignObject;
  readonly place: DraftPlace & { readonly timestamp: number };
  readonly record: ForeignRecord;
  /** The members of this library in a line that it wrote. */
  readonly annotation: ForeignObject | undefined;
  readonly isKept?: boolean;
}

/** Adds the items of a thread to its timeline. */
export class ThreadItems {
  readonly usage = new ReplyUsage<MessageDraft>((draft, usage) => changeMessage(draft, { usage }));
  readonly #source: ForeignSource;
  readonly #timeline: Timeline;
  readonly #state: ThreadState;
  provider = "openai";
  model = "unknown";
  /** Called for a directory that the environment names. */
  onDirectory: (cwd: string, record: ForeignRecord) => void = () => undefined;
  /** The latest reply of the turn. */
  turnReply: MessageDraft | undefined;
  /** Whether a user's message came as an item, not only as an event. */
  get hasUserItems(): boolean {
    return this.firstUserTime !== undefined;
  }
  firstUserTime: number | undefined;
  hasReplies = false;
  #open: (Pick<ItemLine, "place" | "annotation"> & { readonly items: ForeignObject[] }) | undefined;
  readonly #calls = new Map<string, ReadCall>();
  readonly #results = new Map<
    string,
    { readonly draft: MessageDraft; readonly output: unknown; readonly annotation: ForeignObject | undefined }
  >();
  readonly outcomes = new Map<string, Outcome>();
  /** Threads of subagents that calls started. */
  readonly spawned = new Set<string>();

  constructor(source: ForeignSource, timeline: Timeline, state: ThreadState) {
    this.#source = source;
    this.#timeline = timeline;
    this.#state = state;
  }

  /** Adds an item. Returns whether its type is known. */
  add(line: ItemLine): boolean | "unknown" {
    const { item } = line;
    if (line.place.id !== undefined) this.endReply();
    const type = readText(item.type) ?? "";
    if (type === "message" && item.role === "assistant") return this.#ownItem(line);
    if (modelItems.has(type)) {
      if (encryptedItems.has(type)) this.#find("encryptedSummary", line, "only its provider can read it");
      return this.#ownItem(line);
    }
    if (type === "message" || type === "agent_message" || outputItems.has(type)) this.endReply();
    if (type === "message") {
      if (item.role === "user") this.#userMessage(line);
      else this.instructions(line, contentTexts(item.content));
      return true;
    }
    if (type === "agent_message") {
      this.#harness(line, "codex.agent_message", plainContent(contentBlocks(item.content)), 0);
      return true;
    }
    if (outputItems.has(type)) return this.#output(line);
    return knownOthers.has(type) ? false : "unknown";
  }

  /** Whether a reply is open: its items came, its end did not. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Ends the reply whose items came so far. */
  endReply(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const maker = { provider: this.provider, model: this.model };
    const { message, calls } = readReply(open.items, maker, open.place.timestamp, open.annotation);
    if (message.content.length === 0) return;
    for (const [callId, call] of calls) this.#calls.set(callId, call);
    const draft: MessageDraft = this.#timeline.add({ type: "message", message }, open.place);
    for (const item of open.items) this.#state.see(item, draft);
    this.usage.begin(draft);
    this.#state.close();
    this.turnReply = draft;
    this.hasReplies = true;
  }

  /** Instructions for the model: outside the context, unless they are wanted there. */
  instructions({ item, place }: Pick<ItemLine, "item" | "place">, text: string): void {
    if (text === "") return;
    if (this.#source.instructions) {
      const message = { role: "system", content: text, timestamp: place.timestamp } as const;
      this.#timeline.add({ type: "message", message }, place);
      return;
    }
    this.#state.open(this.#timeline.cursor);
    const data = { role: readText(item.role) ?? "developer", text };
    this.#timeline.add({ type: "custom", customType: "sessile.instructions", data }, place);
  }

  /** Completes the results by the outcomes in events, which may come later. */
  finish(): void {
    this.endReply();
    for (const [callId, { draft, output, annotation }] of this.#results) {
      const outcome = this.outcomes.get(callId);
      const isError =
        annotation === undefined ? (outcome?.isError ?? outputFailed(output)) : annotation.isError === true;
      const details = outcome?.details ?? {};
      changeMessage(draft, { isError, ...(Object.keys(details).length === 0 ? {} : { details }) });
    }
  }

  #find(
    code: "encryptedSummary" | "orphanResult" | "duplicateResult",
    { record }: ItemLine,
    text: string,
  ): void {
    this.#source.find({ code, file: record.file, line: record.line, text });
  }

  #ownItem({ item, place, annotation }: ItemLine): true {
    this.#open ??= { items: [], place, annotation };
    this.#open.items.push(item);
    return true;
  }

  #userMessage(line: ItemLine): void {
    const { item, place, isKept, annotation } = line;
    this.usage.separate();
    const customType = readText(annotation?.customType);
    if (customType !== undefined) {
      this.#harness(
        line,
        customType,
        plainContent(contentBlocks(item.content)),
        0,
        annotation?.display === true,
      );
      return;
    }
    const drafts: Draft[] = [];
    for (const [at, { harness, content }] of userPieces(item).entries()) {
      if (harness !== undefined) {
        drafts.push(this.#harnessEntry(line, harness, content, at));
        continue;
      }
      this.firstUserTime ??= place.timestamp;
      this.#state.beginTurn(this.#timeline.cursor);
      this.turnReply = undefined;
      const part = placedPart(place, at);
      // A repetition by a compaction, in another form, is no message that the user sent.
      const entry =
        isKept === true
          ? ({ type: "custom_message", customType: "codex.user_message", content, display: true } as const)
          : ({ type: "message", message: { role: "user", content, timestamp: place.timestamp } } as const);
      drafts.push(this.#timeline.add(entry, { ...place, part }));
    }
    this.#state.see(item, ...drafts);
  }

  #harness(
    line: ItemLine,
    customType: string,
    content: string | readonly ContentBlock[],
    at: number,
    display = false,
  ): void {
    this.#state.see(line.item, this.#harnessEntry(line, customType, content, at, display));
  }

  #harnessEntry(
    { place, record }: ItemLine,
    customType: string,
    content: string | readonly ContentBlock[],
    at: number,
    display = false,
  ): Draft {
    if (customType === initialContextType && typeof content === "string") {
      const cwd = textDirectory(content);
      if (cwd !== undefined) this.onDirectory(cwd, record);
    }
    this.#state.open(this.#timeline.cursor);
    const entry = { type: "custom_message", customType, content, display } as const;
    return this.#timeline.add(entry, { ...place, part: placedPart(place, at) });
  }

  #output(line: ItemLine): boolean {
    const { item, place, annotation } = line;
    const callId = readText(item.call_id) ?? readText(item.id) ?? "";
    const call = this.#calls.get(callId);
    if (call === undefined) {
      this.#find("orphanResult", line, `a result of no call: ${callId}`);
      return false;
    }
    if (this.#results.has(callId)) {
      this.#find("duplicateResult", line, `a second result of the call ${callId}`);
      return false;
    }
    const output = item.output ?? item.result ?? item.tools ?? "";
    const content =
      item.type === "tool_search_output"
        ? ([{ type: "text", text: JSON.stringify(output) }] as const)
        : outputBlocks(output);
    const message: ToolResultMessage = {
      role: "toolResult",
      toolCallId: call.storedId,
      toolName: call.name,
      content,
      isError: false,
      timestamp: place.timestamp,
    };
    const draft: MessageDraft = this.#timeline.add({ type: "message", message }, place);
    this.#state.close();
    this.#results.set(callId, { draft, output, annotation });
    this.#state.see(item, draft);
    const told = this.outcomes.get(callId)?.threads[0];
    const sessionId = told ?? (call.name === "spawn_agent" ? spawnedThread(output) : undefined);
    if (sessionId !== undefined && !this.spawned.has(sessionId)) {
      this.spawned.add(sessionId);
      const data = { toolCallId: call.storedId, sessionId };
      const entry = { type: "custom", customType: "sessile.subagent", data } as const;
      this.#timeline.add(entry, { ...place, part: "subagent" });
    }
    return true;
  }
}

const encryptedItems: ReadonlySet<string> = new Set([
  "compaction",
  "compaction_summary",
  "context_compaction",
]);

/** Items that are state, not of the conversation. */
const knownOthers: ReadonlySet<string> = new Set([
  "ghost_snapshot",
  "configuration_update",
  "compaction_trigger",
  "other",
]);

function placedPart({ part }: DraftPlace, at: number): string | number {
  if (part === undefined) return at === 0 ? "" : at;
  return at === 0 ? part : `${part}.${at}`;
}

/** Changes members of a message that was added. */
export function changeMessage(
  draft: MessageDraft,
  fields: Partial<AssistantMessage> | Partial<ToolResultMessage>,
): void {
  if (typeof draft.entry === "function") return;
  draft.entry.message = { ...draft.entry.message, ...fields } as typeof draft.entry.message;
}

// The usage of each reply. Since 0.169 a record after the reply has it. Earlier token counts are sums, are
// repeated, and in 0.58 precede their reply.

/** Gives each reply its usage. */
class ReplyUsage<Reply extends object> {
  readonly #set: (reply: Reply, usage: Usage) => void;
  readonly #known = new WeakSet<Reply>();
  #last: Reply | undefined;
  /** The usage of the next reply. */
  #held: Usage | undefined;
  /** The latest sum. A count with the same sum tells nothing new. */
  #sum: string | undefined;
  /** A reply without a count before it continues the last one, as 0.58 writes parallel calls. */
  #isContinued = false;
  #hasRecords = false;
  /** Tokens of the latest request and reply. */
  contextTokens = 0;

  constructor(set: (reply: Reply, usage: Usage) => void) {
    this.#set = set;
  }

  /** Whether usage is from records, not inferred from counts. */
  get isExact(): boolean {
    return this.#hasRecords;
  }

  /** A reply was read. */
  begin(reply: Reply): void {
    if (this.#held !== undefined) {
      this.#give(reply, this.#held);
      this.#held = undefined;
    } else if (this.#isContinued) this.#known.add(reply);
    this.#isContinued = true;
    this.#last = reply;
  }

  /** The next reply is another one. */
  separate(): void {
    this.#isContinued = false;
  }

  /** Nothing that comes belongs to the last reply. */
  forget(): void {
    this.#last = undefined;
    this.#isContinued = false;
  }

  /** The usage that a count adds, if it is new. */
  count(info: ForeignObject | undefined): Usage | undefined {
    this.#isContinued = false;
    if (this.#hasRecords) return undefined;
    if (info === undefined) {
      // A new process counts from zero.
      this.#sum = undefined;
      return undefined;
    }
    const usage = readUsage(info.last_token_usage);
    const sum = JSON.stringify(readObject(info.total_token_usage) ?? info);
    if (usage === undefined || sum === this.#sum) return undefined;
    this.#sum = sum;
    this.contextTokens = usage.totalTokens ?? 0;
    return usage;
  }

  /** The usage in a record. */
  record(payload: ForeignObject): Usage | undefined {
    this.#hasRecords = true;
    this.#isContinued = false;
    return readUsage(payload.usage);
  }

  /** Gives usage to the last reply, or holds it for the next one. */
  assign(usage: Usage): void {
    if (this.#last !== undefined && !this.#known.has(this.#last)) this.#give(this.#last, usage);
    else if (!this.#hasRecords) this.#held = usage;
  }

  /** Takes the usage that no reply had. */
  takeHeld(): Usage | undefined {
    const held = this.#held;
    this.#held = undefined;
    return held;
  }

  #give(reply: Reply, usage: Usage): void {
    this.#known.add(reply);
    this.#set(reply, usage);
  }
}
