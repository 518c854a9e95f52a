import {
  assistantMessage,
  memorySessionStore,
  type Reply,
  replyResponse,
  type Session,
  userMessage,
} from "sessile";
import { describe, expect, test } from "vitest";

const maker = { provider: "p", model: "m" };
const url = "http://localhost/replies/1";

async function streaming(): Promise<{
  readonly session: Session;
  readonly reader: Session;
  readonly reply: Reply;
}> {
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/p", id: "s" });
  await session.appendMessage(userMessage("hello"));
  const reply = await session.reply({ ...maker, batchMs: 600_000 });
  return { session, reader: await store.open("s"), reply };
}

const push = async (reply: Reply, text: string) => {
  reply.push({ type: "text", index: 0, text });
  await reply.flush();
};

describe("replyResponse", () => {
  test("catches up from any offset, and tells the end", async () => {
    const { reader, reply } = await streaming();
    const get = async (query: string) => {
      const response = await replyResponse(reader, reply.id, new Request(`${url}${query}`));
      const body = response.status === 200 ? await response.json() : undefined;
      return { status: response.status, headers: response.headers, body };
    };
    const empty = await get("");
    expect([empty.status, empty.body, empty.headers.get("stream-up-to-date")]).toEqual([200, [], "true"]);
    const offsets = [empty.headers.get("stream-next-offset") as string];
    await push(reply, "one");
    const first = await get(`?offset=${offsets[0]}`);
    expect(first.body).toEqual([{ type: "text", index: 0, text: "one" }]);
    offsets.push(first.headers.get("stream-next-offset") as string);
    await push(reply, " two");
    const second = await get(`?offset=${offsets[1]}`);
    expect(second.body).toEqual([{ type: "text", index: 0, text: " two" }]);
    expect((await get("?offset=-1")).body).toEqual([{ type: "text", index: 0, text: "one two" }]);
    const now = await get("?offset=now");
    expect([now.body, now.headers.get("etag")]).toEqual([[], null]);
    offsets.push(now.headers.get("stream-next-offset") as string);
    expect(second.headers.get("stream-next-offset")).toBe(offsets[2]);
    await reply.end(assistantMessage(maker, "one two three"));
    const last = await get(`?offset=${offsets[2]}`);
    expect(last.body).toEqual([
      { type: "text", index: 0, text: " three" },
      { type: "end", entryId: reply.id, stopReason: "stop" },
    ]);
    expect(last.headers.get("stream-closed")).toBe("true");
    offsets.push(last.headers.get("stream-next-offset") as string);
    expect(offsets).toEqual([...new Set(offsets)].sort());
    const after = await get(`?offset=${offsets[3]}`);
    expect([after.body, after.headers.get("stream-next-offset")]).toEqual([[], offsets[3]]);
    const etag = last.headers.get("etag") as string;
    const same = new Request(`${url}?offset=${offsets[2]}`, { headers: { "if-none-match": etag } });
    expect((await replyResponse(reader, reply.id, same)).status).toBe(304);
  });

  test("a long poll waits for the next piece, and its cursor grows", async () => {
    const { reader, reply } = await streaming();
    await push(reply, "one");
    const known = await replyResponse(reader, reply.id, new Request(url));
    const from = known.headers.get("stream-next-offset");
    const request = new Request(`${url}?offset=${from}&live=long-poll&cursor=99999999`);
    const waiting = replyResponse(reader, reply.id, request);
    await push(reply, " two");
    const response = await waiting;
    expect(await response.json()).toEqual([{ type: "text", index: 0, text: " two" }]);
    expect(Number(response.headers.get("stream-cursor"))).toBeGreaterThan(99_999_999);
    await reply.discard();
    const gone = new Request(`${url}?offset=${response.headers.get("stream-next-offset")}&live=long-poll`);
    expect((await replyResponse(reader, reply.id, gone)).status).toBe(404);
  });

  test("events come with a control event each, up to the end", async () => {
    const { reader, reply } = await streaming();
    await push(reply, "one");
    const response = await replyResponse(reader, reply.id, new Request(`${url}?offset=-1&live=sse`));
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const text = response.text();
    await reply.end(assistantMessage(maker, "one\n\ntwo"));
    const lines = (await text).split("\n\n").filter(Boolean);
    const dataOf = (line: string) =>
      JSON.parse(line.replace(/^event: \w+\ndata: /, "")) as Record<string, unknown>[];
    const data = lines.filter((line) => line.startsWith("event: data")).flatMap(dataOf);
    expect(data.map((message) => message.text ?? message.type)).toEqual(["one", "\n\ntwo", "end"]);
    const { streamNextOffset, ...end } = dataOf(lines.at(-1) as string) as unknown as Record<string, unknown>;
    expect(end).toEqual({ upToDate: true, streamClosed: true });
    expect(streamNextOffset).toMatch(/~$/);
    expect(response.headers.get("cache-control")).toContain("no-cache");
    expect(lines.filter((line) => line.startsWith("event: control")).length).toBeGreaterThan(1);
  });

  test("what is wrong with a request has its status", async () => {
    const { reader, reply } = await streaming();
    const status = async (query: string, init?: RequestInit, id = reply.id) =>
      (await replyResponse(reader, id, new Request(`${url}${query}`, init))).status;
    expect(await status("?offset=x")).toBe(400);
    expect(await status("?offset=x~")).toBe(400);
    expect(await status("?live=sse")).toBe(400);
    expect(await status("?offset=-1&live=x")).toBe(400);
    expect(await status("", { method: "POST" })).toBe(405);
    expect(await status("", undefined, "nothing")).toBe(404);
    expect(await status("", { method: "HEAD" })).toBe(200);
    const refused = await replyResponse(reader, "nothing", new Request(url));
    for (const name of ["x-content-type-options", "cross-origin-resource-policy"])
      expect(refused.headers.get(name)).not.toBeNull();
    const broken = { followReply: () => [][Symbol.asyncIterator as never] } as never;
    await expect(replyResponse(broken, "1", new Request(url))).rejects.toThrow(TypeError);
    await reply.discard();
  });
});
