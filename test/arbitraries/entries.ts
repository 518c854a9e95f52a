import fc from "fast-check";
import {
  type EntryMap,
  type EntryType,
  encodeEntry,
  type SessionEntry,
  type SessionHeader,
  type UnknownEntry,
} from "sessile";
import { assistantBlock, imageBlock, message, shownContent, systemMessage, usage } from "./messages.js";
import { entryId, jsonValue, number, text, timestamp } from "./values.js";

/** An entry as a parse gives it. */
export type AnyEntry = SessionEntry | UnknownEntry;

const optionalModel = fc.record({ provider: text, modelId: text });
const summaryExtras = { details: jsonValue, fromHook: fc.boolean(), usage };
const stats = fc.record(
  {
    additions: fc.nat(),
    deletions: fc.nat(),
    files: fc.nat(),
    diffs: fc.array(fc.record({ file: text, additions: fc.nat(), deletions: fc.nat() }), { maxLength: 2 }),
  },
  { requiredKeys: ["additions", "deletions", "files"] },
);
const permission = fc.array(
  fc.record({
    permission: text,
    pattern: text,
    action: fc.constantFrom("allow" as const, "deny" as const, "ask" as const),
  }),
  { maxLength: 2 },
);

/** The fields of every entry type, besides its place. */
export const entryFields: { readonly [T in EntryType]: fc.Arbitrary<EntryMap[T]> } = {
  message: fc.record({ message }),
  thinking_level_change: fc.record({ thinkingLevel: text }),
  model_change: fc.record({ provider: text, modelId: text }),
  compaction: fc.record(
    {
      summary: text,
      firstKeptEntryId: entryId,
      tokensBefore: number,
      ...summaryExtras,
      systemMessage,
      retain: fc.array(entryId, { maxLength: 3 }),
      strategy: text,
      model: optionalModel,
    },
    { requiredKeys: ["summary", "firstKeptEntryId", "tokensBefore"] },
  ),
  branch_summary: fc.record(
    { fromId: entryId, summary: text, ...summaryExtras },
    { requiredKeys: ["fromId", "summary"] },
  ),
  custom: fc.record({ customType: text, data: jsonValue }, { requiredKeys: ["customType"] }),
  custom_message: fc.record(
    { customType: text, content: shownContent, display: fc.boolean(), details: jsonValue },
    { requiredKeys: ["customType", "content", "display"] },
  ),
  label: fc.record({ targetId: entryId, label: text }, { requiredKeys: ["targetId"] }),
  session_info: fc.record(
    {
      name: text,
      title: text,
      slug: text,
      archivedAt: timestamp,
      share: fc.record({ url: text }),
      permission,
      stats,
    },
    { requiredKeys: [] },
  ),
  usage: fc.record(
    { kind: text, provider: text, model: text, usage, note: text },
    { requiredKeys: ["kind", "provider", "model", "usage"] },
  ),
  context_edit: fc.record({
    targetId: entryId,
    replacement: fc.option(
      fc.record({ content: fc.oneof(shownContent, fc.array(jsonValue, { maxLength: 2 })) }),
    ),
  }),
  message_update: fc.record({ targetId: entryId, message }),
  part_update: fc.record({
    targetId: entryId,
    index: fc.nat({ max: 3 }),
    part: fc.oneof(assistantBlock, imageBlock),
  }),
  leaf: fc.record({ targetId: fc.option(entryId), name: text }, { requiredKeys: ["targetId"] }),
  context_pin: fc.record({ targetId: entryId, pinned: fc.boolean() }),
  revert: fc.record(
    { targetId: entryId, partId: text, snapshot: text, diff: text, undone: fc.boolean() },
    { requiredKeys: ["targetId"] },
  ),
  resource_view: fc.record({ resourceId: text, reason: text }, { requiredKeys: ["resourceId"] }),
  resource_observation: fc.record({ resourceId: text, text }),
};

