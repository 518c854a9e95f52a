import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import fc from "fast-check";
import {
  assistantMessage,
  memorySessionStore,
  type ReplyDelta,
  type ReplyPart,
  type Session,
  type SessionStore,
  sessionStore,
  userMessage,
} from "sessile";
import { SessileError } from "sessile/errors";
import { fileSessionStore } from "sessile/node";
import { describe, expect, test } from "vitest";
import { interruptedMessage, StoredReplies } from "../../src/session/runtime/reply-log.js";
import { memoryBackend } from "../../src/session/store/memory-backend.js";
import { gate, hookedBackend, type LogHooks } from "./hooked-backend.js";
import { temporaryDirectory } from "./node/temporary-directory.js";

const maker = { provider: "p", model: "m" };
const text = (delta: string, index = 0): ReplyDelta => ({ type: "text", index, text: delta });
const hour = 3_600_000;
const lineText = (lines: readonly Uint8Array[]) =>
  lines.map((line) => new TextDecoder().decode(line)).join("");

async function started(store: SessionStore): Promise<Session> {
  const session = await store.create({ cwd: "/p", id: "s" });
  await session.appendMessage(userMessage("hello"));
  return session;
}

async function parts(session: Session, id: string, from?: string): Promise<readonly ReplyPart[]> {
  const found: ReplyPart[] = [];
  for await (const part of session.followReply(id, { pollMs: 5, ...(from === undefined ? {} : { from }) }))
    found.push(part);
  return found;
}

const textOf = (found: readonly ReplyPart[]): string =>
  found
    .flatMap((part) => (part.type === "deltas" ? part.deltas : []))
    .map((delta) => (delta.type === "toolCall" ? delta.arguments : delta.text))
    .join("");

