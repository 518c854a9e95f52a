import { appendFileSync, copyFileSync, existsSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { convertToLlm } from "@mariozechner/pi-coding-agent";
import type { Message, Session } from "sessile";
import { fileSessionStore, openSessionFile } from "sessile/node";
import { expect, test } from "vitest";
import { type DifferenceName, differences } from "./differences.js";
import { buildSessionContext, inDirectory, type PiEntry, SessionManager } from "./pi.js";
import type { PiMessage } from "./writers.js";

const cwd = "/work/project";
const time = "2026-01-01T00:00:00.000Z";
const header = { type: "session", version: 3, id: "s", timestamp: time, cwd };
const user = (content: string): Message => ({ role: "user", content, timestamp: 1 });
const reply = (text: string): Message & { readonly role: "assistant" } => ({
  role: "assistant",
  content: [{ type: "text", text }],
  api: "anthropic-messages",
  provider: "anthropic",
  model: "m",
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 },
  stopReason: "stop",
  timestamp: 2,
});

/** An entry as a stored line has it. */
function stored(id: string, parentId: string | null, fields: object = {}, timestamp = time): object {
  return { type: "message", id, parentId, timestamp, message: user(id), ...fields };
}

/** A file of these lines. */
function fileOf(dir: string, lines: readonly object[], name = "session.jsonl"): string {
  const path = join(dir, name);
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return path;
}

const storeIn = (dir: string) => fileSessionStore({ dir, durability: "os" });

/** A session of this library's with these messages. */
async function conversation(dir: string, ...messages: readonly Message[]): Promise<Session> {
  const session = await storeIn(dir).create({ cwd });
  for (const message of messages) await session.appendMessage(message);
  return session;
}

/** What messages say, or their roles where they say nothing. */
function said(messages: readonly object[]): readonly unknown[] {
  return messages.map((message) => {
    const { content, summary, role } = message as Record<string, unknown>;
    if (typeof summary === "string") return summary;
    if (typeof content === "string") return content;
    const [block] = (content ?? []) as readonly { readonly text?: string }[];
    return block?.text ?? role;
  });
}

const ourMessages = async (session: Session, leafId?: string | null) =>
  (await session.context(leafId)).items.map(({ message }) => message);
const piMessages = (manager: SessionManager) => manager.buildSessionContext().messages;

/** Both readings of a file of these lines: what is said in the context at the tip. */
async function bothSay(dir: string, lines: readonly object[]) {
  const path = fileOf(dir, lines);
  const session = await openSessionFile(path);
  const ours = said(await ourMessages(session));
  return {
    session,
    ours,
    manager: SessionManager.open(path),
    pi: said(piMessages(SessionManager.open(path))),
  };
}

