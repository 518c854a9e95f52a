// What this library does in the benchmarks of bodies, in a process of its own: node tasks/body.mjs TASK INPUT
import { createHash } from "node:crypto";
import { imageBytes } from "./image-bytes.mjs";
import { projectImages } from "./project-images.mjs";
import { task } from "./task.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile")} */
const { toBody } = await import(`${built}/index.js`);

/** @param {readonly Uint8Array[]} images */
const bodyOf = async (images) => [...toBody(await projectImages(built, images), { model: "m" })];

// What is compiled on the way counts for neither side.
for (let i = 0; i < 20; i++) await bodyOf(imageBytes({ count: 8, size: 3000 }));

await task({
  /**
   * The projected request with the images' places in the place of their base64, for the others to fill in.
   *
   * @param {{ count: number, size: number }} input
   */
  async shape(input, timed) {
    const { value } = await timed(() => projectImages(built, imageBytes(input)));
    let place = 0;
    return JSON.parse(JSON.stringify(value, (key, field) => (key === "data" ? place++ : field)));
  },

  /**
   * All pieces in memory at once, as the other sides have theirs.
   *
   * @param {{ count: number, size: number, digest: boolean }} input
   */
  async body({ digest, ...input }, timed) {
    const images = imageBytes(input);
    const pieces = await timed(() => bodyOf(images));
    if (!digest) return images.length;
    const hash = createHash("sha256");
    for (const piece of pieces) hash.update(piece);
    return hash.digest("hex");
  },

  /**
   * The same piece by piece, each let go before the next, as fetch takes them.
   *
   * @param {{ count: number, size: number }} input
   */
  async stream(input, timed) {
    const images = imageBytes(input);
    const bytes = await timed(async () => {
      let sum = 0;
      for await (const piece of toBody(await projectImages(built, images)).stream()) sum += piece.length;
      return sum;
    });
    if (bytes < (4 / 3) * input.count * input.size) throw new Error(`expected a body, got ${bytes} bytes`);
    return images.length;
  },

  /**
   * Nothing but the images: what there is in memory before a body is made.
   *
   * @param {{ count: number, size: number }} input
   */
  async hold(input, timed) {
    const images = imageBytes(input);
    return timed(() => images.length);
  },
});
