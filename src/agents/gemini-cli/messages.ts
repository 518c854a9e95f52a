/** Messages of a chat as entries: replies with their calls and results, and messages of the user. */

import type { AssistantMessage, ToolCall, Usage } from "../../content/index.js";
import {
  callBlock,
  callId,
  contentParts,
  type FunctionResponse,
  isFailure,
  partBlock,
  partResponses,
  replyDraft,
  resultDraft,
  saidDraft,
  shownText,
  usageOfCounts,
} from "../shared/gemini-parts.js";
import { type ForeignObject, readCount, readObject, readText, toArray } from "../shared/values.js";
import type { DraftEntry, EntryBuilder, ForeignSource } from "../types.js";
import { isEnvironment } from "./agent.js";
import { isCommand, isTextResponse, type Turn, withoutGuard } from "./history.js";

type Place = Parameters<EntryBuilder["add"]>[1];

/** A call that may still get a result. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
  /** The entries of its message. */
  readonly entries: string[];
  isAnswered: boolean;
}

/** Options of a {@link Conversation}. */
interface ConversationOptions {
  /** The session's id as the agent has it. */
  readonly foreignId: string;
  readonly file: string;
  /** The id of the session of a subagent, by the agent's id. */
  readonly subagentByAgentId: (agentId: string) => string | undefined;
}

/** Makes the entries of one chat, and remembers which messages they are of. */
export class Conversation {
  readonly #source: ForeignSource;
  readonly #builder: EntryBuilder;
  readonly #options: ConversationOptions;
  readonly #entries = new Map<Turn, string[]>();
  readonly #lastEntries = new Map<Turn, string | null>();
  /** The latest call of an id. */
  readonly #calls = new Map<string, OpenCall>();
  /** The calls of the latest reply by their tool, the last one first. */
  #byName = new Map<string, OpenCall[]>();
  #parent: string | null = null;
  #model: string | undefined;
  #isGuessed = false;
  /** Tokens of the context at the last reply. */
  tokens = 0;

  constructor(source: ForeignSource, builder: EntryBuilder, options: ConversationOptions) {
    this.#source = source;
    this.#builder = builder;
    this.#options = options;
  }

  /** Adds an entry after the last one. */
  add(draft: DraftEntry, place: Omit<Place, "parentId">): string {
    this.#parent = this.#builder.add(draft, { ...place, parentId: this.#parent });
    return this.#parent;
  }

  /** Adds an entry of a message. */
  addFunction(turn: Turn, draft: DraftEntry, part: Pick<Place, "part" | "id"> = {}): string {
    const { timestamp, sessile } = turn.value;
    const own = part.part === undefined ? readText(readObject(sessile)?.entry) : undefined;
    const id = this.add(draft, { recordId: turn.key, timestamp, id: own, ...part });
    const entries = this.#entries.get(turn);
    if (entries === undefined) this.#entries.set(turn, [id]);
    else entries.push(id);
    this.#lastEntries.set(turn, id);
    return id;
  }

  turnEntries(turn: Turn): readonly string[] {
    return this.#entries.get(turn) ?? [];
  }

  /** The entry to continue at if a message is the last one. */
  lastTurnEntry(turn: Turn): string | null {
    return this.#lastEntries.get(turn) ?? null;
  }

  /** The last entry; null for before the first. */
  get leaf(): string | null {
    return this.#parent;
  }

  /** Continues at an earlier entry. */
  moveTo(targetId: string | null, recordId: string): void {
    if (targetId === this.#parent) return;
    this.#builder.add({ type: "leaf", targetId }, { recordId, parentId: targetId });
    this.#parent = targetId;
  }

  finish(): void {
    this.#builder.setLeaf(this.#parent);
  }

  addTurn(turn: Turn): void {
    if (turn.role === "message") {
      if (turn.value.type === "user") this.#addUser(turn);
      else if (turn.value.type === "gemini") this.#addReply(turn);
    }
    // A message without entries is at the place of the one before it.
    this.#lastEntries.set(turn, this.#parent);
  }

  #time({ value }: Turn): number {
    return this.#builder.time(value.timestamp);
  }

