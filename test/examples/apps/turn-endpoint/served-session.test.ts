import { join } from "node:path";
import { assistantMessage, userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makePng } from "../../../../examples/apps/support/make-media.js";
import { turnClient } from "../../../../examples/apps/turn-endpoint/client.js";
import { anthropicBreaches } from "../../../support/providers/anthropic/rules.js";
import { spawnServer } from "./spawn-server.js";
import { maker, modelThatSays, TurnFixture } from "./turn-fixture.js";

let place: TurnFixture;
beforeEach(() => {
  place = new TurnFixture();
});
afterEach(() => place[Symbol.asyncDispose]());

/** Starting a process takes a second on an idle machine. */
const timeout = 180_000;

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await new Promise((done) => setTimeout(done, 10));
}

describe("kill -9 in the middle of a turn", () => {
  it("while a tool runs: what was said is there again, and the next turn is a valid request", {
    timeout,
  }, async () => {
    await using process = await spawnServer(place.dir);
    const client = turnClient(process);
    const file = await client.upload("a.png", makePng(8, 8));
    const turn = client.turn("Now hang.", [file.path]).catch(() => "cut off");
    await until(async () => (await client.session()).entries.length === 2);
    const before = await client.session();
    await process.kill();
    expect(await turn).toBe("cut off");

    const { client: again, provider } = await place.serveClaude();
    const after = await again.session();
    expect(after).toEqual({ ...before, running: false });
    expect(after.entries.map(({ role, calls }) => [role, calls])).toEqual([
      ["user", undefined],
      ["assistant", [{ name: "hang" }]],
    ]);
    const events = await again.turn("Go on.");
    expect(events.at(-1)?.event).toBe("done");
    const [request] = provider.requests;
    expect(anthropicBreaches(request)).toEqual([]);
    // The interrupted call has a result.
    const results = request?.messages.flatMap(({ content }) =>
      typeof content === "string" ? [] : content.filter(({ type }) => type === "tool_result"),
    );
    expect(results).toMatchObject([{ tool_use_id: "toolu_1", is_error: true }]);
    const blob = after.entries[0]?.resources?.[0]?.blob;
    expect((await again.send("GET", `/api/harness/blobs/${blob}`)).status).toBe(200);
  });

  it("while the model talks: the question is there again, and another can be asked", {
    timeout,
  }, async () => {
    await using process = await spawnServer(place.dir);
    const client = turnClient(process);
    const turn = client.turn("Now talk.").catch(() => "cut off");
    await until(async () => (await client.session()).entries.length === 1);
    await process.kill();
    expect(await turn).toBe("cut off");

    const { client: again, provider } = await place.serveClaude();
    expect((await again.session()).entries.map(({ text }) => text)).toEqual(["Now talk."]);
    expect((await again.turn("Well?")).at(-1)?.event).toBe("done");
    expect(provider.requests.flatMap((request) => anthropicBreaches(request))).toEqual([]);
  });
});

describe("the session of a server", () => {
  it("is the latest of its directory", async () => {
    const sessions = fileSessionStore({ dir: join(place.dir, "sessions") });
    for (const text of ["first", "second"]) {
      await using session = await sessions.create({ cwd: "/" });
      await session.appendMessage(userMessage(text));
    }
    const { client } = await place.serve(modelThatSays("Yes."));
    expect((await client.session()).entries.map(({ text }) => text)).toEqual(["second"]);
  });

  it("tells of each entry what it is, with its label", async () => {
    const sessions = fileSessionStore({ dir: join(place.dir, "sessions") });
    const call = { type: "toolCall", id: "c1", name: "look", arguments: {} } as const;
    {
      await using session = await sessions.create({ cwd: "/" });
      const { id } = await session.appendMessage(userMessage("one"));
      await session.appendMessage(assistantMessage(maker, "Let me look.", call));
      await session.append([{ type: "label", targetId: id, label: "the start" }]);
      await session.branchWithSummary(id, "a summary");
      await session.updateInfo({ name: "Named" });
    }
    const { client } = await place.serve(modelThatSays("Yes."));
    const { entries, ...rest } = await client.session();
    expect(rest).toMatchObject({ name: "Named", running: false, leafId: expect.any(String) });
    const [first] = entries;
    expect(first).toEqual({
      id: first?.id,
      parentId: null,
      type: "message",
      role: "user",
      text: "one",
      label: "the start",
    });
    expect(entries.map(({ type, text, calls }) => [type, text, calls])).toEqual([
      ["message", "one", undefined],
      ["message", "Let me look.", [{ name: "look" }]],
      ["label", undefined, undefined],
      ["branch_summary", "a summary", undefined],
      ["session_info", undefined, undefined],
    ]);
    const known = new Set([null, ...entries.map(({ id }) => id)]);
    expect(entries.every(({ parentId }) => known.has(parentId))).toBe(true);
  });
});

