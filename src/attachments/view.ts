import type { BlobStore } from "../blobs/index.js";
import {
  type Resource,
  type StoredResource,
  type ToolCall,
  type ToolResultMessage,
  toolResult,
} from "../content/index.js";
import { describe, stringArgument } from "../internal/arguments.js";
import { isRecord } from "../internal/shape.js";
import { findResource, isSendable, type ResourcePath, readPayload } from "./resources.js";

/** What `session.append` takes to record that a resource is to be seen again. */
export interface ResourceViewDraft {
  readonly type: "resource_view";
  readonly resourceId: string;
  readonly reason?: string;
}

/** What `session.append` takes to record what was seen in a resource, on this branch. */
export interface ResourceObservationDraft {
  readonly type: "resource_observation";
  readonly resourceId: string;
  readonly text: string;
}

/**
 * Records that a resource is to be seen again: in the turn in which it is appended, its bytes are sent once more.
 *
 * @param reason why, in words; kept in the log
 * @example
 * ```ts
 * await session.append([resourceView(screenshot.resourceId, "to read the error code")]);
 * ```
 */
export function resourceView(resourceId: string, reason?: string): ResourceViewDraft {
  const draft = { type: "resource_view", resourceId: stringArgument("resourceId", resourceId) } as const;
  return reason === undefined || reason === "" ? draft : { ...draft, reason };
}

/** Records what was seen in a resource. It holds on this branch, so that each fork keeps what it saw itself. */
export function resourceObservation(resourceId: string, text: string): ResourceObservationDraft {
  return {
    type: "resource_observation",
    resourceId: stringArgument("resourceId", resourceId),
    text: stringArgument("text", text),
  };
}

/**
 * What was seen in each resource, by its id and in the order of the entries: give it those of one path, from the root to a
 * leaf, and it has what was seen on that branch and no other.
 *
 * @example
 * ```ts
 * const path = await Promise.all(session.tree.path(session.leafId).map(({ id }) => session.entry(id)));
 * const seen = observationsIn(path.filter((entry) => entry !== undefined));
 * ```
 */
export function observationsIn(
  entries: Iterable<{ readonly type: string }>,
): ReadonlyMap<string, readonly string[]> {
  const seen = new Map<string, string[]>();
  for (const entry of entries) {
    if (!isObservation(entry)) continue;
    const texts = seen.get(entry.resourceId);
    if (texts === undefined) seen.set(entry.resourceId, [entry.text]);
    else texts.push(entry.text);
  }
  return seen;
}

function isObservation(entry: { readonly type: string }): entry is ResourceObservationDraft {
  const { resourceId, text } = entry as Partial<ResourceObservationDraft>;
  return entry.type === "resource_observation" && typeof resourceId === "string" && typeof text === "string";
}

/**
 * Why a view shows nothing. `NOT_FOUND`: no such resource. `NOT_REHYDRATABLE`: a link, or bytes of unknown type.
 * `RESOURCE_MISSING`: its bytes are no longer stored. `BLOB_CORRUPT`: they are not what they were.
 */
export type ViewFailure = "NOT_FOUND" | "NOT_REHYDRATABLE" | "RESOURCE_MISSING" | "BLOB_CORRUPT";

/** What came of a view. `parts` are for `toolResult`, whether it failed or not. */
export type ResourceViewing =
  | {
      readonly ok: true;
      readonly resource: StoredResource;
      /** The resource: in the turn of the tool's result its bytes are sent. */
      readonly parts: readonly [StoredResource];
      /** To append with the tool's result. */
      readonly draft: ResourceViewDraft;
    }
  | {
      readonly ok: false;
      readonly code: ViewFailure;
      /** What the model is told, the id included. */
      readonly parts: readonly [string];
      /** Absent where there is no such resource. */
      readonly draft?: ResourceViewDraft;
    };

/** Options of {@link viewResource}. */
export interface ViewResourceOptions {
  /** Where the bytes are. */
  readonly blobs: Pick<BlobStore, "get">;
  /** Why, in words; kept in the log. */
  readonly reason?: string;
  readonly signal?: AbortSignal;
}

/**
 * Carries out a view for a tool that a model called: finds the resource, makes sure that its bytes are there and whole, and
 * gives what the tool answers and what is to be recorded. A failure is an answer too, in words, and no exception.
 *
 * @param resources what may be viewed: a list, such as `resourcesIn` gives, or a session, whose whole path is looked through,
 *   before a compaction too
 * @throws SessileError what the blob store throws, besides BLOB_CORRUPT
 * @example
 * ```ts
 * const blobs = memoryBlobStore();
 * const call = { id: "c1", name: "view_resource" };
 * const viewing = await viewResource("res_0123456789abcdef", session, { blobs });
 * const message = toolResult(call, ...viewing.parts);
 * await session.append([...(viewing.draft ? [viewing.draft] : []), { type: "message", message }]);
 * ```
 */
export async function viewResource(
  resourceId: string,
  resources: readonly Resource[] | ResourcePath,
  { blobs, reason, signal }: ViewResourceOptions,
): Promise<ResourceViewing> {
  const resource =
    "tree" in resources
      ? await findResource(resources, resourceId)
      : resources.find((known) => known.resourceId === resourceId);
  if (resource === undefined) return failed("NOT_FOUND", resourceId);
  const draft = resourceView(resourceId, reason);
  if (!isSendable(resource)) return failed("NOT_REHYDRATABLE", resourceId, draft);
  const payload = await readPayload(blobs, resource.blob, signal);
  if (payload === "missing") return failed("RESOURCE_MISSING", resourceId, draft);
  if (payload === "corrupt") return failed("BLOB_CORRUPT", resourceId, draft);
  return { ok: true, resource, parts: [resource], draft };
}

const failures: Readonly<Record<ViewFailure, string>> = {
  NOT_FOUND: "there is no such resource in this session",
  NOT_REHYDRATABLE: "only its description is kept, there is nothing to show",
  RESOURCE_MISSING: "its bytes are no longer stored, it cannot be shown",
  BLOB_CORRUPT: "its stored bytes are damaged, it cannot be shown",
};

function failed(code: ViewFailure, resourceId: unknown, draft?: ResourceViewDraft): ResourceViewing {
  // A model made the id up, so it is not repeated at any length.
  const id = String(resourceId)
    .replace(/[^\w-]/g, "_")
    .slice(0, 40);
  const parts = [`[${code} ${id}: ${failures[code]}]`] as const;
  return draft === undefined ? { ok: false, code, parts } : { ok: false, code, parts, draft };
}

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
