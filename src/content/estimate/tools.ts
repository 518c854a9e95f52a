/** Estimates the tokens of the tools of a request, in the form of any provider. */

import { describe } from "../../core/arguments.js";
import { jsonPieces } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { modelFacts, type TokenFacts } from "../../providers/models/internal.js";
import { textEstimator } from "./text.js";

/** A tool, read from any provider's form. */
interface Tool {
  readonly name: string;
  readonly description?: unknown;
  readonly schema?: unknown;
}

/** Deeper schemas are not counted. */
const maxDepth = 32;

/**
 * Estimates the tokens of the tools of a request, rounded up: their declarations, and the instructions that a
 * provider adds if there is any tool.
 *
 * @param tools a list in the form of Anthropic, OpenAI, Gemini, Bedrock or MCP, or an object of the AI SDK's
 * @param model selects the form in which the model reads tools
 * @throws TypeError if `model` is no string
 * @example
 * ```ts
 * const read = { name: "read", description: "Reads a file", input_schema: { type: "object" } };
 * estimateToolTokens([read], "claude-opus-5-5"); // 424
 * ```
 */
export function estimateToolTokens(tools: unknown, model: string): number {
  if (typeof model !== "string") throw new TypeError(`model: expected a string, got ${describe(model)}`);
  const all = readTools(tools, 0);
  if (all.length === 0) return 0;
  const facts = modelFacts(model).tokens;
  const text = textEstimator({ model });
  const declared = all.reduce((sum, tool) => sum + toolTokens(tool, facts, text), 0);
  return Math.ceil(facts.tools + facts.tool * (all.length - 1) + declared);
}

function toolTokens(
  { name, description, schema }: Tool,
  { property }: TokenFacts,
  text: (text: string) => number,
): number {
  if (property !== undefined)
    return stringTokens([name, description], text) + schemaTokens(schema, property, text, 0);
  let tokens = 0;
  for (const piece of jsonPieces({ name, description, input_schema: schema })) tokens += text(piece);
  return tokens;
}

/** The words of a schema, and `property` for each property. Names of types and marks are part of that. */
function schemaTokens(
  schema: unknown,
  property: number,
  text: (text: string) => number,
  depth: number,
): number {
  if (depth > maxDepth) return 0;
  if (Array.isArray(schema))
    return schema.reduce<number>((sum, one) => sum + schemaTokens(one, property, text, depth + 1), 0);
  if (!isRecord(schema)) return 0;
  const own = stringTokens([schema.description, ...(Array.isArray(schema.enum) ? schema.enum : [])], text);
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : [];
  const inner = [schema.items, schema.anyOf, schema.oneOf, schema.allOf, schema.$defs].map((one) =>
    isRecord(one) && one === schema.$defs ? Object.values(one) : one,
  );
  return properties.reduce(
    (sum, [name, value]) => sum + property + text(name) + schemaTokens(value, property, text, depth + 1),
    own + schemaTokens(inner, property, text, depth + 1),
  );
}

function stringTokens(values: readonly unknown[], text: (text: string) => number): number {
  return values.reduce<number>((sum, value) => sum + (typeof value === "string" ? text(value) : 0), 0);
}

function readTools(value: unknown, depth: number): readonly Tool[] {
  if (depth > 4) return [];
  if (Array.isArray(value)) return value.flatMap((one) => readTools(one, depth + 1));
  if (!isRecord(value)) return [];
  for (const list of ["functionDeclarations", "function_declarations", "tools"])
    if (Array.isArray(value[list])) return readTools(value[list], depth + 1);
  for (const wrapper of ["function", "toolSpec", "custom"])
    if (isRecord(value[wrapper])) return readTools(value[wrapper], depth + 1);
  if (typeof value.name === "string") return [toolByName(value.name, value)];
  // Tools of a provider, such as `{ type: "web_search" }` and `{ googleSearch: {} }`, are its own to count.
  return Object.entries(value).flatMap(([name, tool]) =>
    isRecord(tool) && ("inputSchema" in tool || "parameters" in tool || "description" in tool)
      ? [toolByName(name, tool)]
      : [],
  );
}

function toolByName(name: string, tool: Readonly<Record<string, unknown>>): Tool {
  const { description, input_schema, inputSchema, parameters, parametersJsonSchema } = tool;
  const schema = input_schema ?? inputSchema ?? parameters ?? parametersJsonSchema;
  const wrapped = isRecord(schema) ? (schema.json ?? schema.jsonSchema) : undefined;
  return { name, description, schema: wrapped ?? schema };
}
