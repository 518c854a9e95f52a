import fc from "fast-check";
import {
  type AssistantMessage,
  type BlobStore,
  type Context,
  cacheConversation,
  type Message,
  memoryBlobStore,
  memorySessionStore,
  type Projection,
  type ProjectOptions,
  project,
  quarantine,
  type Session,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { aiSdkMessages, readAiSdkReply } from "sessile/ai-sdk";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { ingest, replayAlways, replayCurrentTurn, replayNever, replayWithin } from "sessile/attachments";
import { bedrockConverse, readBedrockReply } from "sessile/bedrock";
import {
  type CompactionStrategy,
  compact,
  planPrune,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
} from "sessile/compaction";
import { openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { png } from "../media-files.js";
import { type BoundRequest, PreservedThinking } from "./anthropic/preserved-thinking.js";
import { messageOf } from "./anthropic/replies.js";
import { PreservedReasoning, type ReasoningRequest } from "./openai/preserved-reasoning.js";
import { responsesReply } from "./openai/replies.js";

/** What happens between two requests of a session, or a request. `pick` chooses an entry, from the start of the context. */
export type WireStep =
  | {
      readonly do: "ask";
      readonly model: number;
      readonly reply: readonly ReplyPiece[];
      readonly end: ReplyEnd;
    }
  | { readonly do: "user"; readonly images: number }
  | { readonly do: "results"; readonly isReversed: boolean; readonly images: number; readonly omit: number }
  | { readonly do: "edit"; readonly pick: number; readonly isRemoval: boolean }
  | { readonly do: "update" | "fork" | "branch" | "quarantine"; readonly pick: number }
  | { readonly do: "replay"; readonly policy: number }
  | { readonly do: "compact"; readonly strategy: number }
  | { readonly do: "tools"; readonly count: number }
  | { readonly do: "toolChange"; readonly adds: boolean }
  | { readonly do: "note"; readonly type: number }
  | { readonly do: "prune" | "instructions" | "crash" };

type ReplyPiece = "thinking" | "text" | "call";
type ReplyEnd = "whole" | "cut";

const pick = fc.nat({ max: 30 });
const reply = fc
  .array(fc.constantFrom<ReplyPiece>("thinking", "thinking", "text", "call"), { minLength: 0, maxLength: 4 })
  .map((pieces): readonly ReplyPiece[] => [...pieces, pieces.includes("call") ? "call" : "text"]);

/** Steps that only add to a session, and compactions. */
export const growingStep: fc.Arbitrary<WireStep> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("ask" as const),
      model: fc.nat({ max: 4 }),
      reply,
      end: fc.constantFrom<ReplyEnd>("whole", "whole", "whole", "whole", "cut"),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("user" as const), images: fc.nat({ max: 2 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("results" as const),
      isReversed: fc.boolean(),
      images: fc.nat({ max: 1 }),
      omit: fc.constant(0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("compact" as const), strategy: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("fork" as const), pick: fc.constant(30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("toolChange" as const), adds: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("note" as const), type: fc.nat({ max: 1 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("crash" as const, "instructions" as const) }),
  },
);

/** Steps that change what was sent, too. */
export const anyStep: fc.Arbitrary<WireStep> = fc.oneof(
  { weight: 12, arbitrary: growingStep },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("edit" as const), pick, isRemoval: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom("update" as const, "fork" as const, "branch" as const, "quarantine" as const),
      pick,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("replay" as const), policy: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("tools" as const), count: fc.nat({ max: 2 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("prune" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("results" as const),
      isReversed: fc.boolean(),
      images: fc.nat({ max: 1 }),
      omit: fc.constant(1),
    }),
  },
);

/** What the servers said. */
export interface WireCount {
  requests: number;
  /** Answers 400 of a server that refuses. */
  readonly refused: string[];
  /** Blocks of reasoning that a server did not show to the model, though it is the model's own. */
  dropped: number;
  /** Blocks of reasoning that were read. */
  read: number;
  /** Blocks of reasoning of whole replies of the model since the last cut. */
  own: number;
  /** Newest notes of a turn that the model does not see at the end of a request. */
  unseen: number;
}

/** Sees what is projected, before it is. */
export type Watch = (context: Context, target: Target<object>, options: ProjectOptions) => Promise<void>;

const policies = [replayAlways, replayCurrentTurn, replayNever, replayWithin({ images: 2 })];
const strategies = (): readonly CompactionStrategy[] => [
  rollingSummary({ reserveTokens: 10, keepRecentTokens: 40 }),
  rollingSummary({ reserveTokens: 10, keepRecentTokens: 1 }),
  recentUserMessages({ keepUserTokens: 20 }),
  pruneThenSummarize({ output: 1, skipTurns: 0, protectTokens: 1, minimumTokens: 1 }),
];
const models = ["claude-opus-5-5", "claude-fable-5-2", "gpt-6.2-sol", "bedrock", "ai-sdk"] as const;
const notes = ["todos", "date"] as const;
const converse = "anthropic.claude-opus-5-5-v1:0";
const sdkModel = { provider: "anthropic.messages", modelId: "claude-sonnet-5-5" };
const images = Array.from({ length: 8 }, (_, at) => png({ width: 3 + at, height: 4 }));

const results = { do: "results", isReversed: false, images: 0 } as const;

/** A session, and servers that refuse or drop what is not a continuation. */
export class Wire {
  readonly count: WireCount = { requests: 0, refused: [], dropped: 0, read: 0, own: 0, unseen: 0 };
  readonly #blobs: BlobStore = memoryBlobStore();
  readonly #store = memorySessionStore();
  readonly #anthropic = new PreservedThinking();
  readonly #openai = new PreservedReasoning();
  #session: Session;
  #options: ProjectOptions = {};
  #tools = 1;
  #serial = 0;

  readonly #watch: Watch | undefined;

  private constructor(session: Session, watch: Watch | undefined) {
    this.#session = session;
    this.#watch = watch;
  }

  /** Runs steps on a new session. `isPaired`: calls have their results before the next request. */
  static async run(steps: readonly WireStep[], isPaired: boolean, watch?: Watch): Promise<WireCount> {
    const store = memorySessionStore();
    const wire = new Wire(await store.create({ cwd: "/work" }), watch);
    wire.#session = await wire.#store.create({ cwd: "/work" });
    await wire.#session.appendMessage({ role: "system", content: "Be brief.", timestamp: 1 });
    await wire.#session.appendMessage(userMessage("Begin."));
    for (const step of steps) {
      if (step.do === "ask" && isPaired) await wire.#step({ ...results, omit: 0 });
      await wire.#step(step);
    }
    return wire.count;
  }

  async #step(step: WireStep): Promise<void> {
    const session = this.#session;
    const { items } = await session.context();
    if (items.length === 0) await session.appendMessage(userMessage(this.#word("asks")));
    const chosen = (index: number) =>
      items[Math.min(index, items.length - 1)]?.entryId ?? session.leafId ?? "";
    switch (step.do) {
      case "ask":
        return this.#ask(step.model, step.reply, step.end);
      case "user":
        await session.appendMessage(userMessage(this.#word("asks"), ...(await this.#images(step.images))));
        return;
      case "results": {
        const pending = (await session.toolStates()).filter(({ state }) => state === "pending");
        const calls = (step.isReversed ? pending.toReversed() : pending).slice(step.omit);
        for (const { call } of calls) {
          const shown = await this.#images(step.images);
          await session.appendMessage(toolResult(call, this.#word("result ".repeat(9)), ...shown));
        }
        return;
      }
      case "edit": {
        const replacement = step.isRemoval ? null : { content: this.#word("edited") };
        await session.append([{ type: "context_edit", targetId: chosen(step.pick), replacement }]);
        return;
      }
      case "update": {
        const item = items.find(({ entryId }) => entryId === chosen(step.pick));
        if (item?.message.role !== "assistant") return;
        const content = item.message.content.map((block) =>
          block.type === "text" ? { ...block, text: this.#word("updated") } : block,
        );
        const message = { ...item.message, content } satisfies Message;
        await session.append([{ type: "message_update", targetId: item.entryId, message }]);
        return;
      }
      case "quarantine":
        await session.append(quarantine({ items }, [{ entryId: chosen(step.pick), block: 0 }]));
        return;
      case "fork":
        this.#session = await session.extract(chosen(step.pick));
        return;
      case "branch":
        return session.branch(chosen(step.pick));
      case "replay":
        this.#options = { ...this.#options, replay: policies[step.policy] as never };
        return;
      case "tools":
        this.#tools = step.count;
        return;
      case "instructions":
        await session.appendMessage({ role: "system", content: this.#word("Be"), timestamp: 2 });
        return;
      case "toolChange": {
        const name = `tool${this.#serial++}`;
        const change = step.adds ? { toolsAdded: [{ name, parameters: {} }] } : { toolsRemoved: ["read"] };
        await session.appendMessage({ role: "system", content: "", ...change, timestamp: 2 });
        return;
      }
      case "note": {
        const customType = notes[step.type] ?? notes[0];
        const content = this.#word("Note");
        await session.appendMessage({ role: "custom", customType, content, display: false, timestamp: 2 });
        return;
      }
      case "prune": {
        const context = await session.context();
        const plan = planPrune(context, { skipTurns: 0, protectTokens: 1, minimumTokens: 1 });
        if (plan !== undefined) await session.append(plan.drafts);
        return;
      }
      case "compact": {
        const strategy = strategies()[step.strategy] as CompactionStrategy;
        const generate = async () => ({ text: this.#word("Summary") });
        await compact(session, { strategy, window: 100_000, generate, trigger: "manual" });
        return;
      }
      case "crash":
        await session.flush();
        this.#session = await this.#store.open(session.id, { mode: "write" });
    }
  }

  async #ask(at: number, pieces: readonly ReplyPiece[], end: ReplyEnd): Promise<void> {
    const model = models[at] ?? models[0];
    const message = await this.#reply(model, pieces);
    const cut = { ...message, stopReason: "aborted" };
    await this.#session.appendMessage(end === "cut" ? cut : message);
  }

  #reply(model: string, pieces: readonly ReplyPiece[]): Promise<AssistantMessage> {
    if (model === "bedrock") return this.#askBedrock(pieces);
    if (model === "ai-sdk") return this.#askAiSdk(pieces);
    return model.startsWith("claude") ? this.#askAnthropic(model, pieces) : this.#askOpenai(model, pieces);
  }

  /** What the API behind another protocol gets, and its reply. */
  #askClaude(request: BoundRequest, pieces: readonly ReplyPiece[], said: (piece: "text" | "call") => object) {
    const { refused, dropped, read } = this.#anthropic.check(request);
    this.count.requests++;
    if (refused !== undefined) this.count.refused.push(refused);
    this.count.dropped += dropped.length;
    this.count.read += read;
    const content = pieces.map((piece) =>
      piece === "thinking" ? { type: piece, thinking: this.#word("Hm") } : { type: "other", ...said(piece) },
    );
    return this.#anthropic.reply(request, content);
  }

  async #askBedrock(pieces: readonly ReplyPiece[]): Promise<AssistantMessage> {
    const tools = this.#declared().map((name) => ({ toolSpec: { name, inputSchema: { json: {} } } }));
    const { value } = await this.#project(bedrockConverse({ model: converse }), tools);
    const messages = value.messages.map(({ role, content }) => ({
      role,
      content: sent<Json[]>(content)
        .filter((block) => !("cachePoint" in block))
        .map((block) => {
          const { reasoningText } = (block.reasoningContent ?? {}) as Json;
          if (reasoningText === undefined) return { type: "other", ...block };
          const { text: thinking, signature } = reasoningText as Json;
          return { type: "thinking", thinking, signature };
        }),
    }));
    const system = (value.system ?? []).filter((block) => !("cachePoint" in block));
    const made = this.#askClaude({ model: converse, tools, system, messages }, pieces, (piece) =>
      piece === "text"
        ? { text: this.#word("Says") }
        : { toolUse: { toolUseId: `tooluse_${this.#serial++}`, name: "read", input: { at: this.#serial } } },
    );
    const content = made.map(({ type, thinking: text, signature, ...block }) =>
      type === "thinking" ? { reasoningContent: { reasoningText: { text, signature } } } : block,
    );
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    const reply = { output: { message: { role: "assistant", content } }, stopReason: "tool_use", usage };
    return readBedrockReply(reply as never, { model: converse });
  }

  async #askAiSdk(pieces: readonly ReplyPiece[]): Promise<AssistantMessage> {
    const tools = this.#declared();
    const { value } = await this.#project(aiSdkMessages({ model: sdkModel }), tools, false);
    const messages = value.messages.map(({ role, content }) => ({
      role,
      content: sent<Json[]>(
        [content].flat().map((part) => (typeof part === "string" ? { text: part } : part)),
      ).map((part) => {
        if (part.type !== "reasoning") return { ...part, type: "other", kind: part.type };
        const { anthropic } = part.providerOptions as { readonly anthropic: Json };
        return { type: "thinking", thinking: part.text, signature: anthropic.signature };
      }),
    }));
    const request = { model: sdkModel.modelId, tools, system: value.system, messages };
    const made = this.#askClaude(request, pieces, (piece) =>
      piece === "text"
        ? { kind: "text", text: this.#word("Says") }
        : {
            ...{ kind: "tool-call", toolCallId: `toolu_${this.#serial++}`, toolName: "read" },
            input: { at: this.#serial },
          },
    );
    const content = made.map(({ type, kind, thinking, signature, ...part }) =>
      type === "thinking"
        ? { type: "reasoning", text: thinking, providerOptions: { anthropic: { signature } } }
        : { type: kind, ...part },
    ) as { readonly type: string }[];
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    const response = { messages: [{ role: "assistant", content }] };
    return readAiSdkReply({ model: sdkModel, content, finishReason: "tool-calls", usage, response });
  }

  async #askAnthropic(model: string, pieces: readonly ReplyPiece[]): Promise<AssistantMessage> {
    const tools = this.#declared().map((name) => ({ name, input_schema: { type: "object" } }));
    const target = anthropicMessages({ model, toolChanges: true, turnOnly: notes });
    const { value } = await this.#project(target, tools);
    const request = sent<BoundRequest>({ model, tools, ...value });
    const end = value.messages.slice(value.messages.findLastIndex(({ role }) => role === "assistant") + 1);
    const shown = JSON.stringify(end);
    this.count.unseen += notesOfTurn((await this.#session.context()).items).filter(
      (note) => !shown.includes(note),
    ).length;
    const { refused, dropped, read } = this.#anthropic.check(request);
    this.count.requests++;
    if (refused !== undefined) this.count.refused.push(refused);
    this.count.dropped += dropped.length;
    this.count.read += read;
    const content = this.#anthropic.reply(
      request,
      pieces.map((piece) => {
        if (piece === "thinking") return { type: piece, thinking: this.#word("Hm") };
        if (piece === "text") return { type: piece, text: this.#word("Says"), citations: null };
        return { type: "tool_use", id: `toolu_${this.#serial++}`, name: "read", input: { at: this.#serial } };
      }),
    );
    return readAnthropicReply(messageOf({ content: content as never }, model, 0), { model });
  }

  async #askOpenai(model: string, pieces: readonly ReplyPiece[]): Promise<AssistantMessage> {
    const tools = this.#declared().map((name) => ({ type: "function", name, parameters: {}, strict: false }));
    const { value } = await this.#project(
      openaiResponses({ model, cacheBreakpoints: true, toolChanges: true }),
      tools,
    );
    const request = sent<ReasoningRequest>({ model, tools, ...value });
    const { removed, read } = this.#openai.check(request);
    this.count.requests++;
    this.count.dropped += removed.length;
    this.count.read += read;
    // Each reasoning item has an item after it.
    const paired = pieces.filter((piece, index) => piece !== "thinking" || pieces[index + 1] !== "thinking");
    const output = this.#openai.reply(
      request,
      paired.map((piece) => {
        const serial = this.#serial++;
        if (piece === "thinking") return { type: "reasoning" };
        if (piece === "call")
          return {
            type: "function_call",
            id: `fc_${serial}`,
            call_id: `call_${serial}`,
            name: "read",
            arguments: "{}",
          };
        const content = [{ type: "output_text", text: this.#word("Says"), annotations: [] }];
        return { type: "message", id: `msg_${serial}`, role: "assistant", status: "completed", content };
      }),
    );
    return readOpenaiResponsesReply(responsesReply(output as never, { model }) as never, { model });
  }

  async #project<V>(target: Target<V>, tools: unknown, caches = true): Promise<Projection<V>> {
    const context = await this.#session.context();
    const { provider, model } = target.model;
    for (const { message } of context.items.slice(context.usageSince)) {
      if (message.role !== "assistant" || message.provider !== provider || message.model !== model) continue;
      if (message.stopReason === "aborted") continue;
      // Reasoning at the end of a reply cannot be sent.
      const last = message.content.findLastIndex(({ type }) => type !== "thinking");
      this.count.own += message.content.filter(({ type }, at) => type === "thinking" && at < last).length;
    }
    // Markers of the cache move, and are no part of the prefix.
    const cache = this.count.requests % 3 === 0 || !caches ? {} : { cache: cacheConversation };
    const options = { blobs: this.#blobs, tools, ...cache, ...this.#options };
    await this.#watch?.(context, target as Target<object>, options);
    return project(context, target, options);
  }

  #declared(): readonly string[] {
    return ["read", "write"].slice(0, this.#tools);
  }

  async #images(count: number) {
    return Promise.all(
      Array.from({ length: count }, () => {
        const bytes = images[this.#serial++ % images.length] as Uint8Array;
        return ingest({ bytes }, { blobs: this.#blobs, source: "tool" });
      }),
    );
  }

  #word(text: string): string {
    return `${text} ${this.#serial++}.`;
  }
}

/** The newest note of each type since the last message of the user's, if results or words of the user end a session. */
function notesOfTurn(items: Context["items"]): readonly string[] {
  const roles = items.map(({ message }) => message.role);
  const last = roles.slice(roles.lastIndexOf("assistant") + 1);
  if (!last.includes("user") && !last.includes("toolResult")) return [];
  const asked = roles.slice(0, roles.lastIndexOf("user") + 1);
  const found = new Map<string, string>();
  for (const { message } of items.slice(asked.lastIndexOf("assistant") + 1))
    if (message.role === "custom") found.set(message.customType, String(message.content));
  return [...found.values()];
}

type Json = Record<string, unknown>;

/** A request as it is on the wire. */
function sent<T>(value: object): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
