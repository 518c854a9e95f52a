import type Anthropic from "@anthropic-ai/sdk";
import { sniff } from "sessile/media";

/**
 * A scripted model. Each fact that it states is from the request as it came over the wire. So a request that
 * lacks content, or has content of another branch, gets a wrong answer.
 */
export function followScript({ messages }: Anthropic.MessageCreateParams): readonly ScriptPart[] {
  const view = lookAt(messages);
  if (/attached/.test(view.task)) return [attached(view)];
  if (/as a chart/.test(view.task)) return chart(view);
  if (/shown so far/.test(view.task)) return [shownSoFar(view)];
  if (/look again/i.test(view.task)) return lookAgain(view);
  return ["That is not in my script."];
}

/** A part of a reply: text, or a call. */
export type ScriptPart = string | { readonly name: string; readonly input: Readonly<Record<string, string>> };

/** The request, as the script reads it. */
interface View {
  /** Every text of the request, results of tools among them, oldest first. */
  readonly texts: readonly string[];
  /** The user's last text, in one string. */
  readonly task: string;
  /** The images of the same message. */
  readonly images: readonly Uint8Array[];
  /** Every image of the request, results of tools among them, oldest first. */
  readonly allImages: readonly Uint8Array[];
  /** Results since then by tool, oldest first. */
  readonly results: (tool: string) => readonly Result[];
  readonly call: (name: string, input: Readonly<Record<string, string>>) => ScriptPart;
}

interface Result {
  readonly text: string;
  readonly isError: boolean;
}

type Blocks = readonly Anthropic.ContentBlockParam[];

const blocksOf = ({ content }: Anthropic.MessageParam): Blocks =>
  typeof content === "string" ? [{ type: "text", text: content }] : content;

const textsOf = (blocks: Blocks): readonly string[] =>
  blocks.flatMap((block) => {
    if (block.type === "text") return [block.text];
    if (block.type !== "tool_result") return [];
    return typeof block.content === "string" ? [block.content] : textsOf((block.content ?? []) as Blocks);
  });

const imagesOf = (block: Anthropic.ContentBlockParam): readonly Uint8Array[] => {
  if (block.type === "image") {
    return block.source.type === "base64" ? [Buffer.from(block.source.data, "base64")] : [];
  }
  if (block.type !== "tool_result" || typeof block.content === "string") return [];
  return ((block.content ?? []) as Blocks).flatMap(imagesOf);
};

function lookAt(messages: readonly Anthropic.MessageParam[]): View {
  const start = messages.findLastIndex(
    (message) => message.role === "user" && blocksOf(message).some(({ type }) => type === "text"),
  );
  const latest = messages[start];
  const said = latest === undefined ? [] : blocksOf(latest).filter(({ type }) => type !== "tool_result");
  const since = messages.slice(start + 1).flatMap(blocksOf);
  return {
    texts: messages.flatMap((message) => textsOf(blocksOf(message))),
    // A summary is in the same turn, and is not a task.
    task: textsOf(said)
      .filter((text) => !/<(branch_)?summary>/.test(text))
      .join("\n"),
    images: said.flatMap(imagesOf),
    allImages: messages.flatMap(blocksOf).flatMap(imagesOf),
    results: (tool) => {
      const calls = new Set(
        since.flatMap((block) => (block.type === "tool_use" && block.name === tool ? [block.id] : [])),
      );
      return since.flatMap((block) =>
        block.type === "tool_result" && calls.has(block.tool_use_id)
          ? [{ text: textsOf([block]).join("\n"), isError: block.is_error === true }]
          : [],
      );
    },
    call: (name, input) => ({ name, input }),
  };
}

/** From the bytes in the request, and the descriptor before them. */
function attached({ task, images }: View): string {
  const ids = task.match(/res_[0-9a-f]{16}/g) ?? [];
  const seen = images.map((bytes, at) => `An image of ${sizeOf(bytes)} pixels: ${ids[at]}.`);
  return seen.length === 0 ? "Nothing that I can see." : seen.join(" ");
}

/** A tool draws it; its size is read from the result. */
function chart({ task, results, allImages, call }: View): readonly ScriptPart[] {
  const [plot] = results("plot");
  if (plot === undefined) {
    const numbers = /[\d., -]*\d/.exec(task)?.[0].trim() ?? "";
    return ["I draw it.", call("plot", { path: "chart.png", numbers })];
  }
  const drawn = allImages.at(-1);
  if (plot.isError || drawn === undefined) return [`There is no chart: ${plot.text}`];
  return [`Here is the chart, ${sizeOf(drawn)} pixels.`];
}

function shownSoFar({ allImages }: View): string {
  return allImages.length === 0 ? "Nothing." : allImages.map(sizeOf).join(", ");
}

/** Views the first resource whose descriptor mentions the tool. */
function lookAgain({ texts, results, allImages, call }: View): readonly ScriptPart[] {
  const [seen] = results("view_resource");
  const [, resourceId] = /view (res_[0-9a-f]{16}) to see it/.exec(texts.join("\n")) ?? [];
  if (resourceId === undefined && seen === undefined) return ["All that there was is shown."];
  if (seen === undefined) return ["I look again.", call("view_resource", { resourceId: resourceId ?? "" })];
  const shown = allImages.at(-1);
  if (seen.isError || shown === undefined) return [`I cannot see it: ${seen.text}`];
  return [`It is an image of ${sizeOf(shown)} pixels.`];
}

function sizeOf(bytes: Uint8Array): string {
  const media = sniff(bytes);
  return media?.kind === "image" ? `${media.width} x ${media.height}` : "unknown";
}
