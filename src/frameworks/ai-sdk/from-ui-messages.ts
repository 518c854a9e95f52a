/** Messages of `useChat` as entries of a session, for a loop of one's own and for any provider. */

import { type IngestOptions, ingest } from "../../attachments/index.js";
import {
  type AssistantMessage,
  assistantMessage,
  type Message,
  type OpaqueBlock,
  type Resource,
  type TextBlock,
  type ToolResultMessage,
  toolResult,
  userMessage,
} from "../../content/index.js";
import { describeImage, opaqueWords, referenceTo } from "../../content/internal.js";
import { isName, randomHex8 } from "../../core/ids.js";
import { isRecord } from "../../core/shape.js";
import type { EntryDraft, SessionEntry } from "../../session/index.js";
import { isUiPart, toUIMessages } from "./to-ui-messages.js";
import {
  changesBetween,
  checkedMessage,
  dataUrlHead,
  type FilePart,
  invalidMessage,
  isDenied,
  isFilePart,
  metadataSignature,
  type PlainMessage,
  partErrorText,
  partToolName,
  type UiMessage,
  type UiNote,
  type UiPart,
  uiNote,
} from "./ui-message.js";

/** Options of {@link fromUIMessages}: where files go, and their limits, as `ingest` has them. */
export interface FromUIMessagesOptions
  extends Partial<Pick<IngestOptions, "blobs" | "limits" | "maxBytes" | "mismatch" | "signal">> {
  /** The attachment that an address of `fileUrl` names. @default the address is a link */
  readonly resource?: (url: string) => Resource | undefined | Promise<Resource | undefined>;
  /** The model whose replies these are; reasoning is sent back to it alone. @default unknown */
  readonly model?: { readonly provider: string; readonly modelId: string };
  /** Whether a session has an entry with this id. @default no id is taken */
  readonly has?: (id: string) => boolean;
}

/**
 * Makes drafts of messages of a page. Text, reasoning, calls with results and files become messages that
 * `project` sends to any provider; so do the texts in other parts of a user, such as `data.text` of a quote.
 * Data URLs become attachments in the blob store. Fields and parts without such a meaning stay in a note, so
 * that {@link toUIMessages} gives the messages back as they were, with the same ids.
 *
 * @throws SessileError INVALID_MESSAGE for a value that is no message, with its path; errors of `ingest` for
 *   a file, such as LINK_REFUSED, MEDIA_TYPE_MISMATCH or LIMIT_EXCEEDED
 * @example
 * ```ts
 * const message = { id: "m1", role: "user" as const, parts: [{ type: "text", text: "Hi" }] };
 * await session.append(await fromUIMessages([message], { blobs }));
 * ```
 */
export async function fromUIMessages(
  messages: readonly UiMessage[],
  options: FromUIMessagesOptions = {},
): Promise<readonly EntryDraft[]> {
  const used = new Set<string>();
  const isTaken = (id: string) => used.has(id) || options.has?.(id) === true;
  const toEntryId = (id: string) => {
    const entryId = isName(id) && !isTaken(id) ? id : freshId(isTaken);
    used.add(entryId);
    return entryId;
  };
  const drafts: EntryDraft[] = [];
  for (const [at, message] of messages.entries()) {
    const path = `messages[${at}]`;
    const valid = checkedMessage(message, path);
    const files = await storedFiles(partsAt(valid, path), options);
    // After another reply it would be a step of that one.
    const isOwnMessage = valid.role === "assistant" && messages[at - 1]?.role !== "user";
    const { model } = options;
    for (const draft of await messageDrafts(valid, { path, files, model, toEntryId, isOwnMessage }))
      drafts.push(draft);
  }
  return drafts;
}

function freshId(isTaken: (id: string) => boolean): string {
  for (;;) {
    const id = `ui-${randomHex8()}${randomHex8()}`;
    if (!isTaken(id)) return id;
  }
}

/** The attachments of a message by their parts. */
type Files = ReadonlyMap<UiPart, { readonly resource: Resource; readonly url: string }>;

interface Place {
  readonly path: string;
  readonly model: FromUIMessagesOptions["model"] | undefined;
  readonly files: Files;
  /** The id of an entry for the id of a message. */
  readonly toEntryId: (id: string) => string;
  /** Whether the message needs a note to be one of its own. */
  readonly isOwnMessage: boolean;
  /** The fields of the note of a steering message. */
  readonly steering?: Pick<UiNote, "steering" | "noStep">;
}

/** What a user said while a reply ran: a part of the reply, and a message of its own for a model. */
type SteeringPart = UiPart & { readonly id: string; readonly parts: readonly UiPart[] };

function isSteering(part: UiPart): part is SteeringPart {
  return part.type === "steering-message";
}

