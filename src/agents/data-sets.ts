/**
 * Sessions as traces and as examples for training: OTLP, chats for the fine-tuning of OpenAI's models, and
 * conversations of ShareGPT's form. Each is a format that `exportSession` writes, with its losses in the report.
 */

import type { AssistantMessage, ToolCall } from "../content/index.js";
import { inferenceAttributes, type TraceAttributes, traceProvider } from "../providers/internal.js";
import { textDigest, toFileName } from "./shared/ids.js";
import { encodeRecords } from "./shared/records.js";
import { type ForeignObject, readObject } from "./shared/values.js";
import {
  describedReply,
  type WriteBlock,
  type WriteResult,
  type WriteStep,
  writeBlocks,
  writeSteps,
} from "./shared/write-steps.js";
import type { ForeignFormat, WriteSource } from "./types.js";

const file = (source: WriteSource, suffix: string) =>
  `${toFileName(source.header.id.replace(/[^A-Za-z0-9._-]/g, "-"), source.header.id)}.${suffix}`;

function textsOfBlocks(blocks: readonly WriteBlock[]): string {
  return blocks.map((block) => (block.type === "text" ? block.text : `[${block.mediaType}]`)).join("\n");
}

/** The texts of a message; its images are named by their types, with a finding. */
async function plainText(
  source: WriteSource,
  { entryId, content }: Pick<WriteResult, "entryId" | "content">,
) {
  return textsOfBlocks(await writeBlocks(source, entryId, content, () => false));
}

type Content = AssistantMessage["content"];

/** The texts and calls of a reply. Reasoning is no part of an example: it is left out, with a finding. */
function visibleParts(source: WriteSource, entryId: string, reply: AssistantMessage) {
  const { content } = describedReply(reply);
  const text = content.flatMap((block) => (block.type === "text" ? block.text : [])).join("");
  const calls = content.filter((block): block is ToolCall => block.type === "toolCall");
  const find = (code: "reasoning" | "opaque", type: Content[number]["type"]) => {
    if (content.some((block) => block.type === type))
      source.find({ code, entryId, text: `a block of type ${type}` });
  };
  find("reasoning", "thinking");
  find("opaque", "opaque");
  return { text, calls };
}

const argumentsText = ({ arguments: args }: ToolCall) => JSON.stringify(args ?? {});

// Examples: what the model was shown between two compactions, once.

type Shown = WriteStep & { readonly kind: "user" | "reply" };

/**
 * The steps that were in context together, of the session and of its subagents. A compaction begins anew with its
 * summary and the steps that it keeps.
 */
async function* examples(source: WriteSource): AsyncGenerator<readonly (Shown | string)[]> {
  for (const each of [source, ...source.children]) yield* examplesOf(each);
}

async function* examplesOf(source: WriteSource): AsyncGenerator<readonly (Shown | string)[]> {
  let steps: (Shown | string)[] = [];
  for await (const step of writeSteps(source)) {
    if (step.kind === "user" || step.kind === "reply") steps.push(step);
    if (step.kind !== "compaction") continue;
    if (steps.some(isReply)) yield steps;
    steps = [step.summary];
    for await (const kept of step.kept) if (kept.kind === "user" || kept.kind === "reply") steps.push(kept);
  }
  if (steps.some(isReply)) yield steps;
}

const isReply = (step: Shown | string) => typeof step !== "string" && step.kind === "reply";

/** A tool by its calls: a session does not record the definitions that were sent. */
function calledTools(calls: readonly ToolCall[]): readonly ForeignObject[] {
  const tools = new Map<string, Set<string>>();
  for (const { name, arguments: args } of calls) {
    const names = tools.get(name) ?? new Set();
    tools.set(name, names);
    for (const key of Object.keys(readObject(args) ?? {})) names.add(key);
  }
  return [...tools].map(([name, keys]) => ({
    type: "function",
    function: {
      name,
      parameters: { type: "object", properties: Object.fromEntries([...keys].map((key) => [key, {}])) },
    },
  }));
}

