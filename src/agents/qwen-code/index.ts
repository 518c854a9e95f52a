/**
 * The sessions of Qwen Code.
 *
 * @module qwen-code
 */

import type { AssistantMessage } from "../../content/index.js";
import { collectBytes, encodeUtf8 } from "../../core/bytes.js";
import { blockPart, geminiRules, resultParts } from "../shared/gemini-parts.js";
import { textUuid, toFileName } from "../shared/ids.js";
import { appended, encodeRecords, sourceAgain } from "../shared/records.js";
import { type ForeignObject, readObject, readText, timeIso } from "../shared/values.js";
import {
  addedSteps,
  describedReply,
  type WriteResult,
  type WriteStep,
  writeBlocks,
  writeSteps,
} from "../shared/write-steps.js";
import type { AppendSource, ForeignFormat, WriteSource, WrittenSession } from "../types.js";
import { qwenAgent, resumeWords, subagentFolder } from "./agent.js";
import { acknowledgement, readQwen } from "./read.js";

/** The format of Qwen Code. */
export const qwenCode: ForeignFormat = {
  name: qwenAgent.name,
  read: (source) => void readQwen(source),
  write: writeQwen,
  append: appendQwen,
};

const isUuid = (id: string) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
/** Whose records the program takes in every version. */
const version = "0.24.4";

function writeQwen(source: WriteSource): WrittenSession {
  const { id } = source.header;
  const sessionId = isUuid(id) ? id : textUuid(qwenAgent.name, id);
  if (sessionId !== id) source.find({ code: "id", text: `session ${id} has the id ${sessionId}` });
  const project = toFileName(source.cwd.replace(/[^a-zA-Z0-9]/g, "-"), source.cwd);
  const path = `projects/${project}/chats/${sessionId}.jsonl`;
  const files: WrittenSession["files"][number][] = [
    { path, bytes: encodeRecords(new ChatLines(source, { sessionId }).all()) },
  ];
  const calls = new Map(
    source.outline.map((entry) => {
      const { sessionId: child, toolCallId } =
        readObject(entry.type === "custom" ? entry.data : undefined) ?? {};
      return [child, readText(toolCallId)];
    }),
  );
  for (const child of source.children) {
    const agentId = textUuid(qwenAgent.name, child.header.id);
    const meta = {
      agentId,
      agentType: "general-purpose",
      description: "",
      parentSessionId: sessionId,
      toolUseId: calls.get(child.header.id),
      parentAgentId: null,
      createdAt: child.header.timestamp,
      status: "completed",
    };
    const file = `${subagentFolder(path)}/agent-${agentId}`;
    const lines = new ChatLines(child, { sessionId, isSidechain: true, agentId });
    files.push({ path: `${file}.jsonl`, bytes: encodeRecords(lines.all()) });
    files.push({ path: `${file}.meta.json`, bytes: encodeUtf8(JSON.stringify(meta)) });
  }
  return { files, resume: resumeWords(sessionId) };
}

/** Continues a chat: a line after any record is a branch, and the last line is the leaf. */
async function appendQwen(source: AppendSource): Promise<WrittenSession | undefined> {
  const chat = readQwen(sourceAgain(source));
  const { path, sessionId, leaf, records } = chat ?? {};
  const parent = records?.get(source.from) ?? (source.from === null ? null : undefined);
  if (sessionId === undefined || parent === undefined) return undefined;
  const lines = new ChatLines(source, { sessionId }, parent);
  async function* after() {
    if (source.from !== leaf) yield lines.rewind();
    for await (const { step, late } of addedSteps(source, geminiRules)) {
      if (late === undefined) yield* lines.of(step);
      else yield lines.line(await lines.result(late), step);
    }
  }
  const written = await collectBytes(encodeRecords(after()));
  const files = source.files.map((file) =>
    file.path === path ? { path, bytes: appended(file.bytes, written) } : file,
  );
  return { files, resume: resumeWords(sessionId) };
}

/** Makes the lines of one chat, each the child of the one before. */
class ChatLines {
  readonly #source: WriteSource;
  readonly #envelope: ForeignObject & { readonly sessionId: string };
  #parent: string | null;

  constructor(
    source: WriteSource,
    envelope: ForeignObject & { readonly sessionId: string },
    parent: string | null = null,
  ) {
    this.#source = source;
    this.#envelope = envelope;
    this.#parent = parent;
  }

