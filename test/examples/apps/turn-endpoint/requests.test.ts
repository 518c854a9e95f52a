import { setImmediate, setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RawHttp, statusOf } from "./raw-http.js";
import { modelThatSays, type Served, TurnFixture } from "./turn-fixture.js";

describe("origin, token and route", () => {
  const place = new TurnFixture();
  let served: Served;
  beforeAll(async () => {
    served = await place.serve(modelThatSays("Hello."));
  });
  afterAll(() => place[Symbol.asyncDispose]());

  const session = "GET /api/harness/session HTTP/1.1";
  const ask = (...headers: readonly string[]) => {
    const { port, token } = served.server;
    const filled = headers.map((line) => line.replaceAll("PORT", String(port)).replaceAll("TOKEN", token));
    return statusOf(port, session, ...filled);
  };
  const host = "Host: 127.0.0.1:PORT";
  const bearer = "Authorization: Bearer TOKEN";

  describe("the Host of a request", () => {
    it.each([[host], ["Host: localhost:PORT"], ["Host: LOCALHOST:PORT"]])("may be %s", async (line) => {
      expect(await ask(line, bearer)).toBe(200);
    });

    it.each([
      ["Host: 127.0.0.1:1"],
      ["Host: 127.0.0.1"],
      ["Host: localhost"],
      ["Host: evil.example:PORT"],
      // A name that was rebound to this machine.
      ["Host: 127.0.0.1.evil.example:PORT"],
      ["Host: evil@127.0.0.1:PORT"],
      ["Host: [::1]:PORT"],
      ["Host: "],
    ])("may not be %s", async (line) => {
      expect(await ask(line, bearer)).toBe(403);
    });

    it("may not be there twice, whichever is right", async () => {
      expect([400, 403]).toContain(await ask(host, "Host: evil.example", bearer));
      expect([400, 403]).toContain(await ask("Host: evil.example", host, bearer));
    });

    it("is asked for the page too, so that no other site can read it under a name of its own", async () => {
      const { port } = served.server;
      expect(await statusOf(port, "GET / HTTP/1.1", "Host: evil.example")).toBe(403);
    });
  });

  describe("the Origin of a request", () => {
    it("may be missing, or this server's", async () => {
      expect(await ask(host, bearer)).toBe(200);
      expect(await ask(host, bearer, "Origin: http://127.0.0.1:PORT")).toBe(200);
      expect(await ask("Host: localhost:PORT", bearer, "Origin: http://localhost:PORT")).toBe(200);
    });

    it.each([
      ["Origin: null"],
      ["Origin: http://evil.example"],
      ["Origin: https://127.0.0.1:PORT"],
      ["Origin: http://127.0.0.1:1"],
      ["Origin: http://127.0.0.1"],
      ["Origin: http://localhost:PORT"],
      ["Origin: http://127.0.0.1:PORT.evil.example"],
      ["Origin: "],
    ])("may not be %s", async (line) => {
      expect(await ask(host, bearer, line)).toBe(403);
    });

    it("may not be there twice with another one behind", async () => {
      expect(await ask(host, bearer, "Origin: http://127.0.0.1:PORT", "Origin: null")).toBe(403);
    });
  });

  describe("the token", () => {
    it.each([
      [""],
      ["Authorization: "],
      ["Authorization: Bearer "],
      ["Authorization: Bearer TOKENx"],
      ["Authorization: Bearer wrong"],
      ["Authorization: Basic TOKEN"],
      ["Authorization: TOKEN"],
      ["Cookie: token=TOKEN"],
    ])("is not %j", async (line) => {
      expect(await ask(host, ...(line === "" ? [] : [line]))).toBe(401);
    });

    it("is not a part of itself", async () => {
      expect(await ask(host, `Authorization: Bearer ${served.server.token.slice(0, -1)}`)).toBe(401);
    });

    it("is asked for before it is said whether there is such an address", async () => {
      const { port } = served.server;
      expect(await statusOf(port, "GET /api/none HTTP/1.1", `Host: localhost:${port}`)).toBe(401);
    });

    it("is in no address and no answer", async () => {
      const { server } = served;
      expect(server.url).toBe(`${server.origin}/#${server.token}`);
      const answer = await served.client.send("GET", "/api/harness/session");
      expect(JSON.stringify([...answer.headers]) + (await answer.text())).not.toContain(server.token);
    });
  });

  describe("methods and addresses", () => {
    it.each([
      ["GET", "/api/harness/turn", "POST, DELETE"],
      ["PUT", "/api/harness/turn", "POST, DELETE"],
      ["OPTIONS", "/api/harness/turn", "POST, DELETE"],
      ["DELETE", "/api/harness/session", "GET"],
      ["POST", "/api/harness/blobs/x", "GET"],
      ["POST", "/", "GET"],
    ])("%s %s is none: 405", async (method, path, allow) => {
      const answer = await served.client.send(method, path);
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
    });

    it.each(["/api/", "/api/harness", "/api/harness/turn/", "/api/harness/constructor", "/api/__proto__"])(
      "%s is none: 404",
      async (path) => {
        expect((await served.client.send("GET", path)).status).toBe(404);
      },
    );

    it("a method that objects have is none", async () => {
      const { port, token } = served.server;
      using raw = await RawHttp.open(port);
      raw.write(
        "TRACE /api/harness/session HTTP/1.1",
        `Host: localhost:${port}`,
        `Authorization: Bearer ${token}`,
        "",
        "",
      );
      expect(await raw.untilStatus()).toBe(405);
    });

    it("nobody else's page may read an answer or show it", async () => {
      const { headers } = await served.client.send("GET", "/api/harness/session");
      expect(headers.get("access-control-allow-origin")).toBeNull();
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(headers.get("cache-control")).toBe("no-store");
    });
  });
});

