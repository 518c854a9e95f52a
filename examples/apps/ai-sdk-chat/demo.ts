// A person and a page that reloads, over HTTP, with the client that useChat is made of; each answer is
// checked: `npx tsx examples/apps/ai-sdk-chat/demo.ts`. The model is a script.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { check } from "../support/check.js";
import { makePng } from "../support/make-media.js";
import { openChat, textOf } from "./client.js";
import { chatTools, scriptedModel } from "./script.js";
import { startChatServer } from "./server.js";

const dir = await mkdtemp(join(tmpdir(), "sessile-chat-"));
const blobs = fileBlobStore({ dir: join(dir, "blobs") });
const sessions = fileSessionStore({ dir: join(dir, "sessions"), blobs });
const start = () => startChatServer({ sessions, blobs, dir, model: scriptedModel(), tools: chatTools });
try {
  {
    await using server = await start();
    console.log("A message");
    const chat = await openChat(server.url, "demo");
    await chat.sendMessage({ text: "Hello." });
    check("is answered", textOf(chat.messages[1]), "You said 1 things; I see no images.");

    console.log("\nAn image");
    const data = Buffer.from(makePng(320, 200)).toString("base64");
    const files = [{ type: "file", mediaType: "image/png", url: `data:image/png;base64,${data}` } as const];
    await chat.sendMessage({ text: "What is this?", files });
    check("reaches the model", textOf(chat.messages[3]), "You said 2 things; I see 320 x 200.");

    console.log("\nA tool");
    await chat.sendMessage({ text: 'Count the words of "one two three".' });
    check("runs between two steps", textOf(chat.messages[5]), "The tool said: 3.");

    console.log("\nA tab that goes away");
    const sent = chat.sendMessage({ text: "Tell me a story." });
    while (textOf(chat.messages.at(-1)).length < 100) await setTimeout(10);
    await chat.stop();
    await sent;
    const tab = await openChat(server.url, "demo");
    const resumed = tab.resumeStream();
    while (textOf(tab.messages.at(-1)).length < 200) await setTimeout(10);
    check("finds the turn running", textOf(tab.messages.at(-1)).startsWith("On day 1"));
    await fetch(`${server.url}/api/chat/demo/stream`, { method: "DELETE" });
    await resumed;
    check("and can stop it", tab.status, "ready");
  }
  console.log("\nA restart");
  await using server = await start();
  const chat = await openChat(server.url, "demo");
  check("finds everything", chat.messages.length, 8);
  await chat.sendMessage({ text: "Thanks." });
  await chat.regenerate();
  check("and a reply can be made again", textOf(chat.messages[9]), "You said 5 things; I see 320 x 200.");
} finally {
  await rm(dir, { recursive: true, force: true });
}
