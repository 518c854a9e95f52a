/** Syncs of three stores whose clocks are wrong, against a model that knows what each writer knew. */
import fc from "fast-check";
import { parseSession, type Session, type SessionEntry, type SessionStore, userMessage } from "sessile";
import { mergeSessions, syncSessions } from "sessile/sync";
import { describe, expect, test } from "vitest";
import { rounds } from "../support/rounds.js";
import { bytesOf, memoryStore, put, textOf, viewOf } from "./stores.js";

const start = Date.UTC(2026, 0, 1);

type Act =
  | {
      readonly what:
        | "message"
        | "branch"
        | "leaf"
        | "label"
        | "title"
        | "grant"
        | "revoke"
        | "archive"
        | "activate";
      readonly store: number;
      readonly about: number;
    }
  | { readonly what: "sync" | "merge"; readonly store: number; readonly about: number };

const actOf = (...what: readonly Act["what"][]) =>
  fc.record({
    what: fc.constantFrom(...what),
    store: fc.nat({ max: 2 }),
    about: fc.nat({ max: 1000 }),
  }) as fc.Arbitrary<Act>;
const anyAct = actOf(
  ...(["message", "branch", "leaf", "label", "title", "grant", "revoke", "archive", "activate"] as const),
  ...(["sync", "sync", "sync", "merge"] as const),
);
/** Few states and many syncs: changes that were stated again meet changes of those who knew the first. */
const ofOneState = actOf("title", "message", "label", "sync", "sync");

/** A change of a state, and the changes that its writer knew. */
interface Change {
  readonly id: string;
  readonly time: number;
  readonly known: ReadonlySet<string>;
  /** The value of each state that it sets, as text. */
  readonly sets: ReadonlyMap<string, string>;
}

/** A store, and the entries that it has according to the model. */
interface Replica {
  readonly store: SessionStore;
  known: Set<string>;
}

const fieldNames = ["title", "permission", "archivedAt"] as const;

/** The states that a session shows, as text. */
function statesOf(text: string): ReadonlyMap<string, string> {
  const { info, tree, leafId } = parseSession(text);
  const states = new Map<string, string>([["leaf", String(leafId)]]);
  for (const name of fieldNames) states.set(name, JSON.stringify(info[name] ?? null));
  for (const { targetId, label } of tree.labels()) states.set(`label ${targetId}`, label);
  return states;
}

const entriesOf = (text: string): readonly SessionEntry[] =>
  text
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => JSON.parse(line) as SessionEntry);

class Model {
  readonly changes = new Map<string, Change>();
  text = 0;

  /** Records the entries that a store got by an act, and what they changed. */
  record(replica: Replica, before: string, after: string): void {
    const old = statesOf(before);
    for (const entry of entriesOf(after).filter(({ id }) => !replica.known.has(id))) {
      const sets = new Map<string, string>([
        ["leaf", entry.type === "leaf" ? String(entry.targetId) : entry.id],
      ]);
      if (entry.type === "label") sets.set(`label ${entry.targetId}`, entry.label ?? "");
      if (entry.type === "session_info") {
        for (const name of fieldNames) {
          const value = JSON.stringify(entry[name] ?? null);
          if (value !== old.get(name)) sets.set(name, value);
        }
      }
      const known = new Set(replica.known);
      this.changes.set(entry.id, { id: entry.id, time: Date.parse(entry.timestamp), known, sets });
      replica.known.add(entry.id);
    }
  }

  /** The changes of a state that no other one of these entries superseded. */
  latest(state: string, known: ReadonlySet<string>): readonly Change[] {
    const all = [...known].flatMap((id) => this.changes.get(id) ?? []).filter(({ sets }) => sets.has(state));
    return all.filter(({ id }) => !all.some((other) => other.known.has(id)));
  }

  /** What a store shows is, of each state, the latest change; of several the one with the greatest time. */
  check(replica: Replica, text: string, trace: readonly string[]): void {
    const shown = statesOf(text);
    const states = new Set([...this.changes.values()].flatMap(({ sets }) => [...sets.keys()]));
    for (const state of states) {
      const latest = [...this.latest(state, replica.known)].sort(
        (a, b) => b.time - a.time || (a.id < b.id ? 1 : -1),
      );
      if (latest.length === 0) continue;
      const values = latest.map(({ sets }) => sets.get(state));
      const value = shown.get(state) ?? "";
      expect(values, `${state} is ${value} after ${trace.join(", ")}`).toContain(value);
      if (state !== "leaf") expect(value, `${state} after ${trace.join(", ")}`).toBe(values[0]);
    }
  }
}

