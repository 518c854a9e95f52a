import { describeResource, type ImageBlock } from "../content/index.js";

/** Base64 takes four characters for three bytes. */
const bytesPerCharacter = 3 / 4;

/** What stands for an image that is inline in its message, where only words can: what a descriptor says, but no id. */
export function imageText({ data, mimeType }: ImageBlock): string {
  const size = Math.floor(data.length * bytesPerCharacter);
  return describeResource({
    resourceId: "",
    kind: "image",
    mediaType: mimeType,
    size,
    contentSha256: "",
    blob: "sha256:",
    source: "import",
  }).replace(/, \]$/, "]");
}
