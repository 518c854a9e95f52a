import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { lstat, mkdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type Anthropic from "@anthropic-ai/sdk";
import {
  type BlobStore,
  type EntryDraft,
  type Resource,
  type Session,
  type ToolCall,
  type ToolResultMessage,
  toolResult,
} from "sessile";
import { ingest } from "sessile/attachments";
import { sniff } from "sessile/media";

/**
 * The output of a tool: text for the model, and the state of the file for programs such as the file ledger.
 */
export interface ToolOutput {
  readonly text: string;
  /** Resources behind the text, such as an image. */
  readonly resources?: readonly Resource[];
  readonly details?: { readonly contentSha256: string; readonly created?: boolean };
}

/** Runs one tool. Rejects with an Error whose message is for the model too. */
export type Tool = (args: unknown, options: { readonly signal: AbortSignal }) => Promise<ToolOutput>;

/** Tools by name. */
export type Tools = ReadonlyMap<string, Tool>;

/** The declarations of the tools for a model. */
export const toolDeclarations: readonly Anthropic.Tool[] = [
  declared("read", "Reads a file; shows an image.", "path"),
  declared("write", "Writes a file.", "path", "content"),
  declared("edit", "Puts new text in the place of text that a file has once.", "path", "oldText", "newText"),
  declared("move", "Moves a file to where none is yet.", "from", "to"),
  declared("delete", "Deletes a file.", "path"),
];

/** The declaration of a tool whose arguments are all strings. */
export function declared(name: string, description: string, ...texts: readonly string[]): Anthropic.Tool {
  const properties = Object.fromEntries(texts.map((text) => [text, { type: "string" }]));
  return { name, description, input_schema: { type: "object", properties, required: [...texts] } };
}

const maxReadCharacters = 50_000;
/** A larger image would be sent again with every round of a turn. */
const maxImageBytes = 10 * 2 ** 20;

/**
 * Tools on the files of a workspace: a path outside of it is refused. There is no shell: if anyone may write
 * to the agent, a shell is theirs. Images that `read` shows are stored as blobs.
 */
export function fileTools(workspace: string, blobs: Pick<BlobStore, "put">): Tools {
  const pathOf = (args: unknown, name = "path") => confinedPath(workspace, stringOf(args, name));
  return new Map<string, Tool>([
    [
      "read",
      async (args, { signal }) => {
        const path = await pathOf(args);
        const bytes = await readFile(path);
        const shown = await shownFile(basename(path), bytes, { blobs, signal });
        return { ...shown, details: { contentSha256: sha256(bytes) } };
      },
    ],
    [
      "write",
      async (args) => {
        const text = stringOf(args, "content");
        const path = await pathOf(args);
        const created = !existsSync(path);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, text);
        return {
          text: `wrote ${text.length} characters`,
          details: { contentSha256: sha256(text), created },
        };
      },
    ],
    [
      "edit",
      async (args) => {
        const path = await pathOf(args);
        const [oldText, newText] = [stringOf(args, "oldText"), stringOf(args, "newText")];
        const parts = (await readFile(path, "utf8")).split(oldText);
        // An edit that matches twice could change a place that the model did not mean.
        if (parts.length !== 2) throw new Error(`oldText is there ${parts.length - 1} times, expected once`);
        const text = parts.join(newText);
        await writeFile(path, text);
        return { text: "edited", details: { contentSha256: sha256(text) } };
      },
    ],
    [
      "move",
      async (args) => {
        const [from, to] = [await pathOf(args, "from"), await pathOf(args, "to")];
        if (existsSync(to)) throw new Error(`${stringOf(args, "to")} is there already`);
        const bytes = await readFile(from);
        await mkdir(dirname(to), { recursive: true });
        await rename(from, to);
        return { text: "moved", details: { contentSha256: sha256(bytes) } };
      },
    ],
    [
      "delete",
      async (args) => {
        await rm(await pathOf(args));
        return { text: "deleted" };
      },
    ],
  ]);
}

