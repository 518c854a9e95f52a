import { createCipheriv } from "node:crypto";

/** What a PNG of 100 x 100 begins with. */
const head = Buffer.from("89504e470d0a1a0a0000000d494844520000006400000064080600000070e29554", "hex");

/**
 * Images without pixels, that no compression helps: the same at every call.
 *
 * @param {{ count: number, size: number }} input
 * @returns {readonly Uint8Array[]}
 */
export function imageBytes({ count, size }) {
  const cipher = createCipheriv("aes-128-ctr", Buffer.alloc(16), Buffer.alloc(16));
  return Array.from({ length: count }, () => {
    const bytes = cipher.update(Buffer.alloc(size));
    head.copy(bytes);
    return bytes;
  });
}
