import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import { sniff } from "sessile/media";
import type { SequencedFrame } from "sessile/tether";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LocalProvider, startLocalProvider } from "../../../examples/apps/support/local-provider.js";
import { root } from "../../../scripts/entries.mjs";
import { png } from "../../attachments/samples.js";
import { pngOf } from "../../support/tether.js";
import { runsSources } from "../support/programs.js";
import { ask, call, type Host, imagesOf, jsonOf, type Over, startHost } from "./mcp-server/hosts.js";

const mebibyte = 2 ** 20;
/** Each takes a second or two on an idle machine. */
const timeout = 600_000;

let scratch: string;
let provider: LocalProvider;
beforeAll(async () => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-mcp-test-"));
  provider = await startLocalProvider();
});
afterAll(async () => {
  await provider?.[Symbol.asyncDispose]();
  rmSync(scratch, { recursive: true, force: true });
});

const freshDir = () => mkdtempSync(join(scratch, "agent-"));
const wire = (bytes: Uint8Array, media_type = "image/png") => ({
  media_type,
  data: Buffer.from(bytes).toString("base64"),
});

/** The base64 of the images in the model's last request, oldest first. */
function imagesSent(): readonly string[] {
  const blocks = (provider.requests.at(-1)?.messages ?? []).flatMap(({ content }) =>
    typeof content === "string" ? [] : content,
  );
  return blocks.flatMap((block) =>
    block.type === "image" && block.source.type === "base64" ? [block.source.data] : [],
  );
}

/** All text of the model's last request. */
function textSent(): string {
  return JSON.stringify(provider.requests.at(-1), (key, value) => (key === "data" ? "" : value));
}

const textOf = ({ payload }: SequencedFrame) => (payload as { readonly text: string }).text;

/** The path of a blob. */
function blobOf(dir: string, bytes: Uint8Array): string {
  const name = createHash("sha256").update(bytes).digest("hex");
  return join(dir, "sessions", "blobs", `${name}.png`);
}

function logsIn(dir: string): readonly string[] {
  const names = readdirSync(join(dir, "sessions"), { recursive: true, encoding: "utf8" });
  const logs = names.filter((name) => name.endsWith(".jsonl"));
  return logs.map((name) => readFileSync(join(dir, "sessions", name), "utf8"));
}

