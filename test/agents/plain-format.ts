import type { EntryBuilder, ForeignFormat, WriteSource } from "sessile/interop";
import { type WriteStep, writeBlocks, writeSteps } from "../../src/agents/shared/write-steps.js";
import { encodeUtf8 } from "../support/plain-values.js";
import { all } from "./support/written-steps.js";

/** JSON Lines of some values. */
export function lines(values: readonly unknown[]): Uint8Array {
  return encodeUtf8(values.map((value) => `${JSON.stringify(value)}\n`).join(""));
}

/** A member as text: a value of a hostile file may have no `toString`. */
const named = (member: unknown): string =>
  typeof member === "string" ? member : (JSON.stringify(member) ?? "undefined");

/**
 * A format with a record a user message, for tests of the driver. It takes the name of one of the formats.
 * `child` names the session of a subagent, and `of` its parent.
 */
export const plain: ForeignFormat = {
  name: "codex",
  read(source) {
    let session: EntryBuilder | undefined;
    for (const { path } of source.files) {
      for (const record of source.records(path)) {
        const { kind, id, text, time, parent, cwd, child, of } = record.value;
        if (kind === "start") {
          session ??= source.session({ id: named(id), cwd: cwd as string, timestamp: time });
          source.count("start", "mapped", record);
          continue;
        }
        session ??= source.session({ id: path });
        if (kind === "rewind") {
          session.setLeaf(parent as string | null);
          source.count("rewind", "mapped", record);
          continue;
        }
        if (kind === "compact") {
          const retain = (record.value.keep as string[]).flatMap((kept) => session?.idByRecordId(kept) ?? []);
          const summary = { summary: text as string, firstKeptEntryId: "", tokensBefore: 0, retain };
          session.add({ type: "compaction", ...summary }, { recordId: named(id), timestamp: time });
          source.count("compact", "mapped", record);
          continue;
        }
        if (kind !== "say") {
          source.count(named(kind), "unmapped", record);
          continue;
        }
        const message = { role: "user", content: text as string, timestamp: session.time(time) } as const;
        const parentSession = typeof of === "string" ? of : session.sessionId;
        const target = typeof child === "string" ? source.session({ id: child, parentSession }) : session;
        target.add(
          { type: "message", message },
          {
            recordId: named(id),
            timestamp: time,
            ...(parent === undefined ? {} : { parentId: parent as string | null }),
          },
        );
        source.count("say", "mapped", record);
      }
    }
  },
  async write(source) {
    const records: unknown[] = [{ kind: "start", id: source.header.id, cwd: source.cwd }];
    for await (const step of writeSteps(source)) {
      const { entryId: id } = step;
      if (step.kind === "user") records.push(await said(source, step));
      else if (step.kind === "compaction")
        records.push({
          kind: "compact",
          id,
          text: step.summary,
          keep: (await all(step.kept)).map(({ entryId }) => entryId),
        });
      else
        for (const entryId of [
          id,
          ...(step.kind === "reply" ? step.results.map((result) => result.entryId) : []),
        ])
          source.find({ code: "entry", entryId, text: step.kind });
    }
    return { files: [{ path: "new.jsonl", bytes: lines(records) }], resume: ["plain", source.header.id] };
  },
  async append(source) {
    const [file] = source.files;
    if (file === undefined) return undefined;
    const isOnlyText = source.added.every(
      (entry) => entry.type === "message" && entry.message.role === "user",
    );
    if (!isOnlyText) return undefined;
    const steps = writeSteps({ ...source, outline: source.added });
    const records: object[] = [];
    for await (const step of steps) if (step.kind === "user") records.push(await said(source, step));
    if (records.length === 0) records.push({ kind: "rewind" });
    const from = { parent: source.from };
    const added = lines(records.map((record, at) => (at === 0 ? { ...record, ...from } : record)));
    const bytes = new Uint8Array([...file.bytes, ...added]);
    return { files: [{ path: file.path, bytes }], resume: ["plain", source.original.header.id] };
  },
  resume: (id) => ["plain", id],
};

async function said(source: WriteSource, { entryId, content, time }: WriteStep & { readonly kind: "user" }) {
  const blocks = await writeBlocks(source, entryId, content);
  const text = blocks.map((block) =>
    block.type === "text" ? block : { type: "image", data: block.base64, mimeType: block.mediaType },
  );
  return { kind: "say", id: entryId, text, time };
}
