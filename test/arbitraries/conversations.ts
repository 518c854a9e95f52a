import fc from "fast-check";
import type { EntryMap, EntryType, SessionEntry } from "sessile";
import { naivePath, naiveTree } from "../session/tree/naive-tree.js";
import { type AnyEntry, entryFields } from "./entries.js";
import {
  assistantBlock,
  messagesByRole,
  shownContent,
  systemMessage,
  textBlock,
  toolCall,
} from "./messages.js";
import { jsonValue, text, timestamp } from "./values.js";

/**
 * Sessions in which entries speak of each other: calls and results, compactions that keep, edits, pins. References
 * mostly go to entries on the path, and sometimes to other branches, to the entry itself, or nowhere.
 */

/** Where an entry is being made. */
interface Spot {
  readonly id: string;
  /** From the root to the parent. */
  readonly path: readonly AnyEntry[];
  readonly all: readonly AnyEntry[];
}

type Fields = { [T in EntryType]: { readonly type: T } & EntryMap[T] }[EntryType];
type Reference = (spot: Spot) => string;
type Maker = (spot: Spot) => Fields;

const pick = (from: readonly AnyEntry[], at: number): string => from[at % from.length]?.id ?? "missing";

const onPath: fc.Arbitrary<Reference> = fc.nat({ max: 64 }).map((at) => (spot) => pick(spot.path, at));
const anywhere: fc.Arbitrary<Reference> = fc.nat({ max: 64 }).map((at) => (spot) => pick(spot.all, at));
const itself: fc.Arbitrary<Reference> = fc.constant((spot) => spot.id);
const nowhere: fc.Arbitrary<Reference> = fc.constantFrom<Reference>(
  () => "missing",
  () => "hasOwnProperty",
);

const reference = fc.oneof(
  { weight: 8, arbitrary: onPath },
  { weight: 1, arbitrary: anywhere },
  { weight: 1, arbitrary: nowhere },
);

const callId = fc.constantFrom("call_0", "call_1", "__proto__");
const assistantContent = fc.array(fc.oneof(toolCall(callId), textBlock), { maxLength: 3 });

const made = <T extends EntryType>(
  type: T,
  fields: fc.Arbitrary<EntryMap[T]> = entryFields[type],
): fc.Arbitrary<Maker> =>
  fc.constant(type).chain(() => fields.map((own) => () => ({ type, ...own }) as Fields));

const assistant = made(
  "message",
  fc
    .record({ message: messagesByRole.assistant, content: assistantContent })
    .map(({ message, content }) => ({ message: { ...message, content } })),
);
const toolResult = made(
  "message",
  fc
    .record({ message: messagesByRole.toolResult, toolCallId: callId })
    .map(({ message, toolCallId }) => ({ message: { ...message, toolCallId } })),
);
const otherMessage = made(
  "message",
  fc
    .oneof(
      { weight: 4, arbitrary: messagesByRole.user },
      messagesByRole.bashExecution,
      messagesByRole.custom,
      messagesByRole.system,
    )
    .map((message) => ({ message })),
);

const compaction: fc.Arbitrary<Maker> = fc
  .record({
    summary: text,
    first: fc.oneof(
      { weight: 5, arbitrary: onPath },
      { weight: 2, arbitrary: itself },
      { weight: 1, arbitrary: anywhere },
      { weight: 1, arbitrary: nowhere },
    ),
    retain: fc.option(fc.array(reference, { maxLength: 3 }), { nil: undefined }),
    system: fc.option(systemMessage, { nil: undefined }),
    tokensBefore: fc.nat(),
    details: fc.option(jsonValue, { nil: undefined }),
  })
  .map(({ summary, first, retain, system, tokensBefore, details }) => (spot: Spot) => ({
    type: "compaction" as const,
    summary,
    firstKeptEntryId: first(spot),
    tokensBefore,
    ...(retain === undefined ? {} : { retain: retain.map((entry) => entry(spot)) }),
    ...(system === undefined ? {} : { systemMessage: system }),
    ...(details === undefined ? {} : { details }),
  }));

const replacement = fc.oneof(
  { weight: 3, arbitrary: fc.constant(null) },
  fc.record({ content: text }),
  fc.record({ content: shownContent }),
  fc.record({ content: assistantContent }),
  fc.record({ content: fc.array(assistantBlock, { maxLength: 2 }) }),
  fc.record({ content: fc.array(jsonValue, { minLength: 1, maxLength: 2 }) }),
);

const contextEdit: fc.Arbitrary<Maker> = fc.record({ target: reference, replacement }).map(
  ({ target, replacement }) =>
    (spot: Spot) =>
      ({ type: "context_edit", targetId: target(spot), replacement }) as const,
);