  async *all(): AsyncGenerator<ForeignObject, void, undefined> {
    const steps = writeSteps(this.#source, geminiRules);
    const begun = { entryId: "", time: this.#source.now() };
    const systemPayload = { sourceType: "sessile" };
    // A chat without a record is none.
    if (steps.outlines.length === 0)
      yield this.line({ type: "system", subtype: "session_source", systemPayload }, begun);
    for await (const step of steps) yield* this.of(step);
  }

  async *of(step: WriteStep): AsyncGenerator<ForeignObject, void, undefined> {
    const sessile = { entry: step.entryId };
    if (step.kind === "user" || step.kind === "reply") {
      for (const [at, record] of (await this.#records(step)).entries())
        yield this.line(record, step, String(at));
    } else if (step.kind === "compaction") {
      const summary = { role: "user", parts: [{ text: step.summary }] };
      const compressedHistory: unknown[] = [summary, { role: "model", parts: [{ text: acknowledgement }] }];
      // Their findings were reported with their own lines.
      const again = new ChatLines({ ...this.#source, find: () => {} }, this.#envelope);
      for await (const kept of step.kept) {
        if (kept.kind !== "user" && kept.kind !== "reply") continue;
        for (const { message } of await again.#records(kept)) compressedHistory.push(message);
      }
      const info = { originalTokenCount: step.entry.tokensBefore, newTokenCount: 0, compressionStatus: 1 };
      const systemPayload = { info, compressedHistory };
      yield this.line({ type: "system", subtype: "chat_compression", systemPayload, sessile }, step);
    } else if (step.entry.type === "session_info") {
      const { name, title } = step.entry;
      const systemPayload = {
        customTitle: name ?? title,
        titleSource: name === undefined ? "auto" : "manual",
      };
      if (name !== undefined || title !== undefined)
        yield this.line({ type: "system", subtype: "custom_title", systemPayload, sessile }, step);
    }
  }

  /** Leaves the branch of the last line. */
  rewind(): ForeignObject {
    const step = { entryId: `rewind ${this.#parent}`, time: this.#source.now() };
    return this.line({ type: "system", subtype: "rewind", systemPayload: { truncatedCount: 1 } }, step);
  }

  line(
    record: ForeignObject,
    { entryId, time }: Pick<WriteStep, "entryId" | "time">,
    part = "",
  ): ForeignObject {
    const uuid = textUuid(qwenAgent.name, this.#envelope.sessionId, this.#source.header.id, entryId, part);
    const parentUuid = this.#parent;
    this.#parent = uuid;
    const { cwd } = this.#source;
    return {
      uuid,
      parentUuid,
      ...this.#envelope,
      timestamp: timeIso(time),
      cwd,
      version,
      ...record,
    };
  }

  async #records(step: WriteStep & { readonly kind: "user" | "reply" }): Promise<readonly ForeignObject[]> {
    const { entryId } = step;
    if (step.kind === "user") {
      const { customType, display } = step;
      const parts = (await writeBlocks(this.#source, entryId, step.content, () => true)).map(blockPart);
      const sessile = { entry: entryId, ...(customType === undefined ? {} : { customType, display }) };
      return [{ type: "user", provenance: "real_user", message: { role: "user", parts }, sessile }];
    }
    const { provider, api, model, usage } = step.message;
    const message = describedReply(step.message);
    const parts = message.content.flatMap((block) => this.#part(block, provider, entryId));
    const records: ForeignObject[] = [];
    if (parts.length > 0)
      records.push({
        type: "assistant",
        provenance: "assistant_output",
        model: this.#source.modelFor(message) ?? model,
        message: { role: "model", parts },
        ...(usage && {
          usageMetadata: {
            promptTokenCount: usage.input + usage.cacheRead + usage.cacheWrite,
            cachedContentTokenCount: usage.cacheRead,
            candidatesTokenCount: usage.output,
            totalTokenCount: usage.totalTokens,
          },
        }),
        sessile: { entry: entryId, ...(provider === "qwen" ? {} : { provider }), api },
      });
    else this.#source.find({ code: "entry", entryId, text: "a reply without content" });
    for (const result of step.results) records.push(await this.result(result));
    return records;
  }

  #part(
    block: AssistantMessage["content"][number],
    provider: string,
    entryId: string,
  ): readonly ForeignObject[] {
    if (block.type === "text") return /\S/.test(block.text) ? [{ text: block.text }] : [];
    if (block.type === "toolCall") {
      const { id, name, arguments: args } = block;
      return [{ functionCall: { id, name, args: readObject(args) ?? { input: args ?? null } } }];
    }
    if (block.type === "thinking" && provider === "qwen") return [{ text: block.thinking, thought: true }];
    const code = block.type === "thinking" ? "reasoning" : "opaque";
    this.#source.find({ code, entryId, text: "a block of another provider" });
    return [];
  }

  async result(result: WriteResult): Promise<ForeignObject> {
    const { callId, entryId, time, isError, interrupted, details } = result;
    const { parts, text } = resultParts(
      result,
      await writeBlocks(this.#source, entryId, result.content, () => true),
    );
    const status = interrupted === true ? "cancelled" : isError ? "error" : "success";
    return {
      timestamp: timeIso(time),
      type: "tool_result",
      provenance: "tool_result",
      message: { role: "user", parts },
      toolCallResult: { callId, status, resultDisplay: readObject(details)?.resultDisplay ?? text },
      ...(interrupted === true ? {} : { sessile: { entry: entryId } }),
    };
  }
}
