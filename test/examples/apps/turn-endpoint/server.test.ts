import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { turnClient } from "../../../../examples/apps/turn-endpoint/client.js";
import { startTurnServer } from "../../../../examples/apps/turn-endpoint/server.js";
import { requestAt, untilClosed } from "../support/request-at.js";
import { RawHttp } from "./raw-http.js";
import { heldModel, maker, modelThatSays, TurnFixture } from "./turn-fixture.js";

let place: TurnFixture;
beforeEach(() => {
  place = new TurnFixture();
});
afterEach(() => place[Symbol.asyncDispose]());
const model = modelThatSays("Hello.");

it("listens on loopback alone", async () => {
  const { server } = await place.serve(model);
  expect(server.origin).toBe(`http://127.0.0.1:${server.port}`);
  // Another address of this machine, on which it does not listen.
  await expect(fetch(`http://127.0.0.2:${server.port}/`)).rejects.toThrow();
});

it("has a token that nobody guesses, another one each time", async () => {
  const tokens = await Promise.all([1, 2].map(async () => (await place.serve(model)).server.token));
  expect(tokens[0]).toMatch(/^[\w-]{43}$/);
  expect(tokens[0]).not.toBe(tokens[1]);
});

it("takes no empty token, which every request without one would have", async () => {
  const dir = join(place.dir, "open-to-all");
  await expect(startTurnServer({ dir, model, maker, token: "" })).rejects.toThrow("token: expected one");
});

it("keeps nothing open where its port is taken", async () => {
  const { server } = await place.serve(model);
  const dir = join(place.dir, "second");
  await expect(startTurnServer({ dir, model, maker, port: server.port })).rejects.toThrow("EADDRINUSE");
  const { client } = await place.serve(model, { dir });
  expect((await client.turn("Hello?")).at(-1)?.event).toBe("done");
});

it("writes no session before the first turn", async () => {
  const { client } = await place.serve(model);
  await client.session();
  await client.send("POST", "/api/harness/turn", { message: "", attachments: ["/gone.png"] });
  expect(existsSync(join(place.dir, "sessions"))).toBe(false);
});

it("bounds headers", async () => {
  const { server } = await place.serve(model);
  using raw = await RawHttp.open(server.port);
  raw.write("GET / HTTP/1.1", `X-Long: ${"a".repeat(20_000)}`, "", "");
  expect(await raw.untilStatus()).toBe(431);
});

it("bounds connections: a new one takes the place of the one that has waited longest", async () => {
  const { server, client } = await place.serve(model, { limits: { connections: 2 } });
  using first = await RawHttp.open(server.port);
  using second = await RawHttp.open(server.port);
  using third = await RawHttp.open(server.port);
  await first.untilClosed();
  await setTimeout(50);
  expect([second.closed, third.closed]).toEqual([false, false]);
  expect((await client.send("GET", "/api/harness/session")).status).toBe(200);
});

// @covers security:example-requests
it("is not shut out by 200 slow connections, and cuts off no turn for them", async () => {
  const held = heldModel();
  const { server, client } = await place.serve(held.model, {
    limits: { connections: 20, headersMs: 600_000, requestMs: 600_000 },
  });
  const asked = client.turn("Hello?");
  await client.until(({ running }) => running);
  const slow = await Promise.all(Array.from({ length: 200 }, () => RawHttp.open(server.port)));
  try {
    for (const raw of slow) raw.write("GET / HTTP/1.1", "X-Slow:");
    // None of them is over its time.
    expect((await client.send("GET", "/api/harness/session")).status).toBe(200);
    held.release();
    expect((await asked).at(-1)?.event).toBe("done");
    await expect.poll(() => slow.filter(({ closed }) => !closed).length).toBeLessThanOrEqual(20);
  } finally {
    for (const raw of slow) raw[Symbol.dispose]();
  }
});

it("gives no place to a request without the token", async () => {
  const { server, client } = await place.serve(model, { limits: { connections: 2 } });
  const raws = await Promise.all([1, 2].map(() => RawHttp.open(server.port)));
  for (const raw of raws) {
    raw.write(
      "POST /api/harness/turn HTTP/1.1",
      `Host: localhost:${server.port}`,
      "Content-Length: 9",
      "",
      "{",
    );
    expect(await raw.untilStatus()).toBe(401);
  }
  expect((await client.send("GET", "/api/harness/session")).status).toBe(200);
  for (const raw of raws) raw[Symbol.dispose]();
});