/** One message: its note, if it needs one, and its entries. */
async function messageDrafts(message: PlainMessage, place: Place): Promise<readonly EntryDraft[]> {
  const { id, role, metadata, parts } = message;
  const { files, toEntryId } = place;
  const entryId = toEntryId(id);
  const writer = new MessageWriter(parts, place);
  const [first, ...others] = await writtenDrafts(role, writer, place);
  const drafts = first === undefined ? [] : [{ ...first, id: entryId }, ...others];
  const bare: UiNote = {
    messageId: id,
    entryId,
    ...(writer.noStep ? { noStep: true } : {}),
    ...place.steering,
  };
  const shown = await shownAs(drafts, bare, files);
  const changes = changesBetween(
    shown,
    parts,
    (at) => writer.put.has(at),
    (at) => writer.open.has(at),
  );
  const note: UiNote = {
    ...bare,
    ...(metadata === undefined ? {} : { metadata }),
    ...(changes.length === 0 ? {} : { parts: changes }),
  };
  const isPlain =
    id === entryId && Object.keys(note).length === 2 && role !== "system" && !place.isOwnMessage;
  return isPlain ? drafts : [uiNote.draft(note), ...drafts];
}

/** The entries of what a writer makes of a message. */
async function writtenDrafts(
  role: UiMessage["role"],
  writer: MessageWriter,
  place: Place,
): Promise<readonly EntryDraft[]> {
  const pieces = role === "assistant" ? writer.reply() : [writer.said(role)];
  const drafts: EntryDraft[] = [];
  for (const piece of pieces) {
    if ("role" in piece) {
      drafts.push({ type: "message", message: piece });
      continue;
    }
    const { part, at, noStep } = piece;
    const steering = { steering: true, ...(noStep ? { noStep } : {}) } as const;
    const said = { id: part.id, role: "user", parts: part.parts } as const;
    const path = `${place.path}.parts[${at}]`;
    for (const draft of await messageDrafts(said, { ...place, path, steering })) drafts.push(draft);
  }
  return drafts;
}

/**
 * The entries of a message without a note; undefined for a value that is no message. The first one is a message.
 * Parts that no message has a place for are left out.
 *
 * @param attached the attachment of the file of a part
 * @param id the id of the first entry; the others have it with their index
 */
export async function unnotedDrafts(
  value: unknown,
  attached: (part: FilePart, role: UiMessage["role"]) => Promise<Resource | undefined>,
  id: string,
): Promise<readonly EntryDraft[] | undefined> {
  const message = knownMessage(value);
  if (message === undefined) return undefined;
  const files = new Map<UiPart, { readonly resource: Resource; readonly url: string }>();
  for (const part of partsAt(message, "").values()) {
    const resource = isFilePart(part) ? await attached(part, message.role) : undefined;
    if (resource !== undefined) files.set(part, { resource, url: String(part.url) });
  }
  const model = { provider: "unknown", modelId: "unknown" };
  const place = { path: "", files, model, toEntryId: (each: string) => each, isOwnMessage: false };
  const drafts = await writtenDrafts(message.role, new MessageWriter(message.parts, place, true), place);
  return drafts.map((draft, at): EntryDraft => {
    const { id: _, ...rest } = draft;
    const note = draft.type === "custom" ? (draft.data as UiNote) : undefined;
    // A note stands before its message.
    return note === undefined ? (rest as EntryDraft) : uiNote.draft({ ...note, entryId: `${id}.${at + 1}` });
  });
}

function knownMessage(value: unknown): PlainMessage | undefined {
  try {
    return checkedMessage(value, "");
  } catch {
    return undefined;
  }
}

/** The parts that the session shows without changes. */
async function shownAs(
  drafts: readonly EntryDraft[],
  note: UiNote,
  files: Files,
): Promise<readonly UiPart[]> {
  const urls = new Map([...files.values()].map(({ resource, url }) => [resource.resourceId, url]));
  const entries = [uiNote.draft(note), ...drafts].map(
    (draft, at) => ({ parentId: null, timestamp: "", ...draft, id: draft.id ?? `:${at}` }) as SessionEntry,
  );
  const fileUrl = ({ resourceId }: Resource) => urls.get(resourceId) ?? "";
  const [shown] = await toUIMessages(entries, { fileUrl });
  return (shown?.parts ?? []) as UiPart[];
}

/** The parts of a message and of its steering messages, by their places. */
function partsAt({ role, parts }: PlainMessage, path: string): ReadonlyMap<string, UiPart> {
  const found = new Map<string, UiPart>();
  for (const [at, part] of parts.entries()) {
    const place = `${path}.parts[${at}]`;
    found.set(place, part);
    if (role !== "assistant" || !isSteering(part)) continue;
    for (const [index, said] of part.parts.entries()) found.set(`${place}.parts[${index}]`, said);
  }
  return found;
}

