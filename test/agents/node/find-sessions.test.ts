import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { memoryBlobStore, memorySessionStore } from "sessile";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { SessileError } from "sessile/errors";
import { importSession } from "sessile/interop";
import { type FindOptions, type FoundSession, findSessions, followSession, sessionFiles } from "sessile/node";
import { opencode } from "sessile/opencode";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readWindows, windowBytes } from "../../../src/agents/node/find-sessions.js";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "sessile-found-")));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const at = (...names: readonly string[]) => join(root, ...names);
const uuid = (digit: number) => `0000000${digit}-0000-4000-8000-00000000000${digit}`;
const lines = (...values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join("");

/** Writes a file whose time is so many seconds after 1970. */
function put(path: string, text: string, seconds = 1000): string {
  const full = at(path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  utimesSync(full, seconds, seconds);
  return full;
}

const homes: NonNullable<FindOptions["homes"]> = {
  get "claude-code"() {
    return at("claude");
  },
  get codex() {
    return at("codex");
  },
  get gemini() {
    return at("gemini");
  },
  get opencode() {
    return at("opencode");
  },
  get pi() {
    return at("pi");
  },
  get sessile() {
    return at("store");
  },
};

async function all<T>(items: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function find(options: FindOptions = {}): Promise<readonly FoundSession[]> {
  return await all(findSessions({ homes, ...options }));
}

const meta = (id: string, more: object = {}) => ({
  timestamp: "2026-01-01T00:00:00Z",
  type: "session_meta",
  payload: {
    id,
    cwd: "/w",
    timestamp: "2026-01-01T00:00:00Z",
    cli_version: "0.169.0",
    originator: "x",
    ...more,
  },
});
const asked = (message: string) => ({ type: "event_msg", payload: { type: "user_message", message } });
const rollout = (digit: number, folder = "sessions/2026/01/02") =>
  `codex/${folder}/rollout-2026-01-02T03-04-05-${uuid(digit)}.jsonl`;
const said = (more: object) => ({
  type: "user",
  uuid: "u",
  parentUuid: null,
  sessionId: uuid(1),
  cwd: "/w",
  timestamp: "2026-01-01T00:00:00Z",
  message: { role: "user", content: "what is\nhere?" },
  ...more,
});

function fillHomes(): void {
  put(
    `claude/projects/-w/${uuid(1)}.jsonl`,
    lines(said({}), { type: "summary", leafUuid: "u", summary: "A talk" }),
    60,
  );
  put("claude/projects/-w/agent-abc.jsonl", lines(said({ isSidechain: true, agentId: "abc" })), 50);
  put(`claude/projects/-w/${uuid(1)}/subagents/agent-def.jsonl`, lines(said({ isSidechain: true })), 50);
  put(rollout(2), lines(meta(uuid(2)), asked("fix the build")), 50);
  put(rollout(3, "archived_sessions"), lines(meta(uuid(3)), asked("old")), 40);
  put(`${rollout(4)}.zst`, "(\xb5/\xfd", 30);
  const index = [
    { id: uuid(3), thread_name: "first name" },
    { id: uuid(3), thread_name: "last name" },
  ];
  put("codex/session_index.jsonl", lines(...index));
  const hash = createHash("sha256").update("/other").digest("hex");
  put("gemini/projects.json", JSON.stringify({ projects: { "/w": "work", "/other": "elsewhere" } }));
  const chat = {
    sessionId: uuid(5),
    projectHash: "h",
    startTime: "2026-01-01T00:00:00Z",
    lastUpdated: "1970-01-01T00:00:20Z",
  };
  const question = { id: "m", type: "user", content: [{ text: "tell me" }] };
  put(
    "gemini/tmp/work/chats/session-2026-01-01T00-00-00000005.jsonl",
    lines(chat, question, { $set: { summary: "Told" } }),
    20,
  );
  put("gemini/tmp/work/chats/session-2026-01-01T00-05-00000005.jsonl", lines(chat, question), 21);
  put(
    `gemini/tmp/${hash}/chats/session-2026-01-01T00-00-00000006.json`,
    JSON.stringify({ ...chat, sessionId: uuid(6), messages: [question] }),
    19,
  );
  put(
    "opencode/storage/session/p/ses_1.json",
    JSON.stringify({ id: "ses_1", directory: "/w", title: "T", time: { created: 5, updated: 15_000 } }),
    10,
  );
  put(
    "opencode/storage/session/p/ses_2.json",
    JSON.stringify({
      id: "ses_2",
      directory: "/w",
      title: "C",
      parentID: "ses_1",
      time: { created: 6, updated: 14_000 },
    }),
    10,
  );
  put(
    "opencode/storage/message/ses_1/msg_1.json",
    JSON.stringify({ id: "msg_1", role: "user", time: { created: 5 } }),
  );
  put("opencode/storage/part/msg_1/prt_1.json", JSON.stringify({ id: "prt_1", type: "text", text: "hello" }));
  put(
    "opencode/storage/message/ses_2/msg_2.json",
    JSON.stringify({ id: "msg_2", role: "user", time: { created: 6 } }),
  );
  put("opencode/opencode.db", "SQLite format 3\0", 9);
  const header = { type: "session", version: 3, id: "p1", timestamp: "2026-01-01T00:00:00Z", cwd: "/w" };
  put("pi/sessions/--w--/2026_p1.jsonl", lines(header, { type: "session_info", name: "Pi's" }), 8);
  put("store/@x/s1.jsonl", lines({ ...header, id: "s1", sessile: 1 }), 7);
}

const row = ({ format, id, title, cwd }: FoundSession) => [format, id.slice(0, 8), title, cwd];

describe("findSessions", () => {
  it("lists the sessions of each agent, newest first, one a session", async () => {
    fillHomes();
    expect((await find()).map(row)).toEqual([
      ["claude-code", "00000001", "A talk", "/w"],
      ["codex", "00000002", "fix the build", "/w"],
      ["codex", "00000003", "last name", "/w"],
      ["codex", "00000004", undefined, undefined],
      ["gemini", "00000005", "tell me", "/w"],
      ["gemini", "00000006", "tell me", "/other"],
      ["opencode", "ses_1", "T", "/w"],
      ["opencode", "ses_2", "C", "/w"],
      ["opencode", "opencode", undefined, undefined],
      ["pi", "p1", "Pi's", "/w"],
      ["sessile", "s1", undefined, "/w"],
    ]);
  });

  it("names the files, the times and the parent of a session", async () => {
    fillHomes();
    const [talk] = await find({ agents: ["claude-code"] });
    expect(talk).toMatchObject({ created: Date.UTC(2026, 0, 1), modified: 60_000 });
    expect(talk?.paths).toEqual([`projects/-w/${uuid(1)}.jsonl`, "projects/-w/agent-abc.jsonl"]);
    const [first, second] = await find({ agents: ["opencode"] });
    expect([first?.parent, second?.parent]).toEqual([undefined, "ses_1"]);
    expect(first?.paths).toEqual(["storage/session/p/ses_1.json", "storage/session/p/ses_2.json"]);
  });

  it("lists the newest file of an id, with the time and the name of its session, and closes what it reads", async () => {
    const asked = (message: string) => ({ type: "event_msg", payload: { type: "user_message", message } });
    for (const [first, second] of [
      [50, 100],
      [100, 50],
    ] as const) {
      put(rollout(1), lines(meta(uuid(1)), asked(`at ${first}`)), first);
      put(rollout(1, "archived_sessions"), lines(meta(uuid(1)), asked(`at ${second}`)), second);
      const found = await find({ agents: ["codex"] });
      expect(found).toMatchObject([
        { id: uuid(1), title: "at 100", modified: 100_000, created: Date.UTC(2026, 0, 1) },
      ]);
    }
    put(`claude/projects/-w/${uuid(2)}.jsonl`, lines(said({ message: { role: "user", content: "Why?" } })));
    expect(await find({ agents: ["claude-code"] })).toMatchObject([{ title: "Why?" }]);
    if (process.platform === "linux") {
      const open = readdirSync("/proc/self/fd").flatMap((fd) => {
        try {
          return [readlinkSync(`/proc/self/fd/${fd}`)];
        } catch {
          return [];
        }
      });
      expect(open.filter((path) => path.startsWith(root))).toEqual([]);
    }
    await expect(find({ cwd: 5 as unknown as string })).rejects.toThrow("cwd: expected a string, got number");
  });

  it("shows the title of Claude Code's session that the agent shows", async () => {
    const command = "<command-message>a</command-message>\n<command-name>/a</command-name>";
    const u = (content: unknown, more: object = {}) => said({ message: { role: "user", content }, ...more });
    const t = (text: string) => ({ type: "text", text });
    const filler = { type: "assistant", message: { content: "y".repeat(70_000) } };
    const cases: readonly (readonly [string | undefined, ...object[]])[] = [
      [
        "Add tests",
        u("<command-name>/clear</command-name>"),
        u("<local-command-stdout></local-command-stdout>"),
        u("Add tests"),
      ],
      ["/a", u(command)],
      ["words", u(command), u("words")],
      ["go on", u([t("[Request interrupted by user for tool use]")]), u("go on")],
      ["Create it", u([t("<ide_opened_file>x</ide_opened_file>"), t("Create it")])],
      ["! ls", u("<bash-input>ls</bash-input>"), u("more")],
      ["x", u("<task-notification>a</task-notification>"), u('<note id="a">b</note>'), u("x")],
      ["<Component /> breaks", u("<Component /> breaks")],
      [
        "x",
        u("note", { isMeta: true }),
        u("sum", { isCompactSummary: true }),
        u([{ type: "tool_result" }, t("y")]),
        u("x"),
      ],
      ["late", ...Array.from({ length: 150 }, () => u("<command-name>/clear</command-name>")), u("late")],
      ["mine", u("x"), { type: "custom-title", customTitle: "mine" }, { type: "ai-title", aiTitle: "its" }],
      [
        "mine",
        u("x"),
        { type: "custom-title", customTitle: "mine" },
        filler,
        { type: "ai-title", aiTitle: "its" },
      ],
      [
        "its",
        u("x"),
        { type: "last-prompt", lastPrompt: "go" },
        { type: "ai-title", aiTitle: "its" },
        { type: "summary", summary: "sum" },
      ],
      ["go", u("x"), { type: "last-prompt", lastPrompt: "go" }, { type: "summary", summary: "sum" }],
      ["x", u("x"), { type: "custom-title", customTitle: "mine" }, { type: "custom-title", customTitle: "" }],
      ["x", u("x"), { type: "last-prompt", lastPrompt: command }],
      [undefined, u("[Request interrupted by user]")],
      ["\u{1f600}".repeat(100), u("\u{1f600}".repeat(120))],
      [`a${"\u{1f600}".repeat(99)}`, u(`a${"\u{1f600}".repeat(120)}`)],
    ];
    for (const [title, ...records] of cases) {
      put(`claude/projects/-w/${uuid(1)}.jsonl`, lines(...records));
      const [found] = await find({ agents: ["claude-code"] });
      expect(found?.title).toBe(title);
    }
  });

  it("reads the subagents of a workflow with their session", async () => {
    const folder = `claude/projects/-w/${uuid(1)}/subagents`;
    put(`claude/projects/-w/${uuid(1)}.jsonl`, lines(said({})));
    put(`${folder}/agent-a.jsonl`, lines(said({ isSidechain: true })));
    put(`${folder}/workflows/wf_1/agent-b.jsonl`, lines(said({ isSidechain: true })));
    put(`${folder}/workflows/wf_1/agent-b.meta.json`, "{}");
    put(`${folder}/workflows/wf_1/journal.jsonl`, lines({ type: "started" }));
    const [found] = await find({ agents: ["claude-code"] });
    const files = await sessionFiles(found as FoundSession);
    const name = ({ path }: { readonly path: string }) => path.slice(path.indexOf(uuid(1)));
    expect(
      files
        .filter(({ unclaimed }) => !unclaimed)
        .map(name)
        .toSorted(),
    ).toEqual(
      [
        `${uuid(1)}.jsonl`,
        `${uuid(1)}/subagents/agent-a.jsonl`,
        `${uuid(1)}/subagents/workflows/wf_1/agent-b.jsonl`,
        `${uuid(1)}/subagents/workflows/wf_1/agent-b.meta.json`,
      ].toSorted(),
    );
    expect(files.filter(({ unclaimed }) => unclaimed).map(name)).toEqual([
      `${uuid(1)}/subagents/workflows/wf_1/journal.jsonl`,
    ]);
  });

  it("lists the chats of Qwen Code, archived ones too, by the first words of the user", async () => {
    const record = (text: string, more: object = {}) => ({
      ...{
        uuid: "r",
        parentUuid: null,
        sessionId: uuid(1),
        type: "user",
        cwd: "/w",
        provenance: "real_user",
      },
      message: { role: "user", parts: [{ text }] },
      ...more,
    });
    const reminder = record("<system-reminder>x</system-reminder>");
    put(`qwen/projects/-w/chats/${uuid(1)}.jsonl`, lines(reminder, record("hello")), 20);
    const named = { type: "system", systemPayload: { customTitle: "Named" } };
    put(`qwen/projects/-w/chats/archive/${uuid(2)}.jsonl`, lines(record("hello"), record("", named)), 10);
    put(`qwen/projects/-w/subagents/${uuid(1)}/agent-x.jsonl`, lines(record("sub")));
    put(`qwen/projects/-w/subagents/${uuid(1)}/agent-x.meta.json`, "{}");
    const found = await find({ agents: ["qwen-code"], homes: { "qwen-code": at("qwen") } });
    expect(found.map(({ id, title, cwd }) => [id, title, cwd])).toEqual([
      [uuid(1), "hello", "/w"],
      [uuid(2), "Named", "/w"],
    ]);
    expect((await sessionFiles(found[0] as FoundSession)).map(({ path }) => path).toSorted()).toEqual([
      `projects/-w/chats/${uuid(1)}.jsonl`,
      `projects/-w/subagents/${uuid(1)}/agent-x.jsonl`,
      `projects/-w/subagents/${uuid(1)}/agent-x.meta.json`,
    ]);
  });

  it("has a finding for files in the session's folder that no place of the agent names", async () => {
    const folder = `claude/projects/-w/${uuid(1)}`;
    put(`${folder}.jsonl`, lines(said({})));
    put(`${folder}/tool-results/a.txt`, "long");
    const [found] = (await find({ agents: ["claude-code"] })) as [FoundSession];
    const findings = async () =>
      (await importSession(await sessionFiles(found), { from: claudeCode })).report.findings;
    const file = `projects/-w/${uuid(1)}/tool-results/a.txt`;
    const text = "1 file in the session's folder is not read: Claude Code has no place for such";
    expect(await findings()).toEqual([{ code: "unmapped", file, text }]);
    put(`${folder}/tool-results/b.txt`, "long");
    expect((await findings()).map((finding) => finding.text)).toEqual([
      text.replace("1 file", "2 files").replace(" is ", " are "),
    ]);
    // The name of a session in a file is no way out of the home.
    put(
      "gemini/tmp/w/chats/session-1.jsonl",
      lines({ sessionId: "../../../..", projectHash: "h", startTime: "2026-01-01T00:00:00Z" }),
    );
    const [chat] = (await find({ agents: ["gemini"] })) as [FoundSession];
    expect((await sessionFiles(chat)).map(({ path }) => path)).toEqual(["tmp/w/chats/session-1.jsonl"]);
  });

  it("lists the file of a subagent alone if its session was deleted, but not if only the subagent is new", async () => {
    fillHomes();
    const alone = lines(said({ isSidechain: true, sessionId: uuid(99) }));
    put("claude/projects/-w/agent-left.jsonl", alone, 70);
    const claude = async (since?: number) => {
      const found = await find({ agents: ["claude-code"], ...(since !== undefined && { since }) });
      return found.map(({ id, paths }) => [id.slice(0, 10), paths.length]);
    };
    expect(await claude()).toEqual([
      ["agent-left", 1],
      [uuid(1).slice(0, 10), 2],
    ]);
    put("claude/projects/-w/agent-abc.jsonl", lines(said({ isSidechain: true, agentId: "abc" })), 80);
    expect(await claude(75_000)).toEqual([]);
  });

  it("lists those of a directory, of some agents, or since a time", async () => {
    fillHomes();
    expect((await find({ cwd: "/other" })).map(row)).toEqual([["gemini", "00000006", "tell me", "/other"]]);
    expect(new Set((await find({ agents: ["pi", "codex"] })).map(({ format }) => format))).toEqual(
      new Set(["codex", "pi"]),
    );
    expect((await find({ since: 50_000 })).map(({ id }) => id)).toEqual([uuid(1), uuid(2)]);
    await expect(find({ since: -1 })).rejects.toThrow(RangeError);
    await expect(find({ agents: ["vim" as "pi"] })).rejects.toThrow(TypeError);
  });

  it("has subagents of Codex among the files of their thread, and the base among those of a fork", async () => {
    const spawn = { subagent: { thread_spawn: { parent_thread_id: uuid(1) } } };
    put(rollout(1), lines(meta(uuid(1))));
    put(rollout(2), lines(meta(uuid(2), { source: spawn })));
    put(rollout(3), lines(meta(uuid(3), { forked_from_id: uuid(1) })));
    const found = new Map((await find()).map((session) => [session.id, session]));
    expect(found.get(uuid(1))?.paths).toHaveLength(2);
    expect(found.get(uuid(2))).toMatchObject({ parent: uuid(1), paths: [expect.stringContaining(uuid(2))] });
    expect(found.get(uuid(3))?.paths.map((path) => path.slice(-12))).toEqual(
      ["00003.jsonl", "00001.jsonl"].map((end) => `0${end}`),
    );
  });

  it("finds the homes by the agents' variables", async () => {
    fillHomes();
    const before = process.env.CODEX_HOME;
    process.env.CODEX_HOME = at("codex");
    try {
      const found = await all(findSessions({ agents: ["codex"] }));
      expect(found).toHaveLength(3);
    } finally {
      if (before === undefined) delete process.env.CODEX_HOME;
      else process.env.CODEX_HOME = before;
    }
  });

  it("follows no link below a home, and a link to a home", async () => {
    put(`out/${uuid(1)}.jsonl`, lines(said({})));
    put(`claude/projects/-w/${uuid(2)}.jsonl`, lines(said({ sessionId: uuid(2) })));
    symlinkSync(at("out", `${uuid(1)}.jsonl`), at("claude/projects/-w", `${uuid(1)}.jsonl`));
    symlinkSync(at("out"), at("claude/projects/-out"));
    symlinkSync(at("claude/projects"), at("claude/projects/-loop"));
    symlinkSync(at("claude"), at("linked"));
    expect((await find()).map(({ id }) => id)).toEqual([uuid(2)]);
    const linked = await find({ homes: { ...homes, "claude-code": at("linked") }, agents: ["claude-code"] });
    expect(linked.map(({ id, home }) => [id, home])).toEqual([[uuid(2), at("claude")]]);
  });

  it("passes by what is no folder, no session or no file, and homes that are not there", async () => {
    expect(await find()).toEqual([]);
    put("claude/projects", "a file");
    put("codex/sessions/2026", "a file");
    put(rollout(1).replace("2026/01/02", "2025/01/02"), "no JSON at all");
    mkdirSync(at(rollout(2).replace("2026", "2025")), { recursive: true });
    put("gemini/tmp/work/chats/session-x.jsonl", lines({ noise: 1 }));
    put("opencode/storage/session/p/ses_1.json", "{");
    put("pi/sessions/x/a.jsonl", "\0\0\0");
    // The name of a rollout has its id.
    expect((await find()).map(({ format, id }) => [format, id])).toEqual([["codex", uuid(1)]]);
    const gone = { file: at("gone"), path: "gone", modified: 0, bytes: 5 };
    expect(await readWindows(gone)).toBeUndefined();
  });

  it("reads the start and the end of a file, though they cut a line", async () => {
    const instructions = "x".repeat(2 * windowBytes);
    put(rollout(1), lines(meta(uuid(1), { instructions }), asked("later")));
    const noise = Array.from({ length: 3000 }, (_, index) =>
      said({ uuid: `u${index}`, message: { content: "é".repeat(40) } }),
    );
    put(
      `claude/projects/-w/${uuid(2)}.jsonl`,
      lines(...noise, { type: "custom-title", customTitle: "The end" }),
    );
    const byFormat = Object.fromEntries((await find()).map((session) => [session.format, session]));
    expect(byFormat.codex).toMatchObject({ id: uuid(1), cwd: "/w" });
    expect(byFormat["claude-code"]).toMatchObject({ title: "The end" });
  });

  it("takes no text for a path, and writes nothing", async () => {
    put(
      "opencode/storage/session/p/ses_1.json",
      JSON.stringify({ id: "../../../etc", title: "a\u0000b\nc", directory: "/w" }),
    );
    put(rollout(1), lines(meta("/etc/passwd")));
    const before = readdirSync(root, { recursive: true }).map((name) => [
      name,
      statSync(at(String(name))).mtimeMs,
    ]);
    const found = await find();
    expect(found.map(({ id, title }) => [id, title])).toEqual(
      expect.arrayContaining([
        ["../../../etc", "a b c"],
        ["/etc/passwd", undefined],
      ]),
    );
    for (const session of found)
      for (const { path } of await sessionFiles(session)) expect(path).not.toContain("..");
    expect(
      readdirSync(root, { recursive: true }).map((name) => [name, statSync(at(String(name))).mtimeMs]),
    ).toEqual(before);
  });
});

describe("sessionFiles", () => {
  it("gives the files of a session and of its subagents to an import", async () => {
    fillHomes();
    const [talk] = await find({ agents: ["claude-code"] });
    const files = await sessionFiles(talk as FoundSession);
    expect(files.map(({ path }) => path)).toEqual([
      `projects/-w/${uuid(1)}.jsonl`,
      "projects/-w/agent-abc.jsonl",
      `projects/-w/${uuid(1)}/subagents/agent-def.jsonl`,
    ]);
    const [stored] = await find({ agents: ["opencode"] });
    const blobs = memoryBlobStore();
    const imported = await importSession(await sessionFiles(stored as FoundSession), {
      from: opencode,
      blobs,
      session: "ses_1",
    });
    expect(imported.header.id).toBe("ses_1");
    expect(imported.entries).toContainEqual(expect.objectContaining({ type: "message" }));
    expect(imported.children.map(({ header }) => header.id)).toEqual(["ses_2"]);
  });

  it("refuses a session whose file is gone, and paths out of the home", async () => {
    put(rollout(1), lines(meta(uuid(1))));
    const [found] = await find();
    put("secret.jsonl", "x");
    const lured = {
      ...(found as FoundSession),
      paths: [...(found?.paths ?? []), "../secret.jsonl", at("secret.jsonl")],
    };
    expect((await sessionFiles(lured)).map(({ path }) => path)).toEqual(found?.paths);
    rmSync(at(rollout(1)));
    await expect(sessionFiles(found as FoundSession)).rejects.toSatisfy((error) =>
      SessileError.is(error, "SESSION_NOT_FOUND"),
    );
  });
});

describe("followSession", () => {
  it("names the session to an import if its files hold several", async () => {
    fillHomes();
    const named = new Map<string, string | undefined>();
    for (const found of await find({ agents: ["codex", "claude-code", "opencode"] })) {
      const stop = followSession(found, {
        sessions: memorySessionStore(),
        importFiles: (_, session) => {
          named.set(found.id, session);
          throw new Error("stop");
        },
      });
      await expect(stop).rejects.toThrow("stop");
      // A database has no session's name.
      const isNamed = ["codex", "opencode"].includes(found.format) && !found.id.endsWith(".db");
      expect(named.get(found.id)).toBe(isNamed ? found.id : undefined);
    }
    expect(new Set(named.values()).size).toBeGreaterThan(2);
  });

  it("stores a session, adds what was appended, and nothing twice", async () => {
    const item = (text: string) => ({
      timestamp: "2026-01-01T00:00:01Z",
      type: "response_item",
      payload: { type: "message", role: "user", content: [{ type: "input_text", text }] },
    });
    const start = lines(meta(uuid(1)), item("one"));
    const file = put(rollout(1), start);
    const sessions = memorySessionStore();
    const follow = async () => {
      const [found] = await find();
      const session = await followSession(found as FoundSession, {
        sessions,
        importFiles: (files) => importSession(files, { from: codex, keep: "none" }),
      });
      const path = await session.path();
      await session.close();
      return path.flatMap((entry) =>
        entry.type === "message" ? [(entry.message as { content: unknown }).content] : [],
      );
    };
    const texts = (found: readonly unknown[]) => JSON.stringify(found).match(/one|two/g);
    expect(texts(await follow())).toEqual(["one"]);
    expect(texts(await follow())).toEqual(["one"]);
    writeFileSync(file, start + lines(item("two")));
    expect(texts(await follow())).toEqual(["one", "two"]);
  });
});
