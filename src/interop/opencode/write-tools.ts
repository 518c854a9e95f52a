/** Results of tools, which opencode has in the part of their call. */

import type { ToolResultMessage } from "../../content/index.js";
import { isRecord } from "../../internal/shape.js";
import type { SessionEntry } from "../../session/index.js";
import { millisecondsOf, textOf } from "../shared/values.js";
import type { WriteSource } from "../types.js";
import { prunedAt } from "./edits.js";
import type { DraftPart, PartWriter } from "./write-parts.js";

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A call whose result may follow. */
interface OpenCall {
  readonly part: Mutable<DraftPart>;
  readonly input: unknown;
  readonly start: number;
  hasResult: boolean;
  /** The same call before a compaction that repeats it. */
  readonly earlier: OpenCall | undefined;
}

export class ToolParts {
  readonly #source: WriteSource;
  readonly #parts: PartWriter;
  readonly #children: ReadonlyMap<string, string>;
  /** The nearest call of each id. */
  readonly #calls = new Map<string, OpenCall>();
  /** By entry and id. */
  readonly #byEntry = new Map<string, OpenCall>();
  /** Sessions of subagents by the call that started them. */
  readonly #childOf = new Map<string, string>();
  readonly #all: OpenCall[] = [];
  /** Whether the session is of opencode: its tools' details are shown there. */
  readonly #isOwn: boolean;

  constructor(source: WriteSource, parts: PartWriter, children: ReadonlyMap<string, string>) {
    this.#source = source;
    this.#parts = parts;
    this.#children = children;
    this.#isOwn = source.header.id.startsWith("ses_");
  }

  /** Adds the calls of the reply of an entry. A compaction may repeat it. */
  open(parts: readonly DraftPart[], start: number, entryId: string): void {
    for (const part of parts) {
      if (part.type !== "tool") continue;
      const { input } = part.state as { readonly input: unknown };
      const key = `${entryId}\0${String(part.callID)}`;
      const known = this.#byEntry.get(key);
      const call = { part, input, start, hasResult: false, earlier: known?.hasResult ? undefined : known };
      this.#byEntry.set(key, call);
      this.#calls.set(String(part.callID), call);
      this.#all.push(call);
    }
  }

  /** The custom entry that names the session of a subagent. */
  addChild(data: unknown): void {
    const { toolCallId, sessionId } = isRecord(data) ? data : {};
    const id = textOf(sessionId);
    const child = id === undefined ? undefined : this.#children.get(id);
    if (child !== undefined) this.#childOf.set(String(toolCallId), child);
  }

  async addResult(entry: SessionEntry, message: ToolResultMessage): Promise<void> {
    const call = this.#calls.get(message.toolCallId);
    if (call === undefined || call.hasResult) {
      const text = `a ${call === undefined ? "result without a call" : "second result of a call"}`;
      this.#source.find({ code: "entry", entryId: entry.id, text });
      return;
    }
    for (let each: OpenCall | undefined = call; each !== undefined; each = each.earlier) {
      each.hasResult = true;
      await this.#answer(each, entry, message);
    }
  }

  async #answer(call: OpenCall, entry: SessionEntry, message: ToolResultMessage): Promise<void> {
    const texts: string[] = [];
    const attachments: DraftPart[] = [];
    for (const block of message.content) {
      const file = await this.#parts.file(block, entry.id);
      if (file !== undefined && typeof file !== "string") attachments.push(file);
      else texts.push(file ?? (block.type === "text" ? block.text : ""));
    }
    const output = texts.join("\n");
    const { details, isError } = message;
    const isKnown = this.#isOwn && isRecord(details);
    const annotation = {
      entry: entry.id,
      ...(texts.length > 1 ? { lengths: texts.map(({ length }) => length) } : {}),
      ...(isKnown || details === undefined ? {} : { details }),
    };
    const pruned = millisecondsOf(prunedAt.get(entry));
    const end = Math.max(call.start, millisecondsOf(entry.timestamp) ?? call.start);
    const time = { start: call.start, end };
    const metadata = { ...(isKnown ? details : {}), sessile: annotation };
    // The state of an error has no files.
    if (isError && attachments.length === 0 && pruned === undefined) {
      call.part.state = { status: "error", input: call.input, error: output, metadata, time };
      return;
    }
    call.part.state = {
      status: "completed",
      input: call.input,
      output,
      title: "",
      metadata: isError ? { ...metadata, sessile: { ...annotation, isError } } : metadata,
      time: pruned === undefined ? time : { ...time, compacted: Math.max(1, pruned) },
      ...(attachments.length === 0 ? {} : { attachments }),
    };
  }

  /** Names the sessions of subagents, whose entries are after the results. */
  finish(): void {
    for (const { part, hasResult } of this.#all) {
      const child = this.#childOf.get(String(part.callID));
      const state = part.state as { readonly metadata?: object };
      if (child === undefined || !hasResult) continue;
      part.state = { ...state, metadata: { ...state.metadata, sessionId: child } };
    }
  }
}