describe.each<Over>(["stdio", "http"])("an MCP host over %s", (over) => {
  let host: Host;
  let dir: string;
  const start = (at: string) => startHost({ over, dir: at, provider: provider.url });
  const send = (args: object) => call(host.client, "tether_send", args);
  beforeAll(async () => {
    dir = freshDir();
    host = await start(dir);
  }, timeout);
  afterAll(() => host?.[Symbol.asyncDispose]());

  // @covers R54 R57
  it("1. MCP image round-trip", { timeout }, async () => {
    const image = png(320, 200);
    const session = { session_id: "one" };
    const { text, done } = await ask(
      host.client,
      { text: "What is attached?", images: [wire(image)] },
      session,
    );
    expect(text).toMatch(/^An image of 320 x 200 pixels: res_[0-9a-f]{16}\.$/);
    expect(done.payload).toEqual({ text });
    expect(imagesSent()).toEqual([Buffer.from(image).toString("base64")]);
  });

  // @covers R51 R69
  it("2. MCP image egress", { timeout }, async () => {
    const { result, done } = await ask(
      host.client,
      { text: "Show 3, 1, 4 as a chart." },
      { session_id: "two" },
    );
    expect(done.payload).toEqual({
      text: "Here is the chart, 80 x 120 pixels.",
      images: [{ _mcp_index: 0 }],
    });
    const drawn = readFileSync(join(dir, "workspace", "chart.png"));
    expect(imagesOf(result)).toEqual([
      { type: "image", mimeType: "image/png", data: drawn.toString("base64") },
    ]);
    expect(sniff(drawn)).toMatchObject({ kind: "image", width: 80, height: 120 });
    const all = jsonOf(await call(host.client, "tether_read", { session_id: "two" })).frames;
    const said = (type: string) =>
      all.flatMap((frame: SequencedFrame) => (frame.type === type ? [textOf(frame)] : []));
    expect(said("assistant.delta").join("")).toBe(`I draw it.${done.payload.text}`);
    expect(said("assistant.done")).toEqual([done.payload.text]);
    expect(all.at(-1).type).toBe("assistant.done");
  });

  // @covers R44
  it("3. Oversized single image", { timeout }, async () => {
    const before = provider.requests.length;
    const result = await send({ text: "Large.", images: [wire(pngOf(15 * mebibyte))] });
    expect(result.isError).toBe(true);
    expect(jsonOf(result)).toEqual({
      code: "LIMIT_EXCEEDED",
      message: "images[0] too large: 15728640 bytes (max 10485760)",
    });
    expect(provider.requests).toHaveLength(before);
  });

  // @covers R44 R81
  it("4. Oversized frame total", { timeout }, async () => {
    const images = [0, 1, 2, 3].map((grey) => wire(pngOf(8 * mebibyte, grey)));
    if (over === "http") {
      // Too long for the wire: refused before it is read.
      await expect(send({ text: "Four.", images })).rejects.toThrow(/the body has more than 29425664 bytes/);
    } else {
      const result = await send({ text: "Four.", images });
      expect(jsonOf(result).message).toBe("images too large together: 33554432 bytes (max 20971520)");
    }
    const three = await send({
      text: "Three.",
      images: images.slice(0, 2).concat(wire(pngOf(4 * mebibyte + 1))),
    });
    expect(three.isError).toBe(true);
    expect(jsonOf(three).message).toBe("images too large together: 20971521 bytes (max 20971520)");
  });

  it("5. Too many images", { timeout }, async () => {
    const result = await send({ text: "Five.", images: Array(5).fill(wire(png())) });
    expect(result.isError).toBe(true);
    expect(jsonOf(result)).toEqual({ code: "LIMIT_EXCEEDED", message: "too many images: 5 (max 4)" });
  });

  // @covers R36
  it("6. Backward compatibility", { timeout }, async () => {
    const session = { session_id: "six" };
    const { done, result } = await ask(host.client, { text: "What is attached?" }, session);
    expect(done.payload).toEqual({ text: "Nothing that I can see." });
    expect(imagesOf(result)).toEqual([]);
    const { messages } = provider.requests.at(-1) as Anthropic.MessageCreateParams;
    expect(messages).toHaveLength(1);
    expect(JSON.stringify(messages[0]?.content)).toContain("What is attached?");
    const read = await call(host.client, "tether_read", { ...session, types: ["user.message"] });
    expect(jsonOf(read).frames[0].payload).toEqual({ text: "What is attached?" });
  });

  // @covers R60 R61 R62 R63 R64 R88
  it("7. Session persistence with blob refs", { timeout }, async () => {
    const at = freshDir();
    const image = png(64, 48);
    const first = await start(at);
    // The answer does not matter, and the process may die before it.
    const sent = await call(first.client, "tether_send", { text: "Keep this.", images: [wire(image)] });
    expect(jsonOf(sent)).toMatchObject({ status: "kept" });
    await first.kill();
    expect(readFileSync(blobOf(at, image)).equals(image)).toBe(true);
    const [log = ""] = logsIn(at);
    expect(log).toContain(basename(blobOf(at, image), ".png"));
    expect(log).not.toContain(wire(image).data);
    await using second = await start(at);
    const { text } = await ask(second.client, { text: "What was shown so far?" });
    expect(text).toBe("64 x 48");
    expect(imagesSent()).toEqual([wire(image).data]);
    // And so it goes on, turn after turn.
    await ask(second.client, { text: "And what was shown so far, again?" });
    expect(imagesSent()).toEqual([wire(image).data]);
  });

  // @covers R65
  it("8. Missing blob graceful degradation", { timeout }, async () => {
    const session = { session_id: "eight" };
    const [lost, kept] = [png(164, 48), png(132, 24)];
    const images = [wire(lost), wire(kept)];
    await ask(host.client, { text: "What is attached?", images }, session);
    rmSync(blobOf(dir, lost));
    const { text } = await ask(host.client, { text: "What was shown so far?" }, session);
    expect(text).toBe("132 x 24");
    expect(imagesSent()).toEqual([wire(kept).data]);
    expect(textSent()).toContain("What is attached?");
    expect(textSent()).toMatch(
      /\[image, image\/png, \d+ B, res_\w+\] \(not shown: its bytes are no longer stored\)/,
    );
    // Standard error comes by a pipe of its own.
    await expect.poll(() => host.errors()).toMatch(/^missing: /m);
    const { done } = await ask(host.client, { text: "Show 1, 2 as a chart." }, session);
    expect(done.payload.images).toEqual([{ _mcp_index: 0 }]);
  });

  // @covers R55
  it("10. Multi-frame image correlation", { timeout }, async () => {
    const session = { session_id: "ten" };
    for (const numbers of ["1, 2", "1, 2, 3, 4", "5"]) {
      await ask(host.client, { text: `Show ${numbers} as a chart.` }, session);
    }
    const result = await call(host.client, "tether_read", { ...session, types: ["assistant.done"] });
    const { frames } = jsonOf(result);
    const images = imagesOf(result);
    const sizeAt = (index: number) => {
      const media = sniff(Buffer.from(images[index]?.data ?? "", "base64"));
      return media?.kind === "image" ? `Here is the chart, ${media.width} x ${media.height} pixels.` : "";
    };
    expect(images).toHaveLength(3);
    expect(frames.map(({ payload }: { payload: unknown }) => payload)).toEqual(
      [0, 1, 2].map((index) => ({ text: sizeAt(index), images: [{ _mcp_index: index }] })),
    );
    expect(new Set([0, 1, 2].map(sizeAt)).size).toBe(3);
  });

  it("an image that is no longer shown is looked at again, and does not go out with the answer", {
    timeout,
  }, async () => {
    const session = { session_id: "again" };
    const shots = Array.from({ length: 21 }, (_, at) => png(30 + at, 20));
    for (let at = 0; at < shots.length; at += 4) {
      const images = shots.slice(at, at + 4).map((one) => wire(one));
      await ask(host.client, { text: "What is attached?", images }, session);
    }
    await ask(host.client, { text: "What was shown so far?" }, session);
    expect(imagesSent()).toEqual(shots.slice(1).map((one) => wire(one).data));
    const [, id] = /not sent again, view (res_\w+) to see it/.exec(textSent()) ?? [];
    const { tools = [] } = provider.requests.at(-1) as Anthropic.MessageCreateParams;
    expect(tools.map((tool) => "name" in tool && tool.name)).toContain("view_resource");
    const { done, result } = await ask(host.client, { text: "Look again at the first." }, session);
    expect(done.payload).toEqual({ text: "It is an image of 30 x 20 pixels." });
    expect(imagesOf(result)).toEqual([]);
    expect(JSON.stringify(provider.requests.at(-1))).toContain(wire(shots[0] as Uint8Array).data);
    const lines = logsIn(dir).flatMap((log) => log.split("\n"));
    const views = lines.filter((line) => line.includes('"type":"resource_view"'));
    expect(views).toEqual([expect.stringContaining(`"resourceId":"${id}"`)]);
  });

  // @covers R81 R82
  it("20. Size validation: a whole frame at its limits goes through, and a byte more does not", {
    timeout,
  }, async () => {
    const images = [pngOf(10 * mebibyte, 1), pngOf(10 * mebibyte, 2)];
    const session = { session_id: "twenty" };
    const { done } = await ask(
      host.client,
      { text: "Keep these.", images: images.map((one) => wire(one)) },
      session,
    );
    // This model accepts no such images, so the request describes them; they are stored all the same.
    expect(done.payload).toEqual({ text: "That is not in my script." });
    expect(textSent()).toMatch(/\[image, image\/png, 10\.5 MB, res_\w+\] \(not shown: /);
    for (const image of images) expect(readFileSync(blobOf(dir, image)).equals(image)).toBe(true);
    const more = await send({ text: "More.", images: [wire(pngOf(10 * mebibyte + 1))] });
    expect(jsonOf(more).message).toBe("images[0] too large: 10485761 bytes (max 10485760)");
  });

  // @covers R87
  it("21. Media type validation", { timeout }, async () => {
    const refused = async (image: object) => jsonOf(await send({ text: "Look.", images: [image] }));
    expect(await refused(wire(png(), "image/svg+xml"))).toMatchObject({ code: "LIMIT_EXCEEDED" });
    expect(await refused(wire(png(), "image/jpeg"))).toMatchObject({ code: "MEDIA_TYPE_MISMATCH" });
    expect(await refused(wire(Buffer.from("<html>")))).toMatchObject({ code: "MEDIA_TYPE_MISMATCH" });
    expect(await refused(wire(png().slice(0, 12)))).toMatchObject({ code: "MEDIA_INVALID" });
    expect(await refused({ media_type: "image/png", data: "no base64!" })).toMatchObject({
      code: "INVALID_MESSAGE",
    });
  });

  it("22. Oversize rejection test", { timeout }, async () => {
    const large = await send({ text: "15 MB.", images: [wire(pngOf(15_000_000))] });
    expect(jsonOf(large)).toMatchObject({
      code: "LIMIT_EXCEEDED",
      message: expect.stringContaining("15000000"),
    });
    const images = Array<object>(5).fill(wire(pngOf(10 * mebibyte)));
    if (over === "http") {
      await expect(send({ text: "Five of 10 MB.", images })).rejects.toThrow(/the body has more than/);
    } else {
      const five = await send({ text: "Five of 10 MB.", images });
      expect(jsonOf(five)).toMatchObject({ code: "LIMIT_EXCEEDED", message: "too many images: 5 (max 4)" });
    }
    // It is still there.
    expect((await ask(host.client, { text: "What is attached?" })).text).toBe("Nothing that I can see.");
  });

  // @covers R67
  it("keeps the lines of sessions far below what a scanner of 256 KB takes", { timeout }, async () => {
    const images = [0, 1, 2, 3].map((grey) => wire(pngOf(mebibyte, grey)));
    await ask(host.client, { text: "What is attached?", images }, { session_id: "lines" });
    const lines = logsIn(dir).flatMap((log) => log.split("\n"));
    expect(lines.length).toBeGreaterThan(4);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(8_000);
  });
});

describe("a ring with little room", () => {
  // @covers R84
  it("9. Tether store byte budget", { timeout }, async () => {
    const args = ["--ring-bytes", "300000"];
    const options = { over: "stdio", dir: freshDir(), provider: provider.url, args } as const;
    await using small = await startHost(options);
    const session = { session_id: "nine" };
    const types = ["user.message"];
    const read = async (after_seq: number) =>
      jsonOf(await call(small.client, "tether_read", { ...session, types, after_seq }));
    for (let n = 0; n < 10; n++) await ask(small.client, { text: `Words ${n}.` }, session);
    const words = await read(0);
    expect(words.missed).toBe(0);
    expect(words.frames).toHaveLength(10);
    for (let n = 0; n < 5; n++) {
      await ask(small.client, { text: `Image ${n}.`, images: [wire(pngOf(100_000, n))] }, session);
    }
    const { frames, missed } = await read(0);
    expect(missed).toBeGreaterThan(30);
    expect(frames.map(({ payload }: { payload: { text: string } }) => payload.text)).toEqual([
      "Image 3.",
      "Image 4.",
    ]);
    const { seq } = frames[1];
    // Later text pushes no image out of the ring.
    for (let n = 0; n < 10; n++) await ask(small.client, { text: `More words ${n}.` }, session);
    const later = await read(0);
    expect(later.frames.map((frame: { seq: number }) => frame.seq)).toContain(seq);
    expect(later.frames).toHaveLength(12);
  });
});

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function demo(env: Readonly<Record<string, string>> = {}): Promise<Run> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [...runsSources, "examples/apps/mcp-server/demo.ts"],
      { cwd: root, env: { ...process.env, TMPDIR: scratch, NO_COLOR: "1", FORCE_COLOR: undefined, ...env } },
      (_error, stdout, stderr) => done({ code: child.exitCode, stdout, stderr }),
    );
  });
}

describe("the MCP server example", () => {
  it("ends well, with every check, and leaves nothing behind", { timeout }, async () => {
    const { code, stdout, stderr } = await demo();
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).not.toContain("FAIL");
    expect(stdout.match(/^ok {3}/gm)).toHaveLength(10);
    expect(readdirSync(scratch).filter((name) => name.startsWith("sessile-mcp-"))).toEqual([]);
  });

  it("ends with an exit code of 1 when something is off", { timeout }, async () => {
    // With a provider that refuses, only the checks of the server's own refusals pass.
    const refusing = createServer((_request, response) => {
      response.writeHead(400, { "content-type": "application/json" }).end('{"type":"error"}');
    });
    refusing.listen(0, "127.0.0.1");
    await once(refusing, "listening");
    const { port } = refusing.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const { code, stdout } = await demo({ ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: url });
    refusing.close();
    expect(stdout).toContain("I could not answer: 400");
    expect(code).toBe(1);
    expect(stdout).toContain("FAIL the answer has one image");
  });
});
