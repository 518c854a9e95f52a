import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { assistantDone, FrameRing, tetherImage } from "sessile/tether";
import type { TurnModel } from "sessile/turn";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { tetherMcpServer } from "../../../../examples/apps/mcp-server/tether-server.js";
import { tetherAgent } from "../../../../examples/apps/support/tether-agent.js";
import { png } from "../../../attachments/samples.js";
import { temporaryDirectory } from "../../../session/node/temporary-directory.js";
import { pngOf, to } from "../../../support/tether.js";
import { scriptedModel } from "../../../support/turn.js";
import { call, imagesOf, jsonOf } from "./hosts.js";

/** The tools over an agent in this process, and a client of them. */
async function connected(model: TurnModel = yes, { dir = temporaryDirectory(), maxTurns = 16 } = {}) {
  const ring = new FrameRing();
  const agent = tetherAgent({ dir, instance: "agent", model, maxTurns });
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1.0.0" });
  await tetherMcpServer(new Map([["agent", { agent, ring }]])).connect(far);
  await client.connect(near);
  onTestFinished(() => client.close());
  return { client, ring };
}

const yes = scriptedModel(() => "Yes.");

describe("tetherMcpServer", () => {
  it("lists its tools as data that a client takes", async () => {
    const { client } = await connected();
    const { tools } = await client.listTools();
    expect(tools.map(({ name, inputSchema }) => [name, inputSchema.required])).toEqual([
      ["tether_send", ["instance", "text"]],
      ["tether_read", ["instance"]],
    ]);
  });

  it.each([
    ["tether_send", {}, "text: expected a string"],
    ["tether_send", { instance: "other", text: "" }, "instance: expected agent"],
    ["tether_send", { text: "", session_id: "s".repeat(257) }, "session_id: expected at most 256 characters"],
    ["tether_read", { instance: "__proto__" }, "instance: expected agent"],
    ["tether_read", { session_id: 1 }, "session_id: expected a string"],
    ["tether_read", { after_seq: -1 }, "after_seq: expected an integer from 0 to 9007199254740991"],
    ["tether_read", { limit: 0 }, "limit: expected an integer from 1 to 1000"],
    ["tether_read", { wait_ms: 1e9 }, "wait_ms: expected an integer from 0 to 30000"],
    ["tether_read", { types: "all" }, "types: expected an array of strings"],
    ["tether_delete", {}, "name: expected tether_send or tether_read"],
  ])("refuses %s of %j with the place of what is wrong", async (name, args, message) => {
    const { client, ring } = await connected();
    const result = await call(client, name, args);
    expect(result.isError).toBe(true);
    expect(jsonOf(result)).toEqual({ code: "INVALID_MESSAGE", message: expect.stringMatching(message) });
    expect(ring.size).toBe(0);
  });

  // @covers R46
  it.each<[string, readonly unknown[], string, RegExp]>([
    [
      "too many images",
      Array(5).fill(tetherImage(png())),
      "LIMIT_EXCEEDED",
      /^too many images: 5 \(max 4\)$/,
    ],
    [
      "an image too large",
      [{ media_type: "image/png", data: "A".repeat(14 * 2 ** 20) }],
      "LIMIT_EXCEEDED",
      /^images\[0\] too large: 11010048 bytes/,
    ],
    [
      "another type",
      [{ ...tetherImage(png()), media_type: "image/gif" }],
      "MEDIA_TYPE_MISMATCH",
      /^images\[0\]: declared as image\/gif, but is image\/png$/,
    ],
    ["no image", [{ media_type: "image/png" }], "INVALID_MESSAGE", /^images\[0\]\.data: expected a string$/],
  ])("refuses %s, and nothing of it goes on", async (_name, images, code, message) => {
    const { client, ring } = await connected();
    const result = await call(client, "tether_send", { text: "Hi", images });
    expect(result.isError).toBe(true);
    expect(jsonOf(result)).toEqual({ code, message: expect.stringMatching(message) });
    expect(ring.size).toBe(0);
  });

  it("says that a message is kept only where it is", async () => {
    const { client } = await connected();
    expect(jsonOf(await call(client, "tether_send", { text: "Hi" })).status).toBe("kept");
    const full = await connected(yes, { maxTurns: 0 });
    const sent = jsonOf(await call(full.client, "tether_send", { text: "Hi" }));
    expect(sent.status).toBe("failed");
    const { frames } = jsonOf(await call(full.client, "tether_read", {}));
    expect(frames).toMatchObject([
      { msg_id: sent.answer_id, payload: { text: expect.stringMatching(/^Too many/) } },
    ]);
  });

  it("waits no longer than it is told, and a wait can be taken back", async () => {
    const { client, ring } = await connected();
    const empty = await call(client, "tether_read", { wait_ms: 20 });
    expect(jsonOf(empty)).toEqual({ frames: [], next_seq: 0, missed: 0 });
    const taken = new AbortController();
    const args = { instance: "agent", wait_ms: 30_000 };
    const options = { signal: taken.signal };
    const wait = vi.spyOn(ring, "wait");
    const waiting = client.callTool({ name: "tether_read", arguments: args }, undefined, options);
    const refused = expect(waiting).rejects.toThrow();
    await vi.waitFor(() => expect(wait).toHaveBeenCalled(), 30_000);
    taken.abort();
    await refused;
    await vi.waitFor(() => expect(wait.mock.settledResults).toMatchObject([{ type: "rejected" }]), 30_000);
    const next = call(client, "tether_read", { wait_ms: 30_000 });
    ring.append(assistantDone(to, "Here."));
    expect(jsonOf(await next).frames).toHaveLength(1);
  });

  it("gives a bounded result, and the rest when it is asked again; one frame comes whatever its size", async () => {
    const { client, ring } = await connected();
    const image = (grey: number) => tetherImage(pngOf(4 * 2 ** 20, grey));
    ring.append(assistantDone(to, "two", [image(1), image(2)]));
    for (const grey of [3, 4]) ring.append(assistantDone(to, "one", [image(grey)]));
    const told: unknown[] = [];
    for (let after_seq = 0, more = true; more; ) {
      const result = await call(client, "tether_read", { after_seq });
      const { frames, next_seq } = jsonOf(result);
      more = frames.length > 0;
      after_seq = next_seq;
      told.push([frames.length, imagesOf(result).length]);
    }
    expect(told).toEqual([
      [1, 2],
      [1, 1],
      [1, 1],
      [0, 0],
    ]);
  });

  it("hears of answers alone where nothing else is asked for, and of one session", async () => {
    const { client, ring } = await connected();
    const { msg_id, answer_id, seq } = jsonOf(await call(client, "tether_send", { text: "Hi" }));
    await call(client, "tether_send", { text: "Elsewhere", session_id: "other" });
    const read = jsonOf(await call(client, "tether_read", { types: ["assistant.done"], wait_ms: 10_000 }));
    expect(read.frames).toMatchObject([{ type: "assistant.done", msg_id: answer_id, session: to }]);
    expect([seq, answer_id]).toEqual([1, `re:${msg_id}`]);
    expect(ring.read({ types: ["user.message"] }).frames).toHaveLength(2);
  });

  it("does not say that a message is kept when it could not be", async () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, "sessions"), "a file where a directory is to be");
    const { client } = await connected(yes, { dir });
    expect(jsonOf(await call(client, "tether_send", { text: "Hi" }))).toMatchObject({
      seq: 1,
      status: "failed",
    });
    const { frames } = jsonOf(await call(client, "tether_read", {}));
    expect(frames).toMatchObject([{ payload: { text: expect.stringMatching(/^I could not answer: /) } }]);
  });

  it("gives a number at once for a message that has to wait, and says so", async () => {
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const { client } = await connected(scriptedModel(() => gate.then(() => "At last.")));
    const status = async (text: string) => jsonOf(await call(client, "tether_send", { text })).status;
    expect([await status("one"), await status("two"), await status("three")]).toEqual([
      "kept",
      "queued",
      "queued",
    ]);
    go();
    for (let after_seq = 0, answers = 0; answers < 3; ) {
      const args = { after_seq, types: ["assistant.done"], wait_ms: 10_000 };
      const { frames, next_seq } = jsonOf(await call(client, "tether_read", args));
      answers += frames.length;
      after_seq = next_seq;
    }
  });
});
