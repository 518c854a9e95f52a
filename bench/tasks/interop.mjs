// The import of a transcript: node tasks/interop.mjs TASK INPUT
import { createHash } from "node:crypto";
import { task } from "./task.mjs";
import { transcript } from "./transcript.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/interop")} */
const { importSession } = await import(`${built}/interop.js`);
/** @type {typeof import("sessile/claude-code")} */
const { claudeCode } = await import(`${built}/claude-code.js`);
/** @type {typeof import("sessile")} */
const { memoryBlobStore } = await import(`${built}/index.js`);

/** As the store in files has it. */
const nodeSha256 = /** @type {const} */ ({ name: "sha256", create: () => createHash("sha256") });

/**
 * @param {Uint8Array} bytes
 * @param {"blob" | "none"} keep
 */
const read = (bytes, keep) =>
  importSession([{ path: "transcript.jsonl", bytes }], {
    from: claudeCode,
    keep,
    blobs: memoryBlobStore({ hashes: [nodeSha256] }),
  });

await task({
  /** @param {{ bytes: number, path?: string, keep: "blob" | "none" }} input */
  async read(input, timed) {
    // Code that is compiled on the way counts for neither side.
    for (let i = 0; i < 3; i++) await read(transcript({ ...input, bytes: 1_000_000 }), input.keep);
    const bytes = transcript(input);
    const { report } = await timed(() => read(bytes, input.keep));
    return Object.values(report.counts).reduce((sum, counts) => sum + counts.read, 0);
  },
});
