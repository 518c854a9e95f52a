import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import type { Message } from "sessile";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildViewer } from "../../../scripts/viewer.mjs";
import { axeFindings, startChromium, withoutChromium } from "../../support/chromium.js";
import { Entries, pageOf } from "../session.js";
import { richEntries } from "./samples.js";

// How the page looks and folds; pictures.test.ts compares its pixels.

const widths = [
  [1280, 800],
  [768, 1024],
  [390, 844],
  [360, 740],
] as const;
/** Of the samples: their times are relative to it. */
const now = new Date("2026-01-05T12:00:00Z");
/** The only font sizes, in CSS pixels. */
const fontSizes = ["12px", "13px", "15px", "18px"];

let browser: Browser;
let template: string;
let dir: string;
beforeAll(async () => {
  if (withoutChromium !== undefined) return;
  dir = mkdtempSync(join(tmpdir(), "sessile-look-"));
  [browser, template] = await Promise.all([startChromium(), buildViewer()]);
});
afterAll(async () => {
  await browser?.close();
  if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
});

/** A session with short words, so that no line wraps at another place in another font. */
function workEntries(): Entries {
  const entries = new Entries();
  const command = "<command-name>/plan</command-name>\n<command-args>the work</command-args>";
  entries.user(command, "q1");
  const hidden = { type: "custom_message", customType: "sessile.meta_message", display: false } as const;
  entries.add({ ...hidden, content: "# Rules" }, "meta");
  entries.add({ type: "custom", customType: "sessile.instructions", data: { text: "x" } }, "rules");
  const use = (id: string, text: string, name: string, args: unknown, result: string, isError = false) => {
    const call = entries.call(name, args, `call-${id}`);
    entries.reply([{ type: "text", text }, call], {}, id);
    entries.result(call.id, name, result, isError);
  };
  const todo = (content: string, status: string) => ({ content, status });
  const todos = [todo("Read", "completed"), todo("Mend", "in_progress"), todo("Test", "pending")];
  use("plan", "I plan.", "TodoWrite", { todos }, "ok");
  use("look", "I look.", "read", { path: "/project/a.ts" }, "1\n2\n3");
  use("look2", "", "read", { path: "/project/b.ts" }, "1");
  use("look3", "", "grep", { pattern: "x", path: "/project" }, "");
  use(
    "mend",
    "## Mend\n\nI mend.",
    "edit",
    { path: "/project/a.ts", oldText: "1\n", newText: "2\n3\n" },
    "ok",
  );
  use("test", "", "bash", { command: "npm test" }, "1 failed", true);
  use("ask", "I ask.", "Task", { description: "Review", prompt: "# Review\n\nall" }, "**Fine.**");
  entries.user("Go on.", "q2");
  entries.reply("Done.", {}, "end");
  return entries;
}

async function open(
  entries: Entries,
  [width, height]: readonly [number, number],
  colorScheme: "light" | "dark" = "light",
): Promise<Page> {
  const path = join(dir, `${entries.header.id}.html`);
  writeFileSync(path, await pageOf(entries.source, { template, agent: "sessile" }));
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.clock.setFixedTime(now);
  await page.goto(pathToFileURL(path).href);
  await page.locator("article").first().waitFor();
  await page.locator(".timeline svg").waitFor();
  return page;
}

const row = (page: Page, id: string) => page.locator(`[data-entry="${id}"]`);

