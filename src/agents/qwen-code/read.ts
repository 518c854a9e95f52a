/**
 * Reads the chats of Qwen Code: Claude Code's envelope (`uuid`, `parentUuid`) around contents of the Gemini API. The
 * records are a tree, and so are their entries; the last record is the leaf. The rules are those by which 0.24.4
 * resumes a chat.
 *
 * @see https://github.com/QwenLM/qwen-code packages/core/src/services/session-api-history.ts,
 *   packages/core/src/utils/conversation-chain.ts (read 2026-11-28)
 */

import {
  callBlock,
  callId,
  contentParts,
  isFailure,
  type Part,
  partBlock,
  partResponses,
  replyDraft,
  resultDraft,
  saidDraft,
  shownText,
  usageOfCounts,
} from "../shared/gemini-parts.js";
import { type ForeignObject, readCount, readObject, readText, toArray } from "../shared/values.js";
import type { DraftEntry, EntryBuilder, ForeignRecord, ForeignSource } from "../types.js";
import { isHarness } from "./agent.js";

/** A record, with the parts of all its lines: a reply may have several. */
interface Turn {
  readonly uuid: string;
  readonly record: ForeignRecord;
  value: ForeignObject;
}

interface ChatFile {
  readonly path: string;
  /** The id of the subagent. */
  readonly agent: string | undefined;
  readonly turns: readonly Turn[];
}

/** The chat of a session, for lines after it. */
export interface ReadChat {
  readonly path: string;
  readonly sessionId: string;
  readonly leaf: string | null;
  /** The last record at the place of each entry; null has the last one before the first entry. */
  readonly records: ReadonlyMap<string | null, string>;
}

/** What 0.24.4 has the model say after a summary. */
export const acknowledgement = "Got it. Thanks for the additional context!";
/** Records that hang beside the conversation: none is its leaf. */
const besideConversation = /^(?:session_artifact_|session_sources_|managed_session_)/;
const hookContext = /^\s{0,100}<qwen:user-prompt-submit-context>\n/;

/** Reads a session and its subagents into builders. */
export function readQwen(source: ForeignSource): ReadChat | undefined {
  const metas = new Map<string, ForeignObject>();
  const files: ChatFile[] = [];
  for (const { path, form } of source.files) {
    const agent = /(?:^|\/)subagents\/[^/]{1,255}\/agent-([^/]{1,255}?)\.(?:jsonl|meta\.json)$/.exec(
      path,
    )?.[1];
    if (form === "lines") files.push({ path, agent, turns: sourceTurns(source, path) });
    else if (agent !== undefined) metas.set(agent, readObject(source.json(path)) ?? {});
  }
  const chatFileId = ({ turns, path }: ChatFile) => readText(turns[0]?.value.sessionId) ?? path;
  const mains = files.filter(({ agent }) => agent === undefined);
  const main = mains.find((file) => chatFileId(file) === source.sessionId) ?? mains[0] ?? files[0];
  if (main === undefined) return undefined;
  const builder = beginSession(source, chatFileId(main), main);
  const started = new Map<string, string[]>();
  const children = files.filter((file) => file.agent !== undefined && file !== main);
  const builders = children.map((file) => {
    const id = `${builder.sessionId}.agent-${file.agent}`;
    const child = beginSession(source, id, file, builder.sessionId);
    const call = readText(metas.get(file.agent ?? "")?.toolUseId) ?? "";
    started.set(call, [...(started.get(call) ?? []), child.sessionId]);
    return child;
  });
  const chat = addChat(source, main, builder, started);
  for (const [at, file] of children.entries()) addChat(source, file, builders[at] ?? builder, started);
  for (const { path } of mains)
    if (path !== main.path) source.find({ code: "unmapped", file: path, text: "another session" });
  return chat;
}

function sourceTurns(source: ForeignSource, path: string): readonly Turn[] {
  const turns = new Map<string, Turn>();
  for (const record of source.records(path)) {
    const { value } = record;
    const uuid = readText(value.uuid);
    const known = turns.get(uuid ?? "");
    if (uuid === undefined) source.count(readText(value.type) ?? "unknown", "unmapped", record);
    else if (known === undefined) turns.set(uuid, { uuid, record, value });
    else {
      const parts = [known.value, value].flatMap(({ message }) => toArray(readObject(message)?.parts));
      const usageMetadata = value.usageMetadata ?? known.value.usageMetadata;
      known.value = {
        ...value,
        ...known.value,
        usageMetadata,
        message: { ...readObject(value.message), parts },
      };
    }
  }
  return [...turns.values()];
}