/** A file for a model: text, an image, or a description of other bytes. */
async function shownFile(
  name: string,
  bytes: Uint8Array,
  options: { readonly blobs: Pick<BlobStore, "put">; readonly signal: AbortSignal },
): Promise<Pick<ToolOutput, "text" | "resources">> {
  const media = sniff(bytes);
  if (media?.kind === "text") {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    const left = text.length - maxReadCharacters;
    return { text: left > 0 ? `${text.slice(0, maxReadCharacters)}\n[${left} more characters]` : text };
  }
  const size = `${bytes.length} bytes`;
  if (media?.kind === "image") {
    const { mediaType, width, height } = media;
    const facts = `${name}: ${mediaType}, ${width} x ${height} pixels, ${size}`;
    if (bytes.length > maxImageBytes) return { text: `[${facts}: too large to be shown]` };
    const image = await ingest({ bytes, name }, { ...options, source: "tool" });
    return { text: facts, resources: [image] };
  }
  if (media?.kind === "invalid") {
    return {
      text: `[${name}: ${size} that begin as ${media.mediaType} and are none: ${media.reason}. Not shown]`,
    };
  }
  const kind = media === undefined ? "no UTF-8 text and no known image" : media.mediaType;
  return { text: `[${name}: ${size}, ${kind}. A binary file is not shown]` };
}

function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Runs the tool that a call names. A failure is a result too, which the model sees. */
export async function runTool(
  tools: Tools,
  call: ToolCall,
  options: { readonly signal: AbortSignal },
): Promise<ToolResultMessage> {
  try {
    const tool = tools.get(call.name);
    if (tool === undefined) throw new Error(`there is no tool ${call.name}`);
    const { text, resources = [], details } = await tool(call.arguments, options);
    const result = toolResult(call, text || "(no output)", ...resources);
    return { ...result, ...(details === undefined ? {} : { details }) };
  } catch (error) {
    return failedResult(call, error instanceof Error ? error.message : String(error));
  }
}

/** The result of a call that did not succeed. */
export function failedResult(call: ToolCall, text: string): ToolResultMessage {
  return { ...toolResult(call, text), isError: true };
}

/**
 * Gives every call without a result one that tells of the interruption. A process that died left such calls.
 * They are not run again, because their effects are unknown.
 */
export async function closeOpenCalls(session: Session): Promise<void> {
  const states = await session.toolStates();
  const open = states.filter((one) => one.resultEntryId === undefined && one.state !== "error");
  if (open.length === 0) return;
  const drafts = open.map(({ call, state }): EntryDraft => {
    const progress = state === "running" ? "how far it came is unknown" : "it was not begun";
    return { type: "message", message: failedResult(call, `Interrupted: ${progress}.`) };
  });
  await session.append(drafts);
}

/** A string argument of a call. The arguments come from a model and may be any value. */
export function stringOf(args: unknown, name: string): string {
  const value = (args as Record<string, unknown> | null | undefined)?.[name];
  if (typeof value !== "string") throw new Error(`${name}: expected a string`);
  return value;
}

/**
 * Resolves a model's path to a real path in the workspace; the file need not exist. `..`, absolute paths and
 * symbolic links are allowed as long as they stay inside.
 *
 * The check and the use are not atomic: a program that replaces a directory by a link in between can escape.
 * To run such programs in the workspace, use a container.
 *
 * @throws Error for a path outside; the message is for the model
 */
export async function confinedPath(workspace: string, path: string): Promise<string> {
  const root = await realpath(workspace);
  const real = await realTarget(resolve(root, path));
  if (real === undefined || !isInside(root, real)) throw new Error(`${path} is outside the workspace`);
  return real;
}

/** Follows the links of a path as far as it exists; undefined for a dangling link. */
async function realTarget(target: string): Promise<string | undefined> {
  let existing = target;
  const missing: string[] = [];
  while (!(await isThere(existing))) {
    missing.unshift(basename(existing));
    existing = dirname(existing);
  }
  // A dangling link exists itself, and a write to it would create its target.
  const real = await realpath(existing).catch(() => undefined);
  return real === undefined ? undefined : join(real, ...missing);
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