/**
 * Examples for the fine-tuning of chat models: a line for each part of the session between compactions.
 *
 * @see https://platform.openai.com/docs/api-reference/fine-tuning/chat-input
 */
export const openaiFinetune: ForeignFormat = {
  name: "openai-finetune",
  write: (source) => ({
    files: [{ path: file(source, "jsonl"), bytes: encodeRecords(fineTuningLines(source)) }],
    resume: [],
  }),
};

/** @see https://developers.openai.com/api/docs/guides/vision-fine-tuning.md (stored copy, 2026-11-29) */
const isTrainingImage = (mediaType: string) => /^image\/(?:png|jpeg|webp)$/.test(mediaType);

async function* fineTuningLines(source: WriteSource): AsyncGenerator<ForeignObject, void, undefined> {
  let isFirst = true;
  for await (const steps of examples(source)) {
    const messages: ForeignObject[] = [];
    const all: ToolCall[] = [];
    for (const step of steps) {
      if (typeof step === "string") messages.push({ role: "user", content: step });
      else if (step.kind === "user") {
        const blocks = await writeBlocks(source, step.entryId, step.content, isTrainingImage);
        const parts = blocks.map((block) =>
          block.type === "text"
            ? block
            : {
                type: "image_url",
                image_url: { url: `data:${block.mediaType};base64,${block.base64}` },
              },
        );
        const isText = blocks.every(({ type }) => type === "text");
        messages.push({ role: "user", content: isText ? textsOfBlocks(blocks) : parts });
      } else {
        const { text, calls } = visibleParts(source, step.entryId, step.message);
        if (text === "" && calls.length === 0) continue;
        for (const call of calls) all.push(call);
        messages.push({
          role: "assistant",
          ...(text === "" ? {} : { content: text }),
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: step.results.map(({ callId, toolName }, at) => ({
                  id: callId,
                  type: "function",
                  function: { name: toolName, arguments: argumentsText(calls[at] as ToolCall) },
                })),
              }),
        });
        for (const result of step.results)
          messages.push({
            role: "tool",
            tool_call_id: result.callId,
            content: await plainText(source, result),
          });
      }
    }
    // A reply may have no visible part.
    if (!messages.some(({ role }) => role === "assistant")) continue;
    const tools = calledTools(all);
    if (tools.length > 0 && isFirst)
      source.find({ code: "entry", text: "definitions of tools, made of the arguments of their calls" });
    isFirst = false;
    // Weights of replies are the caller's choice.
    yield { messages, ...(tools.length === 0 ? {} : { tools }) };
  }
}

/**
 * Conversations of ShareGPT's form, as LLaMA-Factory and its kind read them: what people and tools say at odd
 * places, what the model says at even ones.
 *
 * @see https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md
 */
export const shareGpt: ForeignFormat = {
  name: "sharegpt",
  write: (source) => ({
    files: [{ path: file(source, "jsonl"), bytes: encodeRecords(shareGptLines(source)) }],
    resume: [],
  }),
};