describe.skipIf(withoutChromium !== undefined)("the look of the viewer", () => {
  it("begins with the first message, below a line of facts and the timeline", async () => {
    const rich = richEntries();
    for (const [size, most] of [
      [widths[0], 160],
      [widths[2], 200],
    ] as const) {
      const page = await open(rich, size);
      const first = await page.locator("article").first().boundingBox();
      expect(first?.y).toBeLessThanOrEqual(most);
      // When the costs are there, and after a scroll, nothing has moved.
      await page.locator(".facts-button").getByText(/^\$/).waitFor();
      const strip = page.getByRole("scrollbar");
      const before = await strip.boundingBox();
      expect(before?.height).toBe(40);
      await page.locator("main").evaluate((main) => main.scrollTo(0, 300));
      expect(await strip.boundingBox()).toEqual(before);
      await page.locator("main").evaluate((main) => main.scrollTo(0, 0));
      expect((await page.locator("article").first().boundingBox())?.y).toBe(first?.y);
      await page.context().close();
    }
  });

  it("begins with the first message also behind settings and instructions", async () => {
    const entries = new Entries();
    entries.add({ type: "model_change", provider: "anthropic", modelId: "claude-opus-5-5" });
    entries.add({ type: "thinking_level_change", thinkingLevel: "high" });
    entries.add({ type: "custom", customType: "sessile.instructions", data: { text: "x" } });
    const told = { role: "system", content: "Rules.\n".repeat(40), toolsAdded: [{ name: "a", schema: {} }] };
    entries.message({ ...told, timestamp: entries.time } as unknown as Message);
    entries.user("Hello.", "q1");
    entries.reply("Hi.");
    for (const [size, most] of [
      [widths[0], 160],
      [widths[3], 200],
    ] as const) {
      const page = await open(entries, size);
      expect((await row(page, "q1").boundingBox())?.y).toBeLessThanOrEqual(most);
      await page.context().close();
    }
  });

  it("keeps one distance between lines of calls, and all facts in view beside the panel", async () => {
    const entries = new Entries();
    entries.user("Go.", "q1");
    const replies = [["c1", "c2"], ["c3"], ["c4"]];
    for (const [at, ids] of replies.entries()) {
      const calls = ids.map((id) => entries.call("bash", { command: `run ${id}` }, id));
      entries.reply(calls, { model: "a-model-with-quite-a-long-name-20260101" }, `r${at}`);
      for (const id of ids) entries.result(id, "bash", "ok");
    }
    const page = await open(entries, widths[0]);
    const lines = page.locator(".tool > .fold-summary");
    await expect.poll(() => lines.count()).toBe(4);
    const tops = await lines.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
    expect(tops.slice(1).map((top, at) => top - (tops[at] ?? 0))).toEqual([28, 28, 28]);
    await page.keyboard.press("c");
    await page.getByRole("complementary", { name: "Context" }).waitFor();
    const cut = await page
      .locator(".facts-button bdi:not(:nth-of-type(2))")
      .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length);
    expect(cut).toBe(0);
    const [box, last] = await Promise.all([
      page.locator(".facts-button").boundingBox(),
      page.locator(".facts-button bdi").last().boundingBox(),
    ]);
    const right = (one: typeof box) => (one?.x ?? 0) + (one?.width ?? 0);
    expect(right(last)).toBeLessThanOrEqual(right(box));
    await page.context().close();
  });

  it("scrolls by the timeline, with the mouse and with keys", async () => {
    const entries = new Entries();
    for (let at = 0; at < 100; at++) entries.reply(`Reply ${at}.\n\n`.repeat(10), {}, `r${at}`);
    const page = await open(entries, widths[0]);
    const strip = page.getByRole("scrollbar", { name: /^Timeline: 100 replies/ });
    const seen = async () => Number(await strip.getAttribute("aria-valuenow"));
    expect(await seen()).toBe(1);
    const box = await strip.boundingBox();
    if (box === null) throw new Error("no strip");
    await page.mouse.click(box.x + box.width / 2, box.y + 20);
    await row(page, "r50").waitFor();
    await expect.poll(seen).toBe(51);
    await page.mouse.move(box.x + box.width / 2, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.255, box.y + 20);
    await page.mouse.up();
    await expect.poll(seen).toBe(26);
    await strip.focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(seen).toBe(27);
    await page.keyboard.press("Home");
    await expect.poll(seen).toBe(1);
    await row(page, "r0").waitFor();
    // It shows where a scroll by other means is.
    await page.locator("main").evaluate((main) => main.scrollTo(0, main.scrollHeight / 2));
    await expect.poll(seen).toBeGreaterThan(30);
    const thumb = await page.locator(".in-view").boundingBox();
    expect(((thumb?.x ?? 0) - box.x) / box.width).toBeGreaterThan(0.3);
    await page.context().close();
  });

  it("folds calls that only look into a line, and shows plans, changes and failures", async () => {
    const page = await open(workEntries(), [1280, 2000]);
    await row(page, "q1").getByText("/plan", { exact: true }).waitFor();
    await row(page, "q1").getByText("the work", { exact: true }).waitFor();
    const quiet = row(page, "meta").getByRole("button", {
      name: "For the model only: note; Recorded: instructions",
    });
    await quiet.waitFor();
    await expect(row(page, "plan").getByRole("listitem").allTextContents()).resolves.toEqual([
      ...["✓done: Read", "▸in progress: Mend", "○open: Test"],
    ]);
    const looks = row(page, "look").getByRole("button", {
      name: /^Read 2 files, 1 search a\.ts, b\.ts, x in/,
    });
    await looks.click();
    await row(page, "look")
      .getByRole("button", { name: /^Read b\.ts 1 line/ })
      .waitFor();
    await row(page, "look")
      .getByRole("button", { name: /^Search .* no output/ })
      .waitFor();
    // Each of the replies has its own context.
    expect(
      await row(page, "look")
        .getByRole("button", { name: /^Context/ })
        .count(),
    ).toBe(3);
    await looks.click();
    await row(page, "mend").getByRole("table", { name: "Changes of a.ts" }).waitFor();
    await row(page, "test").getByText("1 failed").waitFor();
    const agent = row(page, "ask").getByRole("button", { name: /^Agent Review 1 line/ });
    await expect(row(page, "ask").locator(".markdown").allTextContents()).resolves.toEqual(["I ask."]);
    await agent.click();
    await expect(row(page, "ask").locator(".markdown").allTextContents()).resolves.toEqual([
      ...["I ask.", "Reviewall", "Fine."],
    ]);
    await expect(row(page, "ask").locator("strong").last().textContent()).resolves.toBe("Fine.");
    expect(await page.locator(".page").textContent()).not.toContain("sessile.");
    await page.context().close();
  });

  it("has four font sizes, no motion, and no serious finding of axe", async () => {
    for (const scheme of ["light", "dark"] as const) {
      const page = await open(richEntries(), [1280, 2400], scheme);
      await page.keyboard.press("i");
      await page.keyboard.press("/");
      await row(page, "a1")
        .getByRole("button", { name: /^Context/ })
        .click();
      await page.getByRole("complementary", { name: "Context" }).waitFor();
      const look = await page.evaluate(() => {
        const all = [...document.querySelectorAll<HTMLElement>("body *")].filter((one) =>
          one.checkVisibility(),
        );
        const texts = all.filter((one) => [...one.childNodes].some(({ nodeType }) => nodeType === 3));
        const motion = all
          .map((one) => getComputedStyle(one))
          .flatMap((one) => [one.animationName, one.transitionDuration]);
        return {
          sizes: [...new Set(texts.map((one) => getComputedStyle(one).fontSize))].sort(),
          motion: [...new Set(motion)].sort(),
        };
      });
      expect(look).toEqual({ sizes: fontSizes.slice(0, look.sizes.length), motion: ["0s", "none"] });
      expect(await axeFindings(page)).toEqual([]);
      await page.context().close();
    }
  });
});

// The pictures of the documents, of the same session; CI does not compare them.
const pictures = [
  ["viewer", 1024, 720, "light"],
  ["viewer-phone", 390, 720, "dark"],
] as const;

it.runIf(process.env.SESSILE_PICTURES === "renew")("writes the pictures of docs/pictures", async () => {
  for (const [name, width, height, scheme] of pictures) {
    const page = await open(workEntries(), [width, height], scheme);
    await page.locator(".facts-button").getByText(/^\$/).waitFor();
    await page.screenshot({
      path: fileURLToPath(new URL(`../../../docs/pictures/${name}.png`, import.meta.url)),
    });
    await page.context().close();
  }
});