/** The attachments of a message by their parts; data URLs are stored together. */
async function storedFiles(
  parts: ReadonlyMap<string, UiPart>,
  { resource, model: _, has: __, ...options }: FromUIMessagesOptions,
): Promise<Files> {
  const found = new Map<UiPart, { readonly resource: Resource; readonly url: string }>();
  const added: { part: UiPart; url: string; name?: string }[] = [];
  for (const [path, part] of parts) {
    if (!isFilePart(part)) continue;
    const { url, filename } = part;
    const name = typeof filename === "string" ? { name: filename } : {};
    if (url.startsWith("data:")) {
      if (dataUrlHead(url) === undefined) throw invalidMessage(`${path}.url`, "base64 in a data URL", "text");
      added.push({ part, url, ...name });
      continue;
    }
    const known = await resource?.(url);
    found.set(part, { resource: known ?? ingest({ link: url, ...name }), url });
  }
  if (added.length === 0) return found;
  const sources = added.map(({ part: _part, url, ...name }) => ({ dataUrl: url, ...name }));
  const stored = await ingest(sources, options as IngestOptions);
  for (const [at, { part, url }] of added.entries())
    found.set(part, { resource: stored[at] as Resource, url });
  return found;
}

/** A message, or what the user said between the steps of a reply. */
type Piece = Message | { readonly part: SteeringPart; readonly at: number; readonly noStep: boolean };

/** The messages of a session for the parts of one message. */
class MessageWriter {
  /** Indexes of parts that have no place in the messages. */
  readonly put = new Set<number>();
  /** Indexes of calls without a result. */
  readonly open = new Set<number>();
  noStep = false;
  readonly #parts: readonly UiPart[];
  readonly #files: Files;
  readonly #model: { readonly provider: string; readonly model: string; readonly api: string };
  readonly #path: string;
  readonly #isLenient: boolean;

  /** @param isLenient whether a part of an unknown type is left out, rather than refused */
  constructor(
    parts: readonly UiPart[],
    { model = { provider: "unknown", modelId: "unknown" }, files, path }: Place,
    isLenient = false,
  ) {
    this.#isLenient = isLenient;
    this.#parts = parts;
    this.#files = files;
    this.#path = path;
    const { provider, modelId } = model;
    // As `readAiSdkReply` names them.
    this.#model = { provider: provider.split(".")[0] ?? provider, model: modelId, api: `ai-sdk/${provider}` };
  }