/** Mostly of the target's own role. */
const messageUpdate: fc.Arbitrary<Maker> = fc
  .record({
    target: reference,
    byRole: fc.record(messagesByRole),
    content: assistantContent,
    other: fc.option(messagesByRole.user, { freq: 9 }),
  })
  .map(({ target, byRole, content, other }) => (spot: Spot) => {
    const targetId = target(spot);
    const entry = spot.all.find(({ id }) => id === targetId);
    const { role } = entry?.type === "message" ? entry.message : byRole.user;
    const message = role === "assistant" ? { ...byRole.assistant, content } : byRole[role];
    return { type: "message_update", targetId, message: other ?? message } as const;
  });

const partUpdate: fc.Arbitrary<Maker> = fc
  .record({
    target: reference,
    index: fc.integer({ min: 0, max: 3 }),
    part: fc.oneof(textBlock, toolCall(callId), assistantBlock),
  })
  .map(
    ({ target, index, part }) =>
      (spot: Spot) =>
        ({ type: "part_update", targetId: target(spot), index, part }) as const,
  );

const contextPin: fc.Arbitrary<Maker> = fc.record({ target: reference, pinned: fc.boolean() }).map(
  ({ target, pinned }) =>
    (spot: Spot) =>
      ({ type: "context_pin", targetId: target(spot), pinned }) as const,
);

const label: fc.Arbitrary<Maker> = fc
  .record({ target: reference, label: fc.option(fc.constantFrom("", "a", "b"), { nil: undefined }) })
  .map(({ target, label }) => (spot: Spot) => ({
    type: "label" as const,
    targetId: target(spot),
    ...(label === undefined ? {} : { label }),
  }));

const leaf: fc.Arbitrary<Maker> = fc
  .option(reference)
  .map((target) => (spot: Spot) => ({ type: "leaf" as const, targetId: target?.(spot) ?? null }));

const branchSummary = made(
  "branch_summary",
  fc.record({ fromId: fc.constantFrom("root", "missing"), summary: fc.oneof(fc.constant(""), text) }),
);

const maker: fc.Arbitrary<Maker> = fc.oneof(
  { weight: 5, arbitrary: assistant },
  { weight: 5, arbitrary: toolResult },
  { weight: 5, arbitrary: otherMessage },
  { weight: 3, arbitrary: compaction },
  { weight: 4, arbitrary: contextEdit },
  { weight: 2, arbitrary: messageUpdate },
  { weight: 2, arbitrary: partUpdate },
  { weight: 2, arbitrary: contextPin },
  { weight: 1, arbitrary: label },
  { weight: 1, arbitrary: leaf },
  { weight: 2, arbitrary: branchSummary },
  { weight: 2, arbitrary: made("custom_message") },
  { weight: 1, arbitrary: made("model_change") },
  { weight: 1, arbitrary: made("thinking_level_change") },
  { weight: 2, arbitrary: made("resource_view") },
  { weight: 1, arbitrary: made("session_info") },
  { weight: 1, arbitrary: made("custom") },
  { weight: 1, arbitrary: made("usage") },
);

const step = fc.record({
  back: fc.oneof({ weight: 16, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.nat({ max: 6 }) }),
  timestamp,
  make: maker,
});

/** Ids that a look-up in a plain object would get wrong come first, so that small trees have them. */
const firstIds = ["__proto__", "constructor", "toString"];

/** A session, and an entry of it or null to build a context at. */
export interface Conversation {
  readonly entries: readonly SessionEntry[];
  readonly leafId: string | null;
}

/** Conversations of up to so many entries. */
export function conversation(maxLength: number): fc.Arbitrary<Conversation> {
  return fc
    .record({
      steps: fc.array(step, { maxLength, size: "max" }),
      leafBack: fc.oneof(
        { weight: 4, arbitrary: fc.constant(1) },
        { weight: 1, arbitrary: fc.nat({ max: maxLength }) },
      ),
    })
    .map(({ steps, leafBack }) => {
      const entries: SessionEntry[] = [];
      for (const [at, { back, timestamp, make }] of steps.entries()) {
        const id = firstIds[at] ?? at.toString(16).padStart(8, "0");
        const parentId = back === 0 ? null : (entries[at - back]?.id ?? null);
        const fields = make({ id, path: pathTo(entries, parentId), all: entries });
        const ownParent = fields.type === "leaf" ? fields.targetId : parentId;
        entries.push({ ...fields, id, parentId: ownParent, timestamp } as SessionEntry);
      }
      return { entries, leafId: leafBack === 0 ? null : (entries.at(-leafBack)?.id ?? null) };
    });
}

/** From the root to an entry, by looking through all of them. */
export function pathTo(entries: readonly AnyEntry[], id: string | null): readonly AnyEntry[] {
  const path = naivePath(naiveTree(entries).parentOf, id);
  return path.flatMap((each) => entries.find((entry) => entry.id === each) ?? []);
}