describe("claimTurn", () => {
  test("of two that take over one lease the slower one is not in the other's way", async () => {
    const held = gate();
    const reached = gate();
    const hooks: LogHooks = {};
    const backend = memoryBackend(Date.now);
    const gone = await started(sessionStore(backend));
    await gone.claimTurn();
    const later = { now: () => Date.now() + hour };
    const fast = await sessionStore(backend, later).open("s", { mode: "write" });
    const slow = await sessionStore(hookedBackend(backend, hooks), later).open("s", { mode: "write" });
    hooks.append = async (lines, _, append) => {
      if (lineText(lines).includes("turn_taken")) {
        reached.open();
        await held.opened;
      }
      return append();
    };
    const second = slow.claimTurn();
    await reached.opened;
    const claim = await fast.claimTurn({ ttlMs: 2 * hour });
    held.open();
    await expect(second).rejects.toMatchObject({ code: "TURN_BUSY", details: { claimId: claim.id } });
    await fast.appendMessage(userMessage("at work"));
    await claim.release();
  });

  test.each([-30 * hour, 30 * hour])(
    "a clock that jumps by %d ms keeps nobody out, and the holder is told",
    async (ms) => {
      const backend = memoryBackend(Date.now);
      const holder = await started(sessionStore(backend));
      const claim = await holder.claimTurn();
      const other = await sessionStore(backend, { now: () => Date.now() + ms }).open("s", { mode: "write" });
      const taken = await other.claimTurn();
      await expect(holder.appendMessage(userMessage("late"))).rejects.toMatchObject({
        code: "TURN_LOST",
        details: { id: "s", claimId: claim.id },
      });
      expect(claim.signal.reason).toMatchObject({ code: "TURN_LOST" });
      await taken.release();
    },
  );

  test("a reply that is stored streams no more, though its record is still there", async () => {
    const held = gate();
    const reached = gate();
    const hooks: LogHooks = {};
    const backend = memoryBackend(Date.now);
    const holder = await started(sessionStore(hookedBackend(backend, hooks)));
    await holder.claimTurn();
    const reply = await holder.reply(maker);
    reply.push(text("Hi."));
    await reply.flush();
    const watcher = await sessionStore(backend).open("s");
    expect(await watcher.turnState()).toMatchObject({ state: "busyElsewhere", replyId: reply.id });
    hooks.append = async (lines, _, append) => {
      if (lineText(lines).includes('"ended"')) {
        reached.open();
        await held.opened;
      }
      return append();
    };
    const ended = reply.end(assistantMessage({ ...maker, stopReason: "stop" }, "Hi."));
    await reached.opened;
    const now = await watcher.turnState();
    expect(now.state).toBe("busyElsewhere");
    expect(now).not.toHaveProperty("replyId", reply.id);
    held.open();
    await ended;
  });

  test("a lease is renewed, and lost by the renewal too", async () => {
    let now = 0;
    const backend = memoryBackend(Date.now);
    const holder = await started(sessionStore(backend, { now: () => now }));
    const claim = await holder.claimTurn({ ttlMs: 100 });
    const watcher = await sessionStore(backend, { now: () => now }).open("s", { mode: "write" });
    const lost = new Promise((resolve) => claim.signal.addEventListener("abort", resolve));
    for (now = 90; now < 900; now += 90) {
      await expect
        .poll(async () => watcher.claimTurn().catch((error: SessileError) => error.code))
        .toBe("TURN_BUSY");
      const { renewed } = { renewed: now };
      await expect
        .poll(async () => lineText(await sideLines(backend, "s~claim")).includes(`"at":${renewed}`))
        .toBe(true);
    }
    const later = await sessionStore(backend, { now: () => now + hour }).open("s", { mode: "write" });
    await later.claimTurn({ ttlMs: 2 * hour });
    await lost;
    expect(claim.signal.aborted).toBe(true);
    // The renewal has read the other's claim, which a release must not end.
    await claim.release();
    await expect(watcher.claimTurn()).rejects.toMatchObject({ code: "TURN_BUSY" });
  });

  test("a claim whose session cannot be read on tells why, and leaves nothing behind", async () => {
    const hooks: LogHooks = {};
    const backend = memoryBackend(Date.now);
    await (await started(sessionStore(backend))).close();
    const session = await sessionStore(hookedBackend(backend, hooks)).open("s", { mode: "write" });
    let isClaimed = false;
    hooks.append = async (lines, _, append) => {
      isClaimed ||= lineText(lines).includes('"claim"');
      return append();
    };
    hooks.read = () => {
      if (!isClaimed) return;
      isClaimed = false;
      delete hooks.append;
      throw new SessileError("STORAGE_FAILED", "no disk", {
        details: { operation: "read", path: "s", errno: "EIO" },
      });
    };
    await expect(session.claimTurn()).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    const claim = await session.claimTurn();
    await session.appendMessage(userMessage("at work"));
    await claim.release();
  });

  test("a claim whose renewal failed is released all the same", async () => {
    let now = 0;
    const hooks: LogHooks = {};
    const backend = memoryBackend(Date.now);
    await (await started(sessionStore(backend))).close();
    const session = await sessionStore(hookedBackend(backend, hooks), { now: () => now }).open("s", {
      mode: "write",
    });
    const claim = await session.claimTurn({ ttlMs: 300 });
    const failed = new Promise((resolve) => {
      hooks.append = async (lines, _, append) => {
        if (!lineText(lines).includes('"renewed"')) return append();
        delete hooks.append;
        resolve(undefined);
        throw new SessileError("STORAGE_FAILED", "no disk", {
          details: { operation: "append", path: "s", errno: "EIO" },
        });
      };
    });
    now = 100;
    await failed;
    await claim.release();
    await (await session.claimTurn()).release();
    await expect(session.claimTurn({ ttlMs: 2 ** 31 })).rejects.toThrow("from 100 to 2147483647");
  });

  test("a handle that claimed it cannot claim it twice, and a read-only one never", async () => {
    const store = memorySessionStore();
    const session = await started(store);
    await expect(session.claimTurn({ ttlMs: 1 })).rejects.toThrow(
      "ttlMs: expected an integer from 100 to 2147483647, got 1",
    );
    await using _claim = await session.claimTurn();
    await expect(session.claimTurn()).rejects.toMatchObject({ code: "TURN_BUSY" });
    const reader = await store.open("s");
    await expect(reader.claimTurn()).rejects.toMatchObject({ code: "SESSION_READ_ONLY" });
    await expect(reader.reply(maker)).rejects.toMatchObject({ code: "SESSION_READ_ONLY" });
  });

  test("an append that waits while the turn is lost is refused", async () => {
    const backend = memoryBackend(Date.now);
    const holder = await started(sessionStore(backend));
    await holder.claimTurn();
    const other = await sessionStore(backend, { now: () => Date.now() + hour }).open("s", { mode: "write" });
    await other.claimTurn({ ttlMs: 2 * hour });
    await holder.refresh();
    for (const conflict of ["reject", "branch", "follow"] as const)
      await expect(
        holder.append([{ type: "message", message: userMessage("x") }], { conflict }),
      ).rejects.toMatchObject({
        code: "TURN_LOST",
      });
    await expect(holder.updateInfo({ title: "x" })).rejects.toMatchObject({ code: "TURN_LOST" });
  });
});

