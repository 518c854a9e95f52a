import {
  assistantMessage,
  type EntryDraft,
  type LogPosition,
  type Session,
  type SessionBackend,
  type SessionStoreOptions,
  sessionStore,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { describe, expect, test, vi } from "vitest";
import { gate, hookedBackend, hookedMemory, type LogHooks } from "./hooked-backend.js";

const say = (text: string, id?: string): EntryDraft => ({
  type: "message",
  message: userMessage(text),
  ...(id === undefined ? {} : { id }),
});

const refused = new SessileError("STORAGE_FAILED", "no space", {
  details: { operation: "append to", path: "x", errno: "ENOSPC" },
});
const conflict = new SessileError("CONCURRENT_WRITER", "lost", { details: { expected: "a", actual: "b" } });

interface Setting {
  readonly hooks: LogHooks;
  readonly backend: SessionBackend;
  readonly session: Session;
  /** How many lines each append to the log had. */
  readonly batches: number[];
}

/** A session whose appends to its log go through hooks. */
async function setting(options: SessionStoreOptions = {}): Promise<Setting> {
  const hooks: LogHooks = {};
  const batches: number[] = [];
  const counting: LogHooks = {
    append(lines, expected, append) {
      batches.push(lines.length);
      return hooks.append === undefined ? append() : hooks.append(lines, expected, append);
    },
    read: () => hooks.read?.(),
  };
  const backend = hookedMemory();
  const session = await sessionStore(hookedBackend(backend, counting), options).create({
    cwd: "/p",
    id: "s",
  });
  return { hooks, backend, session, batches };
}

/** Another handle on the session, with nothing between it and the log. */
async function other({ backend }: Setting): Promise<Session> {
  return sessionStore(backend).open("s", { mode: "write" });
}

async function idsOf(session: Session): Promise<string[]> {
  return Array.from((await session.tree()).walk(), ({ node }) => node.id);
}

/** Replaces the log by its first lines. */
async function replaceLog(backend: SessionBackend, count?: number): Promise<void> {
  const log = await backend.open("s", { partition: "", mode: "write" });
  const lines: Uint8Array[] = [];
  let position: LogPosition | undefined;
  for await (const batch of log?.read(undefined) ?? []) {
    // In memory each line is by itself.
    for (const line of batch.lines as readonly Uint8Array[]) lines.push(Uint8Array.from([...line, 10]));
    position = batch.next;
  }
  await log?.replace?.(lines.slice(0, count), position as LogPosition);
}

const settled = (promises: readonly Promise<unknown>[]): Promise<unknown[]> =>
  Promise.all(
    promises.map((promise) =>
      promise.then(
        () => "written",
        (error: unknown) => error,
      ),
    ),
  );

describe("the queue", () => {
  test("calls of one tick are one write, and those that wait for it are the next", async () => {
    const { hooks, session, batches } = await setting();
    await session.append([say("first")]);
    const { opened, open } = gate();
    hooks.append = async (_lines, _expected, append) => {
      await opened;
      return append();
    };
    const early = [session.append([say("a"), say("b")]), session.append([say("c")])];
    await new Promise((resolve) => setTimeout(resolve));
    const late = [session.append([say("d")]), session.append([say("e")]), session.append([])];
    open();
    const entries = (await Promise.all([...early, ...late])).flat();
    expect(batches).toEqual([2, 3, 2]);
    expect(
      (await session.tree())
        .path(session.leafId)
        .slice(1)
        .map((node) => node.id),
    ).toEqual(entries.map(({ id }) => id));
    await session.close();
  });

  test("a draft that cannot be written fails alone, and at the call", async () => {
    const { session, batches } = await setting({ maxLineBytes: 1024 });
    const first = session.append([say("a")]);
    const bad = [
      session.append([say("x".repeat(2000))]),
      session.append([say("b"), { type: "label", targetId: "none" }]),
      session.append([{ type: "made_up" } as never]),
      session.append([{ type: "custom", customType: "c", data: Number.NaN }]),
      session.append("text" as never),
      session.append([say("c")], { conflict: "rebase" }),
      session.append([], { conflict: "maybe" as never }),
    ];
    const second = session.append([say("d")]);
    const errors = (await settled(bad)).map(
      (error) => (error as { code?: string }).code ?? (error as Error).name,
    );
    expect(errors).toEqual([
      "LINE_TOO_LONG",
      "ENTRY_NOT_FOUND",
      "INVALID_ENTRY",
      "INVALID_ENTRY",
      "TypeError",
      "TypeError",
      "TypeError",
    ]);
    const [a] = await first;
    const [d] = await second;
    expect(d?.parentId).toBe(a?.id);
    expect(batches).toEqual([3]);
  });

  test("a __proto__ key of a call's arguments is left out and reported, and the rest is written", async () => {
    const { session } = await setting();
    const args = JSON.parse('{"a":[{"__proto__":{"x":1},"b":2}],"__proto__":{"y":1}}');
    const call = { type: "toolCall", id: "c", name: "read", arguments: args } as const;
    const message = { ...assistantMessage({ provider: "p", model: "m" }, call), timestamp: 0 };
    const draft: EntryDraft = { type: "message", id: "said", message };
    const [entry] = await session.append([draft]);
    expect(entry).toMatchObject({ message: { content: [{ arguments: { a: [{ b: 2 }] } }] } });
    expect(new TextDecoder().decode(await session.raw("said"))).not.toContain("__proto__");
    expect(session.diagnostics).toMatchObject([{ code: "UNSAFE_KEY", entryId: "said" }]);
    expect(Object.hasOwn(args, "__proto__")).toBe(true);
    // Made again, it is the same entry.
    expect(await session.append([draft])).toEqual([entry]);
    expect((await session.tree()).size).toBe(1);
    await expect(
      session.append([{ type: "message", message: { ...message, timestamp: Number.NaN } }]),
    ).rejects.toMatchObject({ code: "INVALID_ENTRY" });
  });

  test("what another program wrote as a log was appended to is read, and reported", async () => {
    const { hooks, backend, session } = await setting();
    await session.append([say("first")]);
    const theirs = await other({ backend } as Setting);
    const [entry] = await theirs.append([say("theirs")]);
    hooks.append = async () => ({ position: "next" as LogPosition, at: [77], interleaved: true });
    const [ours] = await session.append([say("ours")]);
    expect((await session.tree()).has(entry?.id ?? "")).toBe(true);
    expect(session.leafId).toBe(ours?.id);
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["FOREIGN_WRITE"]);
  });

  test("an append beside a foreign write succeeds if the foreign lines cannot be read, and is not repeated", async () => {
    const { hooks, backend, session, batches } = await setting();
    await session.append([say("first")]);
    session.stage([{ type: "custom", customType: "staged" }]);
    let fails = false;
    hooks.append = async (_lines, _expected, append) => {
      const appended = await append();
      fails = true;
      return { ...appended, interleaved: true };
    };
    hooks.read = () => {
      if (fails) throw refused;
    };
    const [ours] = await session.append([say("ours")]);
    fails = false;
    delete hooks.append;
    const theirs = await other({ backend } as Setting);
    await theirs.append([{ type: "label", targetId: ours?.id ?? "", label: "theirs" }]);
    await session.append([say("next")]);
    expect(batches.at(-1)).toBe(1);
    expect((await session.tree()).label(ours?.id ?? "")).toBe("theirs");
    const reopened = await other({ backend } as Setting);
    expect(await idsOf(reopened)).toEqual(await idsOf(session));
    expect((await reopened.tree()).size).toBe(5);
    expect(reopened.diagnostics).toEqual([]);
  });

  test.each(["by a listener of the flush", "while the log is written"])(
    "an entry that is staged %s waits for the next write",
    async (when) => {
      const { hooks, backend, session } = await setting();
      await session.append([say("first")]);
      const stage = () => void session.stage([{ type: "custom", customType: "late" }]);
      session.stage([{ type: "custom", customType: "early" }]);
      if (when === "while the log is written") {
        hooks.append = async (_lines, _expected, append) => {
          stage();
          return append();
        };
      } else {
        const off = session.on("entry", () => {
          off();
          stage();
        });
      }
      await session.flush();
      delete hooks.append;
      expect((await session.tree()).size).toBe(3);
      await session.append([say("next")]);
      const reopened = await other({ backend } as Setting);
      expect(await idsOf(reopened)).toEqual(await idsOf(session));
      expect(reopened.diagnostics).toEqual([]);
    },
  );

  test("settings of a session without messages cost the same each, however many wait", async () => {
    const { session } = await setting();
    const has = vi.spyOn(Set.prototype, "has");
    const append = () => session.append([{ type: "model_change", provider: "p", modelId: "m" }]);
    for (let i = 0; i < 10; i++) await append();
    const first = has.mock.calls.length;
    for (let i = 0; i < 190; i++) await append();
    expect(has.mock.calls.length).toBeLessThanOrEqual(20 * first);
    has.mockRestore();
    await session.append([say("first")]);
    expect((await session.tree()).size).toBe(201);
  });

  test("listeners may append", async () => {
    const { session } = await setting();
    const answers: Promise<unknown>[] = [];
    session.on("entry", ({ entry }) => {
      if (answers.length < 3)
        answers.push(session.append([{ type: "label", targetId: entry.id, label: "l" }]));
    });
    await session.append([say("a")]);
    while (answers.length < 3) await Promise.all(answers);
    await Promise.all(answers);
    expect((await session.tree()).size).toBe(4);
  });

  // @covers R118
  test("ids are asked for until one is free, and then made long enough to be", async () => {
    let asked = 0;
    const { session } = await setting({
      newEntryId: () => {
        asked++;
        return asked === 2 ? "bbbbbbbb" : "aaaaaaaa";
      },
    });
    const entries = await session.append([say("1"), say("2"), say("3")]);
    expect(entries.map(({ id }) => id)).toEqual([
      "aaaaaaaa",
      "bbbbbbbb",
      expect.stringMatching(/^[0-9a-f-]{36}$/),
    ]);
    expect(asked).toBe(102);
  });
});

