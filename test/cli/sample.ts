import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assistantMessage, type BlobRef, type BlobStore, toolResult, userMessage } from "sessile";
import { ingest } from "sessile/attachments";
import { fileBlobStore, fileSessionStore } from "sessile/node";
import { png } from "../attachments/samples.js";

/** A folder with a project's sessions, as the guide lays it out. */
export interface Sample extends Disposable {
  readonly dir: string;
  readonly path: string;
  readonly id: string;
  readonly ids: Readonly<Record<"first" | "call" | "side" | "leaf", string>>;
  readonly blobs: BlobStore;
  readonly ref: BlobRef;
}

const model = { provider: "anthropic", model: "claude-sonnet-5" };

/** Text that would reach into a terminal: colours, a title, a moved cursor, bidirectional overrides. */
const hostile = "\u001b[31mred\u001b]0;title\u0007\u202egpj.exe\u009b2J\r\nnext";

/** A session with a turn of tools, an image, a branch and hostile text. */
export async function sample(): Promise<Sample> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "sessile-cli-")));
  const blobs = fileBlobStore({ dir: join(dir, ".sessile") });
  const store = fileSessionStore({ dir: join(dir, ".sessile", "sessions"), blobs });
  const session = await store.create({ cwd: dir });
  const image = await ingest({ bytes: png(2, 3), name: "dot.png" }, { blobs });
  const call = { type: "toolCall" as const, id: "c1", name: "read", arguments: { path: "README.md" } };
  const usage = {
    input: 100,
    output: 20,
    cacheRead: 1000,
    cacheWrite: 10,
    totalTokens: 1130,
  };
  const first = await session.appendMessage(userMessage("Write notes on this project.", image));
  const called = await session.appendMessage({ ...assistantMessage(model, "I look first.", call), usage });
  await session.appendMessage(toolResult({ id: "c1", name: "read" }, "# Tally\n漢字 👍🏽"));
  const side = await session.appendMessage(assistantMessage(model, "Done: NOTES.md is written."));
  await session.branch(called.id);
  await session.appendMessage({ ...toolResult({ id: "c1", name: "read" }, hostile), isError: true });
  const leaf = await session.appendMessage(assistantMessage(model, "Nothing is readable."));
  await session.updateInfo({ title: "Notes" });
  const path = session.location ?? "";
  await session.close();
  return {
    dir,
    path,
    id: session.id,
    ids: { first: first.id, call: called.id, side: side.id, leaf: leaf.id },
    blobs,
    ref: image.blob,
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  };
}