async function sideLines(
  backend: ReturnType<typeof memoryBackend>,
  id: string,
): Promise<readonly Uint8Array[]> {
  const log = await backend.open(id, { partition: "", mode: "read" });
  const lines: Uint8Array[] = [];
  for await (const batch of log?.read(undefined) ?? []) lines.push(...(batch.lines as readonly Uint8Array[]));
  return lines;
}

describe("reply", () => {
  /** Bytes that were appended to the record of a reply. */
  function counted(): { readonly store: SessionStore; readonly count: { bytes: number; appends: number } } {
    const count = { bytes: 0, appends: 0 };
    const hooks: LogHooks = {
      append(lines, _, append) {
        const written = lineText(lines);
        if (
          /^(?:"|\{"(?:on|block|reply|ended))|sessile\.reply/m.test(written) &&
          !written.includes('"message"')
        ) {
          count.bytes += new TextEncoder().encode(written).length;
          count.appends++;
        }
        return append();
      },
    };
    return { store: sessionStore(hookedBackend(memoryBackend(Date.now), hooks)), count };
  }

  test.each([
    ["20 tokens a second, four to a batch", 4],
    ["a fast one", 400],
  ])("the record of %s costs at most 1.3 times the reply", async (_, tokens) => {
    const { store, count } = counted();
    const session = await started(store);
    const reply = await session.reply({ ...maker, batchMs: 600_000 });
    let sent = 0;
    for (let at = 0; at < 4000; at++) {
      const word = ["the ", "water ", "plants\n", "“été” "][at % 4] as string;
      sent += new TextEncoder().encode(word).length;
      reply.push(text(word));
      if (at % tokens === 0) await reply.flush();
    }
    await reply.end(assistantMessage(maker, "done"));
    expect(count.bytes / sent).toBeLessThan(1.3);
    expect(count.appends).toBeGreaterThan(10);
  });

  test("deltas are written by size, and by time", async () => {
    const { store, count } = counted();
    const session = await started(store);
    const reply = await session.reply({ ...maker, batchMs: 5, batchChars: 10 });
    const before = count.appends;
    reply.push(text("123456789"));
    await expect.poll(() => count.appends).toBe(before + 1);
    reply.push(text("1234567890"));
    await expect.poll(() => count.appends).toBe(before + 2);
    await reply.discard();
  });

  test("a record that cannot be written is an event, and whole with the next batch", async () => {
    const hooks: LogHooks = {};
    const backend = memoryBackend(Date.now);
    const session = await started(sessionStore(hookedBackend(backend, hooks)));
    const errors: string[] = [];
    session.on("error", ({ operation }) => errors.push(operation));
    const reply = await session.reply({ ...maker, batchChars: 1, batchMs: 600_000 });
    let isFull = true;
    hooks.append = (lines, _, append) => {
      if (isFull && !lineText(lines).includes('"message"'))
        throw new SessileError("STORAGE_FAILED", "full", {
          details: { operation: "append", path: "s", errno: "ENOSPC" },
        });
      return append();
    };
    reply.push(text("one "));
    await expect.poll(() => errors).toEqual(["reply"]);
    isFull = false;
    reply.push(text("two"));
    await reply.flush();
    const reader = await sessionStore(backend).open("s");
    const found: ReplyPart[] = [];
    for await (const part of reader.followReply(reply.id)) {
      found.push(part);
      break;
    }
    expect(textOf(found)).toBe("one two");
    isFull = true;
    await reply.end(assistantMessage(maker, "one two"));
    isFull = false;
    // The record was not removed: it is known by its id.
    await session.close();
    const next = await sessionStore(backend, { now: () => Date.now() + hour }).open("s", { mode: "write" });
    expect((await next.turnState()).state).toBe("idle");
    await (await next.reply(maker)).discard();
    expect((await next.path()).filter(({ type }) => type === "message")).toHaveLength(2);
  });

  test("what its holder shows after a loss is refused, and the handle is free again", async () => {
    const backend = memoryBackend(Date.now);
    const holder = await started(sessionStore(backend));
    const reply = await holder.reply(maker);
    reply.push(text("shown"));
    await reply.flush();
    const other = await sessionStore(backend, { now: () => Date.now() + hour }).open("s", { mode: "write" });
    await other.recoverReply();
    await expect(reply.end(assistantMessage(maker, "shown, and more"))).rejects.toMatchObject({
      code: "TURN_LOST",
    });
    expect(() => reply.push(text("!"))).toThrow("took over the turn");
    expect(reply.signal.aborted).toBe(true);
    await holder.refresh();
    expect(await other.turnState()).toEqual({ state: "aborted", entryId: reply.id });
    await (await holder.claimTurn()).release();
  });

  test("nothing is recorded of it once another has taken it, so that nobody sees what is not kept", async () => {
    const hooks: LogHooks = {};
    const backend = memoryBackend(Date.now);
    const holder = await started(sessionStore(backend));
    const reply = await holder.reply({ ...maker, batchMs: 600_000 });
    reply.push(text("kept"));
    await reply.flush();
    const later = { now: () => Date.now() + hour };
    const other = await sessionStore(hookedBackend(backend, hooks), later).open("s", { mode: "write" });
    hooks.append = async (lines, _, append) => {
      if (!lineText(lines).includes('"message"')) return append();
      reply.push(text(", late"));
      await reply.flush();
      expect(lineText(await sideLines(backend, "s~reply"))).not.toContain("late");
      return append();
    };
    await other.recoverReply();
    expect(textOf(await parts(other, reply.id))).toBe("kept");
    expect.assertions(2);
  });

  test.each([
    ["turnState", (session: Session) => session.turnState()],
    ["followReply", (session: Session, id: string) => parts(session, id)],
    ["extract", async (session: Session) => void (await (await session.extract()).close())],
  ] as const)("%s reads no entry of another past the next append's comparison", async (_name, read) => {
    const store = memorySessionStore();
    const gone = await started(store);
    const reply = await gone.reply(maker);
    reply.push(text("so far"));
    await gone.close();
    const session = await store.open("s", { mode: "write" });
    const other = await store.open("s", { mode: "write" });
    const between = await other.appendMessage(userMessage("between"));
    await read(session, reply.id);
    const second = session.appendMessage(userMessage("second"));
    await expect(second).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
      details: { leafId: between.id },
    });
    expect((await session.tree()).children(between.parentId ?? "")).toHaveLength(1);
    // It is told now: as after any conflict, the caller decides.
    await session.branch(between.id);
    expect((await session.appendMessage(userMessage("second"))).parentId).toBe(between.id);
  });

  test("a failed append leaves it open, with all of it recorded", async () => {
    const store = memorySessionStore();
    const session = await started(store);
    const other = await store.open("s", { mode: "write" });
    const reply = await session.reply({ ...maker, batchMs: 600_000 });
    reply.push(text("all of it"));
    await other.appendMessage(userMessage("between"));
    await expect(reply.end(assistantMessage(maker, "all of it"))).rejects.toMatchObject({
      code: "CONCURRENT_WRITER",
    });
    const entry = await reply.end(assistantMessage(maker, "all of it"), { conflict: "branch" });
    expect(entry.id).toBe(reply.id);
    expect(textOf(await parts(other, reply.id))).toBe("all of it");
  });

  test("a reply without which the conversation went on is gone with the next one", async () => {
    const store = memorySessionStore();
    const session = await started(store);
    const reply = await session.reply(maker);
    reply.push(text("so far"));
    await session.close();
    const other = await store.open("s", { mode: "write" });
    expect((await other.turnState()).state).toBe("interruptedReply");
    await other.appendMessage(userMessage("never mind"));
    expect((await other.turnState()).state).toBe("awaitingReply");
    await (await other.reply(maker)).discard();
    expect((await other.path()).filter(({ type }) => type === "message")).toHaveLength(2);
  });

  test("wrong calls are refused by name", async () => {
    const session = await started(memorySessionStore());
    await expect(session.reply({ provider: "", model: "m" })).rejects.toThrow(
      "provider: expected a non-empty string",
    );
    await expect(session.reply({ ...maker, interrupted: "x" as never })).rejects.toThrow(
      "interrupted: expected",
    );
    await expect(session.reply({ ...maker, batchMs: -1 })).rejects.toThrow(
      "batchMs: expected an integer from 0 to",
    );
    const reply = await session.reply(maker);
    expect(() => reply.push(text("x", -1))).toThrow("index: expected the index of a block");
    await reply.discard();
    await reply.discard();
    expect(() => reply.push(text("x"))).toThrow("push: the reply has ended");
    await expect(reply.end(assistantMessage(maker, "x"))).rejects.toThrow("end: the reply has ended");
    await expect(parts(session, reply.id)).rejects.toMatchObject({ code: "REPLY_NOT_FOUND" });
    await expect(parts(session, reply.id, "x")).rejects.toThrow("from: expected an offset");
    // Nothing is claimed any more.
    await (await session.claimTurn()).release();
  });
});

