// A server for turns with attachments, and its page, on this machine alone: see README.md.
import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { fileBlobStore } from "sessile/node";
import { startLocalProvider } from "../support/local-provider.js";
import { claude } from "./claude.js";
import { viewerFile } from "./files.js";
import { followTurnScript } from "./script.js";
import { startTurnServer } from "./server.js";
import { viewingToolDeclarations } from "./turn.js";

const { ANTHROPIC_API_KEY, SESSILE_DIR, SESSILE_WORKSPACE, PORT } = process.env;
const { SESSILE_MODEL: model = "claude-opus-5-5" } = process.env;

const dir = resolve(SESSILE_DIR ?? (await mkdtemp(join(tmpdir(), "sessile-turn-"))));
const blobs = fileBlobStore({ dir: join(dir, "blobs") });
// Slow enough to watch.
await using provider = await startLocalProvider({ script: followTurnScript, paceMs: 20 });
const client =
  ANTHROPIC_API_KEY === undefined
    ? new Anthropic({ apiKey: "none", baseURL: provider.url, maxRetries: 0 })
    : new Anthropic();
await using server = await startTurnServer({
  dir,
  ...(SESSILE_WORKSPACE === undefined ? {} : { workspace: resolve(SESSILE_WORKSPACE) }),
  model: claude({ client, model, blobs, tools: viewingToolDeclarations }),
  maker: { provider: "anthropic", model },
  port: Number(PORT ?? 0),
  onError: console.error,
});
console.log(server.url);
if (!existsSync(viewerFile)) console.error("the page needs the built package: run `npm run build`");
console.log(`everything is in ${dir}`);
await new Promise((done) => process.once("SIGINT", done).once("SIGTERM", done));
