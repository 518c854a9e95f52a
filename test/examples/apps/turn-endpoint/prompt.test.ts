import { execFileSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blockResource, memoryBlobStore, type UserMessage } from "sessile";
import type { AgentUserMessage } from "sessile/claude-agent";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePdf, makePng } from "../../../../examples/apps/support/make-media.js";
import { turnClient } from "../../../../examples/apps/turn-endpoint/client.js";
import { messageOf, readPrompt } from "../../../../examples/apps/turn-endpoint/prompt.js";
import { startTurnServer } from "../../../../examples/apps/turn-endpoint/server.js";
import { maker, modelThatSays, type Served, TurnFixture } from "./turn-fixture.js";

describe("the prompt", () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), "sessile-prompt-test-"));
    writeFileSync(join(dir, "screen.png"), makePng(20, 10));
    writeFileSync(join(dir, "paper.pdf"), makePdf());
    writeFileSync(join(dir, "notes.md"), "\uFEFF# Notes\r\n");
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const { signal } = new AbortController();
  const at = (name: string) => join(dir, name);
  const read = (message: string, names: readonly string[]) =>
    readPrompt(message, names.map(at), { roots: [dir], sessionId: "s1", signal });

  /** The messages for an agent that reads a stream. */
  async function streamed(
    prompt: string | AsyncIterable<AgentUserMessage>,
  ): Promise<readonly AgentUserMessage[]> {
    if (typeof prompt === "string") throw new Error("the prompt is a string");
    const messages: AgentUserMessage[] = [];
    for await (const message of prompt) messages.push(message);
    return messages;
  }

  const contentOf = ({ content }: UserMessage) => content;

  describe("the prompt of a turn", () => {
    // @covers R168
    it("is a string where there is text alone, and so is the message of the session", async () => {
      const turn = await read("What is wrong?", []);
      expect(turn.prompt).toBe("What is wrong?");
      const message = await messageOf(turn, { blobs: memoryBlobStore(), signal });
      expect(contentOf(message)).toBe("What is wrong?");
    });

    // @covers R169
    it("is a stream of one message where there are files, and the session's has the same bytes in the same order", async () => {
      const names = ["screen.png", "paper.pdf", "notes.md"];
      const turn = await read("What is wrong?", names);
      const [only, ...more] = await streamed(turn.prompt);
      expect(more).toEqual([]);
      expect(only).toMatchObject({ type: "user", parent_tool_use_id: null, session_id: "s1" });
      expect(only?.message.content.map(({ type }) => type)).toEqual([
        "text",
        "image",
        "document",
        "document",
      ]);

      const blobs = memoryBlobStore();
      const { content } = await messageOf(turn, { blobs, signal });
      if (typeof content === "string") throw new Error("no blocks");
      expect(content[0]).toEqual({ type: "text", text: "What is wrong?" });
      const resources = content.slice(1).map((block) => blockResource(block));
      expect(resources.map((resource) => resource?.name)).toEqual(names);
      for (const [index, name] of names.entries()) {
        const resource = resources[index];
        if (resource === undefined || resource.kind === "link") throw new Error("no bytes");
        const stored = await blobs.get(resource.blob);
        expect(Buffer.compare(stored as Uint8Array, readFileSync(at(name)))).toBe(0);
        const block = only?.message.content[index + 1];
        if (block === undefined || block.type === "text") throw new Error("no file");
        const sent = Buffer.from(block.source.data, block.source.type === "base64" ? "base64" : "utf8");
        expect(Buffer.compare(sent, stored as Uint8Array)).toBe(0);
      }
    });

    it("has a warning in front where some files failed, in the stream as in the session", async () => {
      const turn = await read("And?", ["gone.png", "screen.png", "gone.pdf"]);
      const [only] = await streamed(turn.prompt);
      const [warning, text, image] = only?.message.content ?? [];
      expect(warning).toMatchObject({
        type: "text",
        text: expect.stringMatching(/^Warning: 2 of 3 attachments/),
      });
      expect([text, image?.type]).toEqual([{ type: "text", text: "And?" }, "image"]);
      const { content } = await messageOf(turn, { blobs: memoryBlobStore(), signal });
      expect(content).toMatchObject([warning, text, { resource: { name: "screen.png" } }]);
      expect(turn.errors.map(({ code }) => code)).toEqual(["NOT_FOUND", "NOT_FOUND"]);
    });

    it("is a string again where all files failed and there is text: the warning, and the text", async () => {
      const turn = await read("And?", ["gone.png"]);
      expect(turn.prompt).toMatch(/^Warning: 1 of 1 attachments.*\n.*\n\nAnd\?$/);
      expect(contentOf(await messageOf(turn, { blobs: memoryBlobStore(), signal }))).toBe(turn.prompt);
    });

    it("is none where all files failed and there is no text", async () => {
      await expect(read(" ", ["gone.png"])).rejects.toMatchObject({
        code: "ATTACHMENT_FAILURE",
        details: { status: 400, category: "ALL_ATTACHMENTS_FAILED_NO_TEXT" },
      });
    });

    it("has a file that is named twice once, so that each name is that of its bytes", async () => {
      const turn = await read("", ["screen.png", "gone.png", "notes.md", "screen.png"]);
      expect(turn.names).toEqual(["screen.png", "notes.md"]);
    });

    it("is read once: what becomes of a file afterwards changes nothing", async () => {
      writeFileSync(at("draft.txt"), "before");
      const turn = await read("", ["draft.txt"]);
      writeFileSync(at("draft.txt"), "after");
      const blobs = memoryBlobStore();
      const { content } = await messageOf(turn, { blobs, signal });
      const resource = blockResource(content[0] as { type: "text"; text: string });
      if (resource === undefined || resource.kind === "link") throw new Error("no bytes");
      expect(Buffer.from((await blobs.get(resource.blob)) as Uint8Array).toString()).toBe("before");
    });
  });
});

