/** Writes a session as a chat of Gemini CLI, in the JSON Lines of version 0.39 and later. */

import { geminiRules } from "../shared/gemini-parts.js";
import { textDigest, textUuid, toFileName } from "../shared/ids.js";
import { encodeRecords } from "../shared/lines.js";
import { type ForeignObject, readMilliseconds, timeIso } from "../shared/values.js";
import { type WriteStep, writeSteps } from "../shared/write-steps.js";
import type { WriteSource, WrittenSession } from "../types.js";
import { resumeWords } from "./agent.js";
import { ChatRecords, type MessageRecord, subagentId } from "./lines.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** The agent deletes chats at its start that were not updated for so long. */
const keptFor = 30 * 24 * 60 * 60 * 1000;

/** Writes a session and those of its subagents. */
export function writeGemini(source: WriteSource): WrittenSession {
  const id = writtenSessionId(source);
  const folder = `tmp/${slugByCwd(source.cwd)}/chats`;
  const started = timeIso(readMilliseconds(source.header.timestamp) ?? source.now());
  const minute = started.slice(0, 16).replace(":", "-");
  const path = `${folder}/session-${minute}-${id.slice(0, 8)}.jsonl`;
  const files = [{ path, bytes: encodeRecords(chatRecords(source, { id, started, kind: "main" })) }];
  for (const child of source.children) {
    const childId = subagentId(child.header.id);
    const begun = timeIso(readMilliseconds(child.header.timestamp) ?? source.now());
    const records = chatRecords(child, { id: childId, started: begun, kind: "subagent" });
    files.push({ path: `${folder}/${id}/${childId}.jsonl`, bytes: encodeRecords(records) });
  }
  return { files, resume: resumeWords(id) };
}

/** The id of the chat. The agent takes a number for a place in its list. */
function writtenSessionId({ header, find }: WriteSource): string {
  if (uuid.test(header.id)) return header.id;
  const id = textUuid("gemini", header.id);
  find({ code: "id", text: `session ${header.id} has the id ${id}` });
  return id;
}

/** The name that the agent gives a project whose folder is the first of that name. */
function slugByCwd(cwd: string): string {
  const name = cwd.split(/[\\/]/).findLast((part) => part !== "") ?? "";
  const slug = name
    .toLowerCase()
    .replace(/[^a-z0-9]{1,255}/g, "-")
    .replace(/^-|-$/g, "");
  return toFileName(slug === "" ? "project" : slug, cwd);
}

async function* chatRecords(
  source: WriteSource,
  { id, started, kind }: { readonly id: string; readonly started: string; readonly kind: string },
): Records<ForeignObject> {
  const { cwd } = source;
  const now = source.now();
  const steps = writeSteps(source, geminiRules);
  const last = steps.outlines.reduce((time, step) => Math.max(time, step.time), 0);
  if (steps.outlines.length > 0 && last < now - keptFor) {
    const text = `the last update, ${timeIso(last)}, is now: the agent deletes what is older than 30 days`;
    source.find({ code: "retimed", text });
  }
  yield {
    sessionId: id,
    projectHash: textDigest(cwd),
    startTime: started,
    lastUpdated: timeIso(now),
    kind,
    ...(kind === "subagent" ? { directories: [cwd] } : {}),
    sessile: { cwd },
  };
  const lines = new ChatLines(new ChatRecords(source));
  for await (const step of steps) yield* lines.of(step);
}

type Records<T> = AsyncGenerator<T, void, undefined>;

/** The records of steps. A compaction drops all messages, and puts those that it keeps after its summary. */
export class ChatLines {
  readonly #made: ChatRecords;
  /** The first message in force. */
  #first: string | undefined;
  /** Records of messages that are in the file already, by their entries. */
  readonly #existing: (entryId: string) => readonly MessageRecord[] | undefined;

  /** Records of results that were added after such messages. */
  readonly #late = new Map<string, MessageRecord[]>();

  constructor(
    made: ChatRecords,
    first?: string,
    existing: (entryId: string) => readonly MessageRecord[] | undefined = () => undefined,
  ) {
    this.#made = made;
    this.#first = first;
    this.#existing = existing;
  }

  /** The record of a result after that of its reply, which is in the file already. */
  late(reply: string, record: MessageRecord): readonly MessageRecord[] {
    const known = this.#late.get(reply);
    if (known === undefined) this.#late.set(reply, [record]);
    else known.push(record);
    return this.#put([record]);
  }

  async *of(step: WriteStep): Records<ForeignObject> {
    if (step.kind === "compaction") yield* this.#compact(step);
    else if (step.kind !== "other") yield* this.#put(await this.#stepRecords(step));
    else {
      const record = this.#made.other(step);
      if (typeof record?.id === "string") this.#put([record as MessageRecord]);
      if (record !== undefined) yield record;
    }
  }

  async *#compact(step: WriteStep & { readonly kind: "compaction" }): Records<ForeignObject> {
    if (this.#first !== undefined) yield { $rewindTo: this.#first };
    this.#first = undefined;
    if (step.summary !== "") yield* this.#put([this.#made.summary(step)]);
    for await (const kept of step.kept) {
      if (kept.kind === "user" || kept.kind === "reply") yield* this.#put(await this.#stepRecords(kept));
    }
  }

  async #stepRecords(
    step: WriteStep & { readonly kind: "user" | "reply" },
  ): Promise<readonly MessageRecord[]> {
    const existing = this.#existing(step.entryId);
    if (existing === undefined) return this.#made.of(step);
    return [...existing, ...(this.#late.get(step.entryId) ?? [])];
  }

  #put(records: readonly MessageRecord[]): readonly MessageRecord[] {
    this.#first ??= records[0]?.id;
    return records;
  }
}
