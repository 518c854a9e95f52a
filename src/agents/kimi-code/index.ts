/**
 * The sessions of Kimi Code.
 *
 * @module kimi-code
 */

import type { ImageBlock, TextBlock } from "../../content/index.js";
import { collectBytes, encodeUtf8 } from "../../core/bytes.js";
import { textDigest, textUuid } from "../shared/ids.js";
import { appended, encodeRecords, sourceAgain } from "../shared/records.js";
import { type ForeignObject, readMilliseconds, readObject } from "../shared/values.js";
import {
  addedSteps,
  describedReply,
  type WriteResult,
  type WriteStep,
  writeBlocks,
  writeSteps,
} from "../shared/write-steps.js";
import type { AppendSource, ForeignFormat, WriteSource, WrittenSession } from "../types.js";
import { kimiAgent, resumeWords } from "./agent.js";
import { readKimi } from "./read.js";

/** The format of Kimi Code. */
export const kimiCode: ForeignFormat = {
  name: kimiAgent.name,
  read: (source) => void readKimi(source),
  write: writeKimi,
  append: appendKimi,
};

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const sessionName = /^session_[\w-]{1,100}$/;

function writeKimi(source: WriteSource): WrittenSession {
  const { cwd, header } = source;
  const { id, timestamp } = header;
  const named = uuid.test(id) ? `session_${id}` : `session_${textUuid(kimiAgent.name, id)}`;
  const sessionId = sessionName.test(id) ? id : named;
  if (sessionId !== id) source.find({ code: "id", text: `session ${id} has the id ${sessionId}` });
  const name = (cwd.split(/[\\/]/).findLast((part) => part !== "") ?? "root")
    .replace(/[^\w.-]/g, "-")
    .slice(0, 40);
  const folder = `sessions/wd_${name.toLowerCase()}_${textDigest(cwd).slice(0, 12)}/${sessionId}`;
  const created = readMilliseconds(timestamp) ?? source.now();
  const info = source.outline.findLast((entry) => entry.type === "session_info");
  const { name: given, title } = info?.type === "session_info" ? info : {};
  const agents = ["main", ...source.children.map(({ header: child }) => textUuid(kimiAgent.name, child.id))];
  const state = {
    id: sessionId,
    version: 2,
    cwd,
    createdAt: created,
    updatedAt: source.now(),
    archived: false,
    agents: Object.fromEntries(
      agents.map((agent, at) => [
        agent,
        { type: at === 0 ? "main" : "sub", parentAgentId: at === 0 ? null : "main" },
      ]),
    ),
    custom: {},
    ...(title === undefined && given === undefined ? {} : { title: given ?? title }),
    isCustomTitle: given !== undefined,
  };
  const wires = [source, ...source.children].map((each, at) => ({
    path: `${folder}/agents/${agents[at]}/wire.jsonl`,
    bytes: encodeRecords(new WireLines(each).all(created)),
  }));
  const stateFile = { path: `${folder}/state.json`, bytes: encodeUtf8(JSON.stringify(state)) };
  return { files: [...wires, stateFile], resume: resumeWords(sessionId) };
}

/** Continues a session: lines after it, behind an undo of prompts. Compactions and titles are written anew. */
async function appendKimi(source: AppendSource): Promise<WrittenSession | undefined> {
  const wire = readKimi(sourceAgain(source));
  if (wire === undefined || source.added.some(({ type }) => type === "compaction" || type === "session_info"))
    return undefined;
  const { path, leaf, undoable } = wire;
  const at = undoable.lastIndexOf(source.from);
  const count = source.from === leaf ? 0 : at < 0 ? undefined : undoable.length - at;
  if (count === undefined) return undefined;
  const lines = new WireLines(source);
  async function* after() {
    if (count !== 0) yield { type: "context.undo", count, time: source.now() };
    for await (const { step, late } of addedSteps(source)) {
      if (late === undefined) yield* lines.of(step);
      else yield await lines.result(late);
    }
  }
  const written = await collectBytes(encodeRecords(after()));
  const files = source.files.map((file) =>
    file.path === path ? { path, bytes: appended(file.bytes, written) } : file,
  );
  return { files, resume: resumeWords(source.original.header.id) };
}

/** Makes the records of one wire. */
class WireLines {
  readonly #source: WriteSource;
  /** Messages in the history of the agent. */
  #length = 0;

  constructor(source: WriteSource) {
    this.#source = source;
  }

