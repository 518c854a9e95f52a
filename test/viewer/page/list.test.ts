import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { commands } from "../../../src/cli/commands/index.js";
import { runProgram } from "../../../src/cli/program.js";
import type { ListedSession } from "../../../src/viewer/internal.js";
import { reply, text, user } from "../../agents/claude-code/transcript.js";
import { axeFindings, startChromium, withoutChromium } from "../../support/chromium.js";
import { expectSheet, takeSheet, withoutPictures } from "../../support/pictures.js";

vi.mock("../../../src/viewer/node/internal.js", () => import("./templates.js"));

const hostile =
  "</script><script>window.hacked=1</script><img src=https://evil.example/x onerror=window.hacked=1>\u202E";
const ids = [1, 2, 3].map((digit) => `${digit}a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f`);

let browser: Browser;
let home: string;
let url: string;
const trouble: string[] = [];
const stop = new AbortController();
let stopped: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  if (withoutChromium !== undefined) return;
  home = mkdtempSync(join(tmpdir(), "sessile-list-"));
  browser = await startChromium();
  write(0, "fix the parser", "I mend the parser of dates.");
  write(1, "look at the search", "It is fast.");
  write(2, hostile, hostile, `/work/${hostile.replaceAll("/", "")}`);
  url = await new Promise<string>((resolve, reject) => {
    const stream = (take: (written: string) => void) => ({
      write(written: string, done?: () => void) {
        take(written);
        done?.();
        return true;
      },
    });
    const [stdout, stderr] = [stream((written) => resolve(written.trim())), stream(() => {})];
    const world = { stdout, stderr, env: {}, cwd: home, signal: stop.signal, now: () => Date.now() };
    const words = ["serve", "--agent", "claude-code", "--dir", home];
    stopped = runProgram({ version: "0.0.0", commands }, words, world);
    stopped.then(() => reject(new Error("it ended")), reject);
  });
});
afterAll(async () => {
  await browser?.close();
  stop.abort();
  await stopped.catch(() => {});
  if (home !== undefined) rmSync(home, { recursive: true, force: true });
});

function write(at: number, words: string, answer: string, cwd = "/work/app"): void {
  const dir = join(home, "projects", "-work");
  mkdirSync(dir, { recursive: true });
  const lines = [user("u1", null, words), reply("a1", "u1", `m${at}`, text(answer))];
  const own = { sessionId: ids[at], cwd, timestamp: `2026-11-2${at}T08:00:00.000Z` };
  appendFileSync(
    join(dir, `${ids[at]}.jsonl`),
    lines.map((line) => `${JSON.stringify({ ...line, ...own })}\n`).join(""),
  );
}

