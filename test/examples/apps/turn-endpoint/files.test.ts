import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { fileBlobStore } from "sessile/node";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { makePdf, makePng } from "../../../../examples/apps/support/make-media.js";
import { uploadName } from "../../../../examples/apps/turn-endpoint/files.js";
import { RawHttp, statusOf } from "./raw-http.js";
import { modelThatSays, type Served, TurnFixture } from "./turn-fixture.js";

describe("uploads", () => {
  const MiB = 2 ** 20;
  let place: TurnFixture;
  let served: Served;
  beforeEach(async () => {
    place = new TurnFixture();
    served = await place.serve(modelThatSays("Hello."));
  });
  afterEach(() => place[Symbol.asyncDispose]());

  const uploaded = () => readdirSync(join(place.dir, "uploads"));
  const post = (name: string, bytes: Uint8Array) =>
    served.client.send("POST", `/api/harness/files?name=${name}`, bytes);

  describe("an upload", () => {
    // @covers R17
    it("is kept byte for byte, and told by its bytes", async () => {
      const image = makePng(32, 20);
      const answer = await post("screen.png", image);
      expect(answer.status).toBe(201);
      const file = await answer.json();
      expect(file).toEqual({
        path: expect.stringMatching(/^\//),
        name: "screen.png",
        mediaType: "image/png",
        kind: "image",
        size: image.length,
        width: 32,
        height: 20,
      });
      expect(dirname(dirname(file.path))).toBe(join(place.dir, "uploads"));
      expect(Buffer.compare(readFileSync(file.path), image)).toBe(0);
      // Readable only by the owner.
      expect(statSync(file.path).mode & 0o077).toBe(0);
    });

    it("may be a PDF or text", async () => {
      expect(await served.client.upload("a.pdf", makePdf())).toMatchObject({
        kind: "file",
        mediaType: "application/pdf",
      });
      const text = Buffer.from("\uFEFFgrün");
      expect(await served.client.upload("a.md", text)).toMatchObject({
        kind: "file",
        mediaType: "text/plain",
        size: text.length,
      });
    });

    // @covers R165
    it("of 10 MiB is taken, and of a byte more is not, whether its length is told or not", async () => {
      const ten = Buffer.alloc(10 * MiB, "a");
      expect((await post("a.txt", ten)).status).toBe(201);
      expect(uploaded()).toHaveLength(1);
      const more = Buffer.alloc(10 * MiB + 1, "a");
      const told = await post("b.txt", more);
      expect([told.status, await told.json()]).toEqual([
        413,
        { error: { code: "TOO_LARGE", message: "at most 10485760 bytes are taken" } },
      ]);
      const untold = await fetch(`${served.server.origin}/api/harness/files?name=c.txt`, {
        method: "POST",
        headers: { authorization: `Bearer ${served.server.token}` },
        body: new Blob([more]).stream(),
        duplex: "half",
      } as RequestInit);
      expect(untold.status).toBe(413);
      expect(uploaded()).toHaveLength(1);
    });

    it.each([
      ["page.png", Buffer.from("<!doctype html>"), "CONTENT_MISMATCH"],
      ["page.html", Buffer.from("<!doctype html>"), "UNSUPPORTED_EXTENSION"],
      ["program.bin", Buffer.from("x"), "UNSUPPORTED_EXTENSION"],
      ["", Buffer.from("x"), "UNSUPPORTED_EXTENSION"],
      ["bad.txt", Buffer.from([0x61, 0xff, 0xfe]), "NOT_TEXT"],
      ["empty.txt", Buffer.from(""), "EMPTY"],
      ["half.png", Buffer.from(makePng(9, 9)).subarray(0, 20), "IMAGE_INVALID"],
      ["wide.png", makePng(9000, 1), "TARGET_LIMIT"],
    ])("that no turn would take is refused, and not kept: %s", async (name, bytes, code) => {
      const answer = await post(name, bytes);
      expect([answer.status, (await answer.json()).error.code]).toEqual([415, code]);
      expect(uploaded()).toEqual([]);
    });

    it("from which the client goes away leaves nothing", async () => {
      const { port, token } = served.server;
      {
        using raw = await RawHttp.open(port);
        raw.write(
          "POST /api/harness/files?name=a.txt HTTP/1.1",
          `Host: localhost:${port}`,
          `Authorization: Bearer ${token}`,
          "Content-Length: 100000",
          "",
          "x".repeat(1000),
        );
        while (uploaded().length === 0) await setTimeout(5);
      }
      while (uploaded().length > 0) await setTimeout(5);
      expect((await post("a.txt", Buffer.from("x"))).status).toBe(201);
    });

    it("is removed in time: only the newest wait", async () => {
      const few = await place.serve(modelThatSays("Hello."), { limits: { uploads: 2 } });
      const names: string[] = [];
      for (const text of ["1", "2", "3"]) {
        names.push(basename(dirname((await few.client.upload("a.txt", Buffer.from(text))).path)));
        await setTimeout(2);
      }
      expect(uploaded().sort()).toEqual(names.slice(1));
    });

    it("that a killed server had begun is removed when the next one starts", async () => {
      const part = join(place.dir, "uploads", "0-0.part");
      mkdirSync(part);
      writeFileSync(join(part, "a.txt"), "half");
      await place.serve(modelThatSays("Hello."));
      expect(uploaded()).toEqual([]);
    });

    it("is one of many at once, none mixed up with another", async () => {
      const texts = Array.from({ length: 20 }, (_, at) => `${at} `.repeat(1000 + at));
      const files = await Promise.all(
        texts.map((text) => served.client.upload("same.txt", Buffer.from(text))),
      );
      expect(files.map(({ path }) => readFileSync(path, "utf8"))).toEqual(texts);
    });
  });

  describe("the name of an upload", () => {
    it.each([
      ["..%2F..%2F..%2Fetc%2Fpasswd.txt", "passwd.txt"],
      ["%2Fetc%2Fpasswd.txt", "passwd.txt"],
      ["C%3A%5CWindows%5Cwin.txt", "win.txt"],
      ["a%0D%0ASet-Cookie%3A%20x%3D1.txt", "a_Set-Cookie_ x=1.txt"],
      ["a%00.png.txt", "a_.png.txt"],
      ["%E2%80%AEgpj.txt", "_gpj.txt"],
      ["..%2F.txt", "txt"],
      ["na%C3%AFve+notes.txt", "naïve notes.txt"],
    ])("%s leads nowhere else: %s", async (given, name) => {
      const answer = await post(given, Buffer.from("x"));
      if (name === "txt") return expect(answer.status).toBe(415);
      const file = await answer.json();
      expect([answer.status, file.name, basename(file.path)]).toEqual([201, name, name]);
      expect(dirname(dirname(file.path))).toBe(join(place.dir, "uploads"));
      expect(answer.headers.get("set-cookie")).toBeNull();
    });

    it.each(["%FF%FE.txt", "%C3%28.txt", "%.txt", "%E0%A4%A"])("%s is no UTF-8: 400", async (given) => {
      const answer = await post(given, Buffer.from("x"));
      expect([answer.status, (await answer.json()).error.code]).toEqual([400, "INVALID_NAME"]);
      expect(uploaded()).toEqual([]);
    });
  });

  it("a hash of what was sent is that of what is kept, for chunks of any size", async () => {
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, at) => `${at}\n`).join(""));
    const { origin, token } = served.server;
    async function* chunks() {
      for (let at = 0, size = 1; at < bytes.length; at += size, size = (size * 3) % 65_537) {
        yield bytes.subarray(at, at + size);
      }
    }
    const answer = await fetch(`${origin}/api/harness/files?name=a.csv`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: chunks(),
      duplex: "half",
    } as unknown as RequestInit);
    const sha256 = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");
    expect(sha256(readFileSync((await answer.json()).path))).toBe(sha256(bytes));
  });

  // Lone surrogates too.
  const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
  const character = fc.oneof(anyCharacter, fc.constantFrom(..."./\\ \r\n\0:a"));

  it("is a name on any file system, whatever was given", () => {
    fc.assert(
      fc.property(fc.array(character, { maxLength: 200 }), (characters) => {
        const given = characters.join("");
        const name = uploadName(given);
        const isPlain = !/[/\\\p{Cc}]/u.test(name) && !/^\.*$/.test(name) && name.isWellFormed();
        return isPlain && Buffer.byteLength(name) <= 200 && uploadName(name) === name;
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ["screen.png", "screen.png"],
    ["../../etc/pass\r\nwd.png", "pass_wd.png"],
    ["C:\\Users\\me\\a.pdf", "a.pdf"],
    ["", "unnamed"],
    ["...", "unnamed"],
    ["a/", "unnamed"],
    ["e\u0301.png", "é.png"],
    [`${"ü".repeat(300)}.png`, `${"ü".repeat(60)}.png`],
    // No lone surrogate is left, and no white space at the end.
    [`a.${"𐀀".repeat(6)}`, `a.${"𐀀".repeat(4)}`],
    [`a.${"b".repeat(18)} c`, `a.${"b".repeat(18)}`],
    [`${"a".repeat(119)} b`, "a".repeat(119)],
  ])("of %j is %j", (given, name) => {
    expect(uploadName(given)).toBe(name);
  });
});

describe("blobs", () => {
  const place = new TurnFixture();
  let served: Served;
  beforeAll(async () => {
    served = await place.serve(modelThatSays("Hello."));
  });
  afterAll(() => place[Symbol.asyncDispose]());

  const get = (ref: string) => served.client.send("GET", `/api/harness/blobs/${ref}`);
  async function attach(name: string, bytes: Uint8Array | string): Promise<string> {
    const [user] = await served.client.turn("", [place.file(name, bytes)]);
    return user?.data.resources?.[0]?.blob ?? "";
  }

  describe("a blob", () => {
    it.each([
      ["a.png", makePng(9, 7), "image/png"],
      ["a.pdf", makePdf(), "application/pdf"],
      ["a.txt", "plain", "text/plain; charset=utf-8"],
      // A browser does not run it, whatever its type.
      ["page.txt", "<!doctype html><script>alert(1)</script>", "text/plain; charset=utf-8"],
      [
        "image.md",
        '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
        "text/plain; charset=utf-8",
      ],
    ])("of %s is sent byte for byte as what its bytes are", async (name, bytes, type) => {
      const answer = await get(await attach(name, bytes));
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, type]);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
      expect(Buffer.compare(Buffer.from(await answer.arrayBuffer()), Buffer.from(bytes))).toBe(0);
    });

    it("has no header that its file's name could have written", async () => {
      const answer = await get(await attach("a\r\nSet-Cookie: x=1\r\n.txt", "x"));
      expect(answer.status).toBe(200);
      expect(answer.headers.get("set-cookie")).toBeNull();
      expect(JSON.stringify([...answer.headers])).not.toContain("x=1");
    });

    // @covers R17
    it("that no resource of the session names is not sent, though it is in the store", async () => {
      const { ref } = await fileBlobStore({ dir: join(place.dir, "blobs") }).put(
        Buffer.from("another session's"),
      );
      expect((await get(ref)).status).toBe(404);
    });

    it.each([
      `sha256:${"0".repeat(64)}`,
      "sha256:..%2F..%2Fsecret",
      "sha256:../../secret",
      "x",
      "",
      `sha256:${"A".repeat(64)}`,
      `sha256:${"0".repeat(64)}/..`,
    ])("%s is none", async (ref) => {
      expect((await get(ref)).status).toBe(404);
    });

    it("that is gone or damaged in the store is never sent as if it were whole", async () => {
      const gone = await attach("gone.txt", "to be lost");
      const broken = await attach("broken.txt", "to be broken");
      const file = (ref: string) => {
        const hex = ref.slice("sha256:".length);
        const dir = join(place.dir, "blobs", "blobs", "sha256", hex.slice(0, 2));
        return join(dir, readdirSync(dir).find((name) => name.startsWith(hex.slice(0, 8))) ?? "");
      };
      rmSync(file(gone));
      writeFileSync(file(broken), "to be BROKEN", { flag: "r+" });
      expect((await get(gone)).status).toBe(404);
      expect((await get(broken)).status).toBe(500);
    });
  });
});

describe("files of the page", () => {
  const place = new TurnFixture();
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
});
