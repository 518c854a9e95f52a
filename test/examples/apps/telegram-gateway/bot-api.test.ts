import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { type BotApi, botApi } from "../../../../examples/apps/telegram-gateway/bot-api.js";

const token = "123456:AAE-secret_Secret";

/** A client of a server with one response for all requests. */
async function against(listener: RequestListener): Promise<BotApi> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return botApi({ token, root: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const json =
  (status: number, body: unknown): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));

/** The rejection of a call, whose every property is free of the token. */
async function failure(call: Promise<unknown>): Promise<Error> {
  const error = await call.then(
    () => new Error("it did not fail"),
    (reason: unknown) => reason as Error,
  );
  const shown = inspect(error, { depth: 9, showHidden: true, getters: true });
  expect(shown + String(error) + JSON.stringify(error) + error.stack).not.toContain("secret");
  return error;
}

/** Each takes less than a second on an idle machine. */
const timeout = 180_000;

describe("call", { timeout }, () => {
  it("gives the result", async () => {
    const api = await against(json(200, { ok: true, result: { id: 5 } }));
    expect(await api.call("getMe", {})).toEqual({ id: 5 });
  });

  it.each([
    ["a refusal", 400, { ok: false, error_code: 400, description: "Bad Request: no" }, { code: 400 }],
    [
      "a limit",
      429,
      { ok: false, error_code: 429, description: "x", parameters: { retry_after: 5 } },
      { retryAfter: 5 },
    ],
    [
      "a new chat",
      400,
      { ok: false, error_code: 400, parameters: { migrate_to_chat_id: -5 } },
      { migrateTo: -5 },
    ],
    ["what is not the Bot API", 502, "<html>", { code: 502, message: "getMe: status 502" }],
    [
      "odd facts",
      400,
      { ok: false, error_code: "x", parameters: { retry_after: "5" } },
      { code: 400, retryAfter: undefined },
    ],
  ])("tells %s as facts", async (_, status, body, facts) => {
    const api = await against(json(status, body));
    expect(await failure(api.call("getMe", {}))).toMatchObject({ name: "TelegramError", ...facts });
  });

  it("hides the token where an answer says it", async () => {
    const api = await against((request, response) =>
      json(404, { ok: false, description: `No ${request.url}` })(request, response),
    );
    expect((await failure(api.call("getMe", {}))).message).toBe("getMe: No /bot<token>/getMe");
  });

  it("says no more than a code where there is no answer", async () => {
    const api = await against((request) => void request.socket.destroy());
    expect(await failure(api.call("getMe", {}))).toMatchObject({
      code: undefined,
      message: /^getMe: no answer/,
    });
    const nobody = botApi({ token, root: "http://127.0.0.1:1" });
    expect((await failure(nobody.call("getMe", {}))).message).toMatch(/^getMe: no answer( \(\w+\))?$/);
    const nowhere = botApi({ token, root: "nonsense:" });
    expect((await failure(nowhere.call("getMe", {}))).message).toMatch(/^getMe: no answer/);
  });

  it("does not wait for ever, and ends when it is told to", async () => {
    const api = await against(() => undefined);
    expect((await failure(api.call("getMe", {}, { timeoutMs: 20 }))).message).toBe(
      "getMe: no answer in time",
    );
    const stop = new AbortController();
    const call = api.call("getMe", {}, { signal: stop.signal });
    stop.abort(new Error("enough"));
    expect((await failure(call)).message).toBe("enough");
  });

  it("follows no redirect, which would take the token along", async () => {
    let elsewhere = 0;
    const other = createServer((_, response) => {
      elsewhere++;
      response.end();
    });
    other.listen(0, "127.0.0.1");
    await once(other, "listening");
    onTestFinished(() => void other.close());
    const to = `http://127.0.0.1:${(other.address() as AddressInfo).port}/${token}`;
    const api = await against((_, response) => void response.writeHead(307, { location: to }).end());
    await failure(api.call("getMe", {}));
    await failure(api.download("a.jpg", { maxBytes: 9 }));
    expect(elsewhere).toBe(0);
  });

  it("reads no answer without end", async () => {
    const api = await against((_, response) => endless(response));
    expect((await failure(api.call("getMe", {}))).message).toMatch(/^getMe: more than \d+ bytes$/);
  });

  it("tells of an answer that is too long as of one that never came, so that polling goes on", async () => {
    const api = await against((_, response) => {
      response.writeHead(502, { "content-length": 2 ** 25 });
      response.flushHeaders();
    });
    expect(await failure(api.call("getUpdates", {}))).toMatchObject({ name: "TelegramError" });
  });

  it("does not show the token when it is looked at", async () => {
    expect(inspect(botApi({ token }), { depth: 9, showHidden: true })).not.toContain("secret");
  });

  it.each(["", "123", "1:a/../..", "1:a b", "1:a?b", "one:a"])("takes no token %j", (wrong) => {
    expect(() => botApi({ token: wrong })).toThrow(RangeError);
    if (wrong.length > 3) expect(() => botApi({ token: wrong })).not.toThrow(wrong);
  });
});

function endless(response: Parameters<RequestListener>[1]): void {
  const more = () => {
    while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
  };
  response.on("drain", more);
  more();
}

describe("download", { timeout }, () => {
  it("gives the bytes", async () => {
    const api = await against((request, response) => void response.end(request.url));
    const bytes = await api.download("photos/file 1.jpg", { maxBytes: 100 });
    expect(new TextDecoder().decode(bytes)).toBe(`/file/bot${token}/photos/file%201.jpg`);
  });

  it("stops behind the limit, also where no length was told", async () => {
    let written = 0;
    const api = await against((_, response) => {
      const write = response.write.bind(response);
      response.write = ((chunk: Uint8Array) => {
        written += chunk.length;
        return write(chunk);
      }) as typeof response.write;
      endless(response);
    });
    expect((await failure(api.download("a.jpg", { maxBytes: 1000 }))).message).toBe("more than 1000 bytes");
    expect(written).toBeLessThan(64 * 2 ** 20);
  });

  it("reads nothing where the length that is told is too much", async () => {
    const api = await against(
      (_, response) => void response.writeHead(200, { "content-length": 1e9 }).write("x"),
    );
    expect((await failure(api.download("a.jpg", { maxBytes: 1000 }))).message).toBe("more than 1000 bytes");
  });

  it("takes what is exactly as long", async () => {
    const api = await against((_, response) => void response.end("x".repeat(1000)));
    expect(await api.download("a.jpg", { maxBytes: 1000 })).toHaveLength(1000);
  });

  it("tells a refusal", async () => {
    const api = await against(json(404, { ok: false }));
    expect(await failure(api.download("a.jpg", { maxBytes: 9 }))).toMatchObject({ code: 404 });
  });

  it.each(["", "..", "a/../b", "a//b", "/etc/passwd", "./a"])("asks for no path %j", async (path) => {
    const api = await against((_, response) => void response.end("x"));
    expect((await failure(api.download(path, { maxBytes: 9 }))).message).toBe(
      "download: the path of the file is none",
    );
  });
});