async function play(
  acts: readonly Act[],
  skews: readonly number[],
  steps: readonly number[],
): Promise<number> {
  let ticks = 0;
  const replicas = skews.map((skew): Replica => {
    const now = () => {
      ticks += steps[ticks % steps.length] ?? 1;
      return start + skew + ticks;
    };
    return { store: memoryStore(now), known: new Set() };
  });
  const model = new Model();
  const trace: string[] = [];
  const first = replicas[0] as Replica;
  const session = await first.store.create({ cwd: "/p", id: "s" });
  await session.appendMessage(userMessage("root"));
  await session.close();
  const text = await textOf(first.store, "s");
  model.record(first, text, text);
  let conflicts = 0;
  for (const other of replicas.slice(1)) {
    await syncSessions(first.store, other.store);
    other.known = new Set(first.known);
  }
  async function perform({ what, store, about }: Act): Promise<void> {
    const replica = replicas[store] as Replica;
    const before = await textOf(replica.store, "s");
    const writer = await replica.store.open("s", { mode: "write" });
    const ids = [...(await writer.tree()).walk()].map(({ node }) => node.id);
    const target = ids[about % ids.length] as string;
    const fresh = `${what} ${model.text++}`;
    trace.push(`${fresh} in ${store}`);
    if (what === "message") await writer.appendMessage(userMessage(fresh));
    if (what === "branch") {
      await writer.branch(target);
      await writer.appendMessage(userMessage(fresh));
    }
    if (what === "leaf") {
      await writer.branch(target);
      await writer.append([{ type: "leaf", targetId: target }]);
    }
    if (what === "label") {
      await writer.branch(target);
      await writer.append([
        { type: "label", targetId: ids[about % Math.min(2, ids.length)] as string, label: fresh },
      ]);
    }
    if (what === "title") await writer.updateInfo({ title: fresh });
    if (what === "grant") await writer.approveAlways({ permission: "bash", pattern: fresh });
    if (what === "revoke") await writer.updateInfo({ permission: [] });
    if (what === "archive") await writer.updateInfo({ archivedAt: new Date(about).toISOString() });
    if (what === "activate") await writer.updateInfo({ archivedAt: null });
    await writer.close();
    model.record(replica, before, await textOf(replica.store, "s"));
  }
  async function unite(one: Replica, two: Replica, merges: boolean): Promise<void> {
    if (merges) {
      const merged = await mergeSessions(
        undefined,
        await bytesOf(one.store, "s"),
        await bytesOf(two.store, "s"),
      );
      conflicts += merged.conflicts.length;
      for (const { store } of [one, two]) {
        await store.delete("s");
        await put(store, "s", merged.bytes);
      }
    } else {
      const report = await syncSessions(one.store, two.store);
      expect(report.skipped).toEqual([]);
      conflicts += report.conflicts.length;
    }
    const known = new Set([...one.known, ...two.known]);
    for (const replica of [one, two]) {
      const text = await textOf(replica.store, "s");
      for (const { id, merges } of entriesOf(text)) if (merges !== undefined) known.add(id);
      replica.known = new Set(known);
      model.check(replica, text, trace);
    }
    expect(viewOf(await bytesOf(one.store, "s"))).toEqual(viewOf(await bytesOf(two.store, "s")));
    expect(await syncSessions(two.store, one.store)).toMatchObject({ entries: 0, changed: 0, conflicts: [] });
  }
  for (const each of acts) {
    if (each.what !== "sync" && each.what !== "merge") {
      await perform(each);
      continue;
    }
    const other = (each.store + 1 + (each.about % 2)) % 3;
    trace.push(`${each.what} of ${each.store} and ${other}`);
    await unite(replicas[each.store] as Replica, replicas[other] as Replica, each.what === "merge");
  }
  // Until nothing is left to move, all three show the same.
  const [a, b, c] = replicas as [Replica, Replica, Replica];
  for (const [one, two] of [
    [a, b],
    [b, c],
    [a, c],
    [a, b],
  ] as const)
    await unite(one, two, false);
  const views = await Promise.all(replicas.map(async ({ store }) => viewOf(await bytesOf(store, "s"))));
  expect(views[1]).toEqual(views[0]);
  expect(views[2]).toEqual(views[0]);
  return conflicts;
}

