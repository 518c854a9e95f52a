import type { Usage } from "../content/index.js";

/** A call of a model that a tool made, by what it left of it. */
export interface ToolCallUsage {
  readonly model?: string;
  readonly usage: Usage;
}

/**
 * Calls that the `details` of a tool's result tell of: `{ usage, model? }`, or pi's subagents with `{ results: [{ usage,
 * model? }] }`. Details may have any JSON shape; what has no counts is no usage.
 *
 * @see https://github.com/earendil-works/pi/tree/main/packages/coding-agent/examples/extensions/subagent, 1.5.2
 */
export function detailedCalls(details: unknown): readonly ToolCallUsage[] {
  if (!isRecord(details)) return [];
  const { usage, results } = details;
  if (usage !== undefined) return callOf(details);
  return Array.isArray(results) ? results.flatMap(callOf) : [];
}

function callOf(value: unknown): readonly ToolCallUsage[] {
  if (!isRecord(value) || !isRecord(value.usage)) return [];
  const { input, output, cacheRead = 0, cacheWrite = 0, cacheWrite1h, cost } = value.usage;
  if (!isCount(input) || !isCount(output) || !isCount(cacheRead) || !isCount(cacheWrite)) return [];
  const known = costOf(cost);
  const usage = {
    ...{ input, output, cacheRead, cacheWrite },
    ...(isCount(cacheWrite1h) && { cacheWrite1h }),
    ...(known && { cost: known }),
  };
  return [typeof value.model === "string" ? { model: value.model, usage } : { usage }];
}

/** A subagent's cost is the total alone. */
function costOf(cost: unknown): Usage["cost"] {
  const total = isRecord(cost) ? cost.total : cost;
  if (!isCount(total)) return undefined;
  const part = (name: string) => {
    const value = isRecord(cost) ? cost[name] : 0;
    return isCount(value) ? value : 0;
  };
  return {
    input: part("input"),
    output: part("output"),
    cacheRead: part("cacheRead"),
    cacheWrite: part("cacheWrite"),
    total,
  };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
