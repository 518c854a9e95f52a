import { isRecord } from "../../plain-values.js";
import type { Fault, ProviderRule } from "../rule.js";
import { malformedStrings } from "../well-formed.js";
import {
  allBlocks,
  type BedrockRequest,
  blocksOf,
  constraint,
  isClaude,
  messagesOf,
  record,
  type WireBlock,
  within,
} from "./wire.js";

type Rule = ProviderRule<BedrockRequest>;

const reference = "https://docs.aws.amazon.com/bedrock/latest/APIReference";
const read = "(read 2026-11-21)";

const notEmpty: Rule = {
  id: "messages-have-content",
  source: `https://github.com/earendil-works/pi/pull/3443 ${read}`,
  check: (request) =>
    messagesOf(request)
      .filter(({ content }) => content.length === 0)
      .map(({ path }) => ({
        path,
        problem: `The content field in the Message object at ${path} is empty. Add a ContentBlock object to the content field and try again.`,
      })),
};

const inMessages = ["text", "image", "document", "toolUse", "toolResult", "reasoningContent", "cachePoint"];
const inResults = ["text", "image", "document", "json"];

const oneKind: Rule = {
  id: "a-block-is-one-thing",
  source: `${reference}/API_runtime_ContentBlock.html and ${reference}/API_runtime_ToolResultContentBlock.html (unions; the kinds that a projection writes) ${read}`,
  check: (request) =>
    messagesOf(request).flatMap(({ content }) =>
      content.flatMap((block) => [...misfits([block], inMessages), ...misfits(within(block), inResults)]),
    ),
};

function misfits(blocks: readonly WireBlock[], kinds: readonly string[]): readonly Fault[] {
  return blocks
    .filter(({ kind }) => !kinds.includes(kind))
    .map(({ path }) => ({
      path,
      problem: `ContentBlock object at ${path} must set one of the following keys: ${kinds.join(", ")}.`,
    }));
}

const sides: Rule = {
  id: "blocks-are-on-their-side",
  source: `${reference}/API_runtime_Message.html (images and documents are the user's); https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use.html ${read}`,
  check: (request) =>
    messagesOf(request).flatMap(({ role, content }) => {
      const others = role === "user" ? ["toolUse", "reasoningContent"] : ["image", "document", "toolResult"];
      return content
        .filter(({ kind }) => others.includes(kind))
        .map(({ path, kind }) => ({
          path,
          problem: `The ${kind} block at ${path} is not supported for the ${role} role.`,
        }));
    }),
};

const notBlank: Rule = {
  id: "text-is-not-blank",
  source: `https://github.com/earendil-works/pi/issues/4975, in results https://github.com/NousResearch/hermes-agent/pull/61318 ${read}`,
  check: (request) => [
    ...allBlocks(request)
      .filter(({ fields }) => typeof fields.text === "string" && fields.text.trim() === "")
      .map(({ path }) => blank("ContentBlock", path)),
    ...blocksOf(request.body.system, "system")
      .filter(({ fields }) => typeof fields.text === "string" && fields.text.trim() === "")
      .map(({ path }) => blank("SystemContentBlock", path)),
  ],
};

function blank(kind: string, path: string): Fault {
  return {
    path: `${path}.text`,
    problem: `The text field in the ${kind} object at ${path} is blank. Add text to the text field, and try again.`,
  };
}

const pattern = "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+";
const isName = (value: unknown) => typeof value === "string" && /^[a-zA-Z0-9_-]{1,64}$/.test(value);

/** Claude behind the API takes the narrower pattern of Anthropic's own. */
const ids: Rule = {
  id: "tool-ids",
  source: `${reference}/API_runtime_ToolUseBlock.html and ${reference}/API_runtime_ToolResultBlock.html; with dots and colons https://github.com/run-llama/llama_index/pull/22775 ${read}`,
  check: (request) =>
    allBlocks(request).flatMap(({ path, kind, value }) =>
      (kind === "toolUse" || kind === "toolResult") &&
      !isName(
        isClaude(request.model)
          ? record(value).toolUseId
          : String(record(value).toolUseId).replace(/[.:]/g, "_"),
      )
        ? [constraint(`${path}.${kind}.toolUseId`, pattern)]
        : [],
    ),
};

const names: Rule = {
  id: "tool-names",
  source: `${reference}/API_runtime_ToolUseBlock.html; seen in https://github.com/NousResearch/hermes-agent/issues/90008 ${read}`,
  check: (request) =>
    allBlocks(request).flatMap(({ path, kind, value }) =>
      kind === "toolUse" && !isName(record(value).name) ? [constraint(`${path}.toolUse.name`, pattern)] : [],
    ),
};

const inputs: Rule = {
  id: "tool-inputs-are-objects",
  source: `${reference}/API_runtime_ToolUseBlock.html (input) and https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use ${read}`,
  check: (request) =>
    allBlocks(request)
      .filter(({ kind, value }) => kind === "toolUse" && !isRecord(record(value).input))
      .map(({ path }) => ({
        path: `${path}.toolUse.input`,
        problem: `The format of the value at ${path}.toolUse.input is invalid. Provide a json object for the field and try again.`,
      })),
};

const statuses: Rule = {
  id: "result-status",
  source: `${reference}/API_runtime_ToolResultBlock.html (status) ${read}`,
  check: (request) =>
    allBlocks(request).flatMap(({ path, kind, value }) => {
      const { status } = record(value);
      return kind !== "toolResult" || status === undefined || status === "success" || status === "error"
        ? []
        : [constraint(`${path}.toolResult.status`, "Member must satisfy enum value set: [success, error]")];
    }),
};

const systemIsText: Rule = {
  id: "system-is-text",
  source: `${reference}/API_runtime_SystemContentBlock.html ${read}`,
  check: ({ body }) =>
    blocksOf(body.system, "system")
      .filter(({ kind }) => kind !== "text" && kind !== "cachePoint")
      .map(({ path }) => ({
        path,
        problem: `SystemContentBlock object at ${path} must set one of the following keys: text, guardContent, cachePoint.`,
      })),
};

const wellFormed: Rule = {
  id: "text-is-unicode",
  source: `https://smithy.io/2.0/spec/simple-types.html#string and https://github.com/BYK/loreai/pull/68 ${read}`,
  check: ({ body }) =>
    malformedStrings(body).map(({ keys }) => ({
      path: keys.join("."),
      problem: "The request body is not valid JSON: no low surrogate in string",
    })),
};

/** What blocks are made of. */
export const blockRules: readonly Rule[] = [
  notEmpty,
  oneKind,
  sides,
  notBlank,
  ids,
  names,
  inputs,
  statuses,
  systemIsText,
  wellFormed,
];
