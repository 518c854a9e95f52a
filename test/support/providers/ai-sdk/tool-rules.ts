import { isRecord } from "../../plain-values.js";
import { differences } from "../json-walk.js";
import type { Fault, ProviderRule } from "../rule.js";
import { type AiSdkCall, messagesOf, type PlacedPart, partsOf } from "./parts.js";

const read = "(a stored copy, read 2026-11-21)";

const idOf = ({ part }: PlacedPart): string => String(part.toolCallId);
/** What the provider ran itself stands with its result in what the model said, and is no business of ours. */
const isCall = ({ part }: PlacedPart): boolean => part.type === "tool-call" && part.providerExecuted !== true;
const isResult = ({ part, role }: PlacedPart): boolean => part.type === "tool-result" && role === "tool";

/** Calls that the message of tools behind them does not answer, all of them and only them. */
function unanswered(call: AiSdkCall): readonly Fault[] {
  const parts = partsOf(call);
  return messagesOf(call).flatMap(({ role }, at) => {
    if (role !== "assistant") return [];
    const results = parts.filter((part) => part.at === at + 1 && isResult(part)).map(idOf);
    return parts
      .filter((part) => part.at === at && isCall(part) && !results.includes(idOf(part)))
      .map(({ path }) => ({ path, problem: "a call without a result" }));
  });
}

/** Results that answer no call of the message before them. */
function orphans(call: AiSdkCall): readonly Fault[] {
  const parts = partsOf(call);
  return parts.filter(isResult).flatMap((result) => {
    const calls = parts.filter((part) => part.at === result.at - 1 && isCall(part));
    const answered = calls.find((part) => idOf(part) === idOf(result));
    if (answered === undefined) return [{ path: result.path, problem: "a result without a call" }];
    return answered.part.toolName === result.part.toolName
      ? []
      : [{ path: `${result.path}.toolName`, problem: "not the tool that was called" }];
  });
}

/** Ids that stand twice among the calls, or among the results. */
function repeated(call: AiSdkCall): readonly Fault[] {
  return [isCall, isResult].flatMap((is) => {
    const parts = partsOf(call).filter(is);
    const ids = parts.map(idOf);
    return parts
      .filter((part, index) => ids.indexOf(idOf(part)) < index)
      .map(({ path }) => ({ path, problem: "an id for the second time" }));
  });
}

/** Rules of calls and results. */
export const toolRules: readonly ProviderRule<AiSdkCall>[] = [
  {
    id: "calls-answered",
    source: `MissingToolResultsError of ai 7.0.173: https://ai-sdk.dev/docs/troubleshooting/missing-tool-results-error ${read}; in the next message: https://github.com/aliasrobotics/cai/issues/182 ${read}`,
    check: unanswered,
  },
  {
    id: "results-called",
    source: `Anthropic refuses a result whose call is not in the message before: https://github.com/anthropics/claude-code/issues/18947 ${read}`,
    check: orphans,
  },
  {
    id: "unique-ids",
    source: `Anthropic: "tool_use ids must be unique": https://github.com/anthropics/claude-code/issues/28515 ${read}`,
    check: repeated,
  },
  {
    id: "object-input",
    source: `Anthropic takes a dictionary alone: https://github.com/anthropics/anthropic-sdk-typescript/issues/648 ${read}`,
    check: (call) =>
      partsOf(call)
        .filter((part) => isCall(part) && !isRecord(part.part.input))
        .map(({ path }) => ({ path: `${path}.input`, problem: "no object" })),
  },
  {
    id: "json-input",
    source: "ToolCallPart of @ai-sdk/provider-utils 4.0.65: a value that JSON can carry",
    check: (call) =>
      partsOf(call)
        .filter(isCall)
        .flatMap(({ path, part: { input } }) =>
          isRecord(input) ? differences(input, JSON.parse(JSON.stringify(input)), `${path}.input`) : [],
        ),
  },
];