describe("GET /api/harness/recent", () => {
  it("gives the path page by page from its end, whatever the rest of the session weighs", async () => {
    {
      const sessions = fileSessionStore({ dir: join(place.dir, "sessions") });
      await using session = await sessions.create({ cwd: place.dir });
      for (let at = 0; at < 40; at++) {
        await session.appendMessage(userMessage(`question ${at}`));
        await session.appendMessage(assistantMessage(maker, `answer ${at} ${"x".repeat(100_000)}`));
      }
    }
    const { client } = await place.serve(modelThatSays("Yes."));
    const bytesOf = async (path: string) => (await (await client.send("GET", path)).arrayBuffer()).byteLength;
    expect(await bytesOf("/api/harness/session")).toBeGreaterThan(4_000_000);
    expect(await bytesOf("/api/harness/recent")).toBeLessThan(1_100_000);

    const tree = await client.session();
    let page = await client.recent();
    expect([page.leafId, page.running]).toEqual([tree.leafId, false]);
    expect(page.entries.at(-1)?.id).toBe(tree.leafId);
    expect(page.entries[0]).toMatchObject({ type: "message", message: { role: "user" } });
    const pages = [page.entries];
    while (page.before !== undefined) {
      page = await client.recent(page.before);
      pages.unshift(page.entries);
    }
    expect(pages.length).toBeGreaterThan(3);
    const ids = tree.entries.filter(({ type }) => type === "message").map(({ id }) => id);
    expect(pages.flat().map(({ id }) => id)).toEqual(ids);
  });

  it.each([
    ["nonsense", 400],
    [":gone", 404],
    ["%E0", 400],
  ])("refuses the cursor %s", async (cursor, status) => {
    const { client } = await place.serve(modelThatSays("Yes."));
    expect((await client.send("GET", `/api/harness/recent?before=${cursor}`)).status).toBe(status);
  });
});

describe("POST /api/harness/leaf", () => {
  it("moves the leaf, for good: the next turn follows it, after a restart too", async () => {
    const { client, server } = await place.serve(modelThatSays("Yes."));
    await client.turn("one");
    await client.turn("two");
    const [first] = (await client.session()).entries;
    const moved = await client.send("POST", "/api/harness/leaf", { entryId: first?.id });
    expect([moved.status, await moved.json()]).toEqual([200, { leafId: first?.id }]);
    {
      // In the file at once, not only after a clean end of the server.
      const sessions = fileSessionStore({ dir: join(place.dir, "sessions") });
      await using written = await sessions.open((await client.session()).id);
      expect(written.leafId).toBe(first?.id);
    }
    await server[Symbol.asyncDispose]();

    const { client: again, provider } = await place.serveClaude();
    expect((await again.session()).leafId).toBe(first?.id);
    const events = await again.turn("another two");
    expect(JSON.stringify(provider.requests[0]?.messages)).not.toContain('"two"');
    const parent = (await again.session()).entries.find(({ id }) => id === events[0]?.data.parentId);
    expect([first?.id, parent?.parentId]).toContain(first?.id);
    expect(provider.requests[0]?.messages.map(({ role }) => role)).toEqual(["user"]);
  });

  it("takes null for before the first, and refuses what is no entry", async () => {
    const { client } = await place.serve(modelThatSays("Yes."));
    await client.turn("one");
    const move = async (entryId: unknown) => {
      const answer = await client.send("POST", "/api/harness/leaf", { entryId });
      return [answer.status, await answer.json()];
    };
    expect(await move("00000000")).toMatchObject([404, { error: { code: "ENTRY_NOT_FOUND" } }]);
    for (const wrong of [undefined, 7, ["a"], { id: "a" }]) {
      expect(await move(wrong)).toMatchObject([400, { error: { code: "INVALID_BODY" } }]);
    }
    expect(await move(null)).toEqual([200, { leafId: null }]);
    const [root] = await client.turn("from the start");
    expect(root?.data.role).toBe("user");
  });
});