describe("a failure", () => {
  test("of two appends of one tick fails both, and the tree is as before", async () => {
    const { hooks, session } = await setting();
    const [kept] = await session.append([say("kept")]);
    const moves: unknown[] = [];
    session.on("leaf", (event) => moves.push(event));
    hooks.append = () => Promise.reject(refused);
    const both = [session.append([say("a")]), session.append([say("b"), say("c")])];
    expect(await settled(both)).toEqual([refused, refused]);
    expect(await idsOf(session)).toEqual([kept?.id]);
    expect([session.leafId, moves]).toEqual([kept?.id, []]);
    delete hooks.append;
    const [next] = await session.append([say("next")]);
    expect(next?.parentId).toBe(kept?.id);
  });

  test("fails what was to follow it and waits, but not what was put elsewhere meanwhile", async () => {
    const { hooks, session } = await setting();
    const [root] = await session.append([say("root")]);
    const { opened, open } = gate();
    hooks.append = async () => {
      delete hooks.append;
      await opened;
      throw refused;
    };
    const failing = session.append([say("a")]);
    await new Promise((resolve) => setTimeout(resolve));
    const follows = session.append([say("b")]);
    const followsThat = session.append([say("c")]);
    await session.branch(root?.id ?? null);
    const elsewhere = session.append([say("d")]);
    await session.branch(null);
    const root2 = session.append([say("e")]);
    open();
    expect(await settled([failing, follows, followsThat])).toEqual([refused, refused, refused]);
    expect((await elsewhere)[0]?.parentId).toBe(root?.id);
    expect((await root2)[0]?.parentId).toBeNull();
    expect((await session.tree()).size).toBe(3);
    expect(session.leafId).toBe((await root2)[0]?.id);
  });

  test("fails what refers to its entries from elsewhere, since they are not there", async () => {
    const { hooks, session } = await setting();
    const [root] = await session.append([say("root")]);
    const { opened, open } = gate();
    hooks.append = async () => {
      delete hooks.append;
      await opened;
      throw refused;
    };
    const failing = session.append([say("a", "aaaaaaaa")]);
    await new Promise((resolve) => setTimeout(resolve));
    await session.branch(root?.id ?? null);
    const label = session.append([{ type: "label", targetId: "aaaaaaaa", label: "l" }]);
    const pin = session.append([{ type: "context_pin", targetId: "aaaaaaaa", pinned: true }]);
    const rebased = session.append([{ type: "label", targetId: "aaaaaaaa" }], { conflict: "rebase" });
    const again = session.append([say("a", "aaaaaaaa")]);
    open();
    expect(await settled([failing, label, pin, rebased, again])).toEqual(Array(5).fill(refused));
    expect((await session.tree()).size).toBe(1);
    const [retried] = await session.append([say("a", "aaaaaaaa")]);
    expect(retried?.parentId).toBe(root?.id);
  });

  test("of a first append leaves a session that does not exist, and the next one makes it", async () => {
    const { hooks, backend, session } = await setting();
    hooks.append = () => Promise.reject(refused);
    const created: unknown[] = [];
    session.on("created", () => created.push("created"));
    expect(await settled([session.append([say("a")])])).toEqual([refused]);
    expect(await backend.open("s", { partition: "", mode: "read" })).toBeUndefined();
    delete hooks.append;
    await session.append([say("b")]);
    expect(created.length).toBe(1);
    expect((await (await sessionStore(backend).open("s")).tree()).size).toBe(1);
  });

  test("that leaves the end unknown is the last that the log is asked for", async () => {
    const { hooks, session, batches } = await setting();
    await session.append([say("a")]);
    const poison = new SessileError("WRITER_POISONED", "in doubt", {
      details: { id: "s", reason: "in doubt" },
    });
    hooks.append = () => Promise.reject(poison);
    expect(await settled([session.append([say("b")])])).toEqual([poison]);
    delete hooks.append;
    expect(
      await settled([session.append([say("c")]), session.flush(), session.updateInfo({ title: "t" })]),
    ).toEqual([poison, "written", poison]);
    expect(() => session.stage([say("d")])).toThrow(poison);
    expect(batches.length).toBe(2);
    await session.close();
  });
});