describe("a reader of a reply that was continued", () => {
  type Piece = readonly [type: "text" | "thinking" | "toolCall" | "cut", text: string];
  const piece = fc.tuple(fc.constantFrom("text", "thinking", "toolCall"), fc.stringMatching(/^[a-c]{0,3}$/));
  const cutPiece = fc.oneof(piece, fc.tuple(fc.constant("cut"), fc.constant("")));
  const deltaOf = (part: string, [type, text]: Piece, index: number): ReplyDelta => {
    if (type === "text" || type === "thinking") return { type, index, text };
    const written = type === "cut" ? '{"a":' : JSON.stringify({ a: text });
    return { type: "toolCall", index, id: `${part}${index}`, name: "n", arguments: written };
  };
  const said = (delta: ReplyDelta) => (delta.type === "toolCall" ? delta.arguments : delta.text);

  async function readTo(before: readonly Piece[], after: readonly Piece[], stopsAt: number) {
    const store = memorySessionStore();
    const session = await started(store);
    const shown: ReplyDelta[] = [];
    let from: string | undefined;
    const readOn = async (of: Session, id: string, live: boolean) => {
      for await (const part of of.followReply(id, { ...(from === undefined ? {} : { from }), live })) {
        if (part.type === "deltas") shown.push(...part.deltas);
        from = part.offset;
      }
    };
    let count = 0;
    const stream = async (of: Session, part: string, pieces: readonly Piece[]) => {
      const reply = await of.reply({ ...maker, batchMs: 600_000, interrupted: "continue" });
      // A reply of which nothing was whole is not continued: this is another one.
      if (reply.prefix === undefined) [from, shown.length] = [undefined, 0];
      for (const [index, one] of pieces.entries()) {
        reply.push(deltaOf(part, one, index));
        await reply.flush();
        if (count++ < stopsAt) await readOn(of, reply.id, false);
      }
      return reply;
    };
    await stream(session, "a", before);
    await session.close();
    const next = await store.open("s", { mode: "write" });
    const reply = await stream(next, "b", after);
    const content = after.map((one, index) => {
      const delta = deltaOf("b", one, index);
      if (delta.type === "text") return { type: "text", text: delta.text } as const;
      if (delta.type === "thinking") return { type: "thinking", thinking: delta.text } as const;
      return { type: "toolCall", id: delta.id, name: "n", arguments: JSON.parse(delta.arguments) } as const;
    });
    const { message } = await reply.end(assistantMessage(maker, ...content));
    await readOn(next, reply.id, true);
    const blocks: ReplyDelta[] = [];
    for (const delta of shown) {
      const known = blocks[delta.index];
      const text = (known === undefined ? "" : said(known)) + said(delta);
      blocks[delta.index] = delta.type === "toolCall" ? { ...delta, arguments: text } : { ...delta, text };
    }
    const whole = blocks.filter((one) => said(one) !== "" && said(one) !== '{"a":');
    const stored = "content" in message && Array.isArray(message.content) ? message.content : [];
    return {
      shown: whole.map((one) => (one.type === "toolCall" ? [one.id, one.arguments] : [one.type, one.text])),
      stored: stored.flatMap((one) => {
        if (one.type === "toolCall") return [[one.id, JSON.stringify(one.arguments)]];
        const text = one.type === "text" ? one.text : one.type === "thinking" ? one.thinking : "";
        return text === "" ? [] : [[one.type, text]];
      }),
    };
  }

  test("has all of it once, whenever it stopped and wherever the reply broke off", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(cutPiece as fc.Arbitrary<Piece>, { minLength: 1, maxLength: 4 }),
        fc.array(piece as fc.Arbitrary<Piece>, { minLength: 1, maxLength: 3 }),
        fc.nat({ max: 7 }),
        async (before, after, stopsAt) => {
          const { shown, stored } = await readTo(before, after, stopsAt);
          expect(shown).toEqual(stored);
        },
      ),
      { numRuns: 100 },
    );
  });

  test("gets a call that came behind one that was dropped", async () => {
    const { shown } = await readTo(
      [
        ["text", "a"],
        ["cut", ""],
      ],
      [
        ["text", "b"],
        ["toolCall", "c"],
      ],
      2,
    );
    expect(shown).toEqual([
      ["text", "ab"],
      ["b1", '{"a":"c"}'],
    ]);
  });
});

