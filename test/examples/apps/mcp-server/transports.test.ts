import { once } from "node:events";
import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import { connect as connectTo } from "node:net";
import { setTimeout } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  type McpHttpOptions,
  startMcpHttp,
  WholeLines,
} from "../../../../examples/apps/mcp-server/transports.js";
import { cuts, piecesOf } from "../../../arbitraries/bytes.js";
import { requestAt, untilClosed } from "../support/request-at.js";

const token = "a token";
const bearer = { authorization: `Bearer ${token}` };
const forMcp = { "content-type": "application/json", accept: "application/json, text/event-stream" };

async function started(options: Partial<McpHttpOptions> = {}) {
  const servers: McpServer[] = [];
  const http = await startMcpHttp({
    makeServer() {
      const server = new McpServer({ name: "test", version: "1.0.0" });
      servers.push(server);
      return server;
    },
    token,
    maxBodyBytes: 10_000,
    ...options,
  });
  onTestFinished(() => http[Symbol.asyncDispose]());
  return {
    url: new URL(http.url),
    made: () => servers.length,
    open: () => servers.filter((one) => one.isConnected()).length,
  };
}

async function connect(url: URL): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers: bearer } });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return client;
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A request with exactly these headers. */
async function ask(url: URL, headers: OutgoingHttpHeaders, body?: string, method = "POST"): Promise<Answer> {
  const sent = request(url, { method, headers: { host: url.host, ...headers } });
  sent.end(body);
  const [response] = await once(sent, "response");
  let text = "";
  for await (const piece of response) text += String(piece);
  return { status: response.statusCode, headers: response.headers, text };
}

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
});

