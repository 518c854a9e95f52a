import type Anthropic from "@anthropic-ai/sdk";
import { sniff } from "sessile/media";
import type { ScriptPart } from "../support/script.js";

type Blocks = readonly Anthropic.ContentBlockParam[];

/**
 * A scripted model for turns with attachments. It describes the request as it came over the wire, tells a
 * long story if asked for one, and views the last attachment again if asked to.
 */
export function followTurnScript({ messages }: Anthropic.MessageCreateParams): readonly ScriptPart[] {
  const latest = blocksOf(messages.at(-1));
  // Unanswered text before it is in the same message, and descriptors of attachments are behind it.
  const asked = textsIn(latest).findLast((text) => !text.startsWith("[")) ?? "";
  // A view shows what the request has no longer; else the attachment is where it was first sent.
  if (latest.some(({ type }) => type === "tool_result"))
    return [`Looking again: ${messages.flatMap(blocksOf).flatMap(whatIs).at(-1) ?? "no files"}.`];
  if (/look again/i.test(asked)) {
    const ids = messages.flatMap(
      (message) =>
        textsIn(blocksOf(message))
          .join("\n")
          .match(/res_[0-9a-f]{16}/g) ?? [],
    );
    const resourceId = ids.at(-1);
    return resourceId === undefined
      ? ["Nothing was ever attached."]
      : ["I look again.", { name: "view_resource", input: { resourceId } }];
  }
  if (/story/i.test(asked)) return [story];
  return [`I see ${whatIsIn(latest)}.`];
}

const story = Array.from(
  { length: 2000 },
  (_, at) => `And then, on day ${at + 1}, the limpet stayed where it was. `,
).join("");

function blocksOf(message: Anthropic.MessageParam | undefined): Blocks {
  const { content = [] } = message ?? {};
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function textsIn(blocks: Blocks): readonly string[] {
  return blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
}

function whatIsIn(blocks: Blocks): string {
  const seen = blocks.flatMap(whatIs);
  return seen.length === 0 ? "no files" : seen.join(", ");
}

function whatIs(block: Anthropic.ContentBlockParam): readonly string[] {
  if (block.type === "tool_result" && typeof block.content === "object") {
    return (block.content as Blocks).flatMap(whatIs);
  }
  if (block.type === "document") {
    return block.source.type === "text"
      ? [`a text of ${block.source.data.length} characters`]
      : block.source.type === "base64"
        ? [`a PDF of ${Buffer.from(block.source.data, "base64").length} bytes`]
        : [];
  }
  if (block.type !== "image" || block.source.type !== "base64") return [];
  const media = sniff(Buffer.from(block.source.data, "base64"));
  return media?.kind === "image"
    ? [`an image of ${media.width} x ${media.height} pixels`]
    : ["a broken image"];
}