const shown: { readonly [name in DifferenceName]: (dir: string) => Promise<void> } = {
  async duplicateId(dir) {
    const twice = [stored("a", null), stored("a", null, { message: user("second") })];
    const { session, ours, pi } = await bothSay(dir, [header, ...twice]);
    expect(ours).toEqual(["a"]);
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["DUPLICATE_ID"]);
    expect(pi).toEqual(["second"]);
  },

  async unknownLeaf(dir) {
    const { session, manager } = await bothSay(dir, [header, stored("a", null)]);
    await expect(session.context("nowhere")).rejects.toMatchObject({ code: "ENTRY_NOT_FOUND" });
    expect(said(buildSessionContext(manager.getEntries(), "nowhere").messages)).toEqual(["a"]);
  },

  async cycle(dir) {
    const lines = [header, stored("a", "b"), stored("b", "a")];
    const session = await openSessionFile(fileOf(dir, lines));
    expect(said(await ourMessages(session))).toEqual(
      ["a", "b"].slice(-(await session.tree()).path("b").length),
    );
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["CYCLE"]);
    class Counted extends Map<string, PiEntry> {
      lookUps = 0;
      override get(id: string): PiEntry | undefined {
        if (++this.lookUps > 1000) throw new Error("still walking");
        return super.get(id);
      }
    }
    const entries = lines.slice(1) as PiEntry[];
    const byId = new Counted(entries.map((entry) => [entry.id, entry]));
    expect(() => buildSessionContext(entries, "b", byId)).toThrow("still walking");
  },

  async unsafeKey(dir) {
    const path = join(dir, "session.jsonl");
    const line = `{"type":"custom","id":"a","parentId":null,"timestamp":"${time}","customType":"x","data":{"__proto__":1}}`;
    writeFileSync(path, `${JSON.stringify(header)}\n${line}\n`);
    const session = await openSessionFile(path);
    expect(await session.entry("a")).toMatchObject({ customType: "x", data: {} });
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["UNSAFE_KEY"]);
    const [entry] = SessionManager.open(path).getEntries() as readonly { readonly data?: object }[];
    expect(Object.hasOwn(entry?.data ?? {}, "__proto__")).toBe(true);
  },

  async invalidFields(dir) {
    const bare = stored("b", "a", { message: { role: "user", content: "no time" } });
    const { session, ours, pi } = await bothSay(dir, [header, stored("a", null), bare]);
    expect(ours).toEqual(["a"]);
    expect(session.leafId).toBe("b");
    expect(session.diagnostics.map(({ code }) => code)).toEqual(["INVALID_FIELDS"]);
    expect(pi).toEqual(["a", "no time"]);
  },

  async unknownBlock(dir) {
    const block = { type: "video", uri: "x" };
    const message = { ...reply(""), content: [block] };
    const { session, manager } = await bothSay(dir, [header, stored("a", null, { message })]);
    expect(await ourMessages(session)).toMatchObject([{ content: [{ type: "opaque", data: block }] }]);
    expect(piMessages(manager)).toMatchObject([{ content: [block] }]);
  },

  async invalidTime(dir) {
    const summary = { type: "branch_summary", fromId: "x", summary: "s" };
    const lines = [header, stored("a", null, { message: undefined, ...summary }, "yesterday")];
    const { session, manager } = await bothSay(dir, lines);
    expect((await ourMessages(session)).map(({ timestamp }) => timestamp)).toEqual([0]);
    expect(piMessages(manager).map(({ timestamp }) => timestamp)).toEqual([Number.NaN]);
  },

  async childOrder(dir) {
    const children = [stored("late", "a", {}, "2026-02-01T00:00:00.000Z"), stored("early", "a")];
    const { session, manager } = await bothSay(dir, [header, stored("a", null), ...children]);
    expect((await session.tree()).children("a").map(({ id }) => id)).toEqual(["late", "early"]);
    const [root] = manager.getTree();
    expect(root?.children.map(({ entry }) => entry.id)).toEqual(["early", "late"]);
  },

  async emptyName(dir) {
    const info = { message: undefined, type: "session_info", name: "" };
    const { session, manager } = await bothSay(dir, [header, stored("a", null, info)]);
    expect(session.info.name).toBe("");
    expect(manager.getSessionName()).toBeUndefined();
  },

  async nameSpace(dir) {
    const session = await conversation(dir, user("hi"));
    await session.updateInfo({ name: " spaced " });
    expect(session.info.name).toBe(" spaced ");
    expect(SessionManager.open(session.location as string).getSessionName()).toBe("spaced");
    await session.close();
  },

  async noHeader(dir) {
    const path = fileOf(dir, [stored("a", null)]);
    const before = readFileSync(path, "utf8");
    await expect(openSessionFile(path, { mode: "write" })).rejects.toMatchObject({ code: "NO_HEADER" });
    expect(readFileSync(path, "utf8")).toBe(before);
    expect(SessionManager.open(path).getEntries()).toEqual([]);
    expect(readFileSync(path, "utf8")).not.toContain('"a"');
  },

  async olderVersion(dir) {
    const { version: _version, ...first } = header;
    const path = fileOf(dir, [first, { type: "message", timestamp: time, message: user("a") }]);
    const copy = join(dir, "copy.jsonl");
    copyFileSync(path, copy);
    const before = readFileSync(path, "utf8");
    const idsOfOurs = async () =>
      (await (await openSessionFile(path)).tree()).children(null).map(({ id }) => id);
    expect(await idsOfOurs()).toEqual(await idsOfOurs());
    expect(readFileSync(path, "utf8")).toBe(before);
    const idOfPi = SessionManager.open(path).getLeafId();
    expect(readFileSync(path, "utf8")).not.toBe(before);
    expect(SessionManager.open(copy).getLeafId()).not.toBe(idOfPi);
  },

  async leafEntry(dir) {
    const session = await conversation(dir, user("a"), reply("b"), user("c"));
    const [, second] = (await session.tree()).path(session.leafId);
    await session.branch(second?.id as string);
    await session.close();
    const path = session.location as string;
    const reopened = await openSessionFile(path);
    expect(reopened.leafId).toBe(second?.id);
    const manager = SessionManager.open(path);
    const leaf = manager.getLeafEntry() as { readonly type: string } | undefined;
    expect(leaf).toMatchObject({ type: "leaf", parentId: second?.id, targetId: second?.id });
    // The path, and what comes next, is the same in both all the same.
    expect(said(piMessages(manager))).toEqual(said(await ourMessages(reopened)));
    manager.appendMessage({ role: "user", content: "d", timestamp: 4 });
    await reopened.refresh();
    expect(said(await ourMessages(reopened))).toEqual(["a", "b", "d"]);
    expect(said(piMessages(SessionManager.open(path)))).toEqual(["a", "b", "d"]);
  },

  async contextEdit(dir) {
    const session = await conversation(dir, user("secret"), user("long"));
    const [first, second] = (await session.tree()).path(session.leafId).map(({ id }) => id) as [
      string,
      string,
    ];
    await session.append([
      { type: "context_edit", targetId: first, replacement: null },
      { type: "context_edit", targetId: second, replacement: { content: "short" } },
    ]);
    expect(said(await ourMessages(session))).toEqual(["short"]);
    expect(said(piMessages(SessionManager.open(session.location as string)))).toEqual(["secret", "long"]);
    await session.close();
  },

  async retain(dir) {
    const session = await conversation(dir, user("pinned"), reply("b"), user("c"));
    const [first, , last] = (await session.tree()).path(session.leafId).map(({ id }) => id) as string[];
    const pinned = first as string;
    const compaction = {
      summary: "sum",
      firstKeptEntryId: last as string,
      tokensBefore: 1,
      retain: [pinned],
    };
    await session.append([
      { type: "context_pin", targetId: pinned, pinned: true },
      { type: "compaction", ...compaction },
    ]);
    expect((await session.context()).pins).toEqual([pinned]);
    expect(said(await ourMessages(session))).toEqual(["sum", "pinned", "c"]);
    expect(said(piMessages(SessionManager.open(session.location as string)))).toEqual(["sum", "c"]);
    await session.close();
  },

  async summaryDetails(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    const firstKeptEntryId = session.leafId as string;
    const details = { readFiles: ["x"], modifiedFiles: [] };
    await session.append([
      { type: "compaction", summary: "sum", firstKeptEntryId, tokensBefore: 1, details },
      { type: "branch_summary", fromId: "root", summary: "left", details },
    ]);
    const saying = (messages: readonly object[]) => messages.map((message) => "details" in message);
    expect(saying(await ourMessages(session))).toEqual([true, false, true]);
    expect(saying(piMessages(SessionManager.open(session.location as string)))).toEqual([
      false,
      false,
      false,
    ]);
    await session.close();
  },

  async systemOfCompaction(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    const systemMessage = { role: "system", content: "rules", timestamp: 3 } as const;
    const firstKeptEntryId = session.leafId as string;
    await session.append([
      { type: "compaction", summary: "sum", firstKeptEntryId, tokensBefore: 1, systemMessage },
    ]);
    expect(said(await ourMessages(session))).toEqual(["rules", "sum", "b"]);
    expect(said(piMessages(SessionManager.open(session.location as string)))).toEqual(["sum", "b"]);
    await session.close();
  },

  async systemMessage(dir) {
    const session = await conversation(dir, { role: "system", content: "rules", timestamp: 1 }, user("a"));
    expect((await ourMessages(session)).map(({ role }) => role)).toEqual(["system", "user"]);
    const messages = piMessages(SessionManager.open(session.location as string));
    expect(said(messages)).toEqual(["rules", "a"]);
    expect(said(convertToLlm(messages))).toEqual(["a"]);
    await session.close();
  },

  async usage(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    const spent = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 };
    await session.append([{ type: "usage", kind: "title", provider: "p", model: "m", usage: spent }]);
    const leafId = session.leafId as string;
    expect(await session.entry(leafId)).toMatchObject({ type: "usage", kind: "title" });
    expect(SessionManager.open(session.location as string).getLeafId()).toBe(leafId);
    const calls = Object.getOwnPropertyNames(SessionManager.prototype);
    expect(calls.filter((name) => /usage/i.test(name))).toEqual([]);
    await session.close();
  },

  async branchSummaryFrom(dir) {
    const session = await conversation(dir, user("a"), reply("b"), user("c"));
    const path = join(dir, "copy.jsonl");
    copyFileSync(session.location as string, path);
    const [first, , last] = (await session.tree()).path(session.leafId).map(({ id }) => id);
    expect((await session.branchWithSummary(first as string, "s")).fromId).toBe(last);
    const manager = SessionManager.open(path);
    expect(manager.getEntry(manager.branchWithSummary(first as string, "s"))).toMatchObject({
      fromId: first,
    });
    await session.close();
  },

  async danglingReference(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    const compaction = { summary: "s", firstKeptEntryId: "nowhere", tokensBefore: 1 };
    await expect(session.append([{ type: "compaction", ...compaction }])).rejects.toMatchObject({
      code: "ENTRY_NOT_FOUND",
    });
    await session.close();
    const manager = SessionManager.open(session.location as string);
    const id = manager.appendCompaction("s", "nowhere", 1);
    // It loads all the same, and keeps nothing, in both.
    expect(said(await ourMessages(await openSessionFile(session.location as string)))).toEqual(["s"]);
    expect(manager.getLeafId()).toBe(id);
    expect(said(piMessages(manager))).toEqual(["s"]);
  },

  async firstAssistant(dir) {
    const session = await conversation(dir, user("a"));
    expect(
      readFileSync(session.location as string, "utf8")
        .trim()
        .split("\n"),
    ).toHaveLength(2);
    await session.close();
    const manager = SessionManager.create(cwd, dir);
    manager.appendMessage({ role: "user", content: "a", timestamp: 1 });
    expect(existsSync(manager.getSessionFile() as string)).toBe(false);
  },

  async wholeFileAgain(dir) {
    const session = await conversation(dir, user("a"));
    await session.close();
    const path = session.location as string;
    const manager = SessionManager.open(path);
    manager.appendMessage({ role: "user", content: "b", timestamp: 2 });
    manager.appendMessage(reply("c") as PiMessage);
    expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(2 + 4);
    const reopened = await openSessionFile(path);
    expect(reopened.diagnostics.map(({ code }) => code)).toEqual(["EXTRA_HEADER", "DUPLICATE_ID"]);
    expect((await reopened.tree()).size).toBe(3);
    expect(said(await ourMessages(reopened))).toEqual(["a", "b", "c"]);
  },

  async tornTail(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    await session.close();
    const path = session.location as string;
    const copy = join(dir, "copy.jsonl");
    appendFileSync(path, '{"type":"message","id":"torn","parentId":');
    copyFileSync(path, copy);
    const opened = await openSessionFile(path, { mode: "write", durability: "os" });
    expect(opened.diagnostics.map(({ code }) => code)).toContain("TORN_LINE");
    await opened.appendMessage(user("c"));
    await opened.close();
    expect(said(await ourMessages(await openSessionFile(path)))).toEqual(["a", "b", "c"]);
    SessionManager.open(copy).appendMessage({ role: "user", content: "c", timestamp: 3 });
    expect(said(piMessages(SessionManager.open(copy)))).toEqual(["a", "b"]);
  },

  async twoWriters(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    const path = session.location as string;
    const copy = join(dir, "copy.jsonl");
    copyFileSync(path, copy);
    const other = await openSessionFile(path, { mode: "write", durability: "os" });
    await other.appendMessage(user("c"));
    await expect(session.appendMessage(user("d"))).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    expect(
      (await session.tree()).children((await other.tree()).path(other.leafId)[1]?.id as string),
    ).toHaveLength(1);
    await other.close();
    await session.close();
    const [one, two] = [SessionManager.open(copy), SessionManager.open(copy)];
    one.appendMessage({ role: "user", content: "c", timestamp: 3 });
    two.appendMessage({ role: "user", content: "d", timestamp: 3 });
    expect(said(piMessages(SessionManager.open(copy)))).toEqual(["a", "b", "d"]);
  },

  async farInfo(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    await session.updateInfo({ name: "work" });
    const path = session.location as string;
    const copy = join(dir, "copy.jsonl");
    copyFileSync(path, copy);
    const long = "x".repeat(100_000);
    await session.appendMessage(user(long));
    await session.close();
    SessionManager.open(copy).appendMessage({ role: "user", content: long, timestamp: 3 });
    const types = (file: string) =>
      SessionManager.open(file)
        .getEntries()
        .map(({ type }) => type);
    const before = ["message", "message", "session_info", "message"];
    expect(types(path)).toEqual([...before, "session_info"]);
    expect(types(copy)).toEqual(before);
    expect(SessionManager.open(path).getSessionName()).toBe("work");
  },

  async labelOnPath(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    await session.append([{ type: "label", targetId: session.leafId as string, label: "here" }]);
    await session.appendMessage(user("c"));
    const manager = SessionManager.open(session.location as string);
    const extracted = await session.extract();
    expect(said(await ourMessages(extracted))).toEqual(["a", "b", "c"]);
    manager.createBranchedSession(session.leafId as string);
    expect(said(piMessages(manager))).toEqual(["c"]);
    await extracted.close();
    await session.close();
  },

  async labelKept(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    const [label] = await session.append([
      { type: "label", targetId: session.leafId as string, label: "here" },
    ]);
    await session.appendMessage(user("c"));
    const firstKeptEntryId = label?.id as string;
    await session.append([{ type: "compaction", summary: "s", firstKeptEntryId, tokensBefore: 1 }]);
    const manager = SessionManager.open(session.location as string);
    const extracted = await session.extract();
    expect(said(await ourMessages(extracted))).toEqual(["s", "c"]);
    const compaction = session.leafId as string;
    manager.createBranchedSession(compaction);
    const { messages } = buildSessionContext(manager.getEntries(), compaction);
    expect(said(messages)).toEqual(["s"]);
    await extracted.close();
    await session.close();
  },

  async leafExtracted(dir) {
    const session = await conversation(dir, user("a"), reply("b"), user("c"));
    const [, second] = (await session.tree()).path(session.leafId);
    await session.branch(second?.id as string);
    await session.close();
    const path = session.location as string;
    SessionManager.open(path).appendMessage({ role: "user", content: "d", timestamp: 4 });
    const reopened = await openSessionFile(path, { mode: "write" });
    const types = ["message", "message", "leaf", "message"];
    expect((await reopened.tree()).path(reopened.leafId).map(({ type }) => type)).toEqual(types);
    const extracted = await reopened.extract();
    const kept = (await extracted.tree()).path(extracted.leafId);
    expect(kept.map(({ type }) => type)).toEqual(["message", "message", "message"]);
    const manager = SessionManager.open(path);
    manager.createBranchedSession(reopened.leafId as string);
    expect(manager.getEntries().map(({ type }) => type as string)).toEqual(types);
    await extracted.close();
    await reopened.close();
  },

  async forkTitle(dir) {
    const session = await conversation(dir, user("a"), reply("b"));
    await session.updateInfo({ name: "work" });
    await session.close();
    const fork = await storeIn(dir).fork(session.id);
    expect(fork.info.name).toBe("work (fork #1)");
    const ofPi = SessionManager.forkFrom(session.location as string, "/work/other", join(dir, "pi"));
    expect(ofPi.getSessionName()).toBe("work");
    await fork.close();
  },

  async listOrder(dir) {
    const older = { ...user("older"), timestamp: 1000 };
    const newer = { ...user("newer"), timestamp: 2000 };
    const sessions = [await conversation(dir, older), await conversation(dir, newer)];
    for (const session of sessions) await session.close();
    // The file of the older message was written last.
    const [first, second] = sessions as [Session, Session];
    utimesSync(first.location as string, 200, 200);
    utimesSync(second.location as string, 100, 100);
    const ours: (string | undefined)[] = [];
    for await (const { firstMessage } of storeIn(dir).list()) ours.push(firstMessage);
    expect(ours).toEqual(["older", "newer"]);
    const listed = await SessionManager.list(cwd, dirname(first.location as string));
    expect(listed.map(({ firstMessage }) => firstMessage)).toEqual(["newer", "older"]);
  },

  async listPreview(dir) {
    const text = ` ${"x".repeat(300)} `;
    const session = await conversation(dir, user(" "), user(text));
    await session.close();
    expect((await storeIn(dir).latest())?.firstMessage).toBe("x".repeat(200));
    const project = dirname(session.location as string);
    expect((await SessionManager.list(cwd, project)).map(({ firstMessage }) => firstMessage)).toEqual([" "]);
    const other = await conversation(join(dir, "other"), user(text));
    await other.close();
    const others = await SessionManager.list(cwd, dirname(other.location as string));
    expect(others.map(({ firstMessage }) => firstMessage)).toEqual([text]);
  },

  async listProject(dir) {
    const store = storeIn(dir);
    const locations: string[] = [];
    for (const project of ["/a/b", "/a-b"]) {
      const session = await store.create({ cwd: project });
      await session.appendMessage(user(project));
      locations.push(dirname(session.location as string));
      await session.close();
    }
    expect(locations[0]).toBe(locations[1]);
    const ours: string[] = [];
    for await (const session of store.list({ cwd: "/a/b" })) ours.push(session.cwd);
    expect(ours).toEqual(["/a/b"]);
    const listed = await SessionManager.list("/a/b", locations[0]);
    expect(listed.map((info) => info.cwd).sort()).toEqual(["/a-b", "/a/b"]);
  },
};

for (const [name, title] of Object.entries(differences)) {
  test(title, () => inDirectory(shown[name as DifferenceName]));
}