async function open(hash = "", size = { width: 1280, height: 800 }, prepare?: (page: Page) => Promise<void>) {
  const context = await browser.newContext({ viewport: size, reducedMotion: "reduce" });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("pageerror", (error) => trouble.push(`error: ${error.stack}`));
  page.on("console", (message) => trouble.push(`console: ${message.text()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) trouble.push(`request: ${request.url()}`);
  });
  const answers: string[] = [];
  page.on("response", (response) => answers.push(`${response.status()} ${response.url()}`));
  await prepare?.(page);
  await page.goto(`${url}${hash}`);
  await page
    .locator(".entry")
    .first()
    .waitFor()
    .catch(async (error) => {
      const text = await Promise.race([
        page.evaluate(() => document.querySelector("#app")?.textContent?.slice(0, 500)).catch(String),
        pause(5000, "the page does not answer"),
      ]);
      // Another browser for the next attempt: all of these tests share this one.
      await browser.close();
      browser = await startChromium();
      throw new Error(`no session in the page: ${JSON.stringify({ text, answers, trouble })}`, {
        cause: error,
      });
    });
  return page;
}

describe.skipIf(withoutChromium !== undefined)("the list of all sessions in Chromium", () => {
  it("leads to each session and back, and copies the command that continues it", async () => {
    const page = await open();
    expect(await page.locator(".entry").count()).toBe(3);
    const entry = page.locator(".entry").filter({ hasText: "fix the parser" });
    await entry.getByText("● live").waitFor();
    await entry.getByRole("button", { name: "resume" }).click();
    await entry.getByRole("button", { name: "copied" }).waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
      `cd /work/app && claude --resume ${ids[0]}`,
    );
    await entry.getByRole("link").click();
    await page.locator("article").getByText("I mend the parser of dates.").waitFor();
    await page.getByText("● live").waitFor();
    await page.getByRole("link", { name: "Sessions" }).click();
    await page.getByRole("heading", { level: 1, name: "Sessions" }).waitFor();
    await page.context().close();
  });

  it("searches titles and messages, and has the query in its address", async () => {
    const page = await open();
    await page.keyboard.press("/");
    await page.keyboard.type("dates mend");
    const hit = page.locator(".hit");
    await hit.getByText("assistant: I mend the parser of dates.").waitFor();
    await expect.poll(() => page.locator(".entry").count()).toBe(1);
    await page.getByText("1 hit", { exact: true }).waitFor();
    await page.reload();
    await hit.getByText("assistant: I mend the parser of dates.").waitFor();
    await hit.getByRole("link").click();
    // The page of the session is at the entry.
    await page.waitForFunction(() => document.activeElement?.textContent?.includes("I mend the parser"));
    await page.context().close();
    const filtered = await open("#words=SEARCH&by=project");
    const first = (selector: string) => () => filtered.locator(selector).first().textContent();
    await expect.poll(first(".entry")).toContain("look at the search");
    // The words are in a title and in a message, whose hit comes later.
    await expect.poll(first("h2 bdi")).toBe("In titles");
    await filtered.goto(`${url}#by=project`);
    await filtered.locator("h2 bdi").getByText("/work/app", { exact: true }).waitFor();
    await filtered.context().close();
  });

  it("sums costs by day and model", async () => {
    const page = await open("#costs=");
    const costs = page.getByRole("region", { name: "Costs" });
    await costs.getByRole("cell", { name: "2026-11-20" }).waitFor();
    await costs.getByRole("cell", { name: "claude-opus-5-5" }).waitFor();
    await expect.poll(() => costs.getByRole("status").textContent()).toMatch(/^\$0\.\d+$/);
    expect(await axeFindings(page)).toEqual([]);
    await page.context().close();
  });

  it("fits a phone, without serious findings of axe", async () => {
    for (const width of [360, 768, 1280]) {
      const page = await open("", { width, height: 740 });
      const wide = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(wide).toBeLessThanOrEqual(0);
      expect((await page.locator(".entry").first().boundingBox())?.y).toBeLessThan(200);
      expect(await axeFindings(page)).toEqual([]);
      await page.context().close();
    }
  });

  it("has only the visible ones of 10,000 sessions in the document", async () => {
    const sessions = Array.from(
      { length: 10_000 },
      (_, at): ListedSession => ({
        ...{
          key: at.toString(16),
          agent: "codex",
          id: `id-${at}`,
          title: `Session ${at}`,
          cwd: `/work/${at % 9}`,
        },
        ...{ modified: new Date(Date.UTC(2026, 10, 29) - at * 600_000).toISOString(), size: at },
      }),
    );
    const page = await open("", undefined, async (opened) => {
      const json = { version: 1, isWhole: true, now: Date.UTC(2026, 10, 29), sessions, gone: [] };
      await opened.route("**/sessions?after=0", (route) => route.fulfill({ json }));
    });
    await page.getByText("10,000 sessions").waitFor();
    expect(await page.locator(".entry").count()).toBeLessThan(60);
    await page.locator("main").evaluate((main) => main.scrollTo(0, main.scrollHeight));
    await page.getByText("Session 9999").waitFor();
    expect(await page.locator(".entry").count()).toBeLessThan(60);
    await page.context().close();
  });

  it.skipIf(withoutPictures !== undefined)("looks as in its picture, with 10,000 sessions", async () => {
    const now = Date.UTC(2026, 10, 29, 12);
    const agents = ["claude-code", "codex", "opencode", "pi", "gemini-cli", "sessile"] as const;
    const titles = [
      ...["Mend the order of the shells", "Which tides does the page forget?", "/review the list of shells"],
      ...["The search finds no word with an accent, and the reader has to write each of them without one"],
      ...["Count the words of each page of the guide", "Hello", "Why is the build slow since Monday?"],
    ];
    const sessions = Array.from(
      { length: 10_000 },
      (_, at): ListedSession => ({
        ...{ key: at.toString(16), agent: agents[(at * 7) % 6] ?? "pi", id: `id-${at}` },
        ...{
          title: titles[(at * 5) % 7] ?? "",
          cwd: `/work/${["shells", "tides", "a-long-name-of-a-project"][at % 3]}`,
        },
        ...{ modified: new Date(now - at * 1_700_000 - 5_000).toISOString(), size: 40_000 + 977 * at },
      }),
    );
    const json = { version: 1, isWhole: true, now, sessions, gone: [] };
    const sheet = await takeSheet(browser, async (page) => {
      await page.clock.setFixedTime(now);
      await page.route("**/sessions?after=*", (route) => route.fulfill({ json }));
      await page.goto(url);
      await page.getByText("10,000 sessions").waitFor();
      await page.locator(".entry").first().waitFor();
    });
    await expectSheet("serve", sheet);
  });

  it("shows what the server says of an error, and asks again", async () => {
    let failures = 0;
    let shown: Promise<void> = Promise.resolve();
    const page = await open("", undefined, async (opened) => {
      await opened.clock.install();
      const answer = { status: 500, body: "there is no directory /gone" };
      await opened.route("**/sessions?after=0", (route) =>
        failures++ === 0 ? route.fulfill(answer) : route.continue(),
      );
      const text = opened.getByText("there is no directory /gone");
      shown = text.waitFor().then(() => opened.clock.fastForward(10_000));
    });
    await shown;
    await page.getByText("3 sessions").waitFor();
    await page.context().close();
    // The browser's own words of the answer.
    trouble.splice(0, trouble.length, ...trouble.filter((each) => !each.includes("500 (")));
  });

  it("shows hostile names inert", async () => {
    const page = await open();
    await page.locator(".entry a").getByText("onerror=window.hacked=1>[U+202E]").waitFor();
    expect(await page.evaluate(() => (globalThis as { hacked?: unknown }).hacked)).toBeUndefined();
    expect(await page.locator("iframe, img, [onerror]").count()).toBe(0);
    await page.locator(".entry").filter({ hasText: "hacked" }).getByRole("link").click();
    await page.locator("article").getByText("onerror=window.hacked=1>[U+202E]").first().waitFor();
    expect(await page.evaluate(() => (globalThis as { hacked?: unknown }).hacked)).toBeUndefined();
    await page.context().close();
  });

  it("answers its own page alone", async () => {
    const key = ((await (await fetch(`${url}sessions?after=0`)).json()) as { sessions: ListedSession[] })
      .sessions[0]?.key;
    const base = new URL(url).pathname;
    for (const path of ["", "sessions", "costs", "search?words=a", `s/${key}/`, `s/${key}/events`]) {
      const evil = await fetch(new URL(path, url), { headers: { origin: "https://evil.example" } });
      expect([path, evil.status]).toEqual([path, 403]);
      const guessed = await fetch(new URL(path, url.replace(base, `/${"0".repeat(32)}/`)));
      expect([path, guessed.status]).toEqual([path, 404]);
    }
    for (const path of ["s/", "s/0123456789abcdef/", `s/${key}/other`, `s/${key}`, "other", "sessions/"])
      expect([path, (await fetch(new URL(path, url))).status]).toEqual([path, 404]);
    expect((await fetch(new URL("sessions", url), { method: "POST" })).status).toBe(405);
  });

  it("had no error, and no request but to its own server", () => {
    expect(trouble).toEqual([]);
  });
});