  #addUser(turn: Turn): void {
    const { content, sessile } = turn.value;
    const parts = contentParts(content);
    const text = shownText(parts);
    if (isCommand(text)) {
      this.addFunction(turn, { type: "custom", customType: "sessile.command", data: { text } });
      return;
    }
    const custom = readText(readObject(sessile)?.customType);
    const customType = isEnvironment(text)
      ? "sessile.initial_context"
      : isTextResponse(content)
        ? "sessile.function_response"
        : custom;
    const { responses, others } = partResponses(parts);
    for (const [at, response] of responses.entries()) this.#addResponse(turn, response, at);
    const display = readObject(sessile)?.display === true;
    const draft = saidDraft(withoutGuard(others), { customType, display, timestamp: this.#time(turn) });
    if (draft !== undefined) this.addFunction(turn, draft);
  }

  /** A function response as a message of its own: mostly a double of one that its call has. */
  #addResponse(turn: Turn, response: FunctionResponse, at: number): void {
    const { id, name } = response;
    const call = this.#calls.get(id ?? "") ?? this.#unanswered(name, id);
    if (call === undefined) {
      const text = `a function response of ${name ?? "a tool"} without its call`;
      this.#source.find({ code: "orphanResult", file: this.#options.file, text });
    } else if (!call.isAnswered) {
      const isError = isFailure(response);
      call.entries.push(this.#addResult(turn, call, { response, isError }, { part: `response ${at}` }));
    }
  }

  /** The first open call of a tool in the latest reply, for a response without an id. */
  #unanswered(name: string | undefined, id: string | undefined): OpenCall | undefined {
    if (id !== undefined || name === undefined) return undefined;
    const calls = this.#byName.get(name) ?? [];
    while (calls.at(-1)?.isAnswered === true) calls.pop();
    return calls.at(-1);
  }

  #addResult(
    turn: Turn,
    call: OpenCall,
    result: { response: FunctionResponse; isError: boolean; display?: unknown },
    place: Pick<Place, "part" | "id">,
  ): string {
    call.isAnswered = true;
    const { response, isError, display } = result;
    const draft = resultDraft(call, response, { isError, display, timestamp: this.#time(turn) });
    return this.addFunction(turn, draft, place);
  }

  #addReply(turn: Turn): void {
    const { value } = turn;
    const tools = toArray(value.toolCalls).flatMap((call): readonly ForeignObject[] => {
      const tool = readObject(call);
      return tool === undefined ? [] : [tool];
    });
    const blocks = replyBlocks(turn, tools);
    const usage = readUsage(value.tokens);
    if (usage !== undefined) this.tokens = usage.totalTokens ?? 0;
    const model = this.#readModel(value);
    const provider = readText(readObject(value.sessile)?.provider) ?? "google";
    const api = "google-generative-ai";
    const reply = { content: blocks, provider, model, api, timestamp: this.#time(turn) } as const;
    const draft = replyDraft(reply, usage);
    if (draft !== undefined) this.addFunction(turn, draft);
    const calls = blocks.filter((block): block is ToolCall => block.type === "toolCall");
    const entries = this.#entries.get(turn) ?? [];
    const open = calls.map(({ id, name }): OpenCall => ({ id, name, entries, isAnswered: false }));
    for (const call of open) this.#calls.set(call.id, call);
    this.#byName = new Map();
    for (const call of open.toReversed()) {
      const known = this.#byName.get(call.name);
      if (known === undefined) this.#byName.set(call.name, [call]);
      else known.push(call);
    }
    for (const [at, tool] of tools.entries()) {
      const call =
        open[at]?.id === callId(turn.key, tool, at) ? open[at] : this.#calls.get(callId(turn.key, tool, at));
      if (call !== undefined && !call.isAnswered) this.#addToolResult(turn, call, tool, at);
    }
  }

  #addToolResult(turn: Turn, call: OpenCall, tool: ForeignObject, at: number): void {
    const response = callResponse(call, tool);
    const sub = readText(tool.agentId);
    if (response !== undefined) {
      const isError = tool.status === "error" || tool.status === "cancelled";
      const id = readText(readObject(tool.sessile)?.entry);
      const result = { response, isError, display: tool.resultDisplay };
      this.#addResult(turn, call, result, { part: `result ${at}`, id });
    }
    if (sub === undefined) return;
    const sessionId = this.#options.subagentByAgentId(sub);
    if (sessionId === undefined) {
      this.#source.find({
        code: "missingChild",
        file: this.#options.file,
        text: `the chat of subagent ${sub}`,
      });
      return;
    }
    const data = { toolCallId: call.id, sessionId };
    this.addFunction(
      turn,
      { type: "custom", customType: "sessile.subagent", data },
      { part: `subagent ${at}` },
    );
  }

  #readModel({ model }: ForeignObject): string {
    const named = readText(model);
    if (named !== undefined && named !== "") {
      this.#model = named;
      return named;
    }
    if (!this.#isGuessed) {
      const text = "replies without a model have that of the reply before";
      this.#source.find({ code: "guessed", file: this.#options.file, text });
      this.#isGuessed = true;
    }
    return this.#model ?? "unknown";
  }
}

