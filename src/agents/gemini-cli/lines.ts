/** Steps of a session as records of a chat, as each version of the agent reads them after a resume. */

import type { AssistantMessage, ImageBlock, TextBlock, ToolCall, Usage } from "../../content/index.js";
import { blockPart, type Part, resultParts, shownText } from "../shared/gemini-parts.js";
import { isFileName, textUuid } from "../shared/ids.js";
import { type ForeignObject, readObject, readText, timeIso } from "../shared/values.js";
import { describedReply, type WriteBlock, writeBlocks } from "../shared/write-blocks.js";
import type { WriteResult, WriteStep } from "../shared/write-steps.js";
import type { WriteSource } from "../types.js";
import { isEnvironment } from "./agent.js";
import { isTextResponse, withGuard } from "./parts.js";

/** A record of a message. */
export type MessageRecord = ForeignObject & { readonly id: string };

/** Media that the Gemini API accepts inline. */
const acceptsMedia = (mediaType: string) =>
  /^(?:image|audio|video|text)\/|^application\/pdf$/.test(mediaType);

/**
 * Makes the records of one session. A message that is written again after a compaction has the same ones, and no
 * finding a second time.
 */
export class ChatRecords {
  #source: WriteSource;
  /** The ids of subagents' sessions by the calls that started them. */
  readonly #subagents = new Map<string, string>();
  readonly #reported = new Set<string>();
  readonly #written = new Set<string>();

  constructor(source: WriteSource) {
    this.#source = source;
    for (const entry of source.outline) {
      if (entry.type !== "custom" || entry.customType !== "sessile.subagent") continue;
      const { toolCallId, sessionId } = readObject(entry.data) ?? {};
      const [call, session] = [readText(toolCallId), readText(sessionId)];
      if (call !== undefined && session !== undefined) this.#subagents.set(call, subagentId(session));
    }
  }

  /** The records of a message. */
  async of(step: WriteStep & { readonly kind: "user" | "reply" }): Promise<readonly MessageRecord[]> {
    const source = this.#source;
    if (this.#written.has(step.entryId)) this.#source = { ...source, find: () => {} };
    this.#written.add(step.entryId);
    try {
      return step.kind === "user" ? [await this.#user(step)] : await this.#reply(step);
    } finally {
      this.#source = source;
    }
  }

  /** The summary of a compaction, as a message of the user like those that the agent itself makes. */
  summary({ entryId, time, summary, entry }: WriteStep & { readonly kind: "compaction" }): MessageRecord {
    if (entry.systemMessage !== undefined) this.#omit("instructions of this harness", entryId);
    const text = summary.trimStart().startsWith("<state_snapshot>")
      ? summary
      : `<state_snapshot>\n${summary}\n</state_snapshot>`;
    return this.#record(entryId, time, { type: "user", content: [{ text }] });
  }

  /** A step that is no message: the name of the session, a command to the agent. */
  other({ entry, time }: WriteStep & { readonly kind: "other" }): ForeignObject | undefined {
    if (entry.type === "session_info") {
      const name = entry.name ?? entry.title;
      return name === undefined ? undefined : { $set: { summary: name } };
    }
    if (entry.type === "custom") {
      const text = readText(readObject(entry.data)?.text);
      if (entry.customType !== "sessile.command" || text === undefined) return undefined;
      return this.#record(entry.id, time, { type: "user", content: [{ text }] });
    }
    if (entry.type === "model_change" || entry.type === "thinking_level_change")
      this.#omit(`entries of type ${entry.type}`, entry.id);
    return undefined;
  }

  /** A result after the record of its call, which another program has written. */
  async lateResult(result: WriteResult): Promise<MessageRecord> {
    const { parts: content } = await this.#resultParts(result);
    return this.#record(result.entryId, result.time, { type: "user", content }, `late ${result.callId}`);
  }

  async #user(step: WriteStep & { readonly kind: "user" }): Promise<MessageRecord> {
    const { entryId, time, content, customType, display } = step;
    const parts = (await this.#blocks(entryId, content)).map(blockPart);
    const text = shownText(parts);
    const isOwn =
      (customType === "sessile.initial_context" && isEnvironment(text)) ||
      (customType === "sessile.function_response" && isTextResponse(text));
    const own = isTextResponse(text) && isOwn ? text : isOwn ? parts : withGuard(parts);
    const custom = customType === undefined ? {} : { customType, ...(display ? { display } : {}) };
    const sessile = { entry: entryId, ...custom };
    return this.#record(entryId, time, { type: "user", content: own, sessile });
  }

  async #reply(step: WriteStep & { readonly kind: "reply" }): Promise<readonly MessageRecord[]> {
    const { entryId, time, message, results } = step;
    const isOwn = /^google(?:$|-)/.test(message.provider);
    const model = this.#source.modelFor(message) ?? message.model;
    const sessile = { entry: entryId, ...(isOwn ? {} : { provider: message.provider }) };
    const records: MessageRecord[] = [];
    let answered = 0;
    for (const [at, segment] of messageSegments(describedReply(message)).entries()) {
      const thoughts = this.#thoughts(segment, { entryId, isOwn, time });
      const texts = segment.flatMap((block) => (block.type === "text" ? [{ text: block.text }] : []));
      const calls = segment.filter((block): block is ToolCall => block.type === "toolCall");
      const toolCalls = [];
      for (const call of calls) toolCalls.push(await this.#call(call, results[answered++], entryId));
      if (thoughts.length + texts.length + calls.length === 0) continue;
      const [only] = texts;
      records.push(
        this.#record(
          entryId,
          time,
          {
            type: "gemini",
            content: texts.length === 1 && only !== undefined ? only.text : texts.length === 0 ? "" : texts,
            thoughts,
            ...(at === 0 && message.usage !== undefined ? { tokens: usageTokens(message.usage) } : {}),
            model,
            ...(toolCalls.length === 0 ? {} : { toolCalls }),
            sessile: at === 0 ? sessile : { ...sessile, entry: undefined },
          },
          at === 0 ? "" : `segment ${at}`,
        ),
      );
    }
    this.#reportBlocks(message, { entryId, isOwn });
    if (records.length === 0) this.#source.find({ code: "entry", entryId, text: "a reply without content" });
    return records;
  }

  /** Reasoning that the agent sends again: unsigned text of its own models. */
  #thoughts(
    segment: AssistantMessage["content"],
    { entryId, isOwn, time }: { readonly entryId: string; readonly isOwn: boolean; readonly time: number },
  ): readonly ForeignObject[] {
    return segment.flatMap((block) => {
      if (block.type !== "thinking") return [];
      if (isOwn && block.redacted !== true && /\S/.test(block.thinking))
        return [{ subject: "", description: block.thinking, timestamp: timeIso(time) }];
      const text = isOwn ? "reasoning without text" : "reasoning of another maker";
      this.#source.find({ code: "reasoning", entryId, text });
      return [];
    });
  }

