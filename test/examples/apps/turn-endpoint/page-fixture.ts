import { createHash } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { type LocalProvider, startLocalProvider } from "../../../../examples/apps/support/local-provider.js";
import { root } from "../../../../scripts/entries.mjs";
import { buildViewerModule } from "../../../../scripts/viewer.mjs";
import { startChromium } from "../../../support/chromium.js";
import { type OpenedPage, openPage, type ServedPage, servePage } from "./page-program.js";

type Screen = Parameters<typeof openPage>[2];

/** The application, its model and a browser, for the tests of a file. Pages are closed after each test. */
export interface TurnPageFixture {
  readonly server: ServedPage;
  readonly browser: Browser;
  /** The directory of the server. */
  readonly dir: string;
  /** Pages that the test opened. */
  readonly opened: readonly OpenedPage[];
  /** The page at the beginning of a conversation. */
  open(screen?: Screen): Promise<Page>;
  /** Opens the page on the current session. */
  openAgain(): Promise<Page>;
  /** The file of the blob store for the digest of these bytes. */
  storedBytes(bytes: Uint8Array): Buffer | undefined;
  /** Images and documents of the latest message in the model's request. */
  sentMedia(): readonly Buffer[];
}

/** Starts everything before the tests of this file. A problem of a page fails the test. */
export function turnPageFixture(timeout: number): TurnPageFixture {
  let dir = "";
  let provider: LocalProvider;
  let server: ServedPage;
  let browser: Browser;
  let opened: OpenedPage[] = [];

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "sessile-turn-page-"));
    provider = await startLocalProvider({ script, paceMs: 10 });
    // One after the other: after a failure the started parts are stopped.
    await prepareViewer();
    browser = await startChromium();
    server = await servePage(dir, provider.url);
  }, timeout);

  afterEach(async () => {
    const problems = opened.flatMap(({ problems }) => problems);
    for (const page of opened) await page[Symbol.asyncDispose]();
    opened = [];
    expect(problems).toEqual([]);
  });

  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    await provider?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  async function openAgain(screen?: Screen): Promise<Page> {
    const page = await openPage(browser, server.url, screen);
    opened.push(page);
    return page.page;
  }

  return {
    get server() {
      return server;
    },
    get browser() {
      return browser;
    },
    get dir() {
      return dir;
    },
    get opened() {
      return opened;
    },
    openAgain,
    async open(screen) {
      // A test that failed may have left a turn behind.
      await server.call("DELETE", "turn");
      const move = async () => (await server.call("POST", "leaf", { entryId: null })).status;
      await expect.poll(move).toBe(200);
      return openAgain(screen);
    },
    storedBytes(bytes) {
      const digest = createHash("sha256").update(bytes).digest("hex");
      const paths = readdirSync(join(dir, "blobs"), { recursive: true, encoding: "utf8" });
      const path = paths.find((candidate) => candidate.includes(digest));
      return path === undefined ? undefined : readFileSync(join(dir, "blobs", path));
    },
    sentMedia() {
      const { content = [] } = provider.requests.at(-1)?.messages.at(-1) ?? {};
      return (typeof content === "string" ? [] : content).flatMap((block) =>
        (block.type === "image" || block.type === "document") && block.source.type === "base64"
          ? [Buffer.from(block.source.data, "base64")]
          : [],
      );
    },
  };
}

/** The server sends the module that the package has; a `dist` that lies there may be older than the sources. */
async function prepareViewer(): Promise<void> {
  const folder = join(root, "dist", "viewer");
  mkdirSync(folder, { recursive: true });
  const whole = join(folder, `index.js.${process.pid}`);
  writeFileSync(whole, await buildViewerModule());
  renameSync(whole, join(folder, "index.js"));
}

/** Repeats the question. "At length" makes a reply of more than three minutes, to be stopped. */
function script({ messages }: Anthropic.MessageCreateParams): readonly string[] {
  const { content = [] } = messages.at(-1) ?? {};
  const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const asked = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ");
  const words = asked.includes("at length") ? 20_000 : asked.includes("in some words") ? 40 : 0;
  if (words === 0) return [`I read: ${asked}`];
  return [`${Array.from({ length: words }, (_, at) => `word-${at + 1}`).join(" ")}.`];
}