/** The names of all entry types. */
export const entryTypes = Object.keys(entryFields) as readonly EntryType[];

interface Place {
  readonly id: string;
  readonly parentId: string | null;
  readonly timestamp: string;
}

/** What makes an entry at a place that is known later. */
type EntryMaker = (place: Place) => AnyEntry;

const knownMaker: fc.Arbitrary<EntryMaker> = fc
  .constantFrom(...entryTypes)
  .chain((type) =>
    entryFields[type].map((fields) => (place: Place) => ({ type, ...place, ...fields }) as SessionEntry),
  );

const unknownMaker: fc.Arbitrary<EntryMaker> = fc
  .record({
    entryType: fc.oneof(text, fc.constantFrom("message/user", "future_type", "unknown")),
    fields: fc.dictionary(
      text.filter((key) => !["__proto__", "type", "id", "parentId", "timestamp", "crc"].includes(key)),
      jsonValue,
      { maxKeys: 3, noNullPrototype: true },
    ),
  })
  .filter(({ entryType }) => entryType !== "session" && !entryTypes.includes(entryType as EntryType))
  .map(({ entryType, fields }) => (place: Place) => ({
    type: "unknown",
    entryType,
    ...place,
    raw: JSON.stringify({ type: entryType, ...place, ...fields }),
  }));

/** Entries of every known type, each with a place of its own. */
export const sessionEntry: fc.Arbitrary<SessionEntry> = fc
  .record({
    make: knownMaker,
    place: fc.record({ id: entryId, parentId: fc.option(entryId), timestamp }),
  })
  .map(({ make, place }) => make(place) as SessionEntry);

/** Where an entry hangs: 0 is a root, else so many entries back; what is too far is a root too. */
const parentStep = fc.oneof(
  { weight: 6, arbitrary: fc.constant(1) },
  { weight: 2, arbitrary: fc.nat({ max: 8 }) },
);

/** Trees: every entry follows an earlier one or none. Chains mostly, with branches and several roots. */
export function entryTree(
  limits: { readonly minLength?: number; readonly maxLength: number } = { maxLength: 8 },
): fc.Arbitrary<readonly AnyEntry[]> {
  const maker = fc.oneof({ weight: 8, arbitrary: knownMaker }, { weight: 1, arbitrary: unknownMaker });
  return fc
    .uniqueArray(fc.record({ id: entryId, back: parentStep, timestamp, make: maker }), {
      ...limits,
      selector: ({ id }) => id,
    })
    .map((picks) =>
      picks.map(({ id, back, timestamp, make }, at) =>
        make({ id, parentId: back === 0 ? null : (picks[at - back]?.id ?? null), timestamp }),
      ),
    );
}

/** Headers of the current version. */
export const header: fc.Arbitrary<SessionHeader> = fc.record(
  {
    type: fc.constant("session" as const),
    version: fc.constant(3),
    id: entryId,
    timestamp,
    cwd: text,
    parentSession: text,
    sessile: fc.constant(1),
  },
  { requiredKeys: ["type", "version", "id", "timestamp", "cwd"] },
);

/** A header for sessions whose header does not matter. */
export const plainHeader: SessionHeader = {
  type: "session",
  version: 3,
  id: "0193b3e8-0000-7000-8000-000000000000",
  timestamp: "2025-11-20T23:33:50.805Z",
  cwd: "/work",
  sessile: 1,
};

/** A session file of these entries: its lines, the header first, and its text. */
export function sessionOf(
  entries: readonly AnyEntry[],
  options: { readonly header?: SessionHeader; readonly checksum?: boolean } = {},
): { readonly lines: readonly string[]; readonly text: string } {
  const { header = plainHeader, checksum = true } = options;
  const lines = [JSON.stringify(header), ...entries.map((entry) => encodeEntry(entry, { checksum }))];
  return { lines, text: lines.map((line) => `${line}\n`).join("") };
}
