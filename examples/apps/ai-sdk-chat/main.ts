// An AI SDK chat over Node's http: `npx tsx examples/apps/ai-sdk-chat/main.ts`, see README.md.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { bundlePage } from "./page/bundle.js";
import { chatTools, modelFrom } from "./script.js";
import { startChatServer } from "./server.js";

const { SESSILE_DIR, PORT = "0", CHAT_ORIGIN } = process.env;
const dir = resolve(SESSILE_DIR ?? (await mkdtemp(join(tmpdir(), "sessile-chat-"))));
const blobs = fileBlobStore({ dir: join(dir, "blobs") });

await using server = await startChatServer({
  sessions: fileSessionStore({ dir: join(dir, "sessions"), blobs }),
  blobs,
  dir,
  model: modelFrom(process.env),
  tools: chatTools,
  page: bundlePage,
  port: Number(PORT),
  ...(CHAT_ORIGIN === undefined ? {} : { origins: CHAT_ORIGIN.split(",") }),
  onError: console.error,
});
console.log(server.url);
console.log(`everything is in ${dir}`);
await new Promise((done) => process.once("SIGINT", done).once("SIGTERM", done));
