import { imageBytes } from "./image-bytes.mjs";

/** A frame with images, as JSON.parse gives it. @typedef {{ payload: { images: { media_type: string, data: string }[] } }} Frame */

/** What a JPEG of 100 x 100 begins with. */
const jpegHead = Buffer.from("ffd8ffc00011080064006403012200021101031101ffda000c03010002110311003f00", "hex");

/**
 * A message with images of so many bytes, PNG and JPEG in turns, that begin as such and are noise behind that.
 *
 * @param {{ count: number, size: number }} input
 * @returns {Frame}
 */
export function imageFrame(input) {
  const images = imageBytes(input).map((bytes, at) => {
    if (at % 2 === 1) jpegHead.copy(/** @type {Buffer} */ (bytes));
    const media_type = at % 2 === 1 ? "image/jpeg" : "image/png";
    return { media_type, data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64") };
  });
  const frame = {
    v: 1,
    type: "user.message",
    ts: "2026-11-22T00:00:00.000Z",
    session: { channel: "mcp", id: "default" },
    payload: { text: "What is wrong here?", images },
  };
  return JSON.parse(JSON.stringify(frame));
}