  #reportBlocks(message: AssistantMessage, { entryId, isOwn }: { entryId: string; isOwn: boolean }): void {
    const isSigned = message.content.some(
      (block) =>
        (block.type === "text" && block.textSignature !== undefined) ||
        (block.type === "toolCall" && block.thoughtSignature !== undefined) ||
        (block.type === "thinking" && block.thinkingSignature !== undefined && block.redacted !== true),
    );
    if (isSigned && isOwn) this.#source.find({ code: "reasoning", entryId, text: "signatures are left out" });
    for (const { type } of message.content) {
      if (type === "opaque") this.#source.find({ code: "opaque", entryId, text: "a block of a provider" });
    }
  }

  async #call(call: ToolCall, result: WriteResult | undefined, entryId: string): Promise<ForeignObject> {
    const args = readObject(call.arguments);
    if (args === undefined) {
      const text = `arguments of call ${call.id} that are no object are its argument \`input\``;
      this.#source.find({ code: "entry", entryId, text });
    }
    const agentId = this.#subagents.get(call.id);
    const made = result === undefined ? undefined : await this.#resultParts(result);
    return {
      id: call.id,
      name: call.name,
      args: args ?? { input: call.arguments ?? null },
      ...(made === undefined ? {} : { result: made.parts }),
      status: result?.interrupted === true ? "cancelled" : result?.isError === true ? "error" : "success",
      timestamp: timeIso(result?.time ?? 0),
      resultDisplay: readObject(result?.details)?.resultDisplay ?? made?.text ?? "",
      displayName: call.name,
      description: "",
      renderOutputAsMarkdown: false,
      ...(agentId === undefined ? {} : { agentId }),
      ...(result === undefined || result.interrupted ? {} : { sessile: { entry: result.entryId } }),
    };
  }

  /** A result for the model, and its text for people. */
  async #resultParts(
    result: WriteResult,
  ): Promise<{ readonly parts: readonly Part[]; readonly text: string }> {
    return resultParts(result, await this.#blocks(result.entryId, result.content));
  }

  #blocks(entryId: string, content: readonly (TextBlock | ImageBlock)[]): Promise<readonly WriteBlock[]> {
    return writeBlocks(this.#source, entryId, content, acceptsMedia);
  }

  #record(entryId: string, time: number, value: ForeignObject, part = ""): MessageRecord {
    const id = textUuid("gemini", this.#source.header.id, entryId, part);
    return { id, timestamp: timeIso(time), sessile: { entry: entryId }, ...value };
  }

  /** Reports entries without a counterpart in the format, once a kind. */
  #omit(text: string, entryId: string): void {
    if (this.#reported.has(text)) return;
    this.#reported.add(text);
    this.#source.find({ code: "entry", entryId, text });
  }
}

/** The id of a subagent's session, which is the name of its file and in the call that began it. */
export function subagentId(sessionId: string): string {
  return /^[\w-]{1,128}$/.test(sessionId) && isFileName(sessionId)
    ? sessionId
    : textUuid("gemini", sessionId);
}

const rank: Readonly<Record<string, number>> = { thinking: 0, text: 1, toolCall: 2 };

/**
 * The blocks of a reply in runs of reasoning, text and calls: a record has them in this order. Blank texts
 * are no part of a request.
 */
function messageSegments({ content }: AssistantMessage): readonly AssistantMessage["content"][] {
  const segments: AssistantMessage["content"][number][][] = [];
  let last = 0;
  for (const block of content) {
    const next = rank[block.type];
    if (next === undefined || (block.type === "text" && !/\S/.test(block.text))) continue;
    if (segments.length === 0 || next < last) segments.push([]);
    segments.at(-1)?.push(block);
    last = next;
  }
  return segments;
}

/** The agent counts cached tokens as a part of the input, and has no count of written ones. */
function usageTokens({ input, output, cacheRead, cacheWrite, totalTokens }: Usage): ForeignObject {
  const prompt = input + cacheRead + cacheWrite;
  const total = totalTokens ?? prompt + output;
  return { input: prompt, output, cached: cacheRead, thoughts: 0, tool: 0, total };
}
