import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { statusOf } from "./raw-http.js";
import { modelThatSays, type Served, TurnPlace } from "./turn-place.js";

const place = new TurnPlace();
const page = join(place.dir, "page");
let served: Served;
beforeAll(async () => {
  mkdirSync(join(page, "deep"), { recursive: true });
  for (const name of ["index.html", "page.js", "page-2.css", "notes.txt", ".hidden.js", "deep/page.js"]) {
    writeFileSync(join(page, name), name);
  }
  writeFileSync(join(place.dir, "secret.js"), "secret");
  symlinkSync(join(place.dir, "secret.js"), join(page, "link.js"));
  served = await place.serve(modelThatSays("Hello."), { page });
});
afterAll(() => place[Symbol.asyncDispose]());

const get = (path: string) => fetch(`${served.server.origin}${path}`);

describe("the page", () => {
  it.each([
    ["/", "text/html; charset=utf-8", "index.html"],
    ["/index.html", "text/html; charset=utf-8", "index.html"],
    ["/page.js", "text/javascript; charset=utf-8", "page.js"],
    ["/page-2.css?v=1", "text/css; charset=utf-8", "page-2.css"],
  ])("%s is there without a token, as %s", async (path, type, body) => {
    const answer = await get(path);
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([
      200,
      type,
      body,
    ]);
    const policy = answer.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toContain("unsafe");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it.each([
    "/../secret.js",
    "/..%2fsecret.js",
    "/%2e%2e/secret.js",
    "/..\\secret.js",
    "//secret.js",
    "/./page.js",
    "/deep/page.js",
    "/deep/../page.js",
    "/link.js",
    "/notes.txt",
    "/.hidden.js",
    "/missing.js",
    "/page.js%00.html",
    "/PAGE.js",
    "/page.js/",
    "/etc/passwd",
    "*",
    "http://127.0.0.1/page.js",
  ])("%s is not there", async (path) => {
    const { port } = served.server;
    expect(await statusOf(port, `GET ${path} HTTP/1.1`, `Host: localhost:${port}`)).toBe(404);
  });
});
