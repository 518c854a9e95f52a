import type { Fault, ProviderRule } from "../rule.js";
import { type AnthropicRequest, type Block, stringField, type Turn } from "./request.js";
import { sources } from "./sources.js";

const isServerCall = ({ type }: Block) => type === "server_tool_use";
const isServerResult = ({ type }: Block) => type.endsWith("_tool_result");

/** Whether a turn ends as one does that the API paused, and takes up again where it is. */
export function isPaused({ role, blocks }: Turn): boolean {
  const last = blocks.at(-1);
  return role === "assistant" && last !== undefined && (isServerCall(last) || isServerResult(last));
}

/** Calls of the provider's own tools, and their results. */
export const serverToolRules: readonly ProviderRule<AnthropicRequest>[] = [
  {
    id: "server-calls-are-answered",
    source: `${sources.stopReasons}#tool_use`,
    check: ({ turns }) => turns.flatMap((turn, index) => unanswered(turn, turns.slice(index + 1))),
  },
  {
    id: "server-results-have-calls",
    source: sources.orphanServerResult,
    check: ({ turns }) => {
      const called = new Set<string>();
      return turns.flatMap(({ blocks }) =>
        blocks.flatMap((block) => {
          if (isServerCall(block)) called.add(stringField(block, "id"));
          const id = stringField(block, "tool_use_id");
          if (!isServerResult(block) || called.has(id)) return [];
          const problem = `unexpected \`tool_use_id\` found in \`${block.type}\` blocks: ${id}. Each \`${block.type}\` block must have a corresponding \`server_tool_use\` block before it.`;
          return [{ path: block.path, problem }];
        }),
      );
    },
  },
];

/** A call may be open while its turn is: to the end, or to user turns at the end that have nothing but results. */
function unanswered({ path, blocks }: Turn, later: readonly Turn[]): readonly Fault[] {
  const end = later.findIndex(({ role, blocks: said }) => {
    return role !== "assistant" && said.some(({ type }) => type !== "tool_result");
  });
  const rest = end === -1 ? later : later.slice(0, end);
  if (end === -1 && !rest.some(({ role }) => role === "assistant")) return [];
  const results = [...blocks, ...rest.flatMap((turn) => turn.blocks)].filter(isServerResult);
  const answered = new Set(results.map((block) => stringField(block, "tool_use_id")));
  return blocks
    .filter((block) => isServerCall(block) && !answered.has(stringField(block, "id")))
    .map((block) => {
      const name = stringField(block, "name");
      const id = stringField(block, "id");
      const problem = `\`${name}\` tool use with id \`${id}\` was found without a corresponding \`${name}_tool_result\` block`;
      return { path, problem };
    });
}
