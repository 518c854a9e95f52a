// A session of 100 MB with 50 images, for the memory of a Durable Object.
import { blobStore, project, sessionStore, userMessage } from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { ingest } from "sessile/attachments";
import { r2BlobBackend } from "sessile/r2";
import { sqliteSessionBackend } from "sessile/sqlite";

const id = "large";
const turns = 1000;
const textBytes = 100_000;
const images = 50;
const imageBytes = 1_000_000;
const encoder = new TextEncoder();

/** @param {import("sessile/sqlite").SqliteDriver} driver @param {import("sessile/r2").R2BucketBinding} bucket */
function storesOf(driver, bucket) {
  const backend = sqliteSessionBackend({ driver, prefix: "large_", maxLineBytes: 4 * 1024 * 1024 });
  const blobs = blobStore(r2BlobBackend({ bucket, prefix: "large/" }));
  return { backend, blobs, sessions: sessionStore(backend) };
}

/** A PNG of noise: its header, and a chunk that no decoder reads. @param {number} seed */
function imageOf(seed) {
  const head = Uint8Array.from(
    atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="),
    (letter) => letter.charCodeAt(0),
  );
  const bytes = new Uint8Array(imageBytes);
  for (let at = 0; at < bytes.length; at++)
    bytes[at] = (Math.imul(at + seed * 7919, 2654435761) >>> 24) & 255;
  bytes.set(head);
  return bytes;
}

/** @param {import("sessile/sqlite").SqliteDriver} driver @param {import("sessile/r2").R2BucketBinding} bucket */
export async function fillLargeSession(driver, bucket) {
  const { backend, blobs, sessions } = storesOf(driver, bucket);
  await backend.migrate();
  const session = await sessions.create({ cwd: "/work", id });
  await session.appendMessage(userMessage("start"));
  let kept = "";
  for (let turn = 0; turn < turns; turn++) {
    const isShown = turn % (turns / images) === 0;
    const text = `turn ${turn} ${"words of a long result ".repeat(textBytes / 23)}`;
    const content = isShown
      ? [await ingest({ bytes: imageOf(turn), name: `${turn}.png` }, { blobs }), text]
      : [text];
    const entry = await session.appendMessage(userMessage(...content.flat()));
    if (turn === turns - 45) kept = entry.id;
  }
  await session.append([
    { type: "compaction", summary: "What was before.", firstKeptEntryId: kept, tokensBefore: 1_000_000 },
  ]);
  await session.close();
  for await (const { size } of backend.list({ partition: "" })) return { size };
  throw new Error("the session is not listed");
}

/** @param {import("sessile/sqlite").SqliteDriver} driver @param {import("sessile/r2").R2BucketBinding} bucket */
export async function wakeLargeSession(driver, bucket) {
  const { blobs, sessions } = storesOf(driver, bucket);
  const session = await sessions.open(id, { mode: "write" });
  await session.appendMessage(userMessage("And now?"));
  const { value } = await project(await session.context(), anthropicMessages({ model: "claude-opus-4-5" }), {
    blobs,
  });
  const body = encoder.encode(JSON.stringify(value)).length;
  await session.close();
  return { entries: (await session.tree()).size, body };
}
