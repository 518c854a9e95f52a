/** Tools of a turn: their declarations, the check of a call's arguments, and the result of what a function returns. */

import { type IngestSource, ingest } from "../attachments/index.js";
import type { BlobStore } from "../blobs/index.js";
import {
  isResource,
  type MessagePart,
  type TextBlock,
  type ToolCall,
  type ToolResultMessage,
  toolResult,
} from "../content/index.js";
import { describe } from "../core/arguments.js";
import { isRecord } from "../core/shape.js";
import type { Session } from "../session/index.js";

/** A JSON Schema of an object. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * A schema as https://standardschema.dev describes it, of zod from 4.2 on, ArkType and others: it checks, and it
 * gives its JSON Schema. For valibot, `toStandardJsonSchema` of `@valibot/to-json-schema` makes one.
 */
export interface StandardSchema<Input = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    /** Checks a value, and gives it as the schema has it. */
    readonly validate: (value: unknown) => StandardResult<Input> | Promise<StandardResult<Input>>;
    readonly jsonSchema?: {
      /** The JSON Schema of what the schema takes. */
      readonly input: (options: { readonly target: "draft-2020-12" }) => JsonSchema;
    };
    readonly types?: { readonly input: unknown; readonly output: Input } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a tool's function gets beside its arguments. */
export interface ToolContext {
  readonly call: ToolCall;
  readonly session: Session;
  /** Aborts if the turn is stopped. */
  readonly signal: AbortSignal;
}

/** A part of a result: text, a stored attachment, or bytes and blocks that `ingest` stores. */
export type ToolPart = MessagePart | IngestSource;

/**
 * What a tool's function returns: parts; a result of MCP, with `content`, and perhaps `details` for programs; a whole
 * result message; or any other JSON value, which the model reads as text.
 */
export type ToolOutput =
  | ToolPart
  | readonly ToolPart[]
  | ToolResultMessage
  | object
  | number
  | boolean
  | undefined;

/** A function that the model may call. */
// biome-ignore lint/suspicious/noExplicitAny: a list has tools of different arguments
export interface Tool<Input = any> {
  readonly name: string;
  readonly description: string;
  /** The arguments. Those that do not pass are a result that says why. */
  readonly parameters: StandardSchema<Input> | JsonSchema;
  /** Whether calls of it may run beside others that may. @default false, one after the other */
  readonly parallel?: boolean;
  /**
   * Whether a call may run twice. After a crash, a call that was started is run again, and not answered as
   * interrupted. So is one whose own append to the session met a message of {@link steer}. @default false
   */
  readonly repeatable?: boolean;
  /**
   * The subject of a permission, such as the command. With it a call runs if the rules of the session, or the caller's
   * `approve`, allow the tool's name for the subject. @default no permission is needed
   */
  readonly subject?: (input: Input) => string;
  /** Runs a call. An error is a result, with its message, so that the model reads it. */
  readonly run: (input: Input, context: ToolContext) => ToolOutput | Promise<ToolOutput>;
}

/**
 * Defines a tool. Returns it as it is: the function's argument has the type of the schema.
 * @example
 * ```ts
 * const add = tool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   run: ({ a, b }) => a + b,
 * });
 * ```
 */
export function tool<Input>(definition: Tool<Input>): Tool<Input> {
  return definition;
}

/** A tool as models are told of it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
}

/** @throws TypeError for a schema that cannot be written as JSON Schema */
export function declaration({ name, description, parameters, run }: Tool): ToolDeclaration {
  if (typeof parameters !== "object" || parameters === null || typeof run !== "function")
    throw new TypeError(
      `tools: expected parameters and run of ${describe(name)}, got ${describe(parameters)} and ${describe(run)}`,
    );
  if (!isStandard(parameters)) return { name, description, schema: parameters as JsonSchema };
  const { jsonSchema, vendor } = parameters["~standard"];
  if (jsonSchema === undefined) {
    const remedy = 'give one with "~standard".jsonSchema, or a JSON Schema';
    throw new TypeError(`parameters of ${name}: the schema of ${vendor} has no JSON Schema: ${remedy}`);
  }
  const { $schema: _, ...schema } = jsonSchema.input({ target: "draft-2020-12" });
  return { name, description, schema };
}

