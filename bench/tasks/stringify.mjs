// The usual way from images to a body, in a process of its own: node tasks/stringify.mjs TASK INPUT
import { createHash } from "node:crypto";
import { imageBytes } from "./image-bytes.mjs";
import { task } from "./task.mjs";

/** The request in which blocks have an image's place for its base64. @typedef {{ messages: { role: string, content: { source?: { data: number } }[] }[] }} Shape */

/**
 * @param {Shape} shape
 * @param {readonly Uint8Array[]} images
 */
function bodyOf({ messages }, images) {
  const filled = messages.map(({ role, content }) => ({
    role,
    content: content.map((block) =>
      block.source === undefined
        ? block
        : { ...block, source: { ...block.source, data: base64(images[block.source.data]) } },
    ),
  }));
  return new TextEncoder().encode(JSON.stringify({ model: "m", messages: filled }));
}

/** @param {Uint8Array | undefined} bytes */
function base64({ buffer, byteOffset, byteLength } = new Uint8Array()) {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}

const { shape } = JSON.parse(process.argv[3] ?? "{}");
// What is compiled on the way counts for neither side.
for (let i = 0; i < 20; i++) bodyOf(shape, imageBytes({ count: 8, size: 3000 }));

await task({
  /** @param {{ count: number, size: number, shape: Shape }} input */
  async body({ count, size, shape }, timed) {
    const images = imageBytes({ count, size });
    const body = await timed(() => bodyOf(shape, images));
    return createHash("sha256").update(body).digest("hex");
  },
});
