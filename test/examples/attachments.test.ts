import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makePdf, makePng } from "../../examples/apps/support/make-media.js";
import { root } from "../../scripts/entries.mjs";
import { startAnthropic } from "../support/providers/anthropic/server.js";
import { claudeAt, type ExampleRun, runClosingWords, runExample } from "./support/run-example.js";

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "sessile-attachments-test-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const demo = (files: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runExample("02-attachments", files, { TMPDIR: scratch, ...env });

/** Generous: each takes about a second where nothing else runs. */
const timeout = 600_000;
const media = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures", "media");

describe("the attachments example", () => {
  let run: ExampleRun;
  let requests: readonly string[];
  beforeAll(async () => {
    run = await demo([]);
    requests = run.stdout.match(/^ {2}request: .*$/gm) ?? [];
  }, timeout);

  it("ends well without a key", () => {
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toMatch(/^ {2}screen\.png: image\/png, 235 bytes, res_\w{16}$/m);
    expect(run.stdout).toMatch(/^ {2}link https:\/\/example\.com\/report\.pdf$/m);
  });

  it("sends attachments in their turn alone, and one again that the model views", () => {
    const link = "https://example.com/report.pdf as descriptor (link)";
    const described = ["screen.png", "paper.pdf", "notes.md"].map(
      (name) => `${name} as descriptor (earlierTurn)`,
    );
    expect(requests[0]).toBe(
      `  request: screen.png as bytes (currentTurn), paper.pdf as bytes (currentTurn), notes.md as bytes (currentTurn), ${link}`,
    );
    expect(requests[1]).toBe(`  request: ${[...described, link].join(", ")}`);
    expect(requests[2]).toBe(requests[1]);
    expect(requests[3]).toBe(`${requests[1]}, screen.png as bytes (currentTurn)`);
    expect(run.stdout).toContain("It is still a red box.");
  });

  it("lets nothing out of its boundary, and describes an image whose bytes are gone", () => {
    expect(requests[4]?.match(/ as nothing \(boundary\)/g)).toHaveLength(5);
    expect(requests.at(-1)).toMatch(/, screen\.png as descriptor \(missing\)$/);
    expect(run.stdout).toContain("It cannot be shown.");
    expect(run.stdout).toContain("granted: screen.png\n");
  });

  it("ends with calls of the command line: the context, and blobs that a session lacks", async () => {
    const [context, blobs] = await runClosingWords(run, scratch);
    expect(context?.stdout).toContain("It is still a red box.");
    // The bytes of one were deleted above.
    expect(blobs?.code).toBe(1);
  });

  it("collects what no log names, and nothing else", () => {
    expect(run.stdout).toMatch(/^ {2}2 kept, 1 in the trash$/m);
  });

  it("has a log without bytes and secrets", () => {
    const log = readFileSync(/^session: (.+)$/m.exec(run.stdout)?.[1] ?? "", "utf8");
    const image = readFileSync(join(root, "examples/files/screen.png"));
    expect(log).toContain('"name":"screen.png"');
    expect(log).not.toContain(image.toString("base64").slice(0, 40));
    expect(log).not.toMatch(/secret|me@/);
    expect(Math.max(...log.split("\n").map((line) => line.length))).toBeLessThan(8000);
  });

  it("takes files of any kind, and says of each what became of it", { timeout }, async () => {
    const at = (name: string) => join(scratch, name);
    writeFileSync(at("page.png"), "<html>");
    writeFileSync(at("mine.txt"), "Mine.\n");
    writeFileSync(at("empty.txt"), "");
    writeFileSync(at("unknown.bin"), Uint8Array.of(0, 1, 2, 255));
    writeFileSync(at("dot.png"), makePng(1, 1));
    writeFileSync(at("mine.pdf"), makePdf());
    mkdirSync(at("folder"));
    const names = [
      "dot.png",
      "page.png",
      "mine.txt",
      "empty.txt",
      "unknown.bin",
      "mine.pdf",
      "folder",
      "nowhere.txt",
    ];
    await using server = await startAnthropic();
    const { code, stdout, stderr } = await demo(names.map(at), claudeAt(server.url));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.split("\n").slice(1, 9);
    expect(lines.map((line) => line.replace(/res_\w{16}/, "ID"))).toEqual([
      expect.stringMatching(/^ {2}dot\.png: image\/png, \d+ bytes, ID$/),
      "  page.png: MEDIA_TYPE_MISMATCH",
      "  mine.txt: text/plain, 6 bytes, ID",
      "  empty.txt: text/plain, 0 bytes, ID",
      "  unknown.bin: application/octet-stream, 4 bytes, ID, of unknown type, so it is never sent",
      expect.stringMatching(/^ {2}mine\.pdf: application\/pdf, \d+ bytes, ID$/),
      "  folder: NOT_A_FILE",
      "  nowhere.txt: FILE_REFUSED missing",
    ]);
    // What a provider gets: its rules were kept, the image is there once, and failures are told by name alone.
    const [first] = server.requests.map(({ body }) =>
      JSON.stringify((body as Anthropic.MessageCreateParams).messages),
    );
    expect(first?.match(/"type":"image"/g)).toHaveLength(1);
    expect(first).toContain("[page.png could not be attached: MEDIA_TYPE_MISMATCH]");
    expect(first).not.toContain(scratch);
  });

  const absent = (() => {
    try {
      return readdirSync(media).length === 0;
    } catch {
      return true;
    }
  })();
  it.skipIf(absent)("takes real files (skipped where SESSILE_FIXTURES has none)", { timeout }, async () => {
    await using server = await startAnthropic();
    const files = readdirSync(media).map((name) => join(media, name));
    const { code, stdout } = await demo(files, claudeAt(server.url));
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}paper\.pdf: application\/pdf, \d+ bytes, res_\w{16}$/m);
  });
});