describe("bodies", () => {
  const MiB = 2 ** 20;
  const place = new TurnFixture();
  let served: Served;
  /** A server with short timeouts. */
  let strict: Served;
  beforeAll(async () => {
    const limits = { lingerBytes: 32 * MiB, lingerMs: 20_000 };
    served = await place.serve(modelThatSays("Hello."), { limits });
    strict = await place.serve(modelThatSays("Hello."), { limits: { headersMs: 300, requestMs: 600 } });
  });
  afterAll(() => place[Symbol.asyncDispose]());

  const head = (...lines: readonly string[]) => headTo(served, ...lines);
  const headTo = ({ server: { port, token } }: Served, ...lines: readonly string[]) => {
    return [
      "POST /api/harness/turn HTTP/1.1",
      `Host: localhost:${port}`,
      `Authorization: Bearer ${token}`,
      "Content-Type: application/json",
      ...lines,
      "",
      "",
    ];
  };
  const post = (body: unknown, headers?: Readonly<Record<string, string>>) =>
    served.client.send("POST", "/api/harness/turn", body, headers);
  const code = async (answer: Response) => [answer.status, (await answer.json()).error.code];
  const entries = async () => (await served.client.session()).entries.length;
  const json = { "content-type": "application/json" };

  describe("the body of a turn", () => {
    it("has at most 1 MiB, and may have that", async () => {
      const message = (bytes: number) =>
        Buffer.from(`{"message":"${"a".repeat(bytes - '{"message":""}'.length)}"}`);
      const before = await entries();
      expect(await code(await post(message(MiB + 1), json))).toEqual([413, "TOO_LARGE"]);
      expect(await entries()).toBe(before);
      const taken = await post(message(MiB), json);
      expect(taken.status).toBe(200);
      expect(await taken.text()).toMatch(/^event: done$/m);
    });

    it.each([
      ["no UTF-8", Buffer.from([...Buffer.from('{"message":"'), 0xff, 0xfe, ...Buffer.from('"}')])],
      ["UTF-8 that is cut off", Buffer.from('{"message":"ü"}').subarray(0, 13)],
      ["no JSON", Buffer.from("message=hi")],
      ["JSON that is nested without end", Buffer.from("[".repeat(500_000))],
      ["nothing", Buffer.from("")],
      ["a list", Buffer.from('["hi"]')],
      ["null", Buffer.from("null")],
      ["no message", Buffer.from("{}")],
      ["a message that is no text", Buffer.from('{"message":{"toString":1}}')],
      ["attachments that are no list", Buffer.from('{"message":"a","attachments":"/a.png"}')],
      ["an attachment that is no path", Buffer.from('{"message":"a","attachments":[{"path":"/a.png"}]}')],
      [
        "more attachments than anybody has",
        Buffer.from(JSON.stringify({ message: "", attachments: Array(101).fill("/a.png") })),
      ],
      ["neither text nor attachments", Buffer.from('{"message":" \\n","attachments":[]}')],
    ])("is refused where it is %s", async (_what, body) => {
      const before = await entries();
      expect(await code(await post(body, json))).toEqual([400, "INVALID_BODY"]);
      expect(await entries()).toBe(before);
    });

    it("is refused where it is said to be something else, as a form of another site would", async () => {
      const body = Buffer.from('{"message":"hi"}');
      expect(await code(await post(body, { "content-type": "text/plain" }))).toEqual([415, "NOT_JSON"]);
      expect(await code(await post(body))).toEqual([415, "NOT_JSON"]);
      expect(await code(await post(body, { ...json, "content-encoding": "gzip" }))).toEqual([
        415,
        "ENCODED_BODY",
      ]);
    });

    it("that is told to be too long is refused before it comes", async () => {
      using raw = await RawHttp.open(served.server.port);
      raw.write(...head(`Content-Length: ${MiB + 1}`));
      expect(await raw.untilStatus()).toBe(413);
      expect(raw.received).toMatch(/^connection: close\r$/im);
    });

    it("that is refused is read on for a while: who sends all before it reads has its answer too", async () => {
      using raw = await RawHttp.open(served.server.port);
      raw.socket.pause();
      raw.write(...head(`Content-Length: ${24 * MiB}`));
      await new Promise((sent) => raw.socket.write(Buffer.alloc(24 * MiB, "x"), sent));
      await setTimeout(100);
      raw.socket.resume();
      await raw.untilClosed();
      expect(raw.status).toBe(413);
      expect(raw.received).toContain('"TOO_LARGE"');
    });

    it("that has no end is refused while it comes, and the connection closed soon after", async () => {
      using raw = await RawHttp.open(served.server.port);
      raw.write(...head("Transfer-Encoding: chunked"));
      const chunk = Buffer.from(`10000\r\n${"x".repeat(0x10000)}\r\n`);
      let sent = 0;
      while (!raw.closed && sent < 256 * MiB) {
        if (raw.socket.write(chunk)) await setImmediate();
        else await Promise.race([new Promise((done) => raw.socket.once("drain", done)), raw.untilClosed()]);
        sent += 0x10000;
      }
      await raw.untilClosed();
      expect(raw.status).toBe(413);
      expect(raw.received).toContain('"TOO_LARGE"');
      // The limit, the discarded bytes, and the buffers of the system.
      expect(sent).toBeLessThan(1 * MiB + 32 * MiB + 16 * MiB);
    });

    it("that comes too slowly ends with its connection", async () => {
      using raw = await RawHttp.open(strict.server.port);
      raw.write(...headTo(strict, "Content-Length: 1000"));
      const drip = setInterval(() => raw.socket.write("x"), 20);
      await raw.untilClosed();
      clearInterval(drip);
      expect(raw.status).toBe(408);
    });

    it("need not come at all: headers that have no end are not waited for", async () => {
      using raw = await RawHttp.open(strict.server.port);
      raw.write("POST /api/harness/turn HTTP/1.1", "");
      const drip = setInterval(() => raw.socket.write("X-A: a\r\n"), 20);
      await raw.untilClosed();
      clearInterval(drip);
      expect(raw.status).toBe(408);
    });

    it("may be cut off, and the server answers others", async () => {
      {
        using raw = await RawHttp.open(served.server.port);
        raw.write(...head("Content-Length: 1000"));
        raw.write('{"mess');
        await setTimeout(20);
      }
      const answer = await post({ message: "hi" });
      expect(answer.status).toBe(200);
      await answer.text();
    });

    it("is not guessed where two lengths are told", async () => {
      using raw = await RawHttp.open(served.server.port);
      raw.write(...head("Content-Length: 5", "Transfer-Encoding: chunked"));
      raw.write("0\r\n\r\n");
      expect(await raw.untilStatus()).toBe(400);
    });
  });
});
