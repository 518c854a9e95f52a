import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sniff } from "sessile/media";
import { describe, expect, it } from "vitest";
import { makePdf, makePng } from "../../../examples/apps/support/make-media.js";
import { axeFindings, withoutChromium } from "../../support/chromium.js";
import { expectSheet, takeSheet, withoutPictures } from "../../support/pictures.js";
import { Entries } from "../../viewer/session.js";
import { turnPageFixture } from "./turn-endpoint/page-fixture.js";
import {
  giveFiles,
  holdAnswer,
  imageOfWidth,
  pending,
  rest,
  row,
  said,
  send,
  wholeTree,
} from "./turn-endpoint/page-program.js";

/** All of them take about twenty seconds on an idle machine. */
const timeout = 600_000;

const png = (name: string, width: number, height: number) => ({
  name,
  type: "image/png",
  bytes: makePng(width, height),
});
const hostile = '<img src=x onerror="document.title=1">';

function messageOf(at: number) {
  const role = at % 2 === 0 ? "user" : "assistant";
  const message = {
    role,
    content: [{ type: "text", text: `message ${at}` }],
    provider: "none",
    model: "none",
  };
  const parentId = at === 0 ? null : `e${at - 1}`;
  return { type: "message", id: `e${at}`, parentId, timestamp: "2026-11-23T08:00:00.000Z", message };
}

interface Pictured {
  readonly id: string;
  readonly parentId: string | null;
  readonly type: string;
  readonly message: {
    readonly role: string;
    readonly content: string | readonly { readonly text?: string; readonly name?: string }[];
  };
}

/** A conversation with an image, a tool, Markdown, and two replies to its last message. */
function pictured(): Entries {
  const entries = new Entries();
  const data = Buffer.from(makePng(96, 64, () => [110, 140, 170])).toString("base64");
  const image = { type: "image", mimeType: "image/png", data } as const;
  const content = [{ type: "text", text: "Which shell is this?" } as const, image];
  entries.message({ role: "user", content, timestamp: entries.time }, "q1");
  entries.reply([entries.call("view_resource", { resourceId: "res_1" }, "c1")], {}, "a1");
  entries.result("c1", "view_resource", "an image of 96 x 64 pixels");
  entries.reply(
    "## A limpet\n\n- it *stays*\n- it has **one** foot\n\n```ts\nshells.push(limpet);\n```",
    {},
    "a2",
  );
  entries.user("How large?", "q2");
  entries.reply("Six centimetres.", {}, "a0");
  entries.from("q2").reply("| Shell | Size |\n| --- | ---: |\n| limpet | 6 cm |", {}, "a3");
  return entries;
}

const title = `the page (${withoutChromium ?? "in Chromium"})`;

