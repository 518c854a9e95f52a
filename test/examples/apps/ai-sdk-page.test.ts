import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { BlobStore, SessionStore } from "sessile";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundlePage } from "../../../examples/apps/ai-sdk-chat/page/bundle.js";
import { chatTools, scriptedModel } from "../../../examples/apps/ai-sdk-chat/script.js";
import { startChatServer } from "../../../examples/apps/ai-sdk-chat/server.js";
import { makePng } from "../../../examples/apps/support/make-media.js";
import { startChatStoreServer } from "../../support/chat-store-server.js";
import { axeFindings, startChromium, withoutChromium } from "../../support/chromium.js";
import { expectSheet, takeSheet, withoutPictures } from "../../support/pictures.js";
import { giveFiles } from "./turn-endpoint/page-program.js";

if (withoutChromium !== undefined) console.log(`skipped: ${withoutChromium}`);

// The page is bundled once.
let bundled: ReturnType<typeof bundlePage> | undefined;
const page = () => (bundled ??= bundlePage());

let browser: Browser;
beforeAll(async () => {
  if (withoutChromium === undefined) [browser] = await Promise.all([startChromium(), page()]);
});
afterAll(async () => {
  await browser?.close();
});

interface Stores {
  readonly sessions: SessionStore;
  readonly blobs: BlobStore;
  readonly dir: string;
}
const sizes = [
  [1280, 800, "light"],
  [1280, 800, "dark"],
  [390, 844, "light"],
  [360, 740, "dark"],
] as const;

const servers = [
  [
    "a loop of its own",
    (parts: Stores) => startChatServer({ ...parts, model: scriptedModel(), tools: chatTools, page }),
  ],
  ["the store of chats", (parts: Stores) => startChatStoreServer({ ...parts, model: scriptedModel(), page })],
] as const;