function isStandard(parameters: StandardSchema | JsonSchema): parameters is StandardSchema {
  return "~standard" in parameters;
}

/** Checked arguments, or the words for a model that has to try again. */
export type CheckedInput =
  | { readonly isValid: true; readonly input: unknown; readonly subject: string | undefined }
  | { readonly isValid: false; readonly problems: string };

/** Checks the arguments of a call, and finds the subject of its permission. What a check throws is a problem too. */
export async function checkInput(tool: Tool, args: unknown): Promise<CheckedInput> {
  try {
    const { input = args, problems } = await validate(tool, args);
    if (problems.length === 0) return { isValid: true, input, subject: tool.subject?.(input) };
    return { isValid: false, problems: problems.slice(0, maxProblems).join("\n") };
  } catch (error) {
    return { isValid: false, problems: error instanceof Error ? error.message : String(error) };
  }
}

async function validate(
  { name, parameters }: Tool,
  args: unknown,
): Promise<{ readonly input?: unknown; readonly problems: readonly string[] }> {
  const problems: string[] = [];
  if (!isStandard(parameters)) {
    jsonProblems(parameters, args, name, problems);
    return { problems };
  }
  const result = await parameters["~standard"].validate(args);
  if (result.issues === undefined) return { input: result.value, problems };
  const key = (part: PropertyKey | { readonly key: PropertyKey }) => String(isRecord(part) ? part.key : part);
  return {
    problems: result.issues.map(({ path = [], message }) => `${path.map(key).join(".") || name}: ${message}`),
  };
}

const maxProblems = 10;

/**
 * Compares a value with a JSON Schema: the keywords by which tools describe arguments. Others are not compared, so
 * that nothing valid is refused.
 */
function jsonProblems(schema: unknown, value: unknown, path: string, problems: string[]): void {
  if (schema === false) problems.push(`${path}: is not allowed`);
  if (!isRecord(schema) || problems.length >= maxProblems) return;
  const expect = (holds: boolean, expected: string) => {
    if (!holds) problems.push(`${path}: expected ${expected}, got ${describe(value)}`);
    return holds;
  };
  const types: readonly unknown[] = schema.type === undefined ? [] : [schema.type].flat();
  if (
    types.length > 0 &&
    !expect(
      types.some((type) => isOfType(value, type)),
      types.join(" or "),
    )
  )
    return;
  const same = (one: unknown) => isSameJson(one, value);
  if ("const" in schema) expect(same(schema.const), JSON.stringify(schema.const));
  if (Array.isArray(schema.enum)) {
    const listed = schema.enum.map((one) => JSON.stringify(one)).join(", ");
    expect(schema.enum.some(same), `one of ${listed}`);
  }
  const holds = (one: unknown) => {
    const found: string[] = [];
    jsonProblems(one, value, path, found);
    return found.length === 0;
  };
  for (const name of ["anyOf", "oneOf"])
    if (Array.isArray(schema[name]))
      expect((schema[name] as readonly unknown[]).some(holds), `a form of ${name}`);
  if (Array.isArray(schema.allOf)) for (const one of schema.allOf) jsonProblems(one, value, path, problems);
  const bounds = [
    [typeof value === "number" ? value : undefined, "minimum", "maximum", "a number"],
    [typeof value === "string" ? Array.from(value).length : undefined, "minLength", "maxLength", "a length"],
    [Array.isArray(value) ? value.length : undefined, "minItems", "maxItems", "a number of items"],
  ] as const;
  for (const [size, min, max, what] of bounds) {
    if (size === undefined) continue;
    if (typeof schema[min] === "number") expect(size >= schema[min], `${what} from ${schema[min]} on`);
    if (typeof schema[max] === "number") expect(size <= schema[max], `${what} of at most ${schema[max]}`);
  }
  if (Array.isArray(value)) {
    const first: readonly unknown[] = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
    for (const [at, item] of value.entries())
      jsonProblems(at < first.length ? first[at] : schema.items, item, `${path}[${at}]`, problems);
  }
  if (!isRecord(value)) return;
  const properties = isRecord(schema.properties) ? schema.properties : {};
  for (const name of Array.isArray(schema.required) ? schema.required : [])
    if (!Object.hasOwn(value, String(name))) problems.push(`${path}.${name}: is required`);
  for (const [name, member] of Object.entries(value)) {
    const isNamed = Object.hasOwn(properties, name);
    const of = isNamed
      ? properties[name]
      : "patternProperties" in schema
        ? undefined
        : schema.additionalProperties;
    jsonProblems(of, member, `${path}.${name}`, problems);
  }
}