describe("the files beside a session", () => {
  test("are gone when nothing is at work, and with the session", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir, durability: "os" });
    const session = await started(store);
    const names = () =>
      readdirSync(dirname(session.location as string)).filter((name) => !name.endsWith(".lock"));
    const reply = await session.reply(maker);
    reply.push(text("x"));
    await reply.flush();
    const [log = "", ...beside] = names().sort();
    expect(beside).toEqual([`${log}.claim`, `${log}.reply`]);
    await reply.end(assistantMessage(maker, "x"));
    expect(names()).toEqual([log]);
    await session.claimTurn();
    await (await session.reply(maker)).flush();
    await store.delete("s");
    expect(names()).toEqual([]);
    await session.close();
    expect(names()).toEqual([]);
  });

  test("may be cut at any byte: what is left is a prefix, and the next reply works", async () => {
    const dir = temporaryDirectory();
    const session = await started(fileSessionStore({ dir, durability: "os" }));
    const reply = await session.reply({ ...maker, batchMs: 600_000 });
    const words = ["Let ", "me ", "“look” ", "at it."];
    for (const word of words) {
      reply.push(text(word));
      await reply.flush();
    }
    const paths = ["claim", "reply"].map((kind) => `${session.location}.${kind}`);
    const whole = paths.map((path) => readFileSync(path));
    const lineEnds = [...(whole[1] as Buffer).entries()].flatMap(([at, byte]) =>
      byte === 10 ? [[at, 1]] : [],
    );
    const original = readFileSync(session.location as string);
    await reply.discard();
    await session.close();
    const now = () => Date.now() + hour;
    const cut = async (at: number, which: number) => {
      writeFileSync(session.location as string, original);
      for (const [index, path] of paths.entries()) {
        writeFileSync(path, whole[index] as Buffer);
        if (index === which) truncateSync(path, Math.min(at, (whole[index] as Buffer).length));
      }
      const next = await fileSessionStore({ dir, durability: "os", now }).open("s", { mode: "write" });
      const turn = await next.turnState();
      const message = "message" in turn ? turn.message : undefined;
      const left = message?.content.map((block) => ("text" in block ? block.text : "")).join("") ?? "";
      expect(words.join("").startsWith(left)).toBe(true);
      if (which === 0) expect(left).toBe(words.join(""));
      const again = await next.reply(maker);
      again.push(text("again"));
      await again.flush();
      await again.end(assistantMessage(maker, "again"));
      // A cut that took only the end of a line leaves an open reply, which the next one ends.
      await (await next.reply(maker)).discard();
      await next.close();
      const names = readdirSync(dirname(session.location as string)).filter(
        (name) => !name.endsWith(".lock"),
      );
      expect(names).toHaveLength(1);
    };
    await fc.assert(fc.asyncProperty(fc.nat({ max: (whole[1] as Buffer).length }), fc.nat({ max: 1 }), cut), {
      numRuns: 60,
      examples: [[0, 0], [0, 1], [1, 0], [1, 1], ...(lineEnds as [number, number][])],
    });
  }, 60_000);

  test("of another session of that id are none of its", async () => {
    const dir = temporaryDirectory();
    const store = fileSessionStore({ dir, durability: "os" });
    const session = await started(store);
    await session.claimTurn();
    const claim = readFileSync(`${session.location}.claim`, "utf8");
    await session.close();
    writeFileSync(
      `${session.location}.claim`,
      claim.replace(/"created":"[^"]*"/, '"created":"2020-01-01T00:00:00.000Z"'),
    );
    const next = await store.open("s", { mode: "write" });
    expect((await next.turnState()).state).toBe("awaitingReply");
    await (await next.claimTurn()).release();
    await next.close();
    rmSync(dir, { recursive: true });
  });
});

describe("the lines of replies", () => {
  const line = fc.oneof(
    fc.string(),
    fc.record({
      on: fc.constantFrom("a", "b"),
      block: fc.integer({ min: -1, max: 3 }),
      type: fc.constantFrom("text", "thinking", "toolCall", "x"),
    }),
    fc.record({
      reply: fc.constantFrom("a", "b"),
      at: fc.nat(),
      after: fc.constant("e"),
      claim: fc.string(),
      provider: fc.string(),
      model: fc.string(),
    }),
    fc.record({ ended: fc.constantFrom("a", "b") }),
    fc.jsonValue(),
  );

  test("read as something whatever they are", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), (lines) => {
        const replies = new StoredReplies();
        for (const value of lines) replies.apply(value);
        for (const reply of replies.byId.values()) {
          for (const block of reply.blocks) expect(block?.pieces.join("").length).toBe(block?.length);
          expect(interruptedMessage(reply)?.content.length ?? 1).toBeGreaterThan(0);
        }
      }),
    );
  });
});
