// The base64 of images and nothing else, in a process of its own: node tasks/base64.mjs TASK INPUT
import { imageBytes } from "./image-bytes.mjs";
import { task } from "./task.mjs";

/** @param {readonly Uint8Array[]} images */
const encoded = (images) =>
  images.map(({ buffer, byteOffset, byteLength }) =>
    Buffer.from(buffer, byteOffset, byteLength).toString("base64"),
  );

// What is compiled on the way counts for neither side.
for (let i = 0; i < 20; i++) encoded(imageBytes({ count: 8, size: 3000 }));

/**
 * @param {{ count: number, size: number }} input
 * @param {<T>(act: () => T) => Promise<T>} timed
 */
async function alone(input, timed) {
  const images = imageBytes(input);
  return (await timed(() => encoded(images))).length;
}

await task({ body: alone, stream: alone });
