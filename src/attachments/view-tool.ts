import type { BlobStore } from "../blobs/index.js";
import { type ToolCall, type ToolResultMessage, toolResult } from "../content/index.js";
import { describe } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import type { ResourcePath } from "./on-path.js";
import { type ResourceViewDraft, viewResource } from "./view.js";

/** A JSON schema of an object, as every provider's tools take it. */
export interface ViewToolSchema {
  [member: string]: unknown;
  type: "object";
  properties: Record<string, { type: "string"; description: string }>;
  required: string[];
  additionalProperties: false;
}

/** The declaration of the tool, by the place that it is for. */
export interface ViewToolShapes {
  readonly anthropic: { name: string; description: string; input_schema: ViewToolSchema };
  readonly openaiChat: {
    type: "function";
    function: { name: string; description: string; parameters: ViewToolSchema };
  };
  readonly openaiResponses: {
    type: "function";
    name: string;
    description: string;
    parameters: ViewToolSchema;
    strict: false;
  };
  /** One of `functionDeclarations`. */
  readonly gemini: { name: string; description: string; parametersJsonSchema: ViewToolSchema };
  readonly bedrock: {
    toolSpec: { name: string; description: string; inputSchema: { json: ViewToolSchema } };
  };
  readonly mcp: { name: string; description: string; inputSchema: ViewToolSchema };
  /** For the AI SDK: `tool({ description, inputSchema: jsonSchema(schema) })`, and for any other. */
  readonly plain: { name: string; description: string; schema: ViewToolSchema };
}

const shapes: { readonly [S in keyof ViewToolShapes]: (tool: ViewToolShapes["plain"]) => ViewToolShapes[S] } =
  {
    anthropic: ({ name, description, schema }) => ({ name, description, input_schema: schema }),
    openaiChat: ({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    }),
    openaiResponses: ({ name, description, schema }) => ({
      type: "function",
      name,
      description,
      parameters: schema,
      strict: false,
    }),
    gemini: ({ name, description, schema }) => ({ name, description, parametersJsonSchema: schema }),
    bedrock: ({ name, description, schema }) => ({
      toolSpec: { name, description, inputSchema: { json: schema } },
    }),
    mcp: ({ name, description, schema }) => ({ name, description, inputSchema: schema }),
    plain: (tool) => tool,
  };

/** The name of the tool that {@link viewTool} declares. */
export const viewToolName = "view_resource";

/**
 * The declaration of the tool by which a model sees an attachment of an earlier turn again, in the shape that a provider's
 * client takes. Declare it, project with `viewTool: true`, and answer its calls by {@link runViewTool}.
 *
 * @throws TypeError for a shape that is none
 * @example
 * ```ts
 * viewTool("anthropic").input_schema.required; // ["resourceId"]
 * ```
 */
export function viewTool<S extends keyof ViewToolShapes>(shape: S): ViewToolShapes[S] {
  if (!Object.hasOwn(shapes, shape)) {
    throw new TypeError(`shape: expected one of ${Object.keys(shapes).join(", ")}, got ${describe(shape)}`);
  }
  return shapes[shape]({
    name: viewToolName,
    description:
      "Shows an image or a file of this session again, by the id (res_…) that its description or a summary names. " +
      "Use it before you rely on details of one that is only described. Links and files of unknown type cannot be shown.",
    schema: {
      type: "object",
      properties: {
        resourceId: {
          type: "string",
          description: "The id of the attachment, such as res_0123456789abcdef.",
        },
        reason: { type: "string", description: "What you look for in it." },
      },
      required: ["resourceId"],
      additionalProperties: false,
    },
  });
}

/** A session that {@link runViewTool} reads and appends to: a `Session` is one. */
export interface ViewableSession extends ResourcePath {
  /** Writes the entry of a view after the leaf. */
  append(drafts: readonly ResourceViewDraft[]): Promise<unknown>;
}

/**
 * Answers a call of {@link viewTool}: finds the resource on the session's whole path, of any kind, records the view, and gives
 * the result for the session. Arguments that are wrong, and a resource that cannot be shown, give a failed result in words.
 *
 * @throws SessileError what the session's append and the blob store throw, besides BLOB_CORRUPT
 * @example
 * ```ts
 * const call = { type: "toolCall", id: "c1", name: viewToolName, arguments: { resourceId: "res_0123456789abcdef" } } as const;
 * await session.appendMessage(await runViewTool(session, call, { blobs: memoryBlobStore() }));
 * ```
 */
export async function runViewTool(
  session: ViewableSession,
  call: Pick<ToolCall, "id" | "name" | "arguments">,
  { blobs, signal }: { readonly blobs: Pick<BlobStore, "get">; readonly signal?: AbortSignal },
): Promise<ToolResultMessage> {
  const { resourceId, reason } = isRecord(call.arguments) ? call.arguments : {};
  const { ok, parts, draft } = await viewResource(typeof resourceId === "string" ? resourceId : "", session, {
    blobs,
    ...(typeof reason === "string" ? { reason: reason.slice(0, 500).toWellFormed() } : {}),
    ...(signal === undefined ? {} : { signal }),
  });
  if (draft !== undefined) await session.append([draft]);
  return { ...toolResult(call, ...parts), isError: !ok };
}