describe("an abort", () => {
  test("withdraws an append that waits, with what was to follow it; one that is being written finishes", async () => {
    const { hooks, session, batches } = await setting();
    const { opened, open } = gate();
    hooks.append = async (_lines, _expected, append) => {
      await opened;
      return append();
    };
    const [one, two] = [new AbortController(), new AbortController()];
    const written = session.append([say("a")], { signal: one.signal });
    await new Promise((resolve) => setTimeout(resolve));
    const waiting = session.append([say("b")], { signal: two.signal });
    const following = session.append([say("c")]);
    one.abort("too late");
    two.abort("in time");
    open();
    expect(await settled([written, waiting, following])).toEqual(["written", "in time", "in time"]);
    expect(batches.length).toBe(1);
    const [next] = await session.append([say("d")]);
    expect(next?.parentId).toBe((await written)[0]?.id);
    await expect(session.append([say("e")], { signal: AbortSignal.abort("before") })).rejects.toBe("before");
    expect((await session.tree()).size).toBe(2);
  });

  test("of a retry that waits withdraws neither the append that it repeats, nor what refers to its entry", async () => {
    const { session } = await setting();
    const retry = new AbortController();
    const original = session.append([say("a", "one")]);
    const repeated = session.append([say("a", "one")], { signal: retry.signal });
    const label = session.append([{ type: "label", targetId: "one", label: "l" }], { conflict: "rebase" });
    retry.abort("no retry");
    expect(await settled([original, repeated, label])).toEqual(["written", "no retry", "written"]);
    expect((await session.tree()).size).toBe(2);
  });
});