  /** The content of a message of the user or the application. */
  said(role: "system" | "user"): Message {
    const blocks = this.#parts.flatMap((part, at): TextBlock[] => {
      const resource = role === "user" ? this.#files.get(part)?.resource : undefined;
      if (resource !== undefined) return userMessage(resource).content as TextBlock[];
      if (part.type === "text" && typeof part.text === "string") return [{ type: "text", text: part.text }];
      const text = this.#isLenient && isFilePart(part) ? fileWords(part) : partWords(part);
      if (/\S/.test(text)) return [{ type: "text", text }];
      this.put.add(at);
      return [];
    });
    const [only] = blocks;
    const isText = blocks.length === 1 && only?.resource === undefined;
    const content = isText ? (only?.text ?? "") : blocks;
    return { role, content, timestamp: Date.now() };
  }

  /** A message for each step, its results, and what the user said between the steps. */
  reply(): Piece[] {
    const pieces: Piece[] = [];
    let content: AssistantMessage["content"][number][] = [];
    let results: ToolResultMessage[] = [];
    // The first step is the reply's own entry, also if it is empty.
    let isOpen = true;
    const end = () => {
      if (!isOpen) return;
      const stopReason = content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop";
      pieces.push({ ...assistantMessage({ ...this.#model, stopReason }), content });
      for (const result of results) pieces.push(result);
      [content, results, isOpen] = [[], [], false];
    };
    this.noStep = this.#parts[0]?.type !== "step-start";
    for (const [at, part] of this.#parts.entries()) {
      if (isSteering(part)) {
        end();
        const next = this.#parts[at + 1]?.type;
        const noStep = next !== undefined && next !== "step-start" && next !== "steering-message";
        pieces.push({ part, at, noStep });
        continue;
      }
      if (part.type === "step-start" && at > 0) end();
      isOpen = true;
      if (part.type !== "step-start") this.#add(part, at, content, results);
    }
    end();
    return pieces;
  }

  #add(
    part: UiPart,
    at: number,
    content: AssistantMessage["content"][number][],
    results: ToolResultMessage[],
  ): void {
    const resource = this.#files.get(part)?.resource;
    const signature = metadataSignature(part.providerMetadata);
    const { text } = part;
    if (resource !== undefined) {
      content.push(fileBlock(part, resource));
    } else if (part.type === "text" && typeof text === "string") {
      content.push({ type: "text", text, ...(signature === undefined ? {} : { textSignature: signature }) });
    } else if (part.type === "reasoning" && typeof text === "string") {
      const signed = signature === undefined ? {} : { thinkingSignature: signature };
      content.push({ type: "thinking", thinking: text, ...signed });
    } else if (isFinishedInput(part)) {
      this.#addCall(part, at, content, results);
    } else if (isUiPart(part)) {
      content.push({ type: "opaque", data: part.type === "custom" ? customData(part) : part });
    } else if (!this.#isLenient) {
      throw invalidMessage(`${this.#path}.parts[${at}].type`, "a part of a UI message", part.type);
    }
  }

  #addCall(
    part: UiPart & { readonly toolCallId: string },
    at: number,
    content: AssistantMessage["content"][number][],
    results: ToolResultMessage[],
  ): void {
    const { toolCallId, state, input = part.rawInput ?? null, output = null } = part;
    const toolName = partToolName(part);
    const isOver = state === "output-available" || state === "output-error" || state === "output-denied";
    // The user's answer is the result: no tool runs.
    const isDone = isOver || isDenied(part);
    const isError = state !== "output-available";
    const said = isError ? partErrorText(part) : output;
    if (!isDone) this.open.add(at);
    if (part.providerExecuted === true) {
      const options = part.callProviderMetadata;
      const signed = isRecord(options) ? { providerOptions: options } : {};
      const call = { type: "tool-call", toolCallId, toolName, input, providerExecuted: true, ...signed };
      content.push({ type: "opaque", data: call });
      if (!isDone) return;
      const type = typeof said === "string" ? "text" : "json";
      const result = { type: isError ? "error-text" : type, value: said };
      const about = part.resultProviderMetadata;
      const also = isRecord(about) ? { providerOptions: about } : {};
      const data = { type: "tool-result", toolCallId, toolName, output: result, ...also };
      content.push({ type: "opaque", data });
      return;
    }
    const signature = metadataSignature(part.callProviderMetadata);
    const signed = signature === undefined ? {} : { thoughtSignature: signature };
    content.push({ type: "toolCall", id: toolCallId, name: toolName, arguments: input, ...signed });
    if (!isDone) return;
    const isText = typeof said === "string";
    results.push({
      ...toolResult({ id: toolCallId, name: toolName }, isText ? said : JSON.stringify(said)),
      ...(isText ? {} : { details: { uiOutput: "json" } }),
      isError,
    });
  }
}

/** The file of a model, as the AI SDK takes it back from the session's store, or a link. */
function fileBlock(part: UiPart, resource: Resource): TextBlock | OpaqueBlock {
  if (resource.kind === "link") return userMessage(resource).content[0] as TextBlock;
  const { type, mediaType, filename, providerMetadata: options } = part;
  const data = {
    type,
    mediaType,
    data: referenceTo(resource.resourceId),
    ...(typeof filename === "string" ? { filename } : {}),
    ...(isRecord(options) ? { providerOptions: options } : {}),
  };
  return { type: "opaque", data, resources: [resource] };
}

/** The descriptor of a file whose bytes are in no store. */
function fileWords({ url, mediaType }: FilePart): string {
  const head = dataUrlHead(url);
  if (head === undefined) return "";
  const size = Math.floor(((url.length - head.length) * 3) / 4);
  const kind = String(mediaType).startsWith("image/") ? "image" : "file";
  return describeImage({ kind, mediaType: String(mediaType), size });
}

/** The words in a part of the user that is neither text nor a file: a message of the AI SDK leaves it out. */
function partWords(part: UiPart): string {
  return typeof part.text === "string" ? part.text : opaqueWords(part) || opaqueWords(part.data);
}

/** A provider's own part as a message of the AI SDK has it. */
function customData({ providerMetadata, ...part }: UiPart): object {
  return { ...part, ...(isRecord(providerMetadata) ? { providerOptions: providerMetadata } : {}) };
}

/** Whether a part is a call whose input is complete. */
function isFinishedInput(part: UiPart): part is UiPart & { readonly toolCallId: string } {
  const isTool = part.type === "dynamic-tool" || part.type.startsWith("tool-");
  return (
    isTool &&
    typeof part.toolCallId === "string" &&
    typeof part.state === "string" &&
    part.state !== "input-streaming" &&
    (part.type !== "dynamic-tool" || typeof part.toolName === "string")
  );
}