async function* shareGptLines(source: WriteSource): AsyncGenerator<ForeignObject, void, undefined> {
  for await (const steps of examples(source)) {
    const said: { from: string; value: string }[] = [];
    const all: ToolCall[] = [];
    // Two in a row of one side are one, since the places tell the sides.
    const say = (from: "human" | "observation" | "gpt" | "function_call", value: string) => {
      const last = said.at(-1);
      const isSame = last !== undefined && isModel(last) === isModel({ from });
      if (isSame && from !== "function_call" && last.from !== "function_call") last.value += `\n\n${value}`;
      else {
        if (isSame || (last === undefined && isModel({ from }))) said.push({ from: "human", value: "" });
        said.push({ from, value });
      }
    };
    for (const step of steps) {
      if (typeof step === "string") say("human", step);
      else if (step.kind === "user") say("human", await plainText(source, step));
      else {
        const { text, calls } = visibleParts(source, step.entryId, step.message);
        if (calls.length === 0) {
          if (text !== "") say("gpt", text);
          continue;
        }
        if (text !== "")
          source.find({ code: "entry", entryId: step.entryId, text: "the words beside a call" });
        for (const call of calls) all.push(call);
        const functions = calls.map(({ name, arguments: args }) => ({ name, arguments: args ?? {} }));
        say("function_call", JSON.stringify(one(functions)));
        const results: string[] = [];
        for (const result of step.results) results.push(await plainText(source, result));
        say("observation", results.length === 1 ? (results[0] as string) : JSON.stringify(results));
      }
    }
    // An example ends with the model.
    while (said.length > 0 && !isModel(said.at(-1) ?? { from: "" })) said.pop();
    const tools = calledTools(all).map((tool) => tool.function);
    if (said.length > 0)
      yield { conversations: said, ...(tools.length === 0 ? {} : { tools: JSON.stringify(tools) }) };
  }
}

const isModel = ({ from }: { readonly from: string }) => from === "gpt" || from === "function_call";

const one = <T>(list: readonly T[]): T | readonly T[] => (list.length === 1 ? (list[0] as T) : list);

// Traces: a trace a turn, with a span for each reply, call and compaction.

/**
 * Traces of OpenTelemetry by its names for generative AI, as a collector's HTTP receiver takes them. A session
 * has the times at which steps ended: one begins where the step before it ended.
 */
export const otlp: ForeignFormat = {
  name: "otlp",
  write: (source) => ({
    files: [{ path: file(source, "otlp.json"), bytes: encodeRecords(traces(source)) }],
    resume: [],
  }),
};

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  endTimeUnixNano: string;
  readonly attributes: readonly ForeignObject[];
  readonly status: ForeignObject;
}

/** Numbers of the protocol. */
const internalKind = 1;
const clientKind = 3;
const errorStatus = 2;

async function* traces(source: WriteSource): AsyncGenerator<ForeignObject, void, undefined> {
  const resourceSpans: ForeignObject[] = [];
  for (const each of [source, ...source.children]) {
    const resource = attributeList({ "service.name": "sessile", "session.cwd": each.cwd });
    const scopeSpans = [{ scope: { name: "sessile" }, spans: await spansOf(each) }];
    resourceSpans.push({ resource: { attributes: resource }, scopeSpans });
  }
  yield { resourceSpans };
}

