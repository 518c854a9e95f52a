/** Views and observations of resources: their entries, viewing one, and the tool by which a model does. */
import type { BlobStore } from "../blobs/index.js";
import {
  type Resource,
  type StoredResource,
  type ToolCall,
  type ToolResultMessage,
  toolResult,
} from "../content/index.js";
import { type ToolShapes, toolShapes } from "../content/internal.js";
import { describe, stringArgument } from "../core/arguments.js";
import { isRecord } from "../core/shape.js";
import { findResource, isSendable, type ResourcePath, readPayload } from "./resources.js";

/** An entry for `session.append` that requests a resource's bytes for the current turn. */
export interface ResourceViewDraft {
  readonly type: "resource_view";
  readonly resourceId: string;
  readonly reason?: string;
}

/** An entry for `session.append` with a model's observation of a resource. */
export interface ResourceObservationDraft {
  readonly type: "resource_observation";
  readonly resourceId: string;
  readonly text: string;
}

/**
 * Requests a resource's bytes again, for the turn in which the entry is appended.
 *
 * @param reason free text for the log
 * @example
 * ```ts
 * await session.append([resourceView(screenshot.resourceId, "to read the error code")]);
 * ```
 */
export function resourceView(resourceId: string, reason?: string): ResourceViewDraft {
  const draft = { type: "resource_view", resourceId: stringArgument("resourceId", resourceId) } as const;
  return reason === undefined || reason === "" ? draft : { ...draft, reason };
}

/** Records a model's observation of a resource. It applies to its own branch only. */
export function resourceObservation(resourceId: string, text: string): ResourceObservationDraft {
  return {
    type: "resource_observation",
    resourceId: stringArgument("resourceId", resourceId),
    text: stringArgument("text", text),
  };
}

/**
 * The observations among entries, by resource id, in the order of the entries. For those of one branch, pass
 * the entries of its path.
 *
 * @example
 * ```ts
 * const seen = observationsIn(await session.path());
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
 * Why a view fails. `NOT_FOUND`: no such resource. `NOT_REHYDRATABLE`: a link, or bytes of unknown type.
 * `RESOURCE_MISSING`: its bytes are no longer stored. `BLOB_CORRUPT`: they do not match their digest.
 */
export type ViewFailure = "NOT_FOUND" | "NOT_REHYDRATABLE" | "RESOURCE_MISSING" | "BLOB_CORRUPT";

/** The outcome of a view. `parts` are for `toolResult` in both cases. */
export type ResourceViewing =
  | {
      readonly ok: true;
      readonly resource: StoredResource;
      /** The resource, whose bytes are sent in the turn of the tool result. */
      readonly parts: readonly [StoredResource];
      /** To be appended with the tool result. */
      readonly draft: ResourceViewDraft;
    }
  | {
      readonly ok: false;
      readonly code: ViewFailure;
      /** The error for the model, with the id. */
      readonly parts: readonly [string];
      /** Absent if there is no such resource. */
      readonly draft?: ResourceViewDraft;
    };

/** Options of {@link viewResource}. */
export interface ViewResourceOptions {
  /** The store of the bytes. */
  readonly blobs: Pick<BlobStore, "get">;
  /** Free text for the log. */
  readonly reason?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Views a resource for a tool call of a model: finds it, verifies its bytes, and returns the parts of the
 * tool result and the entry to append. A view that fails returns an error text for the model; it does not
 * throw.
 *
 * @param resources a list of resources, or a session, whose whole path is searched, before a compaction too
 * @throws the error of the store, except BLOB_CORRUPT
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
  // The model made up the id, so its length and characters are bounded.
  const id = String(resourceId)
    .replace(/[^\w-]/g, "_")
    .slice(0, 40);
  const parts = [`[${code} ${id}: ${failures[code]}]`] as const;
  return draft === undefined ? { ok: false, code, parts } : { ok: false, code, parts, draft };
}

/** A JSON schema of an object, as the tools of all providers take it. */
export interface ViewToolSchema {
  [member: string]: unknown;
  type: "object";
  properties: Record<string, { type: "string"; description: string }>;
  required: string[];
  additionalProperties: false;
}

/** The declaration of the tool in the shape of each client. */
export type ViewToolShapes = ToolShapes<ViewToolSchema>;

const shapes = toolShapes<ViewToolSchema>();

/** The name of the tool that {@link viewTool} declares. */
export const viewToolName = "view_resource";

/**
 * Declares the tool by which a model views an attachment of an earlier turn, in the shape of a provider's
 * client. Project with `viewTool: true`, and answer its calls with {@link runViewTool}.
 *
 * @throws TypeError for an unknown shape
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
      "Shows an image or a file of this session again, by the id (res_…) that its description or a summary " +
      "names. Use it before you rely on details of one that is only described. Links and files of unknown " +
      "type cannot be shown.",
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

/** The part of a `Session` that {@link runViewTool} needs. */
export interface ViewableSession extends ResourcePath {
  /** Appends the entry of a view after the leaf. */
  append(drafts: readonly ResourceViewDraft[]): Promise<unknown>;
}

/**
 * Answers a call of {@link viewTool}: finds the resource on the session's whole path, appends the view, and
 * returns the tool result. For wrong arguments, or a resource that cannot be shown, the result is an error
 * text.
 *
 * @throws errors of the session's append and of the store, except BLOB_CORRUPT
 * @example
 * ```ts
 * const blobs = memoryBlobStore();
 * for (const call of toolCalls(assistantMessage({ provider: "anthropic", model }, "Let me look."))) {
 *   if (call.name === viewToolName) await session.appendMessage(await runViewTool(session, call, { blobs }));
 * }
 * ```
 */
export async function runViewTool(
  session: ViewableSession,
  call: Pick<ToolCall, "id" | "name" | "arguments">,
  { blobs, signal }: Pick<ViewResourceOptions, "blobs" | "signal">,
): Promise<ToolResultMessage> {
  const { resourceId, reason } = isRecord(call.arguments) ? call.arguments : {};
  const { ok, parts, draft } = await viewResource(typeof resourceId === "string" ? resourceId : "", session, {
    blobs,
    reason: typeof reason === "string" ? reason.slice(0, 500).toWellFormed() : undefined,
    signal,
  });
  if (draft !== undefined) await session.append([draft]);
  return { ...toolResult(call, ...parts), isError: !ok };
}
