import type { AttachmentContentBlock } from "sessile/projections/claude-agent/node";

/** The bytes of the file that a block is made of, to the last: text keeps its byte order mark. */
export function blockBytes({ source }: Exclude<AttachmentContentBlock, { type: "text" }>): Uint8Array {
  return Buffer.from(source.data, source.type === "base64" ? "base64" : "utf8");
}
