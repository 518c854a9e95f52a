import { resourcesIn } from "sessile/attachments";
import {
  assistantMessage,
  type Context,
  type ContextMessage,
  type ToolCall,
  type ToolPair,
  toolPairs,
} from "sessile/content";
import { messageText } from "./message-text.js";
import type { Model } from "./model.js";

/** How the scripted model is named in sessions. */
export const scriptedModelName = { provider: "scripted", modelId: "scripted-1" };

/**
 * A model without a model: it follows a script, and takes every fact it states from the context that it is given. So a
 * context that lacks something, or holds something of another branch, gives a wrong answer.
 */
export const scriptedModel: Model = {
  async generate(context, { signal }) {
    signal.throwIfAborted();
    const { provider, modelId } = scriptedModelName;
    return assistantMessage({ provider, model: modelId }, ...answer(lookAt(context)));
  },
};

type Part = string | ToolCall;

/** What the model sees. */
interface View {
  readonly messages: readonly ContextMessage[];
  /** The latest user message. */
  readonly task: string;
  /** Results since that message by tool, oldest first. */
  readonly results: (tool: string) => readonly Result[];
  /** A call with an id that no other call of the context has. */
  readonly call: (name: string, args: Readonly<Record<string, string>>) => ToolCall;
}

interface Result {
  readonly text: string;
  readonly isError: boolean;
}

function lookAt(context: Context): View {
  const messages = context.items.map((item) => item.message);
  const start = messages.findLastIndex((message) => message.role === "user");
  const latest = messages[start];
  const { pairs } = toolPairs(messages.slice(start));
  let calls = 0;
  return {
    messages,
    task: latest === undefined ? "" : messageText(latest),
    results: (tool) => pairs.flatMap((pair) => resultOf(pair, tool)),
    call: (name, args) => ({
      type: "toolCall",
      id: `call_${messages.length}_${++calls}`,
      name,
      arguments: args,
    }),
  };
}

function resultOf({ call, result }: ToolPair, tool: string): readonly Result[] {
  return call.name === tool && result ? [{ text: messageText(result), isError: result.isError }] : [];
}

function answer(view: View): readonly Part[] {
  if (/notes on this project/.test(view.task)) return writeNotes(view);
  if (/copy of the notes/.test(view.task)) return copyNotes(view);
  if (/one sentence/.test(view.task)) return [oneSentence(view)];
  if (/other branch/.test(view.task)) return [otherBranch(view)];
  if (/attached/.test(view.task)) return [attached(view)];
  return ["That is not in my script."];
}

const countLines = "find src -name '*.ts' -exec cat {} + | wc -l";
/** Slow, so that there is a middle to be killed in. It stops when nobody reads what it prints any more. */
const slowCount = `echo begun >> audit.log
for file in $(find src -name '*.ts' | head -50); do echo "$(wc -l < "$file") $file" || exit; sleep 0.1; done
echo done >> audit.log
${countLines}`;

function writeNotes({ results, call }: View): readonly Part[] {
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

function copyNotes({ results, call }: View): readonly Part[] {
  const [notes] = results("read");
  if (notes === undefined) return [call("read", { path: "NOTES.md" })];
  if (results("write").length === 0) return [call("write", { path: "docs/NOTES.md", content: notes.text })];
  return [`docs/NOTES.md has the same ${notes.text.length} characters.`];
}

/** From what was read in an earlier turn. */
function oneSentence({ messages }: View): string {
  const manifest = messages.map(messageText).findLast((text) => text.includes('"description":')) ?? "";
  return `${nameIn(manifest)}: ${/"description": "([^"]*)"/.exec(manifest)?.[1]}`;
}

function otherBranch({ messages }: View): string {
  const left = messages.findLast((message) => message.role === "branchSummary");
  return left === undefined ? "I know of no other branch." : `We left this: ${left.summary}`;
}

function attached({ messages }: View): string {
  const resources = resourcesIn(messages).map((resource) =>
    resource.kind === "image"
      ? `An image of ${resource.width} x ${resource.height} pixels: ${resource.resourceId}.`
      : `Something else: ${resource.resourceId}.`,
  );
  return resources.join(" ");
}

function nameIn(manifest: string): string {
  return /"name": "([^"]*)"/.exec(manifest)?.[1] ?? "an unknown project";
}
