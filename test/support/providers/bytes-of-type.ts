import { type Media, sniff } from "sessile/media";
import { decodeBase64 } from "../plain-values.js";

/** What a provider finds when it decodes base64: nothing, or bytes and what they are. */
export interface Decoded {
  readonly bytes: Uint8Array;
  readonly media: Media | undefined;
}

/** Base64 as the wire has it, decoded and looked at; undefined where it is none, or empty. */
export function decodedMedia(data: unknown): Decoded | undefined {
  if (typeof data !== "string" || data === "") return undefined;
  const bytes = decodeBase64(data);
  return bytes === undefined ? undefined : { bytes, media: sniff(bytes) };
}

/** Whether bytes are what their media type says: an image of that type that can be read, a PDF, or text. */
export function isOfType({ media }: Decoded, mediaType: string): boolean {
  if (media === undefined || media.kind === "invalid") return false;
  if (media.kind === "text") return !mediaType.startsWith("image/") && mediaType !== "application/pdf";
  return media.mediaType === mediaType;
}
