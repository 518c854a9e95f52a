import { describeImage, type ImageBlock } from "../content/index.js";

/** Base64 takes four characters for three bytes. */
const bytesPerCharacter = 3 / 4;

/** What stands for an image that is inline in its message, where only words can. */
export function imageText({ data, mimeType }: ImageBlock): string {
  return describeImage({ mediaType: mimeType, size: Math.floor(data.length * bytesPerCharacter) });
}

/** What stands for an image or a file from now on. Without name, type and size, since no boundary is asked about plain text. */
export function leftOutText(kind: string, reason: string): string {
  return `[${kind}] (left out: ${reason})`;
}
