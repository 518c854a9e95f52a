import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type Anthropic from "@anthropic-ai/sdk";
import { assistantMessage, messageText, type Session, userMessage } from "sessile";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { png } from "../attachments/samples.js";
import { startAnthropic } from "../support/providers/anthropic/server.js";
import {
  type ProviderServer,
  type ReceivedRequest,
  startProvider,
} from "../support/providers/local-server.js";
import {
  claudeAt,
  type ExampleRun,
  runClosingWords,
  runExample,
  startExample,
  startProgram,
} from "./support/run-example.js";

let scratch: string;
let dir: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-demo-test-"));
});
beforeEach(() => {
  dir = mkdtempSync(join(scratch, "project-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const demo = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runExample("01-coding-agent", args, { TMPDIR: scratch, ...env });

/** Generous: each takes about a second where nothing else runs. */
const timeout = 600_000;

const storeIn = (place: string) => fileSessionStore({ dir: join(place, ".sessile", "sessions") });

async function openLatest(place: string, mode: "read" | "write" = "read"): Promise<Session> {
  const latest = await storeIn(place).latest({ cwd: place });
  if (latest === undefined) throw new Error("there is no session");
  return storeIn(place).open(latest, { mode });
}

/** The ids of the entries that a run printed as written. */
const written = ({ stdout }: ExampleRun) => [...stdout.matchAll(/^ {2}\+ (\w{8,16}) /gm)].map(([, id]) => id);

const reply = (text: string) => assistantMessage({ provider: "anthropic", model: "claude-opus-5-5" }, text);
const text = (text: string): Anthropic.ContentBlock => ({ type: "text", text, citations: null });
const call = (id: string, name: string, input: object): Anthropic.ContentBlock => ({
  type: "tool_use",
  id,
  name,
  input,
  caller: { type: "direct" },
});
const messagesOf = ({ body }: ReceivedRequest) =>
  JSON.stringify((body as Anthropic.MessageCreateParams).messages);
const imagesIn = (request: ReceivedRequest) => messagesOf(request).match(/"type":"image"/g)?.length ?? 0;

describe("npm run demo", () => {
  let run: ExampleRun;
  let place: string;
  beforeAll(async () => {
    run = await startProgram(["scripts/demo.mjs"], { TMPDIR: scratch }).done;
    place = /^next: {4}npm run demo -- (\S+) "PROMPT"$/m.exec(run.stdout)?.[1] ?? "";
  }, timeout);

  it("ends well without a key, and prints each entry once it is written", async () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    await using session = await openLatest(place);
    expect(written(run)).toEqual([...(await session.tree()).walk()].map(({ node }) => node.id));
    expect(run.stdout).toContain(`session: ${session.location}`);
    expect(await session.diagnose()).toEqual([]);
  });

  it("works with real tools, and streams", () => {
    expect(readFileSync(join(place, "NOTES.md"), "utf8")).toBe(
      "# Notes on Tally\n\nIt counts words, in one line of shell.\n",
    );
    expect(run.stdout).toMatch(/^ {2}\+ \w{8,16} toolResult: 1 tally\.sh $/m);
    // The text is printed as it comes, before its entry is written.
    expect(run.stdout).toMatch(
      /^NOTES\.md is written: .*\n {2}\+ \w{8,16} assistant: NOTES\.md is written: /m,
    );
  });

  it("ends with the session in the command line: the tree with its leaf, and a page to look at", async () => {
    const [, tree = "", view = ""] = run.stdout.split(/^\$ npx sessile .*\n/m);
    await using session = await openLatest(place);
    expect(tree).toMatch(/^ {2}\w{8,16} assistant: <read> <bash> I look at the project first\.$/m);
    expect(tree).toMatch(/^\* \w{8,16} assistant: A single red pixel\.$/m);
    const [page = ""] = view.split("  ");
    expect(readFileSync(page, "utf8")).toContain(session.id);
    const [shown, viewed] = await runClosingWords(run, place);
    expect(`${shown?.stdout}\n`).toBe(tree);
    expect(viewed?.stdout).toContain(`${session.id}.html`);
  });

  it("keeps an attachment once, under its digest, and none in the log", async () => {
    await using session = await openLatest(place);
    const image = readFileSync(join(place, "dot.png"));
    const log = readFileSync(session.location ?? "", "utf8");
    const [, ref] = /"blob":"(sha256:[0-9a-f]{64})"/.exec(log) ?? [];
    const blobs = fileBlobStore({ dir: join(place, ".sessile") });
    expect(Buffer.from((await blobs.get(ref as `sha256:${string}`)) ?? [])).toEqual(image);
    expect(log).not.toContain(image.toString("base64").slice(0, 40));
  });
});

describe("the coding agent", () => {
  const slow = "echo begun >> audit.log; sleep 600; echo done >> audit.log";

  // @covers R25
  it("loses nothing when it is killed, and finishes the turn when it is started again", {
    timeout,
  }, async () => {
    writeFileSync(join(dir, "README.md"), "# Tally\n");
    const calls = [
      call("toolu_1", "read", { path: "README.md" }),
      call("toolu_2", "bash", { command: slow }),
      call("toolu_3", "write", { path: "NOTES.md", content: "Tally.\n" }),
    ];
    await using server = await startAnthropic([
      { content: [text("I look."), ...calls] },
      { content: [text("The notes are written.")] },
      { content: [text("Tally.")] },
    ]);
    const { child, done } = startExample("01-coding-agent", [dir, "Write notes."], claudeAt(server.url));
    while (child.exitCode === null && !existsSync(join(dir, "audit.log"))) await setTimeout(20);
    child.kill("SIGKILL");
    const killed = await done;
    expect(killed.signal).toBe("SIGKILL");
    expect(written(killed)).toHaveLength(6);
    {
      await using session = await openLatest(dir);
      expect([...(await session.tree()).walk()].map(({ node }) => node.id)).toEqual(written(killed));
      const states = (await session.toolStates()).map(({ call, state }) => `${call.name} ${state}`);
      expect(states).toEqual(["read completed", "bash running", "write pending"]);
    }

    const next = await demo([dir, "In one word?"], claudeAt(server.url));
    expect(next).toMatchObject({ code: 0, stderr: "" });
    // The command had begun, so it is not run again; the call after it had not.
    expect(readFileSync(join(dir, "audit.log"), "utf8")).toBe("begun\n");
    expect(readFileSync(join(dir, "NOTES.md"), "utf8")).toBe("Tally.\n");
    const resumed = messagesOf(server.requests[1] as ReceivedRequest);
    expect(resumed).toMatch(
      /"is_error":true[^}]*"tool_use_id":"toolu_2"|"tool_use_id":"toolu_2".*"is_error":true/,
    );
    expect(resumed).toContain("Interrupted: the process that ran this call ended.");
    expect(server.requests).toHaveLength(3);

    await using session = await openLatest(dir);
    const { items } = await session.context();
    expect(items.map(({ message }) => message.role)).toEqual([
      ...["system", "user", "assistant", "toolResult", "toolResult", "toolResult", "assistant"],
      ...["user", "assistant"],
    ]);
    expect(await session.diagnose()).toEqual([]);
    const notes = items[6]?.entryId ?? "";
    await using fork = await storeIn(dir).fork(session.id, { upTo: notes });
    expect((await fork.context()).items).toEqual((await session.context(notes)).items);
  });

  it("goes back to an entry: the other branch is summarised, and not in the request", {
    timeout,
  }, async () => {
    await using server = await startAnthropic([
      { content: [text("Sorting was considered.")] },
      { content: [text("Words.")] },
    ]);
    const session = await storeIn(dir).create({ cwd: dir });
    const said = [userMessage("What does it do?"), reply("It counts.")];
    const left = [userMessage("What else?"), reply("It could sort, too.")];
    const messages = [...said, ...left].map((message) => ({ type: "message", message }) as const);
    const answered = (await session.append(messages))[1]?.id;
    await session.close();
    const back = await demo([dir, "--at", answered ?? "", "What does it count?"], claudeAt(server.url));
    expect(back).toMatchObject({ code: 0, stderr: "" });
    expect(back.stdout).toMatch(/^ {2}\+ \w{8,16} branch_summary: .*Sorting was considered\./m);
    const [tree] = await runClosingWords(back, dir);
    expect(tree?.stdout).toMatch(/^ {4}\w{8,16} branch summary: Sorting was considered\.$/m);
    const [summary = "", asked = ""] = server.requests.map(messagesOf);
    expect(summary).toContain("It could sort, too.");
    expect(asked).toContain("It counts.");
    expect(asked).toContain("Sorting was considered.");
    expect(asked).not.toContain("It could sort, too.");
    await using after = await openLatest(dir);
    const last = (await after.context()).items.at(-1);
    expect(last && messageText(last.message)).toBe("Words.");
  });

  it("sends a file in its turn, describes it later, and shows it again to a model that asks", {
    timeout,
  }, async () => {
    writeFileSync(join(dir, "shot.png"), png(4, 5));
    const idIn = (request: ReceivedRequest | undefined) =>
      /view (res_[0-9a-f]{16})/.exec(request === undefined ? "" : messagesOf(request))?.[1] ?? "none";
    await using server: ProviderServer = await startAnthropic([
      { content: [text("A square.")] },
      {
        get content() {
          return [call("toolu_1", "view_resource", { resourceId: idIn(server.requests[1]) })];
        },
      },
      { content: [text("A rectangle.")] },
    ]);
    const run = await demo([dir, "What is @shot.png?", "Look again."], claudeAt(server.url));
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(server.requests.map(imagesIn)).toEqual([1, 0, 1]);
    expect(server.requests.map(({ body }) => (body as Anthropic.MessageCreateParams).stream)).toEqual([
      true,
      true,
      true,
    ]);
    await using session = await openLatest(dir);
    const log = readFileSync(session.location ?? "", "utf8");
    expect(log).not.toContain(Buffer.from(png(4, 5)).toString("base64").slice(0, 40));
  });

  // @covers R25
  it("compacts when its window is full, and goes on from the summary", { timeout }, async () => {
    const long = text("It may be the port. ".repeat(150));
    const write = call("toolu_1", "write", { path: "NOTES.md", content: "Notes." });
    await using server = await startAnthropic([
      { content: [long, write] },
      { content: [long, call("toolu_2", "read", { path: "NOTES.md" })] },
      { content: [long, call("toolu_3", "read", { path: "NOTES.md" })] },
      { content: [long], usage: { input_tokens: 4_100 } },
      { content: [text("## Original Request\nFind what is wrong.")] },
      { content: [text("Still the port.")] },
    ]);
    const env = { ...claudeAt(server.url), CONTEXT_WINDOW: "8000" };
    const run = await demo([dir, "What is wrong?", "Go on."], env);
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toMatch(/^ {2}compacted: \d+ -> \d+ tokens$/m);
    const [asked = "", after = ""] = server.requests.slice(4).map(messagesOf);
    expect(asked).toContain("<conversation>\\n[User]: What is wrong?");
    expect(after).toContain("## Original Request\\nFind what is wrong.");
    expect(after).toContain("NOTES.md\\n</modified-files>");
  });

  it("keeps what was said when the provider fails, and asks again the next time", { timeout }, async () => {
    await using broken = await startProvider({
      breaches: () => [{ rule: "any", path: "", problem: "" }],
      reply: () => ({ json: {} }),
      refuse: () => ({ json: { type: "error", error: { type: "invalid_request_error", message: "No." } } }),
    });
    const failed = await demo([dir, "Hello?"], claudeAt(broken.url));
    expect(failed.code).toBe(1);
    expect(written(failed)).toHaveLength(2);
    await using server = await startAnthropic([{ content: [text("Hello.")] }]);
    const next = await demo([dir], claudeAt(server.url));
    expect(next).toMatchObject({ code: 0, stderr: "" });
    expect(next.stdout).toContain("Hello.\n");
    expect(messagesOf(server.requests[0] as ReceivedRequest)).toContain("Hello?");
  });

  it("says which lines of a session are damaged, and works with the rest", { timeout }, async () => {
    const session = await storeIn(dir).create({ cwd: dir });
    await session.append(
      [userMessage("One."), reply("Yes.")].map((message) => ({ type: "message", message })),
    );
    await session.close();
    appendFileSync(session.location ?? "", "{oops\n");
    await using server = await startAnthropic();
    const run = await demo([dir, "Two."], claudeAt(server.url));
    expect(run.code).toBe(0);
    expect(run.stderr).toMatch(/^line 4: /);
    expect(messagesOf(server.requests[0] as ReceivedRequest)).toContain("One.");
  });
});

describe("its tools", () => {
  it("stay in the directory, and show images", { timeout }, async () => {
    mkdirSync(join(dir, "work"));
    writeFileSync(join(dir, "secret"), "secret\n");
    writeFileSync(join(dir, "work", "shot.txt"), png(4, 5));
    const inputs = ["../secret", "/etc/passwd", "link/secret", "new/../../secret", "shot.txt"];
    symlinkSync("..", join(dir, "work", "link"));
    symlinkSync("../absent", join(dir, "work", "dangling"));
    await using server = await startAnthropic([
      {
        content: [
          ...inputs.map((path, at) => call(`toolu_r${at}`, "read", { path })),
          ...["../secret", "dangling", "link/x"].map((path, at) =>
            call(`toolu_w${at}`, "write", { path, content: "x" }),
          ),
          call("toolu_e", "edit", { path: "shot.txt", oldText: "absent", newText: "x" }),
          call("toolu_b", "bash", { command: "echo [$ANTHROPIC_API_KEY]; cat; exit 3" }),
          call("toolu_n", "fly", { path: "x" }),
        ],
      },
    ]);
    const run = await demo([join(dir, "work"), "Try."], claudeAt(server.url));
    expect(run).toMatchObject({ code: 0, stderr: "" });
    await using session = await openLatest(join(dir, "work"));
    const results = (await session.context()).items.flatMap(({ message }) =>
      message.role === "toolResult"
        ? [`${message.isError} ${messageText(message, { attachments: true })}`]
        : [],
    );
    expect(results.slice(0, 4)).toEqual(
      inputs.slice(0, 4).map((path) => `true ${path} is outside the workspace`),
    );
    expect(results[4]).toMatch(/^false \[image shot\.txt, image\/png/);
    for (const result of results.slice(5, 8)) expect(result).toMatch(/^true .* is outside the workspace$/);
    expect(results.slice(8)).toEqual([
      "true oldText is there 0 times, expected once",
      "true []\n\n[exit code 3]",
      "true There is no tool fly. The tools are: read, write, edit, bash",
    ]);
    expect(imagesIn(server.requests[1] as ReceivedRequest)).toBe(1);
    expect(readFileSync(join(dir, "secret"), "utf8")).toBe("secret\n");
    expect(existsSync(join(dir, "absent"))).toBe(false);
  });
});
