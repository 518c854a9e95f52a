import type Anthropic from "@anthropic-ai/sdk";
import { sniff } from "sessile/media";

/**
 * A model without a model: it follows a script, and takes every fact it states from the request that it is given, as it came
 * over the wire. So a request that lacks something, or holds something of another branch, gets a wrong answer.
 */
export function followScript({ messages }: Anthropic.MessageCreateParams): readonly ScriptPart[] {
  const view = lookAt(messages);
  if (view.task.includes("<conversation>")) return [summarise(view)];
  if (/we do so far/.test(view.task)) return [soFar(view)];
  if (/notes on this project/.test(view.task)) return writeNotes(view);
  if (/copy of the notes/.test(view.task)) return copyNotes(view);
  if (/one sentence/.test(view.task)) return [oneSentence(view)];
  if (/other branch/.test(view.task)) return [otherBranch(view)];
  if (/attached/.test(view.task)) return [attached(view)];
  if (/as a chart/.test(view.task)) return chart(view);
  if (/shown so far/.test(view.task)) return [shownSoFar(view)];
  if (/look again/i.test(view.task)) return lookAgain(view);
  return ["That is not in my script."];
}

/** Something that the model says: text, or a call. */
export type ScriptPart = string | { readonly name: string; readonly input: Readonly<Record<string, string>> };

/** What the model sees. */
interface View {
  /** Every text of the request, results of tools among them, oldest first. */
  readonly texts: readonly string[];
  /** What the user said last, in one string. */
  readonly task: string;
  /** What the user showed with it. */
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
    // A summary, of another branch too, stands in the same turn, and is nobody's task.
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

const countLines = "find src -name '*.ts' -exec cat {} + | wc -l";
/** Slow, so that there is a middle to be killed in. It stops when nobody reads what it prints any more. */
const slowCount = `echo begun >> audit.log
for file in $(find src -name '*.ts' | head -50); do echo "$(wc -l < "$file") $file" || exit; sleep 0.1; done
echo done >> audit.log
${countLines}`;

function writeNotes({ results, call }: View): readonly ScriptPart[] {
  const [readme, manifest] = results("read");
  const [grep, ...counts] = results("bash");
  if (readme === undefined || manifest === undefined || grep === undefined) {
    return [
      "I look at the project first.",
      call("read", { path: "README.md" }),
      call("read", { path: "package.json" }),
      call("bash", { command: "grep -rl SessileError src | wc -l" }),
    ];
  }
  const facts = [
    `# Notes on ${nameIn(manifest.text)}`,
    `README: ${readme.isError ? 0 : readme.text.split("\n").length} lines`,
    `Files with SessileError: ${grep.text.trim()}`,
  ];
  if (results("write").length === 0) {
    const content = `${facts.join("\n")}\nLines of source: unknown\n`;
    return [call("bash", { command: slowCount }), call("write", { path: "NOTES.md", content })];
  }
  const count = counts.find((result) => !result.isError);
  if (count === undefined) {
    const command = `cat audit.log; ${countLines}`;
    return ["The count was interrupted. I see how far it came, and count again.", call("bash", { command })];
  }
  const lines = count.text.trim().split("\n").at(-1) ?? "";
  if (results("edit").length === 0) {
    return [call("edit", { path: "NOTES.md", oldText: "source: unknown", newText: `source: ${lines}` })];
  }
  return [`NOTES.md is written. ${facts.slice(1).join("; ")}; lines of source: ${lines}.`];
}

function copyNotes({ results, call }: View): readonly ScriptPart[] {
  const [notes] = results("read");
  if (notes === undefined) return [call("read", { path: "NOTES.md" })];
  if (results("write").length === 0) return [call("write", { path: "docs/NOTES.md", content: notes.text })];
  return [`docs/NOTES.md has the same ${notes.text.length} characters.`];
}

/** From what was read in an earlier turn. */
function oneSentence({ texts }: View): string {
  const manifest = texts.findLast((text) => text.includes('"description":')) ?? "";
  return `${nameIn(manifest)}: ${/"description": "([^"]*)"/.exec(manifest)?.[1]}`;
}

function otherBranch({ texts }: View): string {
  const left = texts.findLast((text) => text.includes("<branch_summary>"));
  const summary = /<branch_summary>\n(.*)\n<\/branch_summary>/s.exec(left ?? "")?.[1];
  return summary === undefined ? "I know of no other branch." : `We left this: ${summary}`;
}

/** What was asked, told and left, of the conversation and of an earlier summary. */
function summarise({ task }: View): string {
  const before = task.match(/^- (?:asked|told|left): .*$/gm) ?? [];
  const said = [...task.matchAll(/^\[(User|Assistant|Summary of a branch that was left)\]: (.*)$/gm)];
  const verbs: Readonly<Record<string, string>> = { User: "asked", Assistant: "told" };
  const lines = said.map(([, who = "", words]) => `- ${verbs[who] ?? "left"}: ${words}`);
  return ["## Progress", ...before, ...lines].join("\n");
}

/** From the summary. */
function soFar({ texts }: View): string {
  const told = texts.findLast((text) => text.includes("<summary>"))?.match(/^- told: .*$/gm) ?? [];
  return told.length === 0 ? "I do not know." : told.map((line) => line.slice("- told: ".length)).join(" ");
}

/** From the bytes that came, and the descriptor that stands before them. */
function attached({ task, images }: View): string {
  const ids = task.match(/res_[0-9a-f]{16}/g) ?? [];
  const seen = images.map((bytes, at) => `An image of ${sizeOf(bytes)} pixels: ${ids[at]}.`);
  return seen.length === 0 ? "Nothing that I can see." : seen.join(" ");
}

/** A tool draws it; its size is read from what came back. */
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

/** By the first id that a descriptor invites to view. */
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

function nameIn(manifest: string): string {
  return /"name": "([^"]*)"/.exec(manifest)?.[1] ?? "an unknown project";
}
