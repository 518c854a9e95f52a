/** Content of Gemini CLI's records: text, or parts of the Gemini API. Nothing here throws. */

import type { ImageBlock, TextBlock } from "../../content/index.js";
import { arrayOf, type ForeignObject, objectOf, textOf, unknownBlocks } from "../shared/values.js";
import { isEnvironment } from "./agent.js";

/** A part of the Gemini API: an object with one of `text`, `inlineData`, `functionCall` and others. */
export type Part = ForeignObject;

/** The parts of a content, which is text, a part, or a list of either. */
export function partsOf(content: unknown): readonly Part[] {
  const list = Array.isArray(content) ? content : [content];
  return list.flatMap((part): readonly Part[] => {
    if (typeof part === "string") return [{ text: part }];
    const object = objectOf(part);
    return object === undefined ? [] : [object];
  });
}

/** The text by which the agent classifies a message: its text parts, a bracket for each other part. */
export function shownText(parts: readonly Part[]): string {
  return parts.map((part) => textOf(part.text) ?? "[").join("");
}

/** A summary that replaces the history. The agent's prompt for summaries asks for this tag. */
export function isSnapshot(parts: readonly Part[]): boolean {
  return shownText(parts).trimStart().startsWith("<state_snapshot>");
}

/** A command to the agent, which is never sent to the model after a resume. */
export function isCommand(text: string): boolean {
  return /^[/?]/.test(text.trimStart());
}

/**
 * Version 0.26 records function responses a second time, as these words. They are sent to the model, but are
 * none of the user's.
 */
export function isTextResponse(content: unknown): boolean {
  if (typeof content !== "string" || content === "") return false;
  for (let at = 0; at < content.length; ) {
    if (!content.startsWith("[Function Response: ", at)) return false;
    at = content.indexOf("]", at) + 1;
    if (at === 0) return false;
    while (content[at] === "<") {
      const end = content.indexOf(">", at);
      const inner = content.indexOf("<", at + 1);
      if (end < 0 || (inner > 0 && inner < end)) return false;
      at = end + 1;
    }
  }
  return true;
}

/** A zero-width space. Unlike white space it is not trimmed before a message is classified. */
const guard = "\u200b";

function isGuarded(text: string): boolean {
  if (!text.startsWith(guard)) return false;
  let at = 0;
  while (text[at] === guard) at++;
  const rest = text.slice(at).trimStart();
  return isCommand(rest) || isEnvironment(rest) || rest.startsWith("<state_snapshot>");
}

/**
 * The parts of a user message so that the agent reads them as one: after a resume it drops messages that
 * begin like a command or a context of its own. Inverse to {@link withoutGuard}.
 */
export function withGuard(parts: readonly Part[]): readonly Part[] {
  const text = shownText(parts);
  const needsGuard = isCommand(text) || isEnvironment(text) || isSnapshot(parts) || isGuarded(text);
  const [first, ...rest] = parts;
  return needsGuard ? [{ text: `${guard}${textOf(first?.text) ?? ""}` }, ...rest] : parts;
}

/** The parts of a message without the guard of {@link withGuard}. */
export function withoutGuard(parts: readonly Part[]): readonly Part[] {
  const [first, ...rest] = parts;
  const text = textOf(first?.text);
  return text?.startsWith(guard) && isGuarded(shownText(parts)) ? [{ text: text.slice(1) }, ...rest] : parts;
}

/** Text and inline media of parts as blocks; any other part is its JSON and its media. */
export function blocksOf(parts: readonly Part[]): readonly (TextBlock | ImageBlock)[] {
  return parts.flatMap((part): readonly (TextBlock | ImageBlock)[] => {
    const text = textOf(part.text);
    if (text !== undefined) return text === "" ? [] : [{ type: "text", text }];
    const media = mediaOf(part);
    if (media !== undefined) return [media];
    const uri = textOf(objectOf(part.fileData)?.fileUri);
    if (uri !== undefined) return [{ type: "text", text: `[file ${uri}]` }];
    return unknownBlocks(part);
  });
}

/** The inline media of a part. Other media than images count as images until their bytes are stored. */
function mediaOf(part: Part): ImageBlock | undefined {
  const inline = objectOf(part.inlineData);
  const data = textOf(inline?.data);
  if (data === undefined || data === "") return undefined;
  return { type: "image", data, mimeType: textOf(inline?.mimeType) ?? "application/octet-stream" };
}

/** A function response with the media after it. */
export interface FunctionResponse {
  /** The id of the call. */
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly response: unknown;
  readonly media: readonly ImageBlock[];
}

/** The function responses among parts. Media that follow a response belong to it. */
export function responsesOf(parts: readonly Part[]): {
  readonly responses: readonly FunctionResponse[];
  readonly others: readonly Part[];
} {
  const responses: (FunctionResponse & { readonly media: ImageBlock[] })[] = [];
  const others: Part[] = [];
  for (const part of parts) {
    const found = objectOf(part.functionResponse);
    const last = responses.at(-1);
    const media = mediaOf(part);
    if (found !== undefined) {
      const nested = arrayOf(found.parts).flatMap((each) => mediaOf(objectOf(each) ?? {}) ?? []);
      const id = textOf(found.id);
      const name = textOf(found.name);
      responses.push({ id, name, response: found.response, media: nested });
    } else if (media !== undefined && last !== undefined) last.media.push(media);
    else others.push(part);
  }
  return { responses, others };
}

/** The content of a tool result: the text of its only member `output` or `error`, else the response as JSON. */
export function resultBlocks({ response, media }: FunctionResponse): readonly (TextBlock | ImageBlock)[] {
  const object = objectOf(response);
  const isAlone = Object.keys(object ?? {}).length === 1;
  const text = isAlone ? (textOf(object?.output) ?? textOf(object?.error)) : textOf(response);
  const shown = text ?? (response === undefined || response === null ? "" : JSON.stringify(response));
  return [...(shown === "" ? [] : [{ type: "text" as const, text: shown }]), ...media];
}

/** Whether a response is that of a failure. */
export function isFailure({ response }: FunctionResponse): boolean {
  const object = objectOf(response);
  return object !== undefined && "error" in object && !("output" in object);
}
