import { isRecord } from "../../plain-values.js";
import type { Fault, ProviderRule } from "../rule.js";
import { type AnthropicRequest, type Block, stringField, type Turn } from "./request.js";
import { sources } from "./sources.js";

const alphabet = /^[a-zA-Z0-9_-]+$/;
const maxNameLength = 200;

const isCall = ({ type }: Block) => type === "tool_use";
const isResult = ({ type }: Block) => type === "tool_result";
const callId = (block: Block) => stringField(block, "id");
const resultOf = (block: Block) => stringField(block, "tool_use_id");

/** Calls of the client's tools, and their results. */
export const callRules: readonly ProviderRule<AnthropicRequest>[] = [
  {
    id: "calls-are-answered",
    source: `${sources.stopReasons}#tool_use; ${sources.answered}`,
    check: ({ turns }) => turns.flatMap((turn, index) => unanswered(turn, turns[index + 1])),
  },
  {
    id: "results-come-first",
    source: `${sources.stopReasons}#tool_use`,
    check: ({ turns }) => turns.flatMap((turn, index) => late(turn, turns[index - 1])),
  },
  {
    id: "results-have-calls",
    source: sources.orphanResult,
    check: ({ turns }) => turns.flatMap((turn, index) => orphans(turn, turns[index - 1])),
  },
  {
    id: "one-result-a-call",
    source: sources.singleResult,
    check: ({ turns }) =>
      turns.flatMap(({ blocks }) =>
        repeated(blocks.filter(isResult), resultOf).map((block) => ({
          path: block.path,
          problem: `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${resultOf(block)}`,
        })),
      ),
  },
  {
    id: "call-ids-are-unique",
    source: sources.uniqueIds,
    check: ({ blocks }) =>
      repeated(blocks.filter(isCall), callId).map(({ path }) => ({
        path,
        problem: "`tool_use` ids must be unique",
      })),
  },
  {
    id: "call-id-alphabet",
    source: sources.toolIdPattern,
    check: ({ blocks }) =>
      blocks.flatMap((block) => {
        const field = ["id", "tool_use_id"].find((each) => typeof block.value[each] === "string");
        if (field === undefined || alphabet.test(stringField(block, field))) return [];
        const problem = `String should match pattern '${alphabet.source}'`;
        return [{ path: `${block.path}.${block.type}.${field}`, problem }];
      }),
  },
  {
    id: "tool-name",
    source: `${sources.toolNameLength}; ${sources.defineTools}`,
    check: ({ blocks }) =>
      blocks.filter(isCall).flatMap((block) => {
        const name = stringField(block, "name");
        const path = `${block.path}.tool_use.name`;
        if (name.length > maxNameLength) {
          return [{ path, problem: `String should have at most ${maxNameLength} characters` }];
        }
        return alphabet.test(name)
          ? []
          : [{ path, problem: `String should match pattern '${alphabet.source}'` }];
      }),
  },
  {
    id: "call-input-is-an-object",
    source: sources.inputObject,
    check: ({ blocks }) =>
      blocks.flatMap(({ path, type, value }) => {
        if (type !== "tool_use" && type !== "server_tool_use") return [];
        return isRecord(value.input)
          ? []
          : [{ path: `${path}.${type}.input`, problem: "Input should be an object" }];
      }),
  },
  {
    id: "server-tools-come-before-calls",
    source: sources.serverToolsFirst,
    check: ({ turns }) =>
      turns.flatMap(({ path, blocks }) => {
        const first = blocks.findIndex(isCall);
        const behind = first === -1 ? [] : blocks.slice(first + 1);
        return behind.some(({ type }) => /^(?:server|mcp)_tool_use$|[a-z]_tool_result$/.test(type))
          ? [
              {
                path,
                problem: `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${blocks.filter(isCall).map(callId).join(", ")}`,
              },
            ]
          : [];
      }),
  },
  {
    id: "failed-results-are-text",
    source: sources.errorResult,
    check: ({ blocks }) =>
      blocks.flatMap(({ path, type, value: { is_error, content } }) => {
        if (type !== "tool_result" || is_error !== true || !Array.isArray(content)) return [];
        if (content.every((each) => isRecord(each) && each.type === "text")) return [];
        return [
          { path: `${path}.tool_result`, problem: "all content must be type `text` if `is_error` is true" },
        ];
      }),
  },
];

function unanswered({ path, blocks }: Turn, next: Turn | undefined): readonly Fault[] {
  const answered = new Set(next?.role === "user" ? next.blocks.filter(isResult).map(resultOf) : []);
  const open = blocks
    .filter(isCall)
    .map(callId)
    .filter((id) => !answered.has(id));
  return open.length === 0 ? [] : [{ path, problem: withoutResult(open) }];
}

function late({ blocks }: Turn, before: Turn | undefined): readonly Fault[] {
  const first = blocks.findIndex((block) => !isResult(block));
  const behind = first === -1 ? [] : blocks.slice(first).filter(isResult);
  return behind.length === 0
    ? []
    : [{ path: before?.path ?? "messages.0", problem: withoutResult(behind.map(resultOf)) }];
}

function withoutResult(ids: readonly string[]): string {
  return `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

function orphans({ blocks }: Turn, before: Turn | undefined): readonly Fault[] {
  const called = new Set(before?.role === "assistant" ? before.blocks.filter(isCall).map(callId) : []);
  return blocks
    .filter(isResult)
    .filter((block) => !called.has(resultOf(block)))
    .map((block) => ({
      path: block.path,
      problem: `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${resultOf(block)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    }));
}

/** The blocks whose id an earlier one has. */
function repeated(blocks: readonly Block[], idOf: (block: Block) => string): readonly Block[] {
  const seen = new Set<string>();
  return blocks.filter((block) => seen.size === seen.add(idOf(block)).size);
}
