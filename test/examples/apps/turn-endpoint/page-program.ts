import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { root } from "../../../../scripts/entries.mjs";
import { runsSources } from "../../support/programs.js";

/** examples/apps/turn-endpoint/main.ts as a process. */
export interface ServedPage extends AsyncDisposable {
  /** With the token behind #. */
  readonly url: string;
  /** Sends a request, as the page does. */
  call(method: string, path: string, body?: unknown): Promise<Response>;
}

/**
 * Starts it with the model at another address.
 *
 * @param dir for sessions, blobs and uploads
 * @param modelUrl speaks Anthropic's Messages API
 */
export async function servePage(dir: string, modelUrl: string): Promise<ServedPage> {
  const env = { ...process.env, SESSILE_DIR: dir, ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: modelUrl };
  const child = spawn(process.execPath, [...runsSources, "examples/apps/turn-endpoint/main.ts"], {
    cwd: root,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [url] = await Promise.race([
    once(lines, "line") as Promise<[string]>,
    ended.then(() => Promise.reject(new Error("the server ended before it printed its address"))),
  ]);
  const [origin, token] = url.split("/#") as [string, string];
  return {
    url,
    call: (method, path, body) =>
      fetch(`${origin}/api/harness/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

/** A page, and its problems. */
export interface OpenedPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, and violations of the content security policy. */
  readonly problems: readonly string[];
}

/** Opens the page in a browser profile of its own, and waits until it has the session and its tree. */
export async function openPage(
  browser: Browser,
  url: string,
  { width = 1280, height = 800 } = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width, height }, reducedMotion: "reduce" });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (/content security policy|refused to/i.test(message.text())) problems.push(message.text());
  });
  await page.goto(url);
  await page.locator("#state:is(.ready, .running)").waitFor();
  await wholeTree(page);
  return { page, context, problems, [Symbol.asyncDispose]: () => context.close() };
}

/** A file in the page's memory. */
export interface PageFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Pastes or drops files with exactly these bytes: the clipboard would encode an image again. */
export async function giveFiles(
  page: Page,
  how: "paste" | "drop",
  ...files: readonly PageFile[]
): Promise<void> {
  const plain = files.map(({ name, type, bytes }) => ({ name, type, bytes: [...bytes] }));
  await page.getByRole("textbox", { name: "Message", exact: true }).evaluate(
    (target, given) => {
      const data = new DataTransfer();
      for (const { name, type, bytes } of given.files) {
        data.items.add(new File([Uint8Array.from(bytes)], name, { type }));
      }
      const init = { bubbles: true, cancelable: true };
      target.dispatchEvent(
        given.how === "paste"
          ? new ClipboardEvent("paste", { ...init, clipboardData: data })
          : new DragEvent("drop", { ...init, dataTransfer: data }),
      );
    },
    { how, files: plain },
  );
}

/** Writes a message and sends it with the Enter key. */
export async function send(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.keyboard.press("Enter");
}

/** A response of the server that the test delays. */
export interface HeldAnswer {
  /** Resolves when the server has sent it. */
  readonly given: Promise<unknown>;
  /** Delivers it, and resolves after that. */
  release(): Promise<void>;
}

/** Delays the next response of a matching address. */
export async function holdAnswer(page: Page, address: string): Promise<HeldAnswer> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let give = () => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  await page.route(
    address,
    async (route) => {
      const response = await route.fetch();
      give();
      await released;
      await route.fulfill({ response });
    },
    { times: 1 },
  );
  return {
    given,
    async release() {
      const come = page.waitForResponse(address);
      release();
      await come;
    },
  };
}

/** Resolves when no reply is being written. */
export async function rest(page: Page): Promise<void> {
  await page.locator("#state.ready").waitFor();
}

/** Resolves when the tree has every entry: it comes after the conversation. */
export async function wholeTree(page: Page): Promise<void> {
  await page.locator("#tree[aria-busy=false]").waitFor({ state: "attached" });
}

/** The attachments of the next message. */
export function pending(page: Page): Locator {
  return page.getByRole("list", { name: "Attachments of the next message" });
}

/** Rows of the tree with this text. */
export function row(page: Page, words: string): Locator {
  return page.getByRole("treeitem").filter({ hasText: words });
}

/** The conversation. */
export function said(page: Page, words: string): Locator {
  return page.locator("#entries").getByText(words);
}

/** Waits until an image of this width is shown. */
export async function imageOfWidth(image: Locator, width: number): Promise<void> {
  await image.and(image.page().locator("img[src]")).waitFor();
  const actual = await image.evaluate(async (element) => {
    const shown = element as HTMLImageElement;
    await shown.decode();
    return shown.naturalWidth;
  });
  if (actual !== width) throw new Error(`the image is ${actual} pixels wide, expected ${width}`);
}
