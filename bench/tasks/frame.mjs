// A frame of images on its way to a model in the benchmarks, in a process of its own: node tasks/frame.mjs TASK INPUT
import { join } from "node:path";
import { task } from "./task.mjs";
import { imageFrame } from "./tether-frame.mjs";

const { built } = JSON.parse(process.argv[3] ?? "{}");
/** @type {typeof import("sessile/tether")} */
const { checkFrame, receiveMessage } = await import(`${built}/tether.js`);
/** @type {typeof import("sessile/node")} */
const { fileBlobStore } = await import(`${built}/node.js`);
/** @type {typeof import("sessile")} */
const { contextFrom } = await import(`${built}/index.js`);
/** @type {typeof import("sessile")} */
const { project, toBody } = await import(`${built}/index.js`);
/** @type {typeof import("sessile/anthropic")} */
const { anthropicMessages } = await import(`${built}/anthropic.js`);

const target = anthropicMessages({ model: "claude-opus-5-5" });

/** @param {object} frame @param {string} dir */
async function carry(frame, dir) {
  const checked = checkFrame(frame);
  if (checked.kind !== "userMessage") throw new Error(`expected a message, got ${checked.kind}`);
  const blobs = fileBlobStore({ dir });
  const message = await receiveMessage(checked, { blobs });
  const projection = await project(contextFrom([message]), target, { blobs });
  if (projection.losses.length > 0) throw new Error(JSON.stringify(projection.losses));
  return { message, pieces: [...toBody(projection, { max_tokens: 1000 })] };
}

await task({
  /** @param {{ dir: string, count: number, size: number, warm: number }} input */
  async carry({ dir, warm, count, size }, timed) {
    // What is compiled on the way counts for neither side.
    for (let at = 0; at < warm; at++) await carry(imageFrame({ count, size: 3000 }), join(dir, `warm-${at}`));
    const frame = imageFrame({ count, size });
    const { message, pieces } = await timed(() => carry(frame, join(dir, "timed")));
    const least = (4 / 3) * count * size;
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    if (bytes < least) throw new Error(`expected a body of ${least} bytes or more, got ${bytes}`);
    const { content } = message;
    if (typeof content === "string") throw new Error("expected blocks");
    return content.flatMap((block) =>
      block.type === "text" && block.resource?.kind === "image" ? [block.resource.contentSha256] : [],
    );
  },
});