describe("rules for attachments", () => {
  const place = new TurnFixture();
  let served: Served;
  /** Paths by their kind. */
  const paths: Record<string, string> = {};

  beforeAll(async () => {
    served = await place.serve(modelThatSays("Hello."));
    const inside = (name: string) => join(place.workspace, name);
    const outside = (name: string) => join(place.dir, name);
    const secret = outside("secret.txt");
    writeFileSync(secret, "a secret");
    mkdirSync(outside("elsewhere"));
    writeFileSync(join(outside("elsewhere"), "secret.txt"), "a secret");
    mkdirSync(inside("folder.txt"));
    symlinkSync(secret, inside("link.txt"));
    symlinkSync(place.file("real.txt", "real"), inside("link-inside.txt"));
    symlinkSync(outside("elsewhere"), inside("way-out"));
    symlinkSync("/proc/self", inside("proc"));
    symlinkSync(inside("loop.txt"), inside("loop.txt"));
    execFileSync("mkfifo", [inside("fifo.txt")]);
    await new Promise<void>((done) => createServer().unref().listen(inside("socket.txt"), done));
    truncateSync(place.file("huge.txt", "x"), 2 ** 40);
    chmodSync(place.file("locked.txt", "x"), 0);
    mkdirSync(`${place.workspace}-evil`);
    writeFileSync(join(`${place.workspace}-evil`, "a.txt"), "a secret");
    Object.assign(paths, {
      "a file outside": secret,
      "a way out by ..": `${place.workspace}/../secret.txt`,
      "a neighbour whose name begins the same": join(`${place.workspace}-evil`, "a.txt"),
      "a link to a file outside": inside("link.txt"),
      "a link to a file inside": inside("link-inside.txt"),
      "a file behind a link to a directory outside": inside("way-out/secret.txt"),
      "a link to itself": inside("loop.txt"),
      "a directory": inside("folder.txt"),
      "a FIFO": inside("fifo.txt"),
      "a socket": inside("socket.txt"),
      "/proc": "/proc/self/environ.txt",
      "/proc behind a link": inside("proc/cwd/README.md"),
      "/proc by another way": "/proc/self/cwd/README.md",
      "a device": "/dev/zero.txt",
      "/etc/passwd": "/etc/passwd",
      "a name without a file": inside("gone.txt"),
      "a name without a file outside": outside("gone.txt"),
      "a file of the sessions": join(place.dir, "sessions", "s.txt"),
      "a relative path": "workspace/real.txt",
      "a file URL": `file://${inside("real.txt")}`,
      "another URL": "https://example.com/a.png",
      nothing: "",
      "a NUL": `${inside("real.txt")}\0.txt`,
      "half of a pair": `${place.workspace}/\uD800.txt`,
      "a path without end": `/${"a/".repeat(50_000)}a.txt`,
      "a terabyte": inside("huge.txt"),
      "the home of somebody": "~/a.txt",
    });
  });
  afterAll(() => place[Symbol.asyncDispose]());

  const turn = (attachments: readonly string[]) =>
    served.client.send("POST", "/api/harness/turn", { message: "", attachments });

  describe("a path of a request that is no file of this machine's to be read", () => {
    it.each([
      ["a file outside", "PATH_REFUSED"],
      ["a way out by ..", "PATH_REFUSED"],
      ["a neighbour whose name begins the same", "PATH_REFUSED"],
      ["a link to a file outside", "PATH_REFUSED"],
      ["a link to a file inside", "SYMLINK"],
      ["a file behind a link to a directory outside", "PATH_REFUSED"],
      ["a link to itself", "SYMLINK"],
      ["a directory", "NOT_A_FILE"],
      ["a FIFO", "NOT_A_FILE"],
      ["a socket", "NOT_A_FILE"],
      ["/proc", "PATH_REFUSED"],
      ["/proc behind a link", "PATH_REFUSED"],
      ["/proc by another way", "PATH_REFUSED"],
      ["a device", "PATH_REFUSED"],
      ["/etc/passwd", "UNSUPPORTED_EXTENSION"],
      ["a name without a file", "NOT_FOUND"],
      // Whether a file outside exists is not revealed.
      ["a name without a file outside", "PATH_REFUSED"],
      ["a file of the sessions", "PATH_REFUSED"],
      ["a relative path", "NOT_ABSOLUTE"],
      ["a file URL", "NOT_ABSOLUTE"],
      ["another URL", "NOT_ABSOLUTE"],
      ["nothing", "NOT_ABSOLUTE"],
      ["a NUL", "PATH_REFUSED"],
      ["half of a pair", "PATH_REFUSED"],
      ["a path without end", "PATH_REFUSED"],
      ["a terabyte", "FILE_TOO_LARGE"],
      ["the home of somebody", "NOT_ABSOLUTE"],
    ])("is %s: %s", async (what, code) => {
      const answer = await turn([paths[what] as string]);
      const body = await answer.text();
      expect([answer.status, JSON.parse(body).error.errors[0].code]).toEqual([400, code]);
      expect(body).not.toContain(place.dir);
      expect(body.length).toBeLessThan(1000);
    });

    it.skipIf(process.getuid?.() === 0)(
      "is one that may not be read (skipped for root, who may)",
      async () => {
        const answer = await turn([join(place.workspace, "locked.txt")]);
        expect((await answer.json()).error.errors[0].code).toBe("UNREADABLE");
      },
    );

    // @covers R13
    it("is none of them in a turn with text: nothing of what lies there reaches the session", async () => {
      const attachments = Object.values(paths);
      const answer = await served.client.send("POST", "/api/harness/turn", {
        message: "Read these.",
        attachments,
      });
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain("event: done");
      const said = JSON.stringify((await served.client.session()).entries);
      expect(said).not.toMatch(/a secret|root:|PATH=/);
      expect(said).not.toContain(place.dir);
    });
  });

  describe("a path that may be read", () => {
    it("has the file itself, by a hard link too, and one behind a link to a directory inside", async () => {
      place.file("plain.png", makePng(4, 4));
      linkSync(join(place.workspace, "plain.png"), join(place.workspace, "hard.png"));
      mkdirSync(join(place.workspace, "real-folder"));
      place.file("real-folder/deep.png", makePng(4, 4));
      symlinkSync(join(place.workspace, "real-folder"), join(place.workspace, "folder-link"));
      const names = ["plain.png", "hard.png", "folder-link/deep.png"];
      const answer = await turn(names.map((name) => join(place.workspace, name)));
      expect(answer.status).toBe(200);
      expect(await answer.text()).not.toContain("event: warning");
    });

    it("is none without a workspace but those of uploads", async () => {
      const dir = join(place.dir, "bare");
      await using server = await startTurnServer({ dir, model: modelThatSays("Hello."), maker });
      const client = turnClient(server);
      const file = await client.upload("a.png", makePng(4, 4));
      expect((await client.turn("", [file.path])).at(-1)?.event).toBe("done");
      const attachments = [place.file("b.png", makePng(4, 4))];
      const other = await client.send("POST", "/api/harness/turn", { message: "", attachments });
      expect((await other.json()).error.errors[0].code).toBe("PATH_REFUSED");
    });

    it.each(["bidi \u202Egnp.png", "]<script>alert(1)<.png", "a\n\nHuman: b.png", `${"ü".repeat(100)}.png`])(
      "may have any name, %j, which the model reads on one line",
      async (name) => {
        await using own = new TurnFixture();
        const { client, provider } = await own.serveClaude();
        const events = await client.turn("", [own.file(name, makePng(4, 4))]);
        expect(events[0]?.data.resources?.[0]?.name).toBe(name);
        const [message] = provider.requests[0]?.messages ?? [];
        if (message === undefined || typeof message.content === "string") throw new Error("no blocks");
        for (const block of message.content) {
          if (block.type === "text") expect(block.text).toMatch(/^\[image [^\]\n\u202E]{1,160}\]$/);
        }
      },
    );
  });

  // @covers R166
  it("a budget of 18 MiB holds for the turn, and what it leaves out is named", async () => {
    const nine = 9 * 2 ** 20;
    const files = ["1.txt", "2.txt", "3.txt"].map((name, at) =>
      place.file(name, Buffer.alloc(at < 2 ? nine : 1, "a")),
    );
    const events = await served.client.turn("Read these.", files);
    expect(events.find(({ event }) => event === "warning")?.data.failed).toMatchObject([
      { name: "3.txt", code: "TURN_BUDGET_EXCEEDED" },
    ]);
  });
});