describe("what a writer knew, it supersedes, whatever the clocks say", () => {
  // @covers durability:syncs
  test.each([
    ["any changes", anyAct, 25],
    ["changes of few states", ofOneState, 40],
  ] as const)(
    "over three stores, any skew, and any order of syncs and merges: %s",
    async (_, act, maxLength) => {
      const skew = fc.constantFrom(-1_000_000_000, -1000, 0, 0, 1000, 120_000, 3_000_000_000);
      await fc.assert(
        fc.asyncProperty(
          fc.array(act, { maxLength }),
          fc.tuple(skew, skew, skew),
          fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 4 }),
          async (acts, skews, steps) => {
            await play(acts, skews, steps);
          },
        ),
        { numRuns: rounds(30, 600) },
      );
    },
  );

  /** Stores with one session, each with its clock. */
  async function replicas(count: number) {
    const clocks = Array.from({ length: count }, () => start);
    const stores = clocks.map((_, at) => memoryStore(() => clocks[at] as number));
    const [first] = stores as [SessionStore];
    const session = await first.create({ cwd: "/p", id: "s" });
    await session.appendMessage(userMessage("root"));
    await session.close();
    for (const other of stores.slice(1)) await syncSessions(first, other);
    /** Opens the session in a store at a time, and closes it. */
    async function at(store: number, time: number, use: (session: Session) => Promise<unknown>) {
      clocks[store] = start + time;
      const opened = await (stores[store] as SessionStore).open("s", { mode: "write" });
      await use(opened);
      const { leafId } = opened;
      await opened.close();
      return leafId;
    }
    const sync = (one: number, two: number) =>
      syncSessions(stores[one] as SessionStore, stores[two] as SessionStore);
    const shown = async (store: number) => parseSession(await bytesOf(stores[store] as SessionStore, "s"));
    return { stores, at, sync, shown };
  }

  test("a change after a merge of two changes is a change, whichever end of the merge has the lesser id", async () => {
    const act = (what: Act["what"], store: number): Act => ({ what, store, about: 0 }) as Act;
    const acts = [act("grant", 0), act("revoke", 1), act("activate", 2), act("merge", 0), act("revoke", 0)];
    // The ids are made at random.
    for (let round = 0; round < 12; round++) await play(acts, [120_000, -1_000_000, -1_000_000], [0]);
  });

  test("a change that a sync stated again is still superseded by one whose writer knew it", async () => {
    const { at, sync, shown } = await replicas(3);
    const change = (text: string) => async (session: Session) => {
      const root = (await session.tree()).children(null)[0]?.id as string;
      await session.append([{ type: "label", targetId: root, label: text }], { conflict: "rebase" });
      await session.updateInfo({ title: text });
    };
    const state = async (store: number) => {
      const { tree, info } = await shown(store);
      return [tree.label(tree.children(null)[0]?.id as string), info.title];
    };
    await at(0, 100_000, change("ahead"));
    await sync(0, 1);
    await at(2, 50_000, change("beside"));
    const { conflicts } = await sync(0, 2);
    expect(conflicts.find(({ state }) => state === "title")).toMatchObject({
      id: "s",
      others: [expect.any(String)],
    });
    expect(await state(2)).toEqual(["ahead", "ahead"]);
    await at(1, 60_000, change("knew ahead"));
    await sync(0, 1);
    for (const store of [0, 1]) expect(await state(store)).toEqual(["knew ahead", "knew ahead"]);
  });

  test("a snapshot after a sync changes its own fields alone", async () => {
    const { at, sync, shown } = await replicas(3);
    await at(0, 1000, (session) => session.updateInfo({ title: "one" }));
    await sync(0, 2);
    await at(1, 1000, (session) =>
      session.append([{ type: "message", id: "00000000", message: userMessage("beside") }]),
    );
    await sync(0, 1);
    await at(2, 2000, (session) => session.updateInfo({ title: "two" }));
    await at(0, 100_000, (session) => session.updateInfo({ permission: [] }));
    await sync(0, 2);
    expect((await shown(0)).info).toMatchObject({ title: "two", permission: [] });
  });

  test("an entry after a merge knew both copies", async () => {
    const { stores, at, sync, shown } = await replicas(3);
    const [a, b] = stores as [SessionStore, SessionStore];
    await at(0, 200_000, (session) => session.appendMessage(userMessage("a")));
    await at(1, 150_000, (session) => session.appendMessage(userMessage("b")));
    const { bytes, conflicts } = await mergeSessions(undefined, await bytesOf(a, "s"), await bytesOf(b, "s"));
    expect(conflicts).toMatchObject([{ state: "leaf", others: [expect.any(String)] }]);
    await a.delete("s");
    await put(a, "s", bytes);
    const leaf = await at(0, 100_000, (session) => session.appendMessage(userMessage("after")));
    await at(2, 50_000, (session) => session.appendMessage(userMessage("d")));
    await sync(0, 2);
    expect([(await shown(0)).leafId, (await shown(2)).leafId]).toEqual([leaf, leaf]);
  });

  test("a title and a rule of two writers at once are both kept", async () => {
    const { at, sync, shown } = await replicas(2);
    await at(0, 1000, (session) => session.updateInfo({ title: "mine" }));
    await at(1, 2000, (session) => session.approveAlways({ permission: "bash", pattern: "*" }));
    const { conflicts } = await sync(0, 1);
    expect(conflicts.map(({ state }) => state)).toEqual(["leaf"]);
    for (const store of [0, 1]) {
      expect((await shown(store)).info).toMatchObject({
        title: "mine",
        permission: [{ permission: "bash", pattern: "*", action: "allow" }],
      });
    }
  });

  test("lines of another program follow the line before them, also on another branch", async () => {
    const { stores, sync, shown } = await replicas(2);
    const [a] = stores as [SessionStore];
    const text = await textOf(a, "s");
    const root = entriesOf(text)[0]?.id as string;
    const foreign = (id: string, time: number, fields: object) =>
      `${JSON.stringify({ type: "session_info", id, parentId: root, timestamp: new Date(time).toISOString(), ...fields })}\n`;
    await a.delete("s");
    await put(a, "s", text + foreign("i1", start + 100_000, { name: "first" }));
    await sync(0, 1);
    const synced = await textOf(a, "s");
    await a.delete("s");
    await put(a, "s", synced + foreign("i2", start + 1000, { name: "second" }));
    await sync(0, 1);
    expect([(await shown(0)).info.name, (await shown(1)).info.name]).toEqual(["second", "second"]);
    const title = "a third copy has the first one, and another";
    const third = memoryStore(() => start + 2000);
    await put(third, "s", synced);
    const session = await third.open("s", { mode: "write" });
    await session.updateInfo({ title });
    await session.close();
    await syncSessions(a, third);
    expect((await shown(0)).info).toMatchObject({ name: "second", title });
  });

  test("a snapshot after a line that both copies lost changes its own fields alone", async () => {
    const [a, b] = [memoryStore(), memoryStore()];
    const line = (type: string, id: string, parentId: string | null, time: number, fields: object) =>
      `${JSON.stringify({ type, id, parentId, timestamp: new Date(start + time).toISOString(), ...fields })}\n`;
    const header = { type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/p" };
    const common =
      `${JSON.stringify(header)}\n` +
      line("message", "m1", null, 0, { message: userMessage("root") }) +
      line("session_info", "i1", "m1", 1, { title: "one" });
    const archivedAt = "2026-01-02T00:00:00.000Z";
    const after = { title: "one", archivedAt, prior: "lost" };
    await put(a, "s", `${common}{"type":"mess\n${line("session_info", "i2", "i1", 9000, after)}`);
    await put(b, "s", common + line("session_info", "i3", "i1", 5000, { title: "two" }));
    await syncSessions(a, b);
    for (const store of [a, b])
      expect(parseSession(await bytesOf(store, "s")).info).toMatchObject({ title: "two", archivedAt });
  });
});
