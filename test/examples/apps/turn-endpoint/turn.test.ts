import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type Anthropic from "@anthropic-ai/sdk";
import { assistantMessage } from "sessile";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makePdf, makePng } from "../../../../examples/apps/support/make-media.js";
import type { Model } from "../../../../examples/apps/turn-endpoint/claude.js";
import type { TurnEvent } from "../../../../examples/apps/turn-endpoint/client.js";
import { anthropicBreaches } from "../../../support/providers/anthropic/rules.js";
import { Listening } from "./listen.js";
import { heldModel, maker, modelThatSays, TurnFixture } from "./turn-fixture.js";

let place: TurnFixture;
beforeEach(() => {
  place = new TurnFixture();
});
afterEach(() => place[Symbol.asyncDispose]());

const turnPath = "/api/harness/turn";
const names = (events: readonly TurnEvent[]) => events.map(({ event }) => event);
const textOf = (events: readonly TurnEvent[]) =>
  events.flatMap(({ event, data }) => (event === "delta" ? [data.text] : [])).join("");
const blocksOf = (request: Anthropic.MessageCreateParams | undefined) => {
  const content = request?.messages.at(-1)?.content ?? [];
  return typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
};

describe("POST /api/harness/turn", () => {
  // @covers R172
  it("lists attachments by their paths, and the model gets their bytes and no path (R172)", async () => {
    const { client, provider } = await place.serveClaude();
    const image = makePng(40, 30);
    const paths = [
      place.file("a.png", image),
      place.file("b.pdf", makePdf()),
      place.file("c.csv", "a;b\n1;2\n"),
    ];
    const events = await client.turn("What are these?", paths);
    expect(textOf(events)).toMatch(
      /^I see an image of 40 x 30 pixels, a PDF of \d+ bytes, a text of 8 characters\.$/,
    );

    const [request] = provider.requests;
    expect(anthropicBreaches(request)).toEqual([]);
    const blocks = blocksOf(request);
    const sent = blocks.flatMap((block) =>
      block.type === "image" && block.source.type === "base64"
        ? [Buffer.from(block.source.data, "base64")]
        : [],
    );
    expect(sent.map((bytes) => Buffer.compare(bytes, image))).toEqual([0]);
    expect(JSON.stringify(request)).not.toContain(place.dir);
    const log = (await client.session()).entries[0];
    expect(log?.resources).toMatchObject([
      { name: "a.png", kind: "image", mediaType: "image/png", size: image.length, width: 40, height: 30 },
      { name: "b.pdf", kind: "file", mediaType: "application/pdf" },
      { name: "c.csv", kind: "file", mediaType: "text/plain", size: 8 },
    ]);
    const sha256 = createHash("sha256").update(image).digest("hex");
    expect(log?.resources?.[0]?.blob).toBe(`sha256:${sha256}`);
    const file = join(place.dir, "blobs", "blobs", "sha256", sha256.slice(0, 2), sha256);
    expect(Buffer.compare(readFileSync(file), image)).toBe(0);
  });

  // @covers R173
  it.each(["", " \n"])("takes attachments without text: %j (R173)", async (message) => {
    const { client, provider } = await place.serveClaude();
    const events = await client.turn(message, [place.file("a.png", makePng(8, 8))]);
    expect(textOf(events)).toBe("I see an image of 8 x 8 pixels.");
    const [request] = provider.requests;
    expect(anthropicBreaches(request)).toEqual([]);
    expect(request?.messages).toHaveLength(1);
    expect(events[0]?.data).toMatchObject({ role: "user", text: "", resources: [{ name: "a.png" }] });
  });

  it("takes text without attachments, and with an empty list of them", async () => {
    const { client, provider } = await place.serveClaude();
    expect(textOf(await client.turn("Hello."))).toBe("I see no files.");
    expect(textOf(await client.turn("Hello.", []))).toBe("I see no files.");
    expect(provider.requests.flatMap((request) => anthropicBreaches(request))).toEqual([]);
    const [user] = (await client.session()).entries;
    expect(user).toMatchObject({ role: "user", text: "Hello." });
  });

  // @covers R171
  it("answers 400 with its category where all attachments fail and there is no text (R171)", async () => {
    const { client, provider } = await place.serveClaude();
    const answer = await client.send("POST", turnPath, {
      message: "  ",
      attachments: [join(place.workspace, "gone.png"), place.file("page.png", "<html>"), "relative.png"],
    });
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toContain("application/json");
    const body = await answer.text();
    expect(JSON.parse(body).error).toMatchObject({
      code: "ATTACHMENT_FAILURE",
      category: "ALL_ATTACHMENTS_FAILED_NO_TEXT",
      errors: [
        { name: "gone.png", code: "NOT_FOUND" },
        { name: "page.png", code: "CONTENT_MISMATCH" },
        { name: "relative.png", code: "NOT_ABSOLUTE" },
      ],
    });
    expect(body).not.toContain(place.dir);
    expect((await client.session()).entries).toEqual([]);
    expect(provider.requests).toEqual([]);
  });

  // @covers R170
  it("goes on where some fail: a warning first for the model, an event for the page (R170)", async () => {
    const { client, provider } = await place.serveClaude();
    const gone = join(place.workspace, "gone.png");
    const events = await client.turn("Compare.", [gone, place.file("a.png", makePng(8, 8))]);
    const failed = [{ name: "gone.png", code: "NOT_FOUND", reason: "there is no such file" }];
    expect(events[1]).toEqual({ event: "warning", data: { failed } });
    const [first, second] = blocksOf(provider.requests[0]);
    expect(first).toMatchObject({
      type: "text",
      text: expect.stringMatching(/^Warning: 1 of 2 attachments/),
    });
    expect(second).toMatchObject({ type: "text", text: "Compare." });
    expect(JSON.stringify(provider.requests)).not.toContain(place.dir);
  });

  it("goes on with text where all fail", async () => {
    const { client, provider } = await place.serveClaude();
    const events = await client.turn("Hello.", ["/etc/passwd"]);
    expect(names(events)).toContain("warning");
    const [only, ...more] = blocksOf(provider.requests[0]);
    expect(more).toEqual([]);
    expect(only).toMatchObject({
      type: "text",
      text: expect.stringMatching(/^Warning: 1 of 1.*\n.*\n\nHello\.$/),
    });
  });

  it("streams: entries as they are written, deltas as they come, then done with the leaf", async () => {
    const { client } = await place.serveClaude();
    const events = await client.turn("What is this?", [place.file("a.png", makePng(8, 8))]);
    expect(names(events).filter((name) => name !== "delta")).toEqual(["entry", "entry", "done"]);
    expect(events[0]?.data).toMatchObject({ role: "user", parentId: null });
    expect(names(events).at(1)).toBe("delta");
    const reply = events.at(-2)?.data;
    expect(reply).toMatchObject({ role: "assistant", parentId: events[0]?.data.id, text: textOf(events) });
    expect(events.at(-1)?.data).toEqual({ leafId: reply?.id });
  });

  it("tells the first word before the last is said", async () => {
    const { model, release } = heldModel();
    const { client } = await place.serve(model);
    const answer = await client.send("POST", turnPath, { message: "Well?" });
    expect(answer.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const listening = new Listening(answer);
    await listening.until('{"text":"Well, "}');
    expect(listening.heard).not.toContain("yes.");
    expect((await client.session()).running).toBe(true);
    release();
    expect(names(await listening.rest()).at(-1)).toBe("done");
  });

  it("runs tools, and lets the model look again at what it has seen", async () => {
    const { client, provider } = await place.serveClaude();
    await client.turn("What is this?", [place.file("a.png", makePng(21, 12))]);
    const events = await client.turn("Look again.");
    const entries = events.flatMap(({ event, data }) => (event === "entry" ? [data] : []));
    expect(entries.map(({ type, role }) => role ?? type)).toEqual([
      "user",
      "assistant",
      "resource_view",
      "toolResult",
      "assistant",
    ]);
    expect(entries[1]?.calls).toEqual([{ name: "view_resource" }]);
    expect(entries.at(-1)?.text).toBe("Looking again: an image of 21 x 12 pixels.");
    expect(provider.requests.flatMap((request) => anthropicBreaches(request))).toEqual([]);
  });

  it("is one event a line whatever is said: no text makes an event of its own", async () => {
    const said = 'a\n\nevent: done\ndata: {"leafId":"forged"}\n\n\r\n\u2028\u0000\uD800';
    const { client } = await place.serve(modelThatSays(said));
    const events = await client.turn("\n\nevent: error\ndata: {}\n\n");
    expect(names(events)).toEqual(["entry", "delta", "entry", "done"]);
    expect(textOf(events)).toBe(said);
    expect(events.at(-1)?.data.leafId).not.toBe("forged");
  });

  it("says what the provider said where the model fails, and goes on with the next turn", async () => {
    let fails = true;
    const model: Model = {
      async generate(_context, { onText }) {
        if (!fails) return assistantMessage(maker, "Here.");
        onText?.("I was just ");
        throw new Error("overloaded");
      },
    };
    const { client } = await place.serve(model);
    const events = await client.turn("Hello?");
    expect(events.at(-1)).toEqual({
      event: "error",
      data: { error: { code: "MODEL_FAILED", message: "overloaded" } },
    });
    // Text that was shown is stored.
    expect(events.at(-2)?.data).toMatchObject({ role: "assistant", text: "I was just " });
    fails = false;
    expect(names(await client.turn("Again?")).at(-1)).toBe("done");
  });

  it("does not go round for ever with a model that only calls tools", async () => {
    const call = (id: string) => ({ type: "toolCall", id, name: "none", arguments: {} }) as const;
    let calls = 0;
    const model: Model = { generate: async () => assistantMessage(maker, call(`c${calls++}`)) };
    const { client } = await place.serve(model, { limits: { rounds: 3 } });
    const events = await client.turn("Go.");
    expect([calls, events.at(-1)?.data.error?.code]).toEqual([3, "TOO_MANY_ROUNDS"]);
    const results = (await client.session()).entries.filter(({ role }) => role === "toolResult");
    expect(results.map(({ text }) => text)).toEqual(Array(3).fill("there is no tool none"));
  });
});

describe("one turn at a time", () => {
  it("is 409 for a second one, and for moving the leaf, while one runs", async () => {
    const { model, release } = heldModel();
    const { client } = await place.serve(model);
    const first = client.turn("Well?");
    await client.until(({ running }) => running);
    const second = await client.send("POST", turnPath, { message: "Me too." });
    expect([second.status, (await second.json()).error.code]).toEqual([409, "TURN_RUNNING"]);
    expect((await client.send("POST", "/api/harness/leaf", { entryId: null })).status).toBe(409);
    release();
    expect(names(await first).at(-1)).toBe("done");
    expect((await client.session()).entries.map(({ text }) => text)).toEqual(["Well?", "Well, yes."]);
  });

  it("takes one of many that come at once, and writes one history", async () => {
    const { client } = await place.serveClaude({ paceMs: 1 });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => client.send("POST", turnPath, { message: `${at}` })),
    );
    await Promise.all(answers.map((answer) => answer.text()));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array(9).fill(409)]);
    expect((await client.session()).entries).toHaveLength(2);
  });

  it("takes the next as soon as the last is said to be done", async () => {
    const { client } = await place.serve(modelThatSays("Yes."));
    for (let at = 0; at < 30; at++) expect(names(await client.turn(`${at}`)).at(-1)).toBe("done");
    expect((await client.session()).entries).toHaveLength(60);
  });

  it("is aborted by DELETE: 202, an error event, and what was said stays", async () => {
    const { model } = heldModel();
    const { client } = await place.serve(model);
    const first = new Listening(await client.send("POST", turnPath, { message: "Well?" }));
    await first.until("event: delta");
    expect((await client.send("DELETE", turnPath)).status).toBe(202);
    const events = await first.rest();
    expect(events.at(-1)).toEqual({
      event: "error",
      data: { error: { code: "ABORTED", message: "the turn was aborted" } },
    });
    expect(events.at(-2)?.data).toMatchObject({ role: "assistant", text: "Well, " });
    expect((await client.session()).running).toBe(false);
    expect((await client.send("DELETE", turnPath)).status).toBe(404);
  });

  it("aborts the request to the provider too", async () => {
    const { client, provider } = await place.serveClaude({ paceMs: 20 });
    const first = new Listening(await client.send("POST", turnPath, { message: "Tell me a story." }));
    await first.until("limpet");
    await client.send("DELETE", turnPath);
    const events = await first.rest();
    expect(events.at(-1)?.data.error?.code).toBe("ABORTED");
    const told = textOf(events);
    expect((await client.session()).entries.at(-1)?.text).toBe(told);
    await client.turn("Hello?");
    expect(provider.requests.flatMap((request) => anthropicBreaches(request))).toEqual([]);
  });

  it("is aborted also where the model, or a tool, does not listen", async () => {
    const deaf = new Promise<never>(() => {});
    const call = { type: "toolCall", id: "c1", name: "deaf", arguments: {} } as const;
    const model: Model = {
      generate: async ({ items }) => (items.length === 1 ? assistantMessage(maker, call) : deaf),
    };
    const { client } = await place.serve(model, { tools: new Map([["deaf", () => deaf]]) });
    for (const entries of [2, 3]) {
      const turn = client.turn("Well?");
      await client.until((session) => session.running && session.entries.length === entries);
      expect((await client.send("DELETE", turnPath)).status).toBe(202);
      expect((await turn).at(-1)?.data.error?.code).toBe("ABORTED");
    }
  });

  it("ends by its time", async () => {
    const { client } = await place.serve(heldModel().model, { limits: { turnMs: 50 } });
    const events = await client.turn("Well?");
    expect(events.at(-1)?.data.error?.code).toBe("TIMED_OUT");
    expect((await client.session()).running).toBe(false);
  });

  it("ends where the server is closed, and its client is told", async () => {
    const { client, server } = await place.serve(heldModel().model);
    const first = client.turn("Well?");
    await client.until(({ running }) => running);
    await server[Symbol.asyncDispose]();
    expect((await first).at(-1)?.data.error?.code).toBe("ABORTED");
    await expect(client.session()).rejects.toThrow();
  });
});

it("a client that goes away does not lose the turn: its entries are in the session", async () => {
  const { model, release } = heldModel();
  const { client, server } = await place.serve(model);
  const gone = new AbortController();
  const answer = await fetch(`${server.origin}${turnPath}`, {
    method: "POST",
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
    body: '{"message":"Well?"}',
    signal: gone.signal,
  });
  await answer.body?.getReader().read();
  gone.abort();
  await setTimeout(50);
  expect((await client.session()).running).toBe(true);
  release();
  const { entries } = await client.until(({ running }) => !running);
  expect(entries.map(({ text }) => text)).toEqual(["Well?", "Well, yes."]);
});
