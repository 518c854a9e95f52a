import { type AssistantMessage, assistantMessage, memoryBlobStore, type StoredResource } from "sessile";
import { bytesOf } from "../../support/media-files.js";
import { pdfBytes, pngBytes } from "../../support/providers/openai/samples.js";

export const model = "gpt-5.6";
export const blobs = memoryBlobStore();

let count = 0;

async function stored(bytes: Uint8Array, fields: Partial<StoredResource>): Promise<StoredResource> {
  const { ref, size } = await blobs.put(bytes);
  return {
    resourceId: `res_${(count++).toString(16).padStart(16, "0")}`,
    kind: "file",
    source: "upload",
    mediaType: "text/plain",
    size,
    blob: ref,
    contentSha256: ref.slice("sha256:".length),
    ...fields,
  };
}

export const shot = await stored(pngBytes, { kind: "image", mediaType: "image/png", name: "shot.png" });
export const otherShot = await stored(pngBytes, { kind: "image", mediaType: "image/png" });
export const thirdShot = await stored(pngBytes, { kind: "image", mediaType: "image/png" });
/** Of a type that no provider takes, which bytes do not tell. */
export const bitmap = await stored(Uint8Array.of(0x42, 0x4d, 0, 1, 2), {
  kind: "image",
  mediaType: "image/bmp",
});
export const report = await stored(pdfBytes, { mediaType: "application/pdf", name: "a \n report" });
export const notes = await stored(bytesOf("# Notes"), { mediaType: "text/markdown", name: "notes.md" });
export const table = await stored(bytesOf("a,b"), { mediaType: "text/csv", name: "t.csv" });

/** What a model of OpenAI said, by the protocol named. */
export function said(
  api: "openai-completions" | "openai-responses",
  ...parts: readonly AssistantMessage["content"][number][]
): AssistantMessage {
  return assistantMessage({ provider: "openai", model, api }, ...parts);
}