async function spansOf(source: WriteSource): Promise<readonly Span[]> {
  const { id } = source.header;
  const spans: Span[] = [];
  let turn: Span | undefined;
  let before = Date.parse(source.header.timestamp) || 0;
  const conversation = { "gen_ai.conversation.id": id };
  let compacted = {};
  const begin = (entryId: string, time: number) => {
    turn = {
      traceId: textDigest("trace", id, entryId).slice(0, 32),
      spanId: textDigest("turn", id, entryId).slice(0, 16),
      name: "invoke_agent",
      kind: internalKind,
      startTimeUnixNano: nanoseconds(time),
      endTimeUnixNano: nanoseconds(time),
      attributes: attributeList({ "gen_ai.operation.name": "invoke_agent", ...conversation }),
      status: {},
    };
    spans.push(turn);
    return turn;
  };
  const add = (
    step: { readonly entryId: string; readonly time: number },
    from: number,
    name: string,
    init: {
      readonly kind: number;
      readonly attributes: TraceAttributes;
      readonly error?: string | undefined;
    },
  ) => {
    const parent = turn ?? begin(step.entryId, from);
    const end = Math.max(from, step.time);
    spans.push({
      traceId: parent.traceId,
      spanId: textDigest(name, id, step.entryId, String(spans.length)).slice(0, 16),
      parentSpanId: parent.spanId,
      name,
      kind: init.kind,
      startTimeUnixNano: nanoseconds(from),
      endTimeUnixNano: nanoseconds(end),
      attributes: attributeList({
        ...init.attributes,
        ...conversation,
        "session.entry.id": step.entryId,
        ...(init.error === undefined ? {} : { "error.type": "_OTHER" }),
      }),
      status: init.error === undefined ? {} : { code: errorStatus, message: init.error },
    });
    parent.endTimeUnixNano = nanoseconds(Math.max(end, Number(BigInt(parent.endTimeUnixNano) / 1_000_000n)));
    before = end;
  };
  let input: ForeignObject[] = [];
  for await (const step of writeSteps(source)) {
    if (step.kind === "user") {
      if (turn === undefined || input.length === 0) begin(step.entryId, step.time);
      input.push({ role: "user", parts: [{ type: "text", content: await plainText(source, step) }] });
      before = step.time;
    } else if (step.kind === "reply") {
      const { message, results, entryId } = step;
      const parts = replyParts(source, entryId, message);
      add(step, before, `chat ${message.model}`, {
        kind: clientKind,
        error: message.errorMessage ?? (message.stopReason === "error" ? "error" : undefined),
        attributes: {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": traceProvider(message.provider),
          "gen_ai.request.model": message.model,
          ...inferenceAttributes(message),
          ...compacted,
          // What is new: the messages before are those of the spans before.
          "gen_ai.input.messages": JSON.stringify(input),
          "gen_ai.output.messages": JSON.stringify([
            { role: "assistant", parts, finish_reason: message.stopReason ?? "stop" },
          ]),
        },
      });
      input = [];
      const calls = describedReply(message).content.filter((block) => block.type === "toolCall");
      const called = step.time;
      for (const [at, result] of results.entries()) {
        const text = await plainText(source, result);
        add(result, called, `execute_tool ${result.toolName}`, {
          kind: internalKind,
          error: result.isError ? text.slice(0, 200) : undefined,
          attributes: {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": result.toolName,
            "gen_ai.tool.call.id": result.callId,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.arguments": argumentsText(calls[at] as ToolCall),
            "gen_ai.tool.call.result": text,
          },
        });
        const response = { type: "tool_call_response", id: result.callId, response: text };
        input.push({ role: "tool", parts: [response] });
      }
      // The words of the user after the last result begin a turn.
      if (results.length === 0) turn = undefined;
    } else if (step.kind === "compaction") {
      compacted = { "gen_ai.conversation.compacted": true };
      add(step, before, "compaction", {
        kind: internalKind,
        attributes: {
          "session.compaction.tokens_before": step.entry.tokensBefore ?? 0,
          "session.compaction.summary": step.summary,
        },
      });
    }
  }
  return spans;
}

function replyParts(source: WriteSource, entryId: string, reply: AssistantMessage): readonly ForeignObject[] {
  return describedReply(reply).content.flatMap((block): readonly ForeignObject[] => {
    if (block.type === "text") return [{ type: "text", content: block.text }];
    if (block.type === "thinking") return [{ type: "reasoning", content: block.thinking }];
    if (block.type === "toolCall")
      return [{ type: "tool_call", id: block.id, name: block.name, arguments: block.arguments ?? {} }];
    source.find({ code: "opaque", entryId, text: `a block of type ${block.type}` });
    return [];
  });
}

const nanoseconds = (ms: number) => `${BigInt(Math.max(0, Math.trunc(ms))) * 1_000_000n}`;

/** Attributes as JSON of the protocol: whole numbers are texts. */
function attributeList(attributes: TraceAttributes): readonly ForeignObject[] {
  const valueOfAttribute = (value: TraceAttributes[string]): ForeignObject => {
    if (typeof value === "string") return { stringValue: value };
    if (typeof value === "boolean") return { boolValue: value };
    if (typeof value === "number")
      return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
    return { arrayValue: { values: value.map((each) => ({ stringValue: each })) } };
  };
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOfAttribute(value) }));
}
