/**
 * Reads the wire files of Kimi Code: messages that were appended, and the events of the loop that makes replies. The
 * history is linear; an undo goes back to before a prompt. The rules are those by which 2.1.0 restores a session.
 *
 * @see https://github.com/MoonshotAI/kimi-code packages/agent-core-v2/src/agent/contextMemory (read 2026-11-28)
 */

import type { AssistantMessage, ImageBlock, TextBlock, Usage } from "../../content/index.js";
import {
  type ForeignObject,
  parseJson,
  readCount,
  readObject,
  readText,
  toArray,
  unknownBlocks,
} from "../shared/values.js";
import type { DraftEntry, EntryBuilder, ForeignRecord, ForeignSource } from "../types.js";
import { sessionFolder } from "./agent.js";

type Block = TextBlock | ImageBlock;

/** A step of the loop: one request and its reply. */
interface Step {
  readonly content: AssistantMessage["content"][number][];
  usage?: Usage;
  maker: { readonly provider: string; readonly model: string };
}

/** The session's own wire, for lines after it. */
export interface ReadWire {
  readonly path: string;
  readonly leaf: string | null;
  /** The places before the prompts that an undo can remove, oldest first. */
  readonly undoable: readonly (string | null)[];
}

/** Reads a session and those of its subagents into builders. */
export function readKimi(source: ForeignSource): ReadWire | undefined {
  const wires = source.files.filter(({ form }) => form === "lines").map(({ path }) => path);
  const main = wires.find((path) => /(?:^|\/)agents\/main\/[^/]{1,255}$/.test(path)) ?? wires[0];
  if (main === undefined) return undefined;
  const folder = sessionFolder(main);
  const isState = ({ path, form }: { path: string; form?: string }) =>
    form === "value" && path === `${folder === "" ? "" : `${folder}/`}state.json`;
  const stateFile = source.files.find(isState);
  const state = readObject(stateFile && source.json(stateFile.path));
  const id = readText(state?.id) ?? (folder.slice(folder.lastIndexOf("/") + 1) || main);
  const place = { cwd: readText(state?.cwd), timestamp: state?.createdAt };
  const builder = source.session({ id, ...place });
  const read = readWire(source, main, builder);
  const title = readText(state?.title) ?? "";
  if (title !== "") {
    const named = state?.isCustomTitle === true ? { name: title } : { title };
    builder.add({ type: "session_info", ...named }, { recordId: `title ${title}`, parentId: null });
  }
  for (const path of wires) {
    if (path === main) continue;
    const agent = folderName(path);
    const [first] = source.records(path);
    const cwd = readText(readObject(first?.value.sessile)?.cwd) ?? place.cwd;
    const child = source.session({ id: `${id}.${agent}`, ...place, cwd, parentSession: id });
    readWire(source, path, child);
  }
  return read;
}

function folderName(path: string): string {
  return path.split("/").at(-2) ?? path;
}

/** The steps of a wire by their ids. Their parts and usage come after results of their calls. */
function recordSteps(records: readonly ForeignRecord[]): ReadonlyMap<unknown, Step> {
  const steps = new Map<unknown, Step>();
  let maker = { provider: "kimi", model: "unknown" };
  let current: Step | undefined;
  for (const { value } of records) {
    if (value.type === "llm.request" && value.kind !== "compaction") {
      maker = { provider: readText(value.provider) ?? "kimi", model: readText(value.model) ?? "unknown" };
      if (current !== undefined) current.maker = maker;
    }
    const event = readObject(value.event);
    if (value.type !== "context.append_loop_event" || event === undefined) continue;
    const step = steps.get(event.stepUuid ?? event.uuid);
    const usage = readObject(event.usage);
    if (event.type === "step.begin") {
      current = { content: [], maker };
      steps.set(event.uuid, current);
    } else if (event.type === "content.part")
      for (const block of replyPart(event.part)) step?.content.push(block);
    else if (event.type === "tool.call")
      step?.content.push(readCall(event.toolCallId, event.name, event.args));
    else if (event.type === "step.end" && step !== undefined && usage !== undefined)
      step.usage = readUsage(usage);
  }
  return steps;
}

