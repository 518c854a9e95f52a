import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileBlobStore } from "sessile/blobs/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePdf, makePng } from "../../../../examples/apps/support/make-media.js";
import { modelThatSays, type Served, TurnPlace } from "./turn-place.js";

const place = new TurnPlace();
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
    // Whatever it looks like to a browser, it is not run.
    ["page.txt", "<!doctype html><script>alert(1)</script>", "text/plain; charset=utf-8"],
    ["image.md", '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', "text/plain; charset=utf-8"],
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