function beginSession(source: ForeignSource, id: string, { turns }: ChatFile, parent?: string): EntryBuilder {
  const { cwd, version, timestamp } = turns[0]?.value ?? {};
  const from = turns.find(({ value }) => value.subtype === "parent_session")?.value.systemPayload;
  const parentSession = parent ?? readText(readObject(from)?.parentSessionId);
  return source.session({
    id,
    cwd: readText(cwd),
    timestamp,
    agentVersion: readText(version),
    parentSession,
  });
}

/** Makes the entries of one chat. `started`: the sessions of subagents by the calls that started them. */
function addChat(
  source: ForeignSource,
  { path, turns }: ChatFile,
  builder: EntryBuilder,
  started: ReadonlyMap<string, readonly string[]>,
): ReadChat {
  /** The entry after which the children of each record come. */
  const places = new Map<string, string | null>();
  const records = new Map<string | null, string>();
  const calls = new Map<string, { readonly name: string; readonly entryId: string }>();
  const answered = new Set<string>();
  /** The last entries of contents, for a compaction that keeps some. */
  const contents = new Map<string, string>();
  const isCompacted = turns.some(({ value }) => value.subtype === "chat_compression");
  let at: string | null = null;
  let leaf: string | null = null;
  let [model, title] = ["unknown", ""];

  const add = ({ uuid, value }: Turn, draft: DraftEntry | undefined, part = ""): void => {
    if (draft === undefined) return;
    // The entry that the record was written for is the first of it.
    const own = /^$|^0 result$/.test(part) ? readText(readObject(value.sessile)?.entry) : undefined;
    at = builder.add(draft, { recordId: uuid, part, parentId: at, timestamp: value.timestamp, id: own });
  };

  /** A content in the user's place: results of calls, and what the user or the program said. */
  const addContent = (turn: Turn, parts: readonly Part[], subtype: string | undefined, prefix = ""): void => {
    const { value, record } = turn;
    const timestamp = builder.time(value.timestamp);
    const { responses, others } = partResponses(parts);
    for (const [index, response] of responses.entries()) {
      const id = response.id ?? "";
      const call = calls.get(id);
      if (call === undefined || answered.has(id)) {
        const code = call === undefined ? "orphanResult" : "duplicateResult";
        source.find({ code, file: path, line: record.line, text: `a result of call ${id}` });
        continue;
      }
      answered.add(id);
      const { status, resultDisplay: display } = readObject(value.toolCallResult) ?? {};
      const isError = status === "error" || status === "cancelled" || isFailure(response);
      add(
        turn,
        resultDraft({ id, ...call }, response, { isError, display, timestamp }),
        `${prefix}${index} result`,
      );
    }
    const last = others.at(-1);
    const hook = others.length > 1 && last && hookContext.test(readText(last.text) ?? "") ? [last] : [];
    const said = others.slice(0, others.length - hook.length);
    const { customType, display: isShown } = readObject(value.sessile) ?? {};
    // The user speaks while the model works, too.
    const isUser = subtype === undefined || subtype === "mid_turn_user_message";
    const made = isUser && !isHarness(shownText(said)) ? undefined : `qwen-code.${subtype ?? "context"}`;
    const place = { display: isShown === true, timestamp };
    add(turn, saidDraft(said, { ...place, customType: readText(customType) ?? made }), prefix);
    add(turn, saidDraft(hook, { ...place, customType: "qwen-code.hook_context" }), `${prefix}hook`);
  };

  const addReply = (turn: Turn, parts: readonly Part[], prefix = ""): void => {
    const { value, uuid } = turn;
    const { provider, api } = readObject(value.sessile) ?? {};
    model = readText(value.model) ?? model;
    const content = parts.flatMap((part, index) => {
      const call = readObject(part.functionCall);
      return call === undefined ? partBlock(part) : [callBlock(callId(uuid, call, index), call, part)];
    });
    const reply = {
      content,
      model,
      provider: readText(provider) ?? "qwen",
      api: readText(api) ?? "openai-completions",
      timestamp: builder.time(value.timestamp),
    };
    add(turn, replyDraft(reply, readUsage(value.usageMetadata)), prefix);
    const entryId = at ?? "";
    for (const block of content) {
      if (block.type !== "toolCall") continue;
      const { id: toolCallId, name } = block;
      calls.set(toolCallId, { name, entryId });
      // Some providers number the calls of a history: an id comes again after a compaction.
      answered.delete(toolCallId);
      for (const [index, sessionId] of (started.get(toolCallId) ?? []).entries()) {
        const data = { toolCallId, sessionId };
        add(
          turn,
          { type: "custom", customType: "sessile.subagent", data },
          `${toolCallId} subagent ${index}`,
        );
      }
    }
  };

  /** A checkpoint: a summary, and the contents that stay. Contents of no record come after it. */
  const addCompaction = (turn: Turn, payload: ForeignObject | undefined): void => {
    const history = toArray(payload?.compressedHistory).map((each) => readObject(each) ?? {});
    const [summary, ...rest] = history.map((content) => ({
      content,
      parts: contentParts(content.parts ?? []),
    }));
    const retain = new Set<string>();
    const others = rest.filter(({ content, parts }) => {
      const isAcknowledgement = readText(parts[0]?.text) === acknowledgement;
      const open = isAcknowledgement ? readText(readObject(parts[1]?.functionCall)?.id) : undefined;
      const known = contents.get(contentKey(content)) ?? calls.get(open ?? "")?.entryId;
      if (known !== undefined) retain.add(known);
      return known === undefined && !isAcknowledgement;
    });
    add(turn, {
      type: "compaction",
      summary: shownText(summary?.parts ?? []).toWellFormed(),
      // Its own id, which keeps nothing before it: kept messages are in `retain`.
      firstKeptEntryId: "",
      tokensBefore: readCount(readObject(payload?.info)?.originalTokenCount),
      ...(retain.size === 0 ? {} : { retain: [...retain] }),
    });
    for (const [index, { content, parts }] of others.entries()) {
      if (content.role === "model") addReply(turn, parts, `kept ${index} `);
      else addContent(turn, parts, "restored", `kept ${index} `);
    }
  };

  for (const turn of turns) {
    const { uuid, value, record } = turn;
    const [type = "unknown", subtype] = [readText(value.type), readText(value.subtype)];
    const payload = readObject(value.systemPayload);
    const parts = contentParts(readObject(value.message)?.parts ?? []);
    const parent = readText(value.parentUuid);
    // The agent goes on with the records before a gap.
    at = parent === undefined ? null : (places.get(parent) ?? (places.has(parent) ? null : leaf));
    if (parent !== undefined && !places.has(parent))
      source.find({ code: "missingParent", file: path, line: record.line, text: `record ${parent}` });
    const before: string | null = at;
    const isSent = subtype !== "code_mode_tool_result" && subtype !== "realtime_message";
    let isMapped = isSent && type !== "system";
    if (isMapped && type === "assistant") addReply(turn, parts);
    else if (isMapped) addContent(turn, parts, subtype);
    else if (subtype === "chat_compression") addCompaction(turn, payload);
    const { customTitle, titleSource } = payload ?? {};
    // The agent repeats the title, so that it stays near the end of the file.
    const name = subtype === "custom_title" && customTitle !== title ? readText(customTitle) : undefined;
    if (name !== undefined)
      add(turn, { type: "session_info", [titleSource === "auto" ? "title" : "name"]: name });
    title = name ?? title;
    if (subtype === "rewind") answered.clear();
    isMapped ||= /^(?:chat_compression|custom_title|rewind|parent_session)$/.test(subtype ?? "");
    source.count(subtype ?? type, isMapped ? "mapped" : "unmapped", record);
    if (isCompacted && at !== null && at !== before) contents.set(contentKey(readObject(value.message)), at);
    places.set(uuid, at);
    records.set(at, uuid);
    if (!besideConversation.test(subtype ?? "")) leaf = at;
  }
  builder.setLeaf(leaf);
  return { path, sessionId: readText(turns[0]?.value.sessionId) ?? builder.sessionId, leaf, records };
}

function contentKey(content: ForeignObject | undefined): string {
  return JSON.stringify([content?.role, content?.parts]);
}

/** Thoughts are a part of the output of some providers, and beside that of others: the total tells. */
function readUsage(value: unknown): ReturnType<typeof usageOfCounts> | undefined {
  const tokens = readObject(value);
  if (tokens === undefined) return undefined;
  const [prompt, total] = [readCount(tokens.promptTokenCount), readCount(tokens.totalTokenCount)];
  const output = total > prompt ? total - prompt : readCount(tokens.candidatesTokenCount);
  return usageOfCounts(prompt, tokens.cachedContentTokenCount, output, total);
}