  async *all(created: number): AsyncGenerator<ForeignObject, void, undefined> {
    const sessile = { cwd: this.#source.cwd };
    yield { type: "metadata", protocol_version: "1.4", created_at: created, sessile };
    for await (const step of writeSteps(this.#source)) yield* this.of(step);
  }

  async *of(step: WriteStep): AsyncGenerator<ForeignObject, void, undefined> {
    if (step.kind === "user") yield* this.#user(step);
    else if (step.kind === "reply") yield* this.#reply(step);
    else if (step.kind === "compaction") {
      const kept: ForeignObject[] = [];
      const retain = new Set<string>();
      // Their findings were reported with their own lines.
      const again = new WireLines({ ...this.#source, find: () => {} });
      for await (const each of step.kept) {
        for await (const record of again.of(each)) {
          const { entry } = readObject(record.sessile) ?? {};
          if (typeof entry === "string") retain.add(entry);
          if (record.type === "context.append_message") kept.push({ ...record, sessile: { kept: true } });
        }
      }
      const { entryId, time, summary, entry } = step;
      const compactedCount = this.#length;
      const sessile = { entry: entryId, retain: [...retain] };
      const { tokensBefore } = entry;
      yield { type: "context.apply_compaction", summary, compactedCount, tokensBefore, time, sessile };
      yield* kept;
      this.#length = 1 + kept.length;
    } else if (step.entry.type === "model_change" || step.entry.type === "thinking_level_change")
      this.#source.find({
        code: "entry",
        entryId: step.entryId,
        text: `an entry of type ${step.entry.type}`,
      });
  }

  async *#user(step: WriteStep & { readonly kind: "user" }): AsyncGenerator<ForeignObject, void, undefined> {
    const { entryId, time, customType, display } = step;
    const content = await this.#parts(entryId, step.content);
    const origin = customType === undefined ? { kind: "user" } : { kind: "injection", variant: customType };
    const sessile = { entry: entryId, ...(customType === undefined ? {} : { customType, display }) };
    if (customType === undefined) yield { type: "turn.prompt", input: content, origin, time };
    yield this.#message({ role: "user", content, toolCalls: [], origin }, time, sessile);
  }

  async *#reply(
    step: WriteStep & { readonly kind: "reply" },
  ): AsyncGenerator<ForeignObject, void, undefined> {
    const { entryId, time } = step;
    const { provider, model, api, usage } = step.message;
    const message = describedReply(step.message);
    const content: ForeignObject[] = [];
    const toolCalls: ForeignObject[] = [];
    for (const block of message.content) {
      if (block.type === "text" && /\S/.test(block.text)) content.push({ type: "text", text: block.text });
      else if (block.type === "toolCall") {
        const { id, name, arguments: args } = block;
        toolCalls.push({
          type: "function",
          id,
          name,
          arguments: JSON.stringify(readObject(args) ?? { input: args ?? null }),
        });
      } else if (block.type === "thinking" && provider === "kimi") {
        const { thinking: think, thinkingSignature: encrypted } = block;
        content.push({ type: "think", think, ...(encrypted === undefined ? {} : { encrypted }) });
      } else if (block.type !== "text") {
        const code = block.type === "thinking" ? "reasoning" : "opaque";
        this.#source.find({ code, entryId, text: "a block of another provider" });
      }
    }
    const sessile = {
      ...{ entry: entryId, provider, api, model: this.#source.modelFor(message) ?? model },
      ...(usage && {
        usage: {
          inputOther: usage.input,
          output: usage.output,
          inputCacheRead: usage.cacheRead,
          inputCacheCreation: usage.cacheWrite,
        },
      }),
    };
    if (content.length + toolCalls.length === 0)
      this.#source.find({ code: "entry", entryId, text: "a reply without content" });
    else yield this.#message({ role: "assistant", content, toolCalls }, time, sessile);
    for (const result of step.results) yield await this.result(result);
  }

  async result(result: WriteResult): Promise<ForeignObject> {
    const { callId: toolCallId, entryId, time, isError, interrupted } = result;
    const parts = await this.#parts(entryId, result.content);
    // The agent joins the texts of a result without a break.
    const text = parts.flatMap((part) => (typeof part.text === "string" ? [part.text] : [])).join("\n");
    const content = [
      ...(text === "" ? [] : [{ type: "text", text }]),
      ...parts.filter(({ type }) => type !== "text"),
    ];
    const message = { role: "tool", toolCallId, content, toolCalls: [], ...(isError && { isError }) };
    return this.#message(message, time, interrupted === true ? {} : { entry: entryId });
  }

  #message(message: ForeignObject, time: number, sessile: ForeignObject): ForeignObject {
    this.#length++;
    return { type: "context.append_message", message, time, sessile };
  }

  async #parts(
    entryId: string,
    content: readonly (TextBlock | ImageBlock)[],
  ): Promise<readonly ForeignObject[]> {
    const blocks = await writeBlocks(this.#source, entryId, content);
    return blocks.map((block) =>
      block.type === "text"
        ? { type: "text", text: block.text }
        : { type: "image_url", imageUrl: { url: `data:${block.mediaType};base64,${block.base64}` } },
    );
  }
}