// The blocks of a reply, the response of a call, and the usage, of a record of any version.

type Block = AssistantMessage["content"][number];

/**
 * The blocks of a reply. A checkpoint writes all parts to `content`; else `content` is the text, between
 * `thoughts` and `toolCalls`.
 */
function replyBlocks(turn: Turn, tools: readonly ForeignObject[]): Block[] {
  const parts = contentParts(turn.value.content);
  const hasCalls = parts.some((part) => readObject(part.functionCall) !== undefined);
  const isWhole = hasCalls || parts.some(({ thought }) => thought === true);
  const blocks: Block[] = isWhole ? [] : toArray(turn.value.thoughts).flatMap(readThought);
  let count = 0;
  for (const part of parts) {
    const call = readObject(part.functionCall);
    if (call !== undefined) blocks.push(callBlock(callId(turn.key, call, count++), call, part));
    else for (const block of partBlock(part)) blocks.push(block);
  }
  if (!hasCalls)
    for (const [at, tool] of tools.entries()) blocks.push(callBlock(callId(turn.key, tool, at), tool, {}));
  return blocks;
}

/** A thought as the agent sends it again. */
function readThought(value: unknown): readonly Block[] {
  const thought = readObject(value);
  const subject = readText(thought?.subject) ?? "";
  const description = readText(thought?.description) ?? "";
  const thinking = subject === "" ? description : `**${subject}** ${description}`;
  return thinking.trim() === "" ? [] : [{ type: "thinking", thinking }];
}

/**
 * The response of a call. A checkpoint gives each call of a reply the responses of all, of which one has its
 * id.
 */
function callResponse(
  call: Pick<ToolCall, "id" | "name">,
  { result }: ForeignObject,
): FunctionResponse | undefined {
  if (result === undefined || result === null) return undefined;
  const { responses, others } = partResponses(contentParts(result));
  const own = responses.find(({ id }) => id === call.id) ?? responses.find(({ name }) => name === call.name);
  const found = own ?? responses[0];
  if (found !== undefined) return found;
  const text = shownText(others);
  return { id: call.id, name: call.name, response: { output: text }, media: [] };
}

/** Tokens of a reply. The count of the input includes the cached ones, that of the output no thoughts. */
function readUsage(value: unknown): Usage | undefined {
  const tokens = readObject(value);
  if (tokens === undefined) return undefined;
  const prompt = readCount(tokens.input) + readCount(tokens.tool);
  return usageOfCounts(
    prompt,
    tokens.cached,
    readCount(tokens.output) + readCount(tokens.thoughts),
    tokens.total,
  );
}