function readWire(source: ForeignSource, path: string, builder: EntryBuilder): ReadWire {
  const records = [...source.records(path)];
  const steps = recordSteps(records);
  const calls = new Map<string, string>();
  const answered = new Set<string>();
  /** Entries of prompts since the last compaction, with the place before each. */
  let prompts: { readonly before: string | null; readonly id: string }[] = [];
  let at: string | null = null;

  const add = ({ line, value }: ForeignRecord, draft: DraftEntry | undefined): string | null => {
    if (draft === undefined) return null;
    const id = readText(readObject(value.sessile)?.entry);
    at = builder.add(draft, { recordId: `line ${line}`, parentId: at, timestamp: value.time, id });
    return at;
  };
  const addReply = (record: ForeignRecord, step: Step, api = "openai-completions"): void => {
    const { content, maker, usage } = step;
    if (content.length === 0) return;
    const hasCalls = content.some(({ type }) => type === "toolCall");
    add(record, {
      type: "message",
      message: {
        ...{ role: "assistant", content, ...maker, api, ...(usage && { usage }) },
        stopReason: hasCalls ? "toolUse" : "stop",
        timestamp: builder.time(record.value.time),
      },
    });
    for (const block of content) {
      if (block.type !== "toolCall") continue;
      calls.set(block.id, block.name);
      // Kimi numbers calls in the history: an id comes again after an undo or a compaction.
      answered.delete(block.id);
    }
  };
  const addResult = (
    record: ForeignRecord,
    id: string,
    content: readonly Block[],
    isError: boolean,
  ): void => {
    const toolName = calls.get(id);
    if (toolName === undefined || answered.has(id)) {
      const code = toolName === undefined ? "orphanResult" : "duplicateResult";
      source.find({ code, file: path, line: record.line, text: `a result of call ${id}` });
      return;
    }
    answered.add(id);
    const timestamp = builder.time(record.value.time);
    const message = { role: "toolResult", toolCallId: id, toolName, content, isError, timestamp } as const;
    add(record, { type: "message", message });
  };
  const addMessage = (record: ForeignRecord, message: ForeignObject): void => {
    const { role, content, origin } = message;
    const sessile = readObject(record.value.sessile) ?? {};
    if (role === "assistant") {
      const blocks = toArray(content).flatMap(replyPart);
      const made = toArray(message.toolCalls).map((each) => {
        const { id, name, arguments: args, function: fn } = readObject(each) ?? {};
        const given = readObject(fn) ?? { name, arguments: args };
        return readCall(id, given.name, parseJson(given.arguments) ?? given.arguments);
      });
      const [provider, model] = [readText(sessile.provider) ?? "kimi", readText(sessile.model) ?? "unknown"];
      const usage = readObject(sessile.usage);
      const step = {
        content: [...blocks, ...made],
        maker: { provider, model },
        ...(usage && { usage: readUsage(usage) }),
      };
      addReply(record, step, readText(sessile.api));
    } else if (role === "tool")
      addResult(record, readText(message.toolCallId) ?? "", contentBlocks(content), message.isError === true);
    else {
      const blocks = contentBlocks(content);
      const [only] = blocks;
      if (only === undefined) return;
      const kind = readText(readObject(origin)?.kind) ?? "user";
      const before = at;
      const body = blocks.length === 1 && only.type === "text" ? only.text : blocks;
      const customType = readText(sessile.customType) ?? (kind === "user" ? undefined : `kimi-code.${kind}`);
      const timestamp = builder.time(record.value.time);
      const id = add(
        record,
        customType === undefined
          ? { type: "message", message: { role: "user", content: body, timestamp } }
          : { type: "custom_message", customType, content: body, display: sessile.display === true },
      );
      if (id !== null && kind === "user") prompts.push({ before, id });
    }
  };
  const addCompaction = (record: ForeignRecord): void => {
    const {
      summary,
      tokensBefore,
      keptUserMessageCount: kept,
      keptHeadUserMessageCount: head,
      sessile,
    } = record.value;
    const ids = prompts.map(({ id }) => id);
    const first = Math.min(readCount(head), readCount(kept));
    const tail = readCount(kept) - first;
    const newest = tail === 0 ? [] : ids.slice(-tail);
    const given = toArray(readObject(sessile)?.retain).flatMap((id) => readText(id) ?? []);
    const retain = given.length > 0 ? given : [...new Set([...ids.slice(0, first), ...newest])];
    add(record, {
      type: "compaction",
      summary:
        readText(summary) ??
        contentBlocks(readObject(summary)?.content)
          .map((block) => ("text" in block ? block.text : ""))
          .join(""),
      // Its own id, which keeps nothing before it: kept messages are in `retain`.
      firstKeptEntryId: "",
      tokensBefore: readCount(tokensBefore),
      ...(retain.length === 0 ? {} : { retain: retain.filter((id) => builder.has(id)) }),
    });
    prompts = [];
  };

  for (const record of records) {
    const { value } = record;
    const type = readText(value.type) ?? "unknown";
    const event = readObject(value.event);
    const kind = type === "context.append_loop_event" ? `${type} ${readText(event?.type) ?? ""}` : type;
    let isMapped = /^(?:metadata|turn\.prompt|llm\.request|context\.append_loop_event )/.test(`${kind} `);
    const result = readObject(event?.result);
    if (type === "context.append_message") {
      isMapped = true;
      // A message that a written compaction repeats is one of those that it retains.
      if (readObject(value.sessile)?.kept !== true) addMessage(record, readObject(value.message) ?? {});
    } else if (type === "context.apply_compaction") addCompaction(record);
    else if (type === "context.clear") [at, prompts] = [null, []];
    else if (type === "context.undo") {
      const removed = prompts.splice(Math.max(0, prompts.length - readCount(value.count)));
      if (removed[0] !== undefined) at = removed[0].before;
    } else if (kind.endsWith(" step.begin"))
      addReply(record, steps.get(event?.uuid) ?? { content: [], maker: { provider: "", model: "" } });
    else if (kind.endsWith(" tool.result")) {
      const blocks = contentBlocks(
        typeof result?.output === "string" ? [{ type: "text", text: result.output }] : result?.output,
      );
      addResult(record, readText(event?.toolCallId) ?? "", blocks, result?.isError === true);
    }
    isMapped ||= /^context\.(?:apply_compaction|clear|undo)$/.test(type);
    source.count(kind, isMapped ? "mapped" : "unmapped", record);
  }
  builder.setLeaf(at);
  return { path, leaf: at, undoable: prompts.map(({ before }) => before) };
}