describe.skipIf(withoutChromium !== undefined)(title, { timeout }, () => {
  const fixture = turnPageFixture(timeout);
  const { open, openAgain, storedBytes, sentMedia } = fixture;

  // @covers R172 R173
  it("takes a pasted image: its exact bytes are in the blob store and in the request that the model got", async () => {
    const page = await open();
    const image = png("screenshot.png", 64, 48);
    await giveFiles(page, "paste", image);
    await pending(page)
      .getByRole("img", { name: /^screenshot\.png, PNG/ })
      .waitFor();
    await send(page, "What is on this screenshot?");
    await said(page, "I read: What is on this screenshot?").waitFor();
    expect(storedBytes(image.bytes)?.equals(image.bytes)).toBe(true);
    expect(sentMedia().map((bytes) => bytes.equals(image.bytes))).toEqual([true]);

    const shown = page.getByRole("button", { name: /^Show screenshot\.png/ }).getByRole("img");
    await imageOfWidth(shown, 64);
    const mini = row(page, "What is on this screenshot?").locator("img");
    await imageOfWidth(mini, 64);
  });

  it("takes an image from the clipboard itself", async () => {
    const page = await open();
    await fixture.opened[0]?.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.evaluate(
      async (bytes) => {
        const blob = new Blob([Uint8Array.from(bytes)], { type: "image/png" });
        await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
      },
      [...makePng(40, 30)],
    );
    await page.getByRole("textbox", { name: "Message" }).focus();
    await page.keyboard.press("Control+V");
    await pending(page).getByRole("img").waitFor();
    await send(page, "");
    await page.getByRole("button", { name: /^Show image\.png/ }).waitFor();
    await rest(page);
    // The browser encodes the image again, so the bytes differ.
    const [sent] = sentMedia();
    expect(sniff(sent ?? new Uint8Array())).toMatchObject({
      mediaType: "image/png",
      width: 40,
      height: 30,
    });
    expect(storedBytes(sent ?? new Uint8Array())).toEqual(sent);
  });

  // @covers R188
  it("takes dropped and picked files as chips, and lets one be removed", async () => {
    const page = await open();
    const report = { name: "report.pdf", type: "application/pdf", bytes: makePdf() };
    await giveFiles(page, "drop", report, png("aside.png", 8, 8));
    const picked = { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("a note\n") };
    await page.locator("#files").setInputFiles(picked);
    await pending(page).getByText("PDF, 329 bytes").waitFor();
    await pending(page).getByText("Text, 7 bytes").waitFor();
    await pending(page).getByRole("button", { name: "Remove aside.png" }).click();
    expect(await pending(page).getByRole("listitem").count()).toBe(2);
    // Files that arrive while a message is sent belong to the next one.
    await page.route("**/harness/turn", async (route) => {
      await giveFiles(page, "drop", png("late.png", 6, 6));
      await route.continue();
    });
    await send(page, "Read these.");
    await said(page, "I read: Read these.").waitFor();
    expect(await pending(page).getByRole("listitem").count()).toBe(1);
    expect(sentMedia()).toEqual([Buffer.from(report.bytes)]);
    expect(storedBytes(report.bytes)?.equals(report.bytes)).toBe(true);
    expect(storedBytes(makePng(8, 8))).toBeUndefined();
    const saving = page.waitForEvent("download");
    await page.getByRole("button", { name: "report.pdf" }).click();
    const saved = await saving;
    expect(saved.suggestedFilename()).toBe("report.pdf");
    expect(readFileSync(await saved.path()).equals(report.bytes)).toBe(true);
  });

  it("says of a refused file why, and sends the rest", async () => {
    const page = await open();
    const bytes = new TextEncoder().encode("<!doctype html>");
    await giveFiles(page, "paste", { name: "page.png", type: "image/png", bytes }, png("good.png", 9, 9));
    await giveFiles(page, "drop", { name: "tool.exe", type: "", bytes });
    const large = { name: "large.txt", type: "text/plain", bytes: new Uint8Array(0) };
    await page.evaluate(() => Object.defineProperty(File.prototype, "size", { get: () => 11 << 20 }));
    await giveFiles(page, "drop", large);
    await pending(page).getByText("It is larger than 10 MB.").waitFor();
    await pending(page).getByText("Its name says image/png", { exact: false }).waitFor();
    await pending(page).getByText("Its name does not end with png", { exact: false }).waitFor();
    await pending(page)
      .getByRole("img", { name: /^good\.png/ })
      .waitFor();
    await send(page, "Only one of them is good.");
    await said(page, "I read: Only one of them").waitFor();
    expect(sentMedia()).toEqual([Buffer.from(makePng(9, 9))]);
  });

  it("does not send without a file that turned out to be refused since", async () => {
    const page = await open();
    const uploaded = await holdAnswer(page, "**/api/harness/files*");
    const bytes = new TextEncoder().encode("<!doctype html>");
    await giveFiles(page, "paste", { name: "page.png", type: "image/png", bytes });
    await send(page, "What does this page show?");
    await uploaded.release();
    await page.getByRole("alert").getByText("The message was not sent.").waitFor();
    await pending(page).getByText("Its name says image/png", { exact: false }).waitFor();
    expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe(
      "What does this page show?",
    );
    await page.keyboard.press("Enter");
    await said(page, "I read: What does this page show?").waitFor();
    expect(await pending(page).getByRole("listitem").count()).toBe(0);
  });

  // @covers R170 R171
  it("says in words why nothing was sent, and keeps the message", async () => {
    const page = await open();
    await giveFiles(page, "paste", png("gone.png", 10, 10));
    await pending(page)
      .getByRole("img", { name: /^gone\.png/ })
      .waitFor();
    for (const name of readdirSync(join(fixture.dir, "uploads")))
      rmSync(join(fixture.dir, "uploads", name), { recursive: true });
    await send(page, "");
    const alert = page.getByRole("alert");
    await alert.getByText("The message was not sent. There is no text, and all attachments failed").waitFor();
    await alert.getByText("gone.png: there is no such file").waitFor();
    expect(await pending(page).getByRole("listitem").count()).toBe(1);
    await send(page, "With a text it is.");
    await alert.getByText("Not everything went along").waitFor();
    await rest(page);
    expect(await pending(page).getByRole("listitem").count()).toBe(0);
  });

  it("shows the reply before its end, and the tree grow, and stops it", async () => {
    const page = await open();
    await send(page, "Tell me at length, and be stopped.");
    const reply = page.locator(".reply");
    await reply.getByText("word-3").waitFor();
    expect(await reply.textContent()).not.toContain("word-20000");
    await row(page, "Tell me at length, and be stopped.").waitFor();
    expect(await page.getByRole("button", { name: "Send" }).isVisible()).toBe(false);
    await page.getByRole("button", { name: "Stop the reply" }).click();
    await rest(page);
    await said(page, "word-3").waitFor();
    expect(await said(page, "word-20000").count()).toBe(0);
    expect(await page.getByRole("alert").textContent()).toBe("");

    await send(page, "Now in some words, to the end.");
    await page
      .locator(".row.assistant:not(.reply)")
      .getByText(/word-40\.$/)
      .waitFor();
    await row(page, "word-1 word-2").last().waitFor();
    expect(await page.locator("#spoken").textContent()).toMatch(/^word-1 .* word-40\.$/);
  });

  it("branches off where a node was clicked, and where one was chosen by keys", async () => {
    const page = await open();
    await send(page, "the first question");
    await said(page, "I read: the first question").waitFor();
    await rest(page);
    await send(page, "the second question");
    await row(page, "I read: the second question").waitFor();
    await rest(page);
    const level = (words: string) => row(page, words).first().getAttribute("aria-level");
    const straight = await level("I read: the first question");
    expect(await level("the second question")).toBe(straight);

    await row(page, "I read: the first question").click();
    await page.getByText("The next message branches off after “I read: the first question”").waitFor();
    await expect.poll(() => said(page, "the second question").count()).toBe(0);
    await send(page, "another second question");
    await row(page, "I read: another second question").waitFor();
    await rest(page);
    expect(Number(await level("another second question"))).toBe(Number(straight) + 1);
    expect(await page.locator("#tree-count").textContent()).toMatch(/^\d+ entries, \d+ branches$/);
    const { entries } = await (await fixture.server.call("GET", "session")).json();
    const id = (text: string) => entries.find((entry: { text?: string }) => entry.text === text);
    expect(id("another second question").parentId).toBe(id("I read: the first question").id);

    // Up from the leaf: the message, the two of the other branch, the reply before both.
    await page.getByRole("tree").focus();
    for (const key of ["ArrowUp", "ArrowUp", "Enter"]) await page.keyboard.press(key);
    await said(page, "I read: the second question").waitFor();
    await row(page, "I read: the second question").and(page.locator("[aria-selected=true]")).waitFor();
  });

  it("asks for another reply, writes a message anew with its file, and goes from version to version", async () => {
    const page = await open();
    const image = png("kept.png", 12, 9);
    await giveFiles(page, "paste", image);
    await pending(page).getByRole("img").waitFor();
    await send(page, "the first words");
    await said(page, "I read: the first words").waitFor();
    await rest(page);
    await page.getByRole("button", { name: "Regenerate" }).click();
    await page.getByText("reply 2/2").waitFor();
    await rest(page);
    expect(await said(page, "I read: the first words").count()).toBe(1);
    expect(sentMedia().map((bytes) => bytes.equals(image.bytes))).toEqual([true]);
    await page.getByRole("button", { name: "Earlier reply" }).click();
    await page.getByText("reply 1/2").waitFor();

    await page.getByRole("button", { name: "Edit the last message" }).click();
    await pending(page)
      .getByRole("img", { name: /^kept\.png/ })
      .waitFor();
    const text = page.getByRole("textbox", { name: "Message" });
    expect(await text.inputValue()).toBe("the first words");
    await send(page, "the second words");
    await said(page, "I read: the second words").waitFor();
    await rest(page);
    expect(sentMedia().map((bytes) => bytes.equals(image.bytes))).toEqual([true]);
    // The conversations of other tests begin there too.
    const shown = page.getByText(/^message \d+\/\d+$/);
    const [, last] = (await shown.textContent())?.split("/") ?? [];
    await page.getByRole("button", { name: "Earlier message" }).click();
    await page.getByText(`message ${Number(last) - 1}/${last}`).waitFor();
    await said(page, "I read: the first words").waitFor();
    await page.getByText("reply 2/2").waitFor();
    await page.getByRole("button", { name: "Later message" }).click();
    await said(page, "I read: the second words").waitFor();
  });

  it("refuses another reply to what is no message of the user", async () => {
    await open();
    const refused = await fixture.server.call("POST", "turn", { again: true });
    expect([refused.status, await refused.json()]).toMatchObject([
      409,
      { error: { code: "NOTHING_TO_ANSWER" } },
    ]);
    expect((await fixture.server.call("POST", "turn", { again: true, message: "" })).status).toBe(400);
  });

  it.skipIf(withoutPictures !== undefined)("looks as in its picture", async () => {
    const entries = pictured();
    const summaries = entries.all.map((entry) => {
      const { id, parentId, type, message } = entry as Pictured;
      const { role, content } = message;
      const parts: Exclude<typeof content, string> =
        typeof content === "string" ? [{ text: content }] : content;
      const text = parts.map((part) => part.text ?? "").join("");
      const calls = parts.flatMap(({ name }) => (name === undefined ? [] : [{ name }]));
      return { id, parentId, type, role, text, calls };
    });
    const common = { id: "s", name: "The largest shell", leafId: entries.last, running: false };
    const path = entries.all.filter(({ id }) => id !== "a0");
    const sheet = await takeSheet(fixture.browser, async (page) => {
      await page.clock.setFixedTime(new Date("2026-01-05T12:00:00Z"));
      await page.route("**/harness/recent", (route) => route.fulfill({ json: { ...common, entries: path } }));
      await page.route("**/harness/session", (route) =>
        route.fulfill({ json: { ...common, entries: summaries } }),
      );
      await page.goto(fixture.server.url);
      await rest(page);
      await wholeTree(page);
      await page.getByText("reply 2/2").waitFor();
      const grey = { name: "rock.png", type: "image/png", bytes: makePng(90, 60, () => [120, 120, 120]) };
      await giveFiles(page, "paste", grey, { name: "no.exe", type: "", bytes: makePng(1, 1) });
      await pending(page).getByRole("img").waitFor();
      await pending(page).getByText("Its name does not end with", { exact: false }).waitFor();
      await page.getByRole("textbox", { name: "Message" }).fill("And this one?");
      // The end of the conversation stays in view above all of that.
      const end = async () => (await page.getByRole("cell", { name: "6 cm" }).boundingBox())?.y ?? Infinity;
      const form = (await page.locator("#composer").boundingBox())?.y ?? 0;
      await expect.poll(async () => (await end()) + 24 <= form).toBe(true);
      const sizes = await page.evaluate(() => {
        const all = [document, document.querySelector("#entries")?.shadowRoot].flatMap((one) => [
          ...(one?.querySelectorAll("*") ?? []),
        ]);
        const words = all.filter(
          (one) => one.checkVisibility() && [...one.childNodes].some((node) => node.nodeType === 3),
        );
        return [...new Set(words.map((one) => getComputedStyle(one).fontSize))].sort();
      });
      expect(sizes).toEqual(["12px", "13px", "15px", "18px"]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
      expect(await axeFindings(page)).toEqual([]);
    });
    await expectSheet("turn-endpoint", sheet);
  });

  it("keeps hostile names and messages inert", async () => {
    const page = await open();
    await giveFiles(page, "paste", { ...png(`${hostile}.exe`, 4, 4) }, png(`${hostile}.png`, 5, 5));
    await pending(page).getByText(`${hostile}.exe`).waitFor();
    await pending(page).getByRole("img").waitFor();
    await send(page, `${hostile}\n\`\`\`\n${hostile}\n\`\`\`\n\`${hostile}\``);
    await row(page, `I read: ${hostile}`).waitFor();
    await rest(page);
    expect(await page.locator("img[onerror], img[src=x]").count()).toBe(0);
    expect(await page.title()).toBe("Sessile");
    expect(await page.locator("#entries pre").first().textContent()).toBe(hostile);
  });

  it("lets no script run that is not the server's own", async () => {
    const page = await open();
    await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "document.title = 'run'";
      document.body.append(script);
    });
    expect(await page.title()).toBe("Sessile");
    const problems = fixture.opened[0]?.problems as string[];
    await expect.poll(() => problems.length).toBe(1);
    expect(problems.pop()).toMatch(/content security policy/i);
  });

  it("restores everything on a reload, also while a reply is being written", async () => {
    const page = await open();
    const image = png("kept.png", 21, 14);
    await giveFiles(page, "paste", image);
    await pending(page).getByRole("img").waitFor();
    await send(page, "Keep this, and answer at length.");
    await page.locator(".reply").getByText("word-2").waitFor();
    await page.reload();
    const stop = page.getByRole("button", { name: "Stop the reply" });
    await stop.waitFor();
    const shown = page.getByRole("button", { name: /^Show kept\.png/ }).getByRole("img");
    await imageOfWidth(shown, 21);
    await stop.click();
    await rest(page);
    await said(page, "word-2").waitFor();
    // The tree comes after the conversation.
    const leaf = page.locator(".row.leaf").filter({ hasText: "word-1 word-2" });
    await leaf.waitFor();
    await wholeTree(page);
    const before = await page.locator("#entries [role=feed], #tree").allTextContents();
    await page.reload();
    await said(page, "word-2").waitFor();
    await leaf.waitFor();
    await wholeTree(page);
    await expect.poll(() => page.locator("#entries [role=feed], #tree").allTextContents()).toEqual(before);
  });

  it("says that another page's reply is being written, and can stop it", async () => {
    const first = await open();
    const second = await openAgain();
    await send(first, "Go on at length while another asks.");
    await first.locator(".reply").getByText("word-1").waitFor();
    await send(second, "May I?");
    await second.getByRole("alert").getByText("A reply is still being written.").waitFor();
    expect(await second.getByRole("textbox", { name: "Message" }).inputValue()).toBe("May I?");
    await second.getByRole("button", { name: "Stop the reply" }).click();
    await Promise.all([rest(first), rest(second)]);
    await said(second, "while another asks").waitFor();
    expect(await said(second, "word-20000").count()).toBe(0);
  });

  it("shows what another page wrote before, once it has sent something itself", async () => {
    const first = await open();
    const second = await openAgain();
    await send(first, "Here the first page asks.");
    await said(first, "I read: Here the first page asks.").waitFor();
    await rest(first);
    await send(second, "Here the second page asks.");
    await said(second, "I read: Here the second page asks.").waitFor();
    await said(second, "I read: Here the first page asks.").waitFor();
  });

  it("does not take the session as it was before its own turn for what it is now", async () => {
    const page = await open();
    const held = await holdAnswer(page, "**/api/harness/recent");
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await held.given;
    await send(page, "Answer this one at length.");
    const reply = page.locator(".reply");
    await reply.getByText("word-2").waitFor();
    await held.release();
    // The page has the response when it has read more of the reply.
    const words = async () => (await reply.textContent())?.split("word-").length ?? 0;
    const before = await words();
    await expect.poll(words).toBeGreaterThan(before + 5);
    await said(page, "Answer this one at length.").waitFor();
    await page.getByRole("button", { name: "Stop the reply" }).click();
    await rest(page);
    await page.locator(".row.assistant:not(.reply)").getByText("word-2").waitFor();
    await said(page, "Answer this one at length.").waitFor();
  });

  it("says that the connection is lost, and goes on when it is back", async () => {
    const page = await open();
    await page.route("**/api/**", (route) => route.abort());
    await send(page, "Is anybody there?");
    await page.getByRole("alert").getByText("The connection to the server is lost.").waitFor();
    expect(await page.locator("#state").textContent()).toBe("Reconnecting");
    // The notice goes with its state, before the tree is there.
    const tree = await holdAnswer(page, "**/api/harness/session");
    await page.unroute("**/api/**");
    await tree.given;
    await rest(page);
    expect(await page.getByRole("alert").textContent()).toBe("");
    await tree.release();
    expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("Is anybody there?");
    await page.goto("about:blank");
    await page.goto(`${fixture.server.url}x`);
    await page.getByRole("alert").getByText("This page's address is of an earlier run.").waitFor();
  });

  it("shows a long session in parts, its end before the rest", async () => {
    const page = await open();
    const path = Array.from({ length: 20_000 }, (_, at) => messageOf(at));
    const entries = path.map(({ id, parentId, type, message: { role, content } }) => {
      return { id, parentId, type, role, text: content[0]?.text };
    });
    const head = { id: "s", leafId: "e19999", running: false };
    const asked: (string | null)[] = [];
    await page.route("**/api/harness/recent*", (route) => {
      const before = new URL(route.request().url()).searchParams.get("before");
      asked.push(before);
      const end = Number(before ?? path.length);
      const page = { entries: path.slice(end - 60, end), truncated: true, before: String(end - 60) };
      return route.fulfill({ json: { ...head, ...page } });
    });
    let sendTree = () => {};
    const isWanted = new Promise<void>((resolve) => {
      sendTree = resolve;
    });
    await page.route("**/api/harness/session", async (route) => {
      await isWanted;
      await route.fulfill({ json: { ...head, entries } });
    });
    await page.reload();
    // The first screen needs one page of the path, and nothing of the tree.
    const shown = page.locator("#entries");
    await shown.getByText("message 19999").waitFor();
    await page.locator("#state.ready").waitFor();
    expect(asked).toEqual([null]);
    expect(await page.getByRole("treeitem").count()).toBeLessThan(2);
    expect(await shown.getByRole("article").count()).toBeLessThan(40);
    sendTree();
    await row(page, "message 19999").waitFor();
    expect(await page.getByRole("treeitem").count()).toBeLessThan(100);

    // At its beginning comes the page before, and what was in view stays there.
    const conversation = page.getByRole("region", { name: "Conversation" });
    await conversation.evaluate((element) => element.scrollTo(0, 0));
    await expect.poll(() => asked).toEqual([null, "19940"]);
    const first = shown.getByText("message 19940");
    await expect.poll(() => conversation.evaluate((element) => element.scrollTop)).toBeGreaterThan(1000);
    // Rows get their measured heights after they are drawn.
    await expect.poll(async () => (await first.boundingBox())?.y).toSatisfy((y: number) => y > 0 && y < 300);
    await conversation.evaluate((element) => element.scrollBy(0, -400));
    await shown.getByText("message 19937").waitFor();
    expect(asked).toHaveLength(2);
    expect(await shown.getByRole("article").count()).toBeLessThan(40);

    // The keyboard reaches the conversation and scrolls it.
    await page.getByRole("textbox", { name: "Message" }).focus();
    const hasFocus = () =>
      conversation.evaluate((element) => element === (element.getRootNode() as ShadowRoot).activeElement);
    for (let steps = 0; steps < 8; steps++) {
      await page.keyboard.press("Shift+Tab");
      if (await hasFocus()) break;
    }
    expect(await hasFocus()).toBe(true);
    // The way there led over the button for earlier messages, which may still bring some.
    const newest = shown.getByText("message 19999");
    const end = async () => {
      await page.keyboard.press("End");
      return newest.isVisible();
    };
    await expect.poll(end).toBe(true);

    await page.getByRole("tree").focus();
    await page.keyboard.press("Home");
    await row(page, "Beginning").waitFor();
    expect(await page.getByRole("treeitem").count()).toBeLessThan(100);
    expect(await page.locator(".row.active").textContent()).toBe("Beginning");
  });

  it.each(["light", "dark"] as const)("has no serious findings of axe in %s colours", async (colorScheme) => {
    const page = await open();
    await page.emulateMedia({ colorScheme });
    await giveFiles(page, "paste", png("screenshot.png", 64, 48));
    await send(page, "What is on this screenshot?");
    await said(page, "I read: What is on this screenshot?").waitFor();
    await rest(page);
    await row(page, "What is on this screenshot?").first().click();
    await page.locator("#branch-hint").waitFor();
    expect(await axeFindings(page)).toEqual([]);
  });

  it("folds the tree away on a narrow screen", async () => {
    const page = await open({ width: 390, height: 844 });
    await send(page, `a narrow question\n\`\`\`\n${"wide ".repeat(60)}\n\`\`\``);
    await said(page, "I read: a narrow question").waitFor();
    await rest(page);
    const overflowing = await page.evaluate(() => {
      const conversation = document.querySelector("#entries")?.shadowRoot;
      const inside = conversation?.querySelectorAll(".scroller, .row") ?? [];
      const boxes = [document.documentElement, ...document.querySelectorAll("#composer"), ...inside];
      return boxes.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).length;
    });
    expect(overflowing).toBe(0);
    const tree = page.getByRole("tree");
    expect(await tree.isVisible()).toBe(false);
    const toggle = page.getByRole("button", { name: "Tree", exact: true });
    await toggle.click();
    await row(page, "a narrow question").first().waitFor();
    await page.keyboard.press("Escape");
    await tree.waitFor({ state: "hidden" });
    await toggle.click();
    await row(page, "a narrow question").first().click();
    await tree.waitFor({ state: "hidden" });
    await said(page, "I read: a narrow question").waitFor({ state: "detached" });
  });
});
