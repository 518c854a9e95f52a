import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { lstat, mkdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { type EntryDraft, type Session, type ToolCall, type ToolResultMessage, toolResult } from "sessile";
import { sniff } from "sessile/media";
import { type Tool, tool } from "sessile/turn";
import { z } from "zod";

/** A schema of an object of texts. */
export const texts = <K extends string>(...names: readonly K[]) =>
  z.object(Object.fromEntries(names.map((name) => [name, z.string()])) as Record<K, z.ZodString>);

const maxReadCharacters = 50_000;
/** A larger image would be sent again with every round of a turn. */
const maxImageBytes = 10 * 2 ** 20;

/**
 * Tools on the files of a workspace: a path outside of it is refused. There is no shell: if anyone may write
 * to the agent, a shell is theirs. The details of a result have the state of the file, as for the file ledger.
 */
export function fileTools(workspace: string): readonly Tool[] {
  return [
    tool({
      name: "read",
      description: "Reads a file; shows an image.",
      parameters: texts("path"),
      run: async ({ path }) => {
        const file = await confinedPath(workspace, path);
        const bytes = await readFile(file);
        return { content: shownFile(basename(file), bytes), details: { contentSha256: sha256(bytes) } };
      },
    }),
    tool({
      name: "write",
      description: "Writes a file.",
      parameters: texts("path", "content"),
      run: async ({ path, content }) => {
        const file = await confinedPath(workspace, path);
        const created = !existsSync(file);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content);
        const details = { contentSha256: sha256(content), created };
        return { content: [`wrote ${content.length} characters`], details };
      },
    }),
    tool({
      name: "edit",
      description: "Puts new text in the place of text that a file has once.",
      parameters: texts("path", "oldText", "newText"),
      run: async ({ path, oldText, newText }) => {
        const file = await confinedPath(workspace, path);
        const parts = (await readFile(file, "utf8")).split(oldText);
        // An edit that matches twice could change a place that the model did not mean.
        if (parts.length !== 2) throw new Error(`oldText is there ${parts.length - 1} times, expected once`);
        const text = parts.join(newText);
        await writeFile(file, text);
        return { content: ["edited"], details: { contentSha256: sha256(text) } };
      },
    }),
    tool({
      name: "move",
      description: "Moves a file to where none is yet.",
      parameters: texts("from", "to"),
      run: async ({ from, to }) => {
        const [source, target] = [await confinedPath(workspace, from), await confinedPath(workspace, to)];
        if (existsSync(target)) throw new Error(`${to} is there already`);
        const bytes = await readFile(source);
        await mkdir(dirname(target), { recursive: true });
        await rename(source, target);
        return { content: ["moved"], details: { contentSha256: sha256(bytes) } };
      },
    }),
    tool({
      name: "delete",
      description: "Deletes a file.",
      parameters: texts("path"),
      run: async ({ path }) => {
        await rm(await confinedPath(workspace, path));
        return "deleted";
      },
    }),
  ];
}

/** A file for a model: text, an image, or a description of other bytes. */
function shownFile(name: string, bytes: Uint8Array) {
  const media = sniff(bytes);
  if (media?.kind === "text") {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    const left = text.length - maxReadCharacters;
    return [left > 0 ? `${text.slice(0, maxReadCharacters)}\n[${left} more characters]` : text];
  }
  const size = `${bytes.length} bytes`;
  if (media?.kind === "image") {
    const { mediaType, width, height } = media;
    const facts = `${name}: ${mediaType}, ${width} x ${height} pixels, ${size}`;
    return bytes.length > maxImageBytes ? [`[${facts}: too large to be shown]`] : [facts, { bytes, name }];
  }
  if (media?.kind === "invalid")
    return [`[${name}: ${size} that begin as ${media.mediaType} and are none: ${media.reason}. Not shown]`];
  const kind = media === undefined ? "no UTF-8 text and no known image" : media.mediaType;
  return [`[${name}: ${size}, ${kind}. A binary file is not shown]`];
}

function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
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
