import { readFileSync } from "node:fs";
import { type ContextMessage, buildSessionContext as ourContext, parseSession, type Session } from "sessile";
import { expect } from "vitest";
import { buildSessionContext, type PiEntry, plain, type SessionManager, withoutChecksum } from "./pi.js";

/** What both libraries say of one session, as plain values that can be compared. */
export interface View {
  readonly entries: readonly unknown[];
  readonly leafId: string | null;
  /** Ids of children by parent, roots under the empty string. */
  readonly children: Readonly<Record<string, readonly string[]>>;
  /** Labels that are set, with the time they were, by entry. */
  readonly labels: Readonly<Record<string, { readonly label: string; readonly timestamp: string }>>;
  readonly name: string | undefined;
  /** The context before the first entry, at the tip, and at every entry, or every so many. */
  readonly contexts: Readonly<Record<string, ContextView>>;
}

/** A context without what pi does not have. */
export interface ContextView {
  readonly messages: readonly unknown[];
  readonly model: unknown;
  readonly thinkingLevel: string;
}

/** Where contexts are compared: comparing a long session's at each entry takes the square of its length. */
function contextIds(ids: readonly string[], every: number): readonly (string | null)[] {
  return [null, ...ids.filter((_, index) => index % every === 0 || index === ids.length - 1)];
}

/** A session as pi sees it, with the context at one of `every` so many entries. */
export function piView(manager: SessionManager, every = 1): View {
  const entries = manager.getEntries();
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const children: Record<string, string[]> = { "": [] };
  const labels: Record<string, { label: string; timestamp: string }> = {};
  children[""] = manager.getTree().map(({ entry }) => entry.id);
  const waiting = [...manager.getTree()];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    children[node.entry.id] = node.children.map(({ entry }) => entry.id);
    if (node.label !== undefined)
      labels[node.entry.id] = { label: node.label, timestamp: node.labelTimestamp ?? "" };
    waiting.push(...node.children);
  }
  const contexts: Record<string, ContextView> = {};
  for (const id of contextIds([...byId.keys()], every))
    contexts[id ?? ""] = plain(buildSessionContext(entries, id, byId));
  return {
    entries: entries.map(withoutChecksum),
    leafId: manager.getLeafId(),
    children,
    labels,
    name: manager.getSessionName(),
    contexts,
  };
}

/** A session as this library sees it, its file read at once and entry by entry; the two must agree. */
export async function ourView(session: Session, every = 1): Promise<View> {
  const parsed = parseSession(readFileSync(session.location as string));
  expect(parsed.leafId).toBe(session.leafId);
  const tree = await session.tree();
  const children: Record<string, string[]> = { "": tree.children(null).map(({ id }) => id) };
  const contexts: Record<string, ContextView> = {};
  const entries: unknown[] = [];
  for (const entry of parsed.entries) {
    const { id } = entry;
    expect(await session.entry(id)).toEqual(entry);
    entries.push(plain(entry));
    children[id] = tree.children(id).map((child) => child.id);
  }
  const ids = parsed.entries.map((entry) => entry.id);
  for (const id of contextIds(ids, every)) {
    const context = await session.context(id);
    expect(ourContext(parsed, id)).toEqual(context);
    contexts[id ?? ""] = contextView(context);
  }
  return {
    entries,
    leafId: session.leafId,
    children,
    labels: Object.fromEntries(
      [...tree.labels()].map(({ targetId, label, timestamp }) => [targetId, { label, timestamp }]),
    ),
    name: session.info.name,
    contexts,
  };
}

/** A context of this library's as pi would give it. */
export function contextView(context: Awaited<ReturnType<Session["context"]>>): ContextView {
  const { items, model, thinkingLevel } = context;
  return plain({ messages: items.map(({ message }) => asPi(message)), model, thinkingLevel });
}

/** Without what pi leaves out of the messages that it makes of summaries. */
export function asPi(message: ContextMessage): ContextMessage {
  if (message.role !== "compactionSummary" && message.role !== "branchSummary") return message;
  const { details: _details, ...rest } = message;
  return rest;
}

/** The same entries with numbers in the place of ids, for two sessions whose ids differ. */
export function withNumbers(entries: readonly PiEntry[]): unknown[] {
  const numbers = new Map(entries.map(({ id }, index) => [id, `#${index}`]));
  const keys = new Set(["id", "parentId", "targetId", "firstKeptEntryId", "fromId"]);
  return entries.map((entry) =>
    Object.fromEntries(
      Object.entries(entry).map(([key, value]) => [
        key,
        keys.has(key) && typeof value === "string" ? (numbers.get(value) ?? value) : value,
      ]),
    ),
  );
}
