// Starts the server on a directory of its own, does what the page does, and checks the answers:
// `npx tsx examples/apps/turn-endpoint/demo.ts`. The model is a script.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { fileBlobStore } from "sessile/node";
import { check } from "../support/check.js";
import { type LocalProvider, startLocalProvider } from "../support/local-provider.js";
import { makePng } from "../support/make-media.js";
import { claude } from "./claude.js";
import { type TurnClient, turnClient } from "./client.js";
import { followTurnScript } from "./script.js";
import { startTurnServer, type TurnServer } from "./server.js";
import { viewingToolDeclarations } from "./turn.js";

await demo();

async function start(dir: string, provider: LocalProvider): Promise<TurnServer> {
  const client = new Anthropic({ apiKey: "none", baseURL: provider.url, maxRetries: 0 });
  const blobs = fileBlobStore({ dir: join(dir, "blobs") });
  const model = claude({ client, model: "script", blobs, tools: viewingToolDeclarations });
  const maker = { provider: "anthropic", model: "script" };
  return startTurnServer({ dir, model, maker, onError: console.error });
}

async function demo(): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "sessile-turn-"));
  try {
    await using provider = await startLocalProvider({ script: followTurnScript, paceMs: 1 });
    let sessionId = "";
    {
      await using server = await start(dir, provider);
      const client = turnClient(server);
      await talk(client, provider, dir);
      sessionId = (await client.session()).id;
    }
    console.log("\nA restart");
    await using server = await start(dir, provider);
    const again = turnClient(server);
    check("the session is there again", (await again.session()).id, sessionId);
    await again.turn("Look again at what I attached.");
    const said = (await again.session()).entries.at(-1)?.text;
    check("and what was attached can be seen again", said, "Looking again: an image of 320 x 200 pixels.");
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function talk(client: TurnClient, provider: LocalProvider, dir: string): Promise<void> {
  console.log("A file");
  const image = makePng(320, 200);
  const file = await client.upload("screen.png", image);
  check("is known by its bytes", [file.mediaType, file.width, file.height], ["image/png", 320, 200]);
  const page = await client.send("POST", "/api/harness/files?name=page.png", Buffer.from("<!doctype html>"));
  check("is refused where it is another than its name says", page.status, 415);

  console.log("\nA turn");
  const events = await client.turn("What is this?", [file.path]);
  const names = [...new Set(events.map(({ event }) => event))];
  check("is told in events", names, ["entry", "delta", "done"]);
  const deltas = events.flatMap(({ event, data }) => (event === "delta" ? [data.text] : []));
  check("the reply comes in pieces", deltas.length > 3);
  check("which are the reply", deltas.join(""), "I see an image of 320 x 200 pixels.");
  const sent = JSON.stringify(provider.requests.at(-1)?.messages);
  check("the model got the bytes", sent.includes(Buffer.from(image).toString("base64")));
  check("and no path", sent.includes(dir), false);
  const [asked] = (await client.session()).entries;
  const blob = await client.send("GET", `/api/harness/blobs/${asked?.resources?.[0]?.blob}`);
  check("the page gets them back", Buffer.compare(Buffer.from(await blob.arrayBuffer()), image), 0);

  console.log("\nWhat cannot be attached");
  await writeFile(join(dir, "secret.txt"), "outside of uploads/");
  const outside = await client.send("POST", "/api/harness/turn", {
    message: " ",
    attachments: [join(dir, "secret.txt")],
  });
  check("no text and no file is refused", outside.status, 400);
  const { error } = (await outside.json()) as { error: { category: string; errors: { code: string }[] } };
  check("by category", error.category, "ALL_ATTACHMENTS_FAILED_NO_TEXT");
  check("and reason", error.errors[0]?.code, "PATH_REFUSED");
  const partly = await client.turn("And now?", [file.path, join(dir, "uploads", "gone.png")]);
  const warning = partly.find(({ event }) => event === "warning");
  check("of the rest the page is told", warning?.data, {
    failed: [{ name: "gone.png", code: "NOT_FOUND", reason: "there is no such file" }],
  });

  console.log("\nOne turn at a time");
  const running = client.turn("Tell me a long story.");
  await client.until(({ running }) => running);
  const second = await client.send("POST", "/api/harness/turn", { message: "Me too." });
  check("a second one is refused", second.status, 409);
  const stop = await client.send("DELETE", "/api/harness/turn");
  check("the first can be aborted", stop.status, 202);
  const last = (await running).at(-1);
  check("and says so", [last?.event, last?.data.error?.code], ["error", "ABORTED"]);

  console.log("\nA branch");
  const moved = await client.send("POST", "/api/harness/leaf", { entryId: asked?.id });
  check("begins where the leaf was moved to", await moved.json(), { leafId: asked?.id });
  await client.turn("Never mind.");
  const { entries } = await client.session();
  const following = entries.filter(({ parentId, role }) => parentId === asked?.id && role !== undefined);
  check(
    "two messages follow the first",
    following.map(({ role }) => role),
    ["assistant", "user"],
  );

  console.log("\nStrangers");
  const bare = await fetch(`${client.origin}/api/harness/session`);
  check("without the token nothing is told", bare.status, 401);
  const evil = await client.send("GET", "/api/harness/session", undefined, { origin: "http://evil.example" });
  check("nor to another origin", evil.status, 403);
}