describe("a move of the leaf while an append is being written", () => {
  // @covers R120
  test("stays, and is recorded at close; the entry is in the tree all the same", async () => {
    const all = await setting();
    const { hooks, session } = all;
    const [root] = await session.append([say("root")]);
    const { opened, open } = gate();
    hooks.append = async (_lines, _expected, append) => {
      await opened;
      return append();
    };
    const writing = session.append([say("a")]);
    await new Promise((resolve) => setTimeout(resolve));
    await session.branch(root?.id ?? null);
    open();
    const [entry] = await writing;
    expect(session.leafId).toBe(root?.id);
    expect((await session.tree()).node(entry?.id ?? "")?.parentId).toBe(root?.id);
    await session.close();
    const again = await other(all);
    expect(again.leafId).toBe(root?.id);
    expect((await again.tree()).size).toBe(3);
    const [sibling] = await again.append([say("b")]);
    expect((await again.tree()).siblings(sibling?.id ?? "").map((node) => node.id)).toEqual([
      entry?.id,
      expect.any(String),
      sibling?.id,
    ]);
  });
});

describe("staged entries", () => {
  // @covers R133
  test("go first in the next write, once, and are waited for by nobody", async () => {
    const { session, batches } = await setting();
    const [model] = session.stage([{ type: "model_change", provider: "p", modelId: "m" }]);
    const [level] = session.stage([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    expect(session.leafId).toBe(level?.id);
    expect(await session.context()).toMatchObject({ model: { modelId: "m" }, thinkingLevel: "high" });
    expect(batches).toEqual([]);
    const [first] = await session.append([say("a")]);
    await session.append([say("b")]);
    expect(batches).toEqual([4, 1]);
    expect((await session.tree()).path(first?.id ?? "").map((node) => node.id)).toEqual([
      model?.id,
      level?.id,
      first?.id,
    ]);
    expect(await session.raw(model?.id ?? "")).toBeDefined();
  });

  test("keep their own bodies and places when the log is read anew before they are written", async () => {
    const all = await setting();
    const { backend, session } = all;
    const [first] = await session.append([say("first"), say("second")]);
    const [staged] = session.stage([say("staged")]);
    await replaceLog(backend);
    await expect(session.append([say("a")])).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    const [entry] = await session.append([say("b")]);
    for (const id of await idsOf(session)) {
      expect(await session.entry(id)).toMatchObject({ id });
      expect(JSON.parse(new TextDecoder().decode(await session.raw(id)))).toMatchObject({ id });
    }
    expect((await idsOf(session)).length).toBe(4);
    expect(await idsOf(session)).toEqual(await idsOf(await other(all)));
    expect((await session.tree()).has(staged?.id ?? "")).toBe(true);
    expect((await session.tree()).path(entry?.id ?? "")[0]?.id).toBe(first?.id);
  });

  test("say what they say of the session when they are written, after what others wrote in between", async () => {
    const all = await setting();
    const { session } = all;
    await session.append([say("first")]);
    session.stage([{ type: "session_info", name: "ours" }]);
    const second = await other(all);
    await second.append([{ type: "session_info", name: "theirs" }], { conflict: "rebase" });
    await session.append([say("b")]);
    expect(session.info.name).toBe("ours");
    expect((await other(all)).info.name).toBe("ours");
  });

  test("are refused while an append waits, and kept when it fails", async () => {
    const { hooks, session } = await setting();
    const [staged] = session.stage([say("staged")]);
    hooks.append = () => Promise.reject(refused);
    const failing = session.append([say("a")]);
    expect(() => session.stage([say("b")])).toThrow(expect.objectContaining({ code: "SESSION_BUSY" }));
    expect(await settled([failing])).toEqual([refused]);
    expect(await idsOf(session)).toEqual([staged?.id]);
    delete hooks.append;
    session.stage([say("c")]);
    await session.flush();
    expect((await session.tree()).size).toBe(2);
    for (const id of await idsOf(session)) expect(await session.raw(id)).toBeDefined();
  });
});

describe("a draft", () => {
  test("that is an entry of another place goes where it is put now", async () => {
    const { session } = await setting();
    const [first] = await session.append([say("first")]);
    const stored = { type: "custom", customType: "c", parentId: "elsewhere", timestamp: "then" } as const;
    const [entry] = await session.append([stored]);
    expect(entry).toMatchObject({ parentId: first?.id, customType: "c" });
    expect(entry?.timestamp).not.toBe("then");
  });
});

describe("an append that is to follow an entry", () => {
  const details = (expected: string, actual: string) => ({
    code: "CONCURRENT_WRITER",
    details: { expected, actual },
  });

  test("is written where the leaf is that entry, and fails at the call where it is another", async () => {
    const { session, batches } = await setting();
    await session.append([say("a", "a0000000")], { after: null });
    await session.append([say("b", "b0000000")], { after: "a0000000" });
    await expect(session.append([say("c")], { after: "a0000000" })).rejects.toMatchObject(
      details("a0000000", "b0000000"),
    );
    await expect(session.append([], { after: null })).rejects.toMatchObject(details("none", "b0000000"));
    await session.branch(null);
    await expect(session.append([say("c")], { after: "b0000000" })).rejects.toMatchObject(
      details("b0000000", "none"),
    );
    expect(batches).toEqual([2, 1]);
    expect(await idsOf(session)).toEqual(["a0000000", "b0000000"]);
    await session.append([say("c", "c0000000")], { after: null });
    expect(session.leafId).toBe("c0000000");
  });

  test("counts appends that wait, and what is staged", async () => {
    const { session } = await setting();
    const first = session.append([say("a", "a0000000")]);
    const early = session.append([say("b")], { after: null });
    const second = session.append([say("c", "c0000000")], { after: "a0000000" });
    await expect(early).rejects.toMatchObject(details("none", "a0000000"));
    await Promise.all([first, second]);
    const [staged] = session.stage([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    const id = staged?.id as string;
    await expect(session.append([say("d")], { after: "c0000000" })).rejects.toMatchObject(
      details("c0000000", id),
    );
    const [last] = await session.append([say("d")], { after: id });
    expect(last?.parentId).toBe(id);
  });

  test("is told of an entry that waits and has no id yet", async () => {
    const { session } = await setting();
    const waiting = session.append([say("a")]);
    const late = session.append([say("b")], { after: "b0000000" });
    await expect(late).rejects.toMatchObject(details("b0000000", "queued"));
    await waiting;
    expect((await session.tree()).size).toBe(1);
  });

  test("does not hinder what is called behind it when it fails", async () => {
    const { session } = await setting();
    await session.append([say("a", "a0000000")]);
    const late = session.append([say("b")], { after: "elsewhere" });
    const [next] = await session.append([say("c")]);
    await expect(late).rejects.toMatchObject(details("elsewhere", "a0000000"));
    expect(next?.parentId).toBe("a0000000");
  });

  test("may be made again, and is compared by where it is", async () => {
    const { session } = await setting();
    await session.append([say("a", "a0000000")]);
    const message = { type: "message", message: { role: "user", content: "b", timestamp: 0 } } as const;
    const drafts = [
      { ...message, id: "b0000000" },
      { ...message, id: "c0000000" },
    ] as const;
    const entries = await session.append(drafts, { after: "a0000000" });
    expect(await session.append(drafts, { after: "a0000000" })).toEqual(entries);
    await expect(session.append(drafts, { after: "c0000000" })).rejects.toMatchObject(
      details("c0000000", "a0000000"),
    );
  });

  test("fails all the same when another writer came first", async () => {
    const all = await setting();
    const { session } = all;
    await session.append([say("a", "a0000000")]);
    const second = await other(all);
    await second.append([say("theirs")]);
    await expect(session.append([say("b")], { after: "a0000000" })).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    expect((await (await other(all)).tree()).size).toBe(2);
  });

  test("wants an entry id or null, and is no rebase", async () => {
    const { session } = await setting();
    await expect(session.append([say("a")], { after: 5 as never })).rejects.toThrow(
      new TypeError("after: expected an entry id or null, got 5"),
    );
    const rebase = session.append([{ type: "session_info" }], { conflict: "rebase", after: null });
    await expect(rebase).rejects.toThrow(TypeError);
    expect((await session.tree()).size).toBe(0);
  });

  test("is the same for a summary of the branch that is left, whose leaf then stays", async () => {
    const { session } = await setting();
    await session.append([say("a", "a0000000"), say("b", "b0000000")]);
    const waiting = session.append([say("c", "c0000000")]);
    const late = session.branchWithSummary(null, "s", { after: "b0000000" });
    expect(session.leafId).toBe("b0000000");
    const left = session.branchWithSummary(null, "s", { after: "c0000000" });
    expect(session.leafId).toBe(null);
    await expect(late).rejects.toMatchObject(details("b0000000", "c0000000"));
    expect(await left).toMatchObject({ parentId: null, fromId: "c0000000" });
    await waiting;
    await session.close();
    await expect(session.branchWithSummary(null, "s", { after: null })).rejects.toMatchObject({
      code: "SESSION_CLOSED",
    });
  });
});

describe("a log that was replaced by a shorter one", () => {
  test("is gone on with from its leaf", async () => {
    const all = await setting();
    const { backend, session } = all;
    await session.append([say("one"), say("two"), say("three")]);
    await replaceLog(backend, 3);
    await session.refresh();
    const leaf = session.leafId;
    const [entry] = await session.append([say("four")]);
    expect(entry?.parentId).toBe(leaf);
    const again = await other(all);
    expect(again.diagnostics).toEqual([]);
    expect((await again.context()).items).toHaveLength(3);
  });

  test("has what is staged, after its own leaf if the parent is gone", async () => {
    const all = await setting();
    const { backend, session } = all;
    const [, two] = await session.append([say("one"), say("two"), say("three")]);
    const [staged] = session.stage([{ type: "thinking_level_change", thinkingLevel: "high" }]);
    await replaceLog(backend, 3);
    await session.refresh();
    expect((await session.tree()).node(staged?.id ?? "")?.parentId).toBe(two?.id);
    const [entry] = await session.append([say("four")]);
    const again = await other(all);
    expect(
      (await again.tree())
        .path(entry?.id ?? "")
        .map(({ id }) => id)
        .slice(-3),
    ).toEqual([two?.id, staged?.id, entry?.id]);
    expect(again.diagnostics).toEqual([]);
  });
});

describe("a lost acknowledgement", () => {
  /** The log takes the lines and says that it did not. */
  const losing: LogHooks["append"] = async (_lines, _expected, append) => {
    await append();
    throw conflict;
  };

  test.each([
    ["of one entry", 0, [say("a")]],
    ["of several", 0, [say("a"), { type: "label", targetId: "root0000", label: "l" }, say("b")]],
    ["with what was staged", 2, [say("a")]],
    ["of what was staged alone", 1, []],
  ] as [string, number, EntryDraft[]][])(
    "%s is a success, and writes nothing twice",
    async (_name, staged, drafts) => {
      const all = await setting();
      const { hooks, session, batches } = all;
      await session.append([say("root", "root0000")]);
      for (let at = 0; at < staged; at++) session.stage([say(`staged ${at}`)]);
      hooks.append = losing;
      const entries = await session.append(drafts);
      delete hooks.append;
      expect(entries.length).toBe(drafts.length);
      const [next] = await session.append([say("next")]);
      expect((await session.tree()).path(next?.id ?? "").length).toBe((await session.tree()).size);
      expect(session.diagnostics).toEqual([]);
      expect(batches.length).toBe(3);
      const read = await other(all);
      expect(await idsOf(read)).toEqual(await idsOf(session));
      expect((await read.tree()).size).toBe(2 + staged + drafts.length);
      expect(read.diagnostics).toEqual([]);
    },
  );

  test("of a first append too", async () => {
    const all = await setting();
    all.hooks.append = losing;
    const [entry] = await all.session.append([say("a")]);
    delete all.hooks.append;
    await all.session.append([say("b")]);
    expect(all.session.leafId).not.toBe(entry?.id);
    expect((await other(all)).diagnostics).toEqual([]);
    expect((await (await other(all)).tree()).size).toBe(2);
  });

  test("before which another writer came is no success", async () => {
    const all = await setting();
    const { hooks, session } = all;
    await session.append([say("root")]);
    const writer = await other(all);
    hooks.append = async (_lines, _expected, append) => {
      await writer.append([say("theirs")]);
      return append();
    };
    await expect(session.append([say("ours")])).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect((await session.tree()).size).toBe(2);
    expect((await (await other(all)).tree()).size).toBe(2);
  });
});

describe("a retry", () => {
  test("with ids of its own is one entry, whoever wrote it first and however its keys are ordered", async () => {
    const all = await setting();
    const { session, batches } = all;
    const message = { ...userMessage("a"), timestamp: 1 };
    const [first] = await session.append([{ type: "message", id: "cafecafe", message }]);
    const shuffled = { timestamp: 1, content: "a", role: "user" } as const;
    const late = await other(all);
    const [again, after] = await late.append([
      { type: "message", id: "cafecafe", message: shuffled },
      say("b"),
    ]);
    expect(again).toEqual(first);
    expect(after?.parentId).toBe("cafecafe");
    expect(batches.length).toBe(1);
    await expect(late.append([say("another body", "cafecafe")])).rejects.toMatchObject({
      code: "DUPLICATE_ID",
      details: { entryId: "cafecafe" },
    });
    expect((await late.tree()).size).toBe(2);
  });

  test("beside appends of the same tick fails alone where it is no retry", async () => {
    const { session } = await setting();
    await session.append([say("a", "cafecafe")]);
    const outcome = await settled([
      session.append([say("b")]),
      session.append([say("other", "cafecafe")]),
      session.updateInfo({ title: "t" }),
    ]);
    expect(outcome).toEqual(["written", expect.objectContaining({ code: "DUPLICATE_ID" }), "written"]);
  });
});

test("names of one tick are each completed by the one before", async () => {
  const { session } = await setting();
  await Promise.all([
    session.append([{ type: "session_info", name: "n" }]),
    session.append([{ type: "session_info", title: "t" }]),
    session.updateInfo({ slug: "s" }),
  ]);
  expect(session.info).toMatchObject({ name: "n", title: "t", slug: "s" });
});

describe("another writer", () => {
  // @covers R156
  test("that only named or labelled things is no conflict: the entry goes where it was to go", async () => {
    const all = await setting();
    const { session, batches } = all;
    const [root] = await session.append([say("root")]);
    const writer = await other(all);
    await writer.append([{ type: "label", targetId: root?.id ?? "", label: "l" }]);
    await writer.updateInfo({ title: "theirs" });
    const seen: string[] = [];
    session.on("entry", ({ origin }) => seen.push(origin));
    const [entry] = await session.append([say("ours")]);
    expect(entry?.parentId).toBe(root?.id);
    expect(batches.length).toBe(3);
    expect(seen).toEqual(["remote", "remote", "local"]);
    expect(session.info.title).toBe("theirs");
    expect((await session.tree()).label(root?.id ?? "")).toBe("l");
  });

  test("that has written one of the entries of a tick leaves the others to be written", async () => {
    const all = await setting();
    const { session } = all;
    const [root] = await session.append([say("root")]);
    const label = { type: "label", id: "cafecafe", targetId: root?.id ?? "", label: "l" } as const;
    const writer = await other(all);
    await writer.append([label]);
    const written = await settled([session.append([label]), session.append([say("b")])]);
    expect(written).toEqual(["written", "written"]);
    expect((await idsOf(session)).length).toBe(3);
    expect((await other(all)).diagnostics).toEqual([]);
  });

  test("that names things without end is a conflict after all", async () => {
    const all = await setting();
    const { hooks, session } = all;
    await session.append([say("root")]);
    const writer = await other(all);
    let names = 0;
    hooks.append = async (_lines, _expected, append) => {
      await writer.updateInfo({ title: String(++names) });
      return append();
    };
    await expect(session.append([say("ours")])).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(names).toBe(16);
    expect((await session.tree()).size).toBe(17);
  });

  test.each([
    ["a rebase", "rebase"],
    ["an append", undefined],
  ] as const)(
    "%s is tried sixteen times against a log that always conflicts, and no more",
    async (_, mode) => {
      for (const conflicts of [15, Number.POSITIVE_INFINITY]) {
        const all = await setting();
        const { hooks, session } = all;
        const [root] = await session.append([say("root")]);
        const writer = await other(all);
        let tries = 0;
        hooks.append = async (_lines, _expected, append) => {
          // Without a bound this would go on for ever.
          if (++tries > 100) throw new Error("not bounded");
          if (tries > conflicts) return append();
          await writer.append(
            mode === "rebase"
              ? [say(`theirs ${tries}`)]
              : [{ type: "label", targetId: root?.id as string, label: "x" }],
            mode === "rebase" ? {} : { conflict: "rebase" },
          );
          return append();
        };
        const ours = { type: "label", targetId: root?.id as string, label: "ours" } as const;
        const writing =
          mode === "rebase" ? session.append([ours], { conflict: "rebase" }) : session.append([say("ours")]);
        const [outcome] = await settled([writing]);
        expect(tries).toBe(16);
        if (conflicts === 15) expect(outcome).toBe("written");
        else expect(outcome).toMatchObject({ code: "CONCURRENT_WRITER" });
        expect((await idsOf(await other(all))).length).toBe(17);
      }
    },
  );

  test("is behind what a rebase writes, with the info that is in force then", async () => {
    const all = await setting();
    const { session } = all;
    await session.append([say("root")]);
    const writer = await other(all);
    const [theirs] = await writer.append([say("theirs")]);
    await writer.updateInfo({ title: "theirs", slug: "s" });
    const last = writer.leafId;
    const [first, second] = await session.append(
      [
        { type: "session_info", name: "ours" },
        { type: "label", targetId: session.leafId ?? "", label: "l" },
      ],
      { conflict: "rebase" },
    );
    expect(first).toMatchObject({ parentId: last, title: "theirs", slug: "s", name: "ours" });
    expect(second?.parentId).toBe(first?.id);
    expect((await session.tree()).has(theirs?.id ?? "")).toBe(true);
    expect((await other(all)).info).toMatchObject({ title: "theirs", slug: "s", name: "ours" });
  });
});

describe("the caller's object", () => {
  test("may change after the call: the log has what it was, also if the append waits", async () => {
    const { hooks, session } = await setting();
    await session.append([say("root")]);
    const { opened, open } = gate();
    hooks.append = async (_lines, _expected, append) => {
      await opened;
      return append();
    };
    const message = { ...userMessage("a"), timestamp: 1 };
    const appended = [session.append([say("before")]), session.append([{ type: "message", message }])];
    await new Promise((resolve) => setTimeout(resolve));
    const waits = session.append([{ type: "message", message, id: "waits000" }]);
    (message as { content: unknown }).content = () => "a function is no JSON";
    open();
    await Promise.all([...appended, waits]);
    const line = JSON.parse(new TextDecoder().decode(await session.raw("waits000")));
    expect(line.message.content).toBe("a");
    expect(line.parentId).toBe((await appended[1])?.[0]?.id);
  });
});

describe("requests that wait together", () => {
  test("go in batches that a log takes in one write", async () => {
    const { session, batches } = await setting({ checksum: false });
    const most = "x".repeat(40 << 20);
    await Promise.all([session.append([say(most)]), session.append([say(most)]), session.append([say("y")])]);
    // The first one with the header.
    expect(batches).toEqual([2, 2]);
  });
});