/** Whether two values of JSON are equal, in whatever order their members are. */
function isSameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [own, other] = [Object.entries(a), new Map(Object.entries(b))];
  return (
    own.length === other.size &&
    own.every(([key, value]) => other.has(key) && isSameJson(value, other.get(key)))
  );
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value) && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "number":
    case "string":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}

/** The store of a result's bytes. */
export interface ResultOptions {
  readonly blobs: Pick<BlobStore, "put"> | undefined;
  readonly signal: AbortSignal;
}

/**
 * The result of a call from what its function returned. Bytes, images and files are stored before a log can name
 * them.
 * @throws TypeError for bytes without a store; errors of `ingest`
 */
export async function resultOf(
  call: ToolCall,
  output: unknown,
  options: ResultOptions,
): Promise<ToolResultMessage> {
  if (isRecord(output) && output.role === "toolResult") {
    const { toolCallId: _id, toolName: _name, ...result } = output as unknown as ToolResultMessage;
    return { ...result, toolCallId: call.id, toolName: call.name };
  }
  const isMcp = isRecord(output) && Array.isArray(output.content);
  const outputs: unknown = isMcp ? output.content : output;
  const isParts = isMcp || (Array.isArray(outputs) && outputs.every(isPart));
  const parts: MessagePart[] = [];
  for (const part of isParts ? (outputs as readonly unknown[]) : [outputs])
    parts.push(await partOf(part, options));
  const shown = parts.filter((part) => part !== "");
  const result = toolResult(call, ...(shown.length === 0 ? ["(no output)"] : shown));
  if (!isMcp) return result;
  const { isError, details } = output;
  return { ...result, isError: isError === true, ...(details === undefined ? {} : { details }) };
}

/** The result of a call that failed, or that did not run. */
export function failedResult(call: Pick<ToolCall, "id" | "name">, words: unknown): ToolResultMessage {
  const text = words instanceof Error ? words.message || words.name : String(words);
  return { ...toolResult(call, text.slice(0, maxFailure).toWellFormed()), isError: true };
}

const maxFailure = 10_000;

/** Types of the blocks that `ingest` takes. */
const blockTypes: ReadonlySet<unknown> = new Set([
  "image",
  "audio",
  "resource",
  "resource_link",
  "input_image",
]);

function isSource(part: unknown): part is IngestSource {
  if (!isRecord(part)) return false;
  return blockTypes.has(part.type) || part.bytes instanceof Uint8Array || typeof part.dataUrl === "string";
}

function isPart(part: unknown): boolean {
  return typeof part === "string" || isResource(part) || isSource(part) || isText(part);
}

function isText(part: unknown): part is { readonly type: "text"; readonly text: string } {
  return isRecord(part) && part.type === "text" && typeof part.text === "string";
}

async function partOf(part: unknown, { blobs, signal }: ResultOptions): Promise<MessagePart> {
  if (typeof part === "string" || isResource(part)) return part;
  // An attachment that a message has as text already, or a block of another program, whose other members are no ours.
  if (isText(part)) return "resource" in part ? (part as TextBlock) : part.text;
  if (!isSource(part)) return part === undefined ? "" : (JSON.stringify(part) ?? String(part));
  if (blobs === undefined) throw new TypeError("blobs: expected a store for the bytes of the tool's result");
  return ingest(part as never, { blobs, source: "tool", mismatch: "file", signal });
}
