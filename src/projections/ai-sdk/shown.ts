import type { DocumentNames } from "../media-part.js";
import { isTextual } from "../media-types.js";
import type { RenderTools } from "../target.js";
import type { MediaPart, ResultPart, ShownPart } from "../turns.js";
import type { AiSdkFilePart, AiSdkResultPart, AiSdkTextPart, AiSdkToolOutput } from "./messages.js";

/** In place of a document without a byte, which providers refuse. */
const emptyDocument = "[an empty document]";
/** Before what a tool shows, where the result has no other way to say that it is an error. */
const errorHeading = "[error]";

/** What is shown in what the user says. */
export function userPart(
  part: ShownPart,
  tools: RenderTools,
  names?: DocumentNames,
): AiSdkTextPart | AiSdkFilePart {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "reference") throw notTaken();
  if (part.bytes.length === 0) return { type: "text", text: emptied(part, tools) };
  // The one type of text that a converter takes, whatever kind of text it is.
  const mediaType = isTextual(part.mediaType) ? "text/plain" : part.mediaType;
  return { type: "file", mediaType, data: part.base64, ...filename(part, names) };
}

/**
 * What a tool gave back: text where it is text alone, since converters of chat completions write anything else out as JSON.
 * Images go as images and not as files, which the converter for Anthropic of version 6 drops.
 */
export function outputOf(
  { parts, isError }: ResultPart,
  tools: RenderTools,
  names?: DocumentNames,
): AiSdkToolOutput {
  const value = parts.map((part): AiSdkResultPart => {
    if (part.type === "text") return { type: "text", text: part.text };
    if (part.type === "reference") throw notTaken();
    if (part.bytes.length === 0) return { type: "text", text: emptied(part, tools) };
    const { base64: data, mediaType } = part;
    if (part.kind === "image") return { type: "image-data", data, mediaType };
    return { type: "file-data", data, mediaType, ...filename(part, names) };
  });
  const texts = value.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (texts.length === value.length) {
    return { type: isError ? "error-text" : "text", value: texts.join("\n") };
  }
  return { type: "content", value: isError ? [{ type: "text", text: errorHeading }, ...value] : value };
}

function filename(part: MediaPart, names: DocumentNames | undefined): { filename?: string } {
  const { name, kind } = part;
  if (names !== undefined && kind === "document") return { filename: names.nameFor(part) };
  const shown = name?.toWellFormed() ?? "";
  return /\S/.test(shown) ? { filename: shown } : {};
}

function emptied(part: MediaPart, tools: RenderTools): string {
  const reason = "it has no bytes";
  tools.lose(part, { code: "invalid", by: "history", reason, instead: emptyDocument });
  return emptyDocument;
}

function notTaken(): TypeError {
  return new TypeError("part.type: expected text or media, got a reference, which this target does not take");
}