describe("startMcpHttp", () => {
  it("serves the SDK's client, and listens on this machine alone", async () => {
    const { url } = await started();
    const client = await connect(url);
    expect(await client.ping()).toEqual({});
    expect(url.hostname).toBe("127.0.0.1");
  });

  // @covers security:example-requests
  it.each<[string, OutgoingHttpHeaders, number, string]>([
    ["no token", {}, 401, "the token is another one"],
    ["another token", { authorization: "Bearer b token" }, 401, "the token is another one"],
    ["a token of another kind", { authorization: `Basic ${token}` }, 401, "the token is another one"],
    ["a name that leads here", { ...bearer, host: "evil.example:80" }, 403, "another host is meant"],
    ["another port's name", { ...bearer, host: "127.0.0.1:1" }, 403, "another host is meant"],
    ["a page of another site", { ...bearer, origin: "https://evil.example" }, 403, "another origin asks"],
    ["a page of no site", { ...bearer, origin: "null" }, 403, "another origin asks"],
    ["a session that is none", { ...bearer, "mcp-session-id": "x" }, 404, "there is no such session"],
    ["too long a body", { ...bearer, "content-length": 10_001 }, 413, "the body has more than 10000 bytes"],
  ])("refuses %s before it makes anything or reads the body", async (_what, headers, status, message) => {
    const { url, made } = await started();
    const sent = request(url, {
      method: "POST",
      headers: { host: url.host, ...forMcp, "content-length": 100, ...headers },
    });
    // The body never comes.
    sent.flushHeaders();
    const [response] = await once(sent, "response");
    let text = "";
    for await (const piece of response) text += String(piece);
    sent.destroy();
    expect([response.statusCode, JSON.parse(text).error.message]).toEqual([status, message]);
    expect(made()).toBe(0);
  });

  it("refuses another path", async () => {
    const { url } = await started();
    expect(await ask(new URL("/other", url), { ...bearer, ...forMcp }, initialize)).toMatchObject({
      status: 404,
    });
  });

  it("takes a page of its own, and the other name of this machine", async () => {
    const { url } = await started();
    const host = `localhost:${url.port}`;
    // The scheme is case-insensitive.
    const authorization = `bearer ${token}`;
    const headers = { authorization, ...forMcp, host, origin: `http://${host}` };
    expect(await ask(url, headers, initialize)).toMatchObject({ status: 200 });
  });

  // @covers R82
  it("stops reading a body of untold length where it becomes too long", async () => {
    const { url } = await started();
    const sent = request(url, { method: "POST", headers: { ...bearer, ...forMcp, host: url.host } });
    let status: number | undefined;
    sent
      .on("error", () => undefined)
      .on("response", (response) => {
        status = response.statusCode;
      });
    let written = 0;
    for (; status === undefined && written < 2 ** 20; written += 1000) {
      sent.write(Buffer.alloc(1000, "a"));
      await setTimeout(1);
    }
    sent.destroy();
    expect(status).toBe(413);
    expect(written).toBeLessThan(2 ** 20);
  });

  it("has so many bytes of requests open at a time", async () => {
    const { url } = await started({ maxOpenBytes: 15_000 });
    const open = request(url, {
      method: "POST",
      headers: { host: url.host, ...bearer, ...forMcp, "content-length": 10_000 },
    });
    open.on("error", () => undefined);
    const arrived = requestAt(Number(url.port));
    open.write("{");
    const socket = await arrived;
    const more = () => ask(url, { ...bearer, ...forMcp, "content-length": 6_000 }, " ".repeat(6_000));
    expect(await more()).toMatchObject({ status: 503 });
    expect(await ask(url, { ...bearer, ...forMcp }, initialize)).toMatchObject({ status: 200 });
    open.destroy();
    await untilClosed(socket);
    expect(await more()).toMatchObject({ status: 400 });
  });

  it("has so many sessions: the one that was idle longest goes, and none that is in use", async () => {
    const { url } = await started({ maxSessions: 2 });
    const open = () => ask(url, { ...bearer, ...forMcp }, initialize);
    const [first, second] = [await open(), await open()].map(
      ({ headers }) => headers["mcp-session-id"] as string,
    );
    const status = async (session: string | undefined) => {
      const headers = {
        ...bearer,
        ...forMcp,
        "mcp-session-id": session,
        "mcp-protocol-version": "2025-11-25",
      };
      return (await ask(url, headers as OutgoingHttpHeaders, '{"jsonrpc":"2.0","id":2,"method":"ping"}'))
        .status;
    };
    expect([await status(first), await status(second)]).toEqual([200, 200]);
    await status(first);
    expect((await open()).status).toBe(200);
    expect([await status(second), await status(first)]).toEqual([404, 200]);
    // Listening clients count as busy.
    const others = await started({ maxSessions: 1 });
    const listening = requestAt(Number(others.url.port), "GET");
    const client = await connect(others.url);
    await listening;
    expect((await ask(others.url, { ...bearer, ...forMcp }, initialize)).status).toBe(503);
    expect(await client.ping()).toEqual({});
  });

  it("ends a session that its client ends", async () => {
    const { url, open } = await started();
    const { headers } = await ask(url, { ...bearer, ...forMcp }, initialize);
    const its = { ...bearer, ...forMcp, "mcp-session-id": headers["mcp-session-id"] as string };
    expect(open()).toBe(1);
    expect(await ask(url, its, undefined, "DELETE")).toMatchObject({ status: 200 });
    expect(await ask(url, its, '{"jsonrpc":"2.0","id":2,"method":"ping"}')).toMatchObject({ status: 404 });
    expect(open()).toBe(0);
  });

  it("ends none for a request that opens no session", async () => {
    const { url } = await started({ maxSessions: 1 });
    const { headers } = await ask(url, { ...bearer, ...forMcp }, initialize);
    expect((await ask(url, { ...bearer, ...forMcp }, "{oops")).status).toBe(400);
    expect((await ask(url, { ...bearer, ...forMcp }, undefined, "PUT")).status).toBe(405);
    const again = { ...bearer, ...forMcp, "mcp-session-id": headers["mcp-session-id"] as string };
    expect((await ask(url, again, '{"jsonrpc":"2.0","id":2,"method":"ping"}')).status).toBe(200);
  });

  it("has no more of them when they are all asked for at once", async () => {
    const { url, open } = await started({ maxSessions: 2 });
    const headers = { host: url.host, ...bearer, ...forMcp, "content-length": initialize.length };
    const held = Array.from({ length: 6 }, () => request(url, { method: "POST", headers }));
    for (const one of held) one.write(initialize.slice(0, 5));
    await setTimeout(100);
    for (const one of held) {
      const answered = once(one, "response");
      one.end(initialize.slice(5));
      const [response] = await answered;
      await once(response.resume(), "close");
      await setTimeout(10);
    }
    await vi.waitFor(() => expect(open()).toBe(2), 30_000);
  });

  // @covers security:example-requests
  it("is not shut out by 200 slow connections, and cuts off no request for them", async () => {
    const { url } = await started({ maxSessions: 2 });
    const client = await connect(url);
    const slow = Array.from({ length: 200 }, () => connectTo(Number(url.port), "127.0.0.1"));
    try {
      for (const socket of slow) socket.on("error", () => {}).write("POST /mcp HTTP/1.1\r\nX-Slow:");
      await vi.waitFor(
        () => expect(slow.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(184),
        10_000,
      );
      const signal = AbortSignal.timeout(60_000);
      expect(await client.ping({ signal })).toEqual({});
      expect((await ask(url, { ...bearer, ...forMcp }, initialize)).status).toBe(200);
    } finally {
      for (const socket of slow) socket.destroy();
    }
  });

  it("wants a token that is not empty, since whoever shows none has that", async () => {
    await expect(started({ token: "" })).rejects.toThrow("token: expected one that is not empty");
  });

  it("ends a session that nobody uses", async () => {
    const { url, open } = await started({ idleMs: 40 });
    const { headers } = await ask(url, { ...bearer, ...forMcp }, initialize);
    await vi.waitFor(() => expect(open()).toBe(0), 30_000);
    const again = { ...bearer, ...forMcp, "mcp-session-id": headers["mcp-session-id"] as string };
    expect((await ask(url, again, '{"jsonrpc":"2.0","id":2,"method":"ping"}')).status).toBe(404);
  });

  it("keeps nothing of a request that opens no session", async () => {
    const { url, made, open } = await started({ maxSessions: 1 });
    for (let n = 0; n < 3; n++) expect((await ask(url, { ...bearer, ...forMcp }, "{oops")).status).toBe(400);
    expect(
      (await ask(url, { ...bearer, ...forMcp }, '{"jsonrpc":"2.0","id":2,"method":"ping"}')).status,
    ).toBe(400);
    expect(made()).toBe(4);
    await vi.waitFor(() => expect(open()).toBe(0), 30_000);
    expect((await ask(url, { ...bearer, ...forMcp }, initialize)).status).toBe(200);
  });
});

async function through(pieces: readonly Uint8Array[], max = 1000): Promise<readonly string[]> {
  const lines = new WholeLines(max);
  const given: string[] = [];
  lines.on("data", (piece: Buffer) => given.push(piece.toString()));
  for (const piece of pieces) lines.write(Buffer.from(piece));
  lines.end();
  await once(lines, "end");
  return given;
}

describe("WholeLines", () => {
  it("gives whole lines, whatever pieces they come in, and no unfinished one", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.stringMatching(/^[ab]{0,9}\n$/)), cuts, async (all, places) => {
        const text = all.join("");
        const given = await through(piecesOf(new TextEncoder().encode(`${text}rest`), places));
        expect(given.join("")).toBe(text);
        for (const piece of given) expect(piece.endsWith("\n")).toBe(true);
      }),
    );
  });

  // @covers R81
  it("ends with an error at a line that is too long, before it has all of it", async () => {
    const lines = new WholeLines(10);
    const given: string[] = [];
    lines.on("data", (piece: Buffer) => given.push(piece.toString()));
    lines.write(Buffer.from("0123456789\n"));
    lines.write(Buffer.from("0123"));
    lines.write(Buffer.from("456789\n01234"));
    lines.write(Buffer.from("567890"));
    const [error] = await once(lines, "error");
    expect(error.message).toBe("a line is longer than 10 bytes");
    expect(given).toEqual(["0123456789\n", "0123456789\n"]);
  });

  it.each([["0123", "4567890\n"], ["\n01234567890"]])("so does %j, where it goes on", async (...pieces) => {
    const lines = new WholeLines(10);
    lines.resume();
    for (const piece of pieces) lines.write(Buffer.from(piece));
    await once(lines, "error");
  });
});
