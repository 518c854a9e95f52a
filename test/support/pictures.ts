/** Pictures of pages, compared pixel by pixel with those in test/golden/pictures. */

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import decode, { init as initDecoder } from "@jsquash/webp/decode.js";
import encode, { init as initEncoder } from "@jsquash/webp/encode.js";
import pixelmatch from "pixelmatch";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { PNG } from "pngjs";
import { root } from "../../scripts/entries.mjs";
import { withoutChromium } from "./chromium.js";

/** Why pages are not compared with pictures; undefined where they are. Other systems draw letters by other rules. */
export const withoutPictures =
  withoutChromium ?? (process.platform === "linux" ? undefined : "fontconfig chooses fonts on Linux alone");

/** Of the windows that pictures are taken of. */
const widths = [1280, 768, 390, 360] as const;
const height = 720;
const schemes = ["light", "dark"] as const;
/** A context without the language, the time zone and the motion of the machine. */
export const still: BrowserContextOptions = { locale: "en-US", timezoneId: "UTC", reducedMotion: "reduce" };
/**
 * A picture differs if more than so many pixels of a square of 16 by 16 do, each by more than a hundredth of the way
 * from black to white: a border is 16 of them. Fonts are those of a package (fonts.conf), so that Chromium 150 and 156
 * draw the same pixels of sessions; test/viewer/page/pictures.test.ts has what this finds, and what it does not.
 */
const comparison = { threshold: 0.01, includeAA: true, windowSize: 16 };
export const mostDifferent = 8;

/** A page as it stands, without what moves. */
export async function takeShot(page: Page): Promise<PNG> {
  return PNG.sync.read(await page.screenshot({ animations: "disabled", caret: "hide" }));
}

/** A page at each width, in light above dark, as one picture. */
export async function takeSheet(
  browser: Browser,
  open: (page: Page, width: number) => Promise<void>,
): Promise<PNG> {
  const sheet = new PNG({
    width: widths.reduce<number>((sum, width) => sum + width, 0),
    height: schemes.length * height,
  });
  const context = await browser.newContext(still);
  let left = 0;
  for (const width of widths) {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.setViewportSize({ width, height });
    await open(page, width);
    // Chromium 150 and 156 cut the words of a narrow select at other letters.
    await page.evaluate(() => {
      for (const select of document.querySelectorAll("select"))
        select.style.setProperty("color", "transparent", "important");
    });
    for (const [row, colorScheme] of schemes.entries()) {
      await page.emulateMedia({ colorScheme });
      PNG.bitblt(await takeShot(page), sheet, 0, 0, width, height, left, row * height);
    }
    await page.close();
    left += width;
  }
  await context.close();
  return sheet;
}

/** Where differences are written to. */
let found: string | undefined;

/**
 * Compares a sheet with the one in the repository, or writes that anew. Throws with the files of both and of
 * their difference.
 */
export async function expectSheet(name: string, sheet: PNG): Promise<void> {
  const folder = join(root, "test/golden/pictures");
  const golden = join(folder, `${name}.webp`);
  if (process.env.SESSILE_GOLDEN === "renew") {
    mkdirSync(folder, { recursive: true });
    writeFileSync(golden, await encodeWebp(sheet));
    return;
  }
  const expected = await decodeWebp(readFileSync(golden));
  const difference = new PNG({ width: sheet.width, height: sheet.height });
  if (differentPixels(sheet, expected, difference) <= mostDifferent) return;
  found ??= mkdtempSync(join(tmpdir(), "sessile-pictures-"));
  for (const [kind, picture] of Object.entries({ actual: sheet, expected, difference }))
    writeFileSync(join(found, `${name}-${kind}.png`), PNG.sync.write(picture));
  throw new Error(
    `the page is not as in ${golden}: see ${found}/${name}-{actual,expected,difference}.png; ` +
      "if it is meant to be so, SESSILE_GOLDEN=renew writes the picture anew",
  );
}

/** How many pixels differ in the square in which most do. */
export function differentPixels(one: PNG, other: PNG, difference?: PNG): number {
  return pixelmatch(one.data, other.data, difference?.data, one.width, one.height, comparison);
}

// WebP without loss, because a PNG of the same pixels has three times the size. The package fetches its code in a
// browser; here it is read.

const codec = (path: string) =>
  WebAssembly.compile(readFileSync(createRequire(import.meta.url).resolve(`@jsquash/webp/codec/${path}`)));

async function encodeWebp({ data, width, height }: PNG): Promise<Buffer> {
  await initEncoder(await codec("enc/webp_enc.wasm"));
  const image = { data: new Uint8ClampedArray(data), width, height, colorSpace: "srgb" } as const;
  return Buffer.from(await encode(image, { lossless: 1, exact: 1 }));
}

async function decodeWebp(bytes: Buffer): Promise<PNG> {
  await initDecoder(await codec("dec/webp_dec.wasm"));
  const { data, width, height } = await decode(Uint8Array.from(bytes).buffer);
  const picture = new PNG({ width, height });
  picture.data.set(data);
  return picture;
}
