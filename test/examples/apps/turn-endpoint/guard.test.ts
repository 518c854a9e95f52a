import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RawHttp, statusOf } from "./raw-http.js";
import { modelThatSays, type Served, TurnPlace } from "./turn-place.js";

const place = new TurnPlace();
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
    // A name that was pointed at this machine.
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