describe.skipIf(withoutChromium !== undefined).each(servers)(
  "the page of the AI SDK chat in Chromium, on %s",
  (_name, start) => {
    let dir: string;
    let server: AsyncDisposable & { readonly url: string };
    const errors: string[] = [];

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), "sessile-ai-sdk-page-"));
      const blobs = fileBlobStore({ dir: join(dir, "blobs") });
      const sessions = fileSessionStore({ dir: join(dir, "sessions"), blobs });
      server = await start({ sessions, blobs, dir });
    });

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    });

    /** @param loadMs how much later the chat is there than the page */
    async function tab(id: string, loadMs = 0, options: BrowserContextOptions = {}): Promise<Page> {
      const page = await browser.newPage(options);
      page.on("pageerror", (error) => errors.push(String(error)));
      page.setDefaultTimeout(60_000);
      await page.route(`**/api/chat/${id}`, async (route) => {
        if (route.request().method() === "GET") await new Promise((resolve) => setTimeout(resolve, loadMs));
        await route.continue();
      });
      await page.goto(`${server.url}/#${id}`);
      return page;
    }

    const status = (page: Page, wanted: string) => page.locator(`main[data-status="${wanted}"]`).waitFor();
    const ready = (page: Page) => status(page, "ready");
    /** Nothing is drawn any more, so that a button stays under the pointer. */
    const idle = (page: Page) => page.locator('main[aria-busy="false"]').waitFor();
    const article = (page: Page, at: number) => page.locator("article").nth(at);

    async function texts(page: Page): Promise<string[]> {
      return page
        .locator("article")
        .evaluateAll((all) => all.map((one) => one.querySelector(":scope > .text")?.textContent ?? ""));
    }

    async function ids(page: Page): Promise<string[]> {
      return page
        .locator("article")
        .evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.id ?? ""));
    }

    async function say(page: Page, text: string): Promise<void> {
      await page.getByLabel("Message", { exact: true }).fill(text);
      await page.getByRole("button", { name: "Send", exact: true }).click();
    }

    /** Sends the first message anew. */
    async function edit(page: Page, text: string): Promise<void> {
      await article(page, 0).getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("The message anew").fill(text);
      await page.getByRole("button", { name: "Send anew" }).click();
    }

    async function answered(page: Page, count: number): Promise<void> {
      await article(page, count - 1).waitFor();
      await page.waitForFunction(
        (wanted) =>
          document.querySelector("main")?.dataset.status === "ready" &&
          document.querySelectorAll("article").length === wanted,
        count,
      );
      await idle(page);
    }

    it("streams into two tabs, and goes on after a reload in the middle of a reply", async () => {
      const one = await tab("shared");
      await say(one, "Tell me a story.");
      await status(one, "streaming");
      await one.getByText("On day 3 ").waitFor();
      const joined = await tab("shared");
      await joined.getByText("On day 5 ").waitFor();
      await one.reload();
      await one.getByText("On day 9 ").waitFor();
      await status(one, "streaming");
      expect((await texts(one))[1]).toMatch(/^On day 1 the limpet stayed\. On day 2/);
      const [, id] = await ids(one);
      await one.getByRole("button", { name: "Stop" }).click();
      await Promise.all([ready(one), ready(joined)]);
      await Promise.all([idle(one), idle(joined)]);
      expect(await texts(joined)).toEqual(await texts(one));
      const before = await texts(one);
      await one.reload();
      await idle(one);
      expect(await texts(one)).toEqual(before);
      // The same message, streamed, resumed and loaded.
      expect((await ids(one))[1]).toBe(id);
      expect((await ids(joined))[1]).toBe(id);
    });

    it("regenerates, edits, and goes from branch to branch, with the ids that it had", async () => {
      const page = await tab("branches", 300);
      await say(page, "Hello.");
      await answered(page, 2);
      const [question, first] = await ids(page);
      await page.getByRole("button", { name: "Regenerate" }).click();
      await article(page, 1).getByText("2/2").waitFor();
      await idle(page);
      expect((await ids(page))[0]).toBe(question);
      expect((await ids(page))[1]).not.toBe(first);
      await article(page, 1).getByLabel("Earlier version").click();
      await article(page, 1).getByText("1/2").waitFor();
      await idle(page);
      expect(await ids(page)).toEqual([question, first]);

      await edit(page, "Hello, you.");
      await article(page, 0).getByText("2/2").waitFor();
      await idle(page);
      expect((await texts(page))[0]).toBe("Hello, you.");
      expect((await ids(page))[0]).toBe(question);
      await article(page, 0).getByLabel("Earlier version").click();
      await article(page, 0).getByText("1/2").waitFor();
      await idle(page);
      expect((await texts(page))[0]).toBe("Hello.");
      await page.reload();
      await article(page, 0).getByText("1/2").waitFor();
      await idle(page);
      expect((await texts(page))[0]).toBe("Hello.");
      await say(page, "And again.");
      await answered(page, 4);
      expect((await texts(page))[3]).toBe("You said 2 things; I see no images.");
    });

    it("shows files by their addresses, titles in the list, and deletes", async () => {
      const page = await tab("files");
      const buffer = Buffer.from(makePng(64, 48));
      await page.getByLabel("Files").setInputFiles({ name: "holiday.png", mimeType: "image/png", buffer });
      await say(page, "Where was this?");
      await answered(page, 2);
      expect((await texts(page))[1]).toBe("You said 1 things; I see 64 x 48.");
      await page.reload();
      const image = page.getByAltText("holiday.png");
      await image.waitFor();
      expect(await image.getAttribute("src")).toMatch(
        /^\/api\/chat\/files\/files\/(res_[0-9a-f]{16}|sha256:[0-9a-f]{64})$/,
      );
      await page.waitForFunction(() => document.querySelector("img")?.naturalWidth === 64);
      await idle(page);
      // An edit keeps the file, which the page names by its address.
      await edit(page, "When was this?");
      await article(page, 0).getByText("2/2").waitFor();
      await idle(page);
      expect((await texts(page))[1]).toBe("You said 1 things; I see 64 x 48.");

      const chats = page.getByLabel("Chats");
      await chats.getByRole("link", { name: "Where was this?", exact: true }).waitFor();
      expect(await chats.textContent()).not.toContain("res_");
      await chats.getByRole("button", { name: "Delete Where was this?" }).click();
      await page.waitForFunction(() => location.hash !== "#files");
      await chats.getByRole("button", { name: "New chat" }).waitFor();
      await idle(page);
      expect(await chats.getByRole("link", { name: "Where was this?", exact: true }).count()).toBe(0);
    });

    it("takes files that are dropped and pasted, shows them small, and lets one be removed", async () => {
      const page = await tab("held");
      await idle(page);
      const file = (name: string) => ({ name, type: "image/png", bytes: makePng(64, 48) });
      await giveFiles(page, "drop", file("dropped.png"), file("aside.png"));
      await giveFiles(page, "paste", file("pasted.png"));
      const held = page.getByLabel("Files of the message");
      await held.getByAltText("pasted.png").waitFor();
      const box = await held.getByAltText("dropped.png").boundingBox();
      expect([box?.width, box?.height]).toEqual([64, 64]);
      await held.getByRole("button", { name: "Remove aside.png" }).click();
      // Without words: a message may be files alone.
      await page.getByRole("button", { name: "Send", exact: true }).click();
      await answered(page, 2);
      expect((await texts(page))[1]).toBe("You said 0 things; I see 64 x 48, 64 x 48.");
      expect(await held.count()).toBe(0);
    });

    it("shows Markdown without HTML or images of others, and sends with the Enter key", async () => {
      const page = await tab("markdown");
      await idle(page);
      const asked: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).hostname));
      await page.getByLabel("Message", { exact: true }).fill("A table, please.");
      await page.keyboard.press("Shift+Enter");
      await page.keyboard.type("Thank you.");
      await page.keyboard.press("Enter");
      await answered(page, 2);
      expect((await texts(page))[0]).toBe("A table, please.\nThank you.");
      await article(page, 1).getByRole("heading", { name: "Two shells" }).waitFor();
      await article(page, 1).getByRole("cell", { name: "8 cm" }).waitFor();
      await article(page, 1).getByText("<b>This</b>").waitFor();
      await article(page, 1).getByRole("link", { name: "beach" }).waitFor();
      expect(new Set(asked)).toEqual(new Set(["127.0.0.1"]));
    });

    it("is whole and readable on a desk and on a phone, in light and in dark", async () => {
      for (const [width, height, colorScheme] of sizes) {
        const page = await tab("markdown", 0, { viewport: { width, height }, colorScheme });
        await article(page, 1).waitFor();
        await idle(page);
        await giveFiles(page, "paste", { name: "a.png", type: "image/png", bytes: makePng(9, 9) });
        await page.getByAltText("a.png").waitFor();
        const look = await page.evaluate(() => ({
          overflow: document.documentElement.scrollWidth - innerWidth,
          sizes: [...document.querySelectorAll("body *")]
            .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3))
            .map((one) => getComputedStyle(one).fontSize),
          send: document.querySelector(".send")?.getBoundingClientRect().bottom ?? Infinity,
        }));
        expect(look.overflow).toBe(0);
        expect([...new Set(look.sizes)].sort()).toEqual(["12px", "13px", "15px"]);
        expect(look.send).toBeLessThanOrEqual(height);
        expect(await axeFindings(page)).toEqual([]);
        await page.context().close();
      }
    });

    // The page is the same on both servers.
    it.skipIf(withoutPictures !== undefined)("looks as in its picture", async () => {
      const grey = (shade: number) => makePng(96, 64, () => [shade, shade, shade]);
      const url = `data:image/png;base64,${Buffer.from(grey(120)).toString("base64")}`;
      const text = (words: string) => ({ type: "text", text: words });
      const tool = { type: "tool-measure", toolCallId: "c1", input: { file: "shell.png" } };
      const messages = [
        {
          ...{ id: "m1", role: "user" },
          parts: [
            { type: "file", mediaType: "image/png", filename: "shell.png", url },
            text("Which shell is this?"),
          ],
        },
        {
          ...{ id: "m2", role: "assistant" },
          parts: [
            { type: "reasoning", text: "I measure it." },
            { ...tool, state: "output-available", output: { width: 96 } },
            { ...tool, toolCallId: "c2", state: "output-error", errorText: "there is no such file" },
            text(
              "## A limpet\n\n| Part | Size |\n| --- | --- |\n| shell | 6 cm |\n\n- it *stays*\n- it has **one** foot",
            ),
          ],
        },
      ];
      const versions = [
        { leafId: "v1", current: false },
        { leafId: "v2", current: true },
      ];
      const chats = ["Which shell is this?", "A story of a limpet", "Tides"].map((title, at) => ({
        ...{ id: at === 0 ? "pictured" : `chat-${at}`, title },
      }));
      const sheet = await takeSheet(browser, async (page) => {
        await page.route("**/api/chat", (route) => route.fulfill({ json: chats }));
        await page.route("**/api/chat/**", (route) => {
          const { pathname } = new URL(route.request().url());
          if (pathname.endsWith("/stream")) return route.fulfill({ status: 204 });
          return route.fulfill({ json: pathname.includes("/versions/") ? versions : messages });
        });
        await page.goto(`${server.url}/#pictured`);
        await article(page, 1).waitFor();
        await idle(page);
        await giveFiles(page, "paste", { name: "rock.png", type: "image/png", bytes: grey(180) });
        await page.getByAltText("rock.png").waitFor();
        await page.getByLabel("Message", { exact: true }).fill("And this one?");
      });
      await expectSheet("ai-sdk-chat", sheet);
    });

    it("had no error", () => {
      expect(errors).toEqual([]);
    });
  },
);