function readCall(id: unknown, name: unknown, args: unknown): AssistantMessage["content"][number] {
  return {
    type: "toolCall",
    id: readText(id) ?? "",
    name: readText(name) ?? "",
    arguments: readObject(args) ?? {},
  };
}

/** A part of a reply. A thought without a text may be encrypted: only its provider can read it. */
function replyPart(value: unknown): readonly AssistantMessage["content"][number][] {
  const part = readObject(value) ?? {};
  const [text, think, encrypted] = [readText(part.text), readText(part.think), readText(part.encrypted)];
  if (part.type === "text" && text !== undefined) return /\S/.test(text) ? [{ type: "text", text }] : [];
  if (part.type === "think" && think !== undefined && (think !== "" || encrypted !== undefined))
    return [
      {
        type: "thinking",
        thinking: think,
        ...(encrypted === undefined ? {} : { thinkingSignature: encrypted }),
      },
    ];
  return Object.keys(part).length === 0 || part.type === "think" ? [] : [{ type: "opaque", data: part }];
}

const dataUrl = /^data:([a-z0-9.+-]{1,127}\/[a-z0-9.+-]{1,127});base64,/i;

/** Parts of the user and of results as blocks; a part of another type is its JSON and its media. */
function contentBlocks(content: unknown): readonly Block[] {
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : toArray(content);
  return parts.flatMap((value): readonly Block[] => {
    const part = readObject(value);
    if (part === undefined) return [];
    const text = readText(part.text);
    if (text !== undefined) return text === "" ? [] : [{ type: "text", text }];
    const url = readText(readObject(part.imageUrl)?.url) ?? "";
    const [head, mimeType] = dataUrl.exec(url) ?? [];
    if (head !== undefined && mimeType !== undefined && url.length > head.length)
      return [{ type: "image", data: url.slice(head.length), mimeType }];
    return unknownBlocks(part);
  });
}

function readUsage({ inputOther, output, inputCacheRead, inputCacheCreation }: ForeignObject): Usage {
  const usage = {
    input: readCount(inputOther),
    output: readCount(output),
    cacheRead: readCount(inputCacheRead),
    cacheWrite: readCount(inputCacheCreation),
  };
  return { ...usage, totalTokens: usage.input + usage.output + usage.cacheRead + usage.cacheWrite };
}
