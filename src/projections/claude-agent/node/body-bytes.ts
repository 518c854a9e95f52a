import type { AttachmentContentBlock } from "./blocks.js";

/** The bytes that a block takes in a JSON body, without making a second copy of a large one. */
export function bodyBytesOf(block: AttachmentContentBlock): number {
  if (block.type === "text") return size({ ...block, text: "" }) + jsonBytes(block.text);
  const { source } = block;
  const frame = size({ ...block, source: { ...source, data: "" } });
  return frame + (source.type === "base64" ? source.data.length : jsonBytes(source.data));
}

function size(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** UTF-16 units that are looked at in one go. */
const window = 1 << 16;

/** The bytes of text in JSON: one of nothing but control characters takes six times its own. */
function jsonBytes(text: string): number {
  let total = 0;
  let from = 0;
  while (from < text.length) {
    let to = Math.min(from + window, text.length);
    // Half of a pair would be escaped.
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to++;
    total += Buffer.byteLength(JSON.stringify(text.slice(from, to))) - 2;
    from = to;
  }
  return total;
}