it("closes a connection that says nothing, and one that takes nothing", async () => {
  const { client } = await place.serve(model);
  const file = await client.upload("large.txt", Buffer.alloc(9 * 2 ** 20, "a"));
  const [user] = await client.turn("", [file.path]);
  const { server } = await place.serve(model, { limits: { idleMs: 300 } });
  const arrived = requestAt(server.port);
  using silent = await RawHttp.open(server.port);
  using deaf = await RawHttp.open(server.port);
  deaf.socket.pause();
  deaf.write(
    `GET /api/harness/blobs/${user?.data.resources?.[0]?.blob} HTTP/1.1`,
    `Host: localhost:${server.port}`,
    `Authorization: Bearer ${server.token}`,
    "",
    "",
  );
  await silent.untilClosed();
  await untilClosed(await arrived);
  deaf.socket.resume();
  await deaf.untilClosed();
  expect(deaf.received.length).toBeLessThan(9 * 2 ** 20);
});

it("tells who runs it what failed, and the client only that something did", async () => {
  const errors: unknown[] = [];
  const { client } = await place.serve(model, { onError: (error) => errors.push(error) });
  rmSync(join(place.dir, "uploads"), { recursive: true });
  writeFileSync(join(place.dir, "uploads"), "no directory");
  const answer = await client.send("POST", "/api/harness/files?name=a.txt", Buffer.from("a"));
  expect([answer.status, (await answer.json()).error]).toEqual([
    500,
    { code: "INTERNAL", message: "something went wrong" },
  ]);
  expect(errors).toMatchObject([{ message: expect.stringContaining("ENOTDIR") }]);
});

it("tells who runs it what failed once the answer had begun", async () => {
  const errors: unknown[] = [];
  const broken = { generate: async () => ({ role: "nobody" }) as never };
  const { client } = await place.serve(broken, { onError: (error) => errors.push(error) });
  const events = await client.turn("Hello?");
  expect(events.at(-1)).toMatchObject({ event: "error", data: { error: { code: "INVALID_ENTRY" } } });
  expect(errors).toMatchObject([{ code: "INVALID_ENTRY" }]);
});

it("tells who runs it of a blob that turns out to be damaged while it is sent, and of no client that goes", async () => {
  const errors: unknown[] = [];
  const { client } = await place.serve(model, { onError: (error) => errors.push(error) });
  // More than the buffers of a connection.
  const text = Buffer.alloc(9 * 2 ** 20, "a");
  const [user] = await client.turn("", [place.file("a.txt", text)]);
  const path = `/api/harness/blobs/${user?.data.resources?.[0]?.blob}`;
  const gone = await client.send("GET", path);
  await gone.body?.cancel();
  await setTimeout(200);
  expect(errors).toEqual([]);
  const blobs = join(place.dir, "blobs");
  const name = readdirSync(blobs, { recursive: true, encoding: "utf8" }).find((name) =>
    /[0-9a-f]{64}$/.test(name),
  );
  chmodSync(join(blobs, name ?? ""), 0o600);
  writeFileSync(join(blobs, name ?? ""), Buffer.alloc(text.length, "b"));
  const damaged = client.send("GET", path).then((answer) => answer.arrayBuffer());
  await expect(damaged).rejects.toThrow();
  expect(errors).toMatchObject([{ code: "BLOB_CORRUPT" }]);
});

it("answers one client's mistakes and another's questions on one connection", async () => {
  const { server } = await place.serve(model);
  using raw = await RawHttp.open(server.port);
  const lines = [`Host: localhost:${server.port}`, `Authorization: Bearer ${server.token}`, "", ""];
  raw.write("GET /api/none HTTP/1.1", ...lines);
  raw.write("GET /api/harness/session HTTP/1.1", ...lines);
  while (!raw.received.includes("]}\r\n")) await setTimeout(5);
  expect(raw.received.match(/HTTP\/1\.1 (\d+)/g)).toEqual(["HTTP/1.1 404", "HTTP/1.1 200"]);
});

it("says that a turn is there to whoever asks, also in another window", async () => {
  const { client, server } = await place.serve(model);
  await client.turn("Hello?");
  const other = turnClient(server);
  expect((await other.session()).entries).toHaveLength(2);
});
