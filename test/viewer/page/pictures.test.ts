import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startChromium } from "../../support/chromium.js";
import {
  differentPixels,
  expectSheet,
  mostDifferent,
  still,
  takeSheet,
  takeShot,
  withoutPictures,
} from "../../support/pictures.js";
import { kindNames, kindPage, lookedAt } from "./kinds.js";
import { readViewerTemplate } from "./templates.js";

let browser: Browser;
let template: string;
let dir: string;
beforeAll(async () => {
  if (withoutPictures !== undefined) return;
  dir = mkdtempSync(join(tmpdir(), "sessile-pictures-"));
  [browser, template] = await Promise.all([startChromium(), readViewerTemplate()]);
});
afterAll(async () => {
  await browser?.close();
  if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
});

/** The address of the page of a kind of session. */
async function write(name: string): Promise<string> {
  const path = join(dir, `${name}.html`);
  writeFileSync(path, await kindPage(name, template));
  return pathToFileURL(path).href;
}

/** Opens it, with all that comes later: costs, highlighted code, images. */
async function open(page: Page, address: string): Promise<void> {
  await page.clock.setFixedTime(lookedAt);
  await page.goto(address);
  await page.locator(".timeline svg").waitFor();
  await page.locator("article").first().waitFor();
  await page.waitForFunction(() => document.querySelector("main")?.ariaBusy !== "true");
  await page.waitForFunction(() => [...document.images].every((image) => image.complete));
}

describe.skipIf(withoutPictures !== undefined)("pictures of the viewer", () => {
  it.each(kindNames)("shows a session of %s as in its picture, the first message above all", async (name) => {
    const address = await write(name);
    const sheet = await takeSheet(browser, async (page, width) => {
      await open(page, address);
      const first = await page.locator(".row.user").first().boundingBox();
      expect(first?.y).toBeLessThanOrEqual(width > 480 ? 160 : 200);
    });
    await expectSheet(name, sheet);
  });

  it("finds a pixel of padding, a colour and a border, and not the rounding of colours", async () => {
    const address = await write("codex");
    const shoot = async (style: string) => {
      const context = await browser.newContext({
        ...still,
        bypassCSP: true,
        viewport: { width: 390, height: 600 },
      });
      const page = await context.newPage();
      await open(page, address);
      await page.addStyleTag({ content: `* {} ${style}` });
      const shot = await takeShot(page);
      await context.close();
      return shot;
    };
    const plain = await shoot("");
    const changes = [
      ".row.user { padding-block-start: 13px }",
      ".row.user { padding-inline-start: 9px }",
      ".fold-summary { gap: 7px }",
      ":root { --soft: #5a636d }",
      ":root { --user-back: #ffffff }",
      ".bar { background: #ffffff }",
      ".context-button { border-color: transparent }",
      ".bar { border-bottom-color: transparent }",
      ".row-head h3 { font-weight: 500 }",
      ".tool-summary { font-size: 12px }",
      ".context-button { border-radius: 0 }",
    ];
    for (const change of changes) {
      const count = differentPixels(plain, await shoot(change));
      expect({ change, isFound: count > mostDifferent, count }).toMatchObject({ change, isFound: true });
    }
    expect(differentPixels(plain, await shoot(""))).toBe(0);
    const noisy = await shoot("");
    for (let seed = 1, at = 0; at < noisy.data.length; at++) {
      seed = (seed * 48_271) % 2_147_483_647;
      if (at % 4 !== 3) noisy.data[at] = Math.min(255, Math.max(0, (noisy.data[at] ?? 0) + (seed % 3) - 1));
    }
    expect(differentPixels(plain, noisy)).toBeLessThanOrEqual(mostDifferent);
  });
});
