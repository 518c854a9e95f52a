/** The source of a viewer's page: a session as it is now, with those of its subagents. */

import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type BlobStore, memoryBlobStore } from "../blobs/index.js";
import { isRecord } from "../internal/shape.js";
import type { ParsedSession } from "../session/index.js";
import type { ViewerSource } from "../viewer/internal.js";
import type { CommandContext, Parsed } from "./command.js";
import { readOwn } from "./damage.js";
import { blobStoreOf, type NamedSession } from "./sources.js";

export interface Viewed {
  readonly source: ViewerSource;
  readonly blobs: BlobStore | undefined;
  /** The files that were read, if all of them are this library's own. */
  readonly files?: readonly string[];
  /** Whether a subagent has a file that is not among those of the session. */
  readonly lacksChildren: boolean;
}

/** Reads a session in full. */
export async function readViewed(
  { path, read }: NamedSession,
  parsed: Parsed,
  context: CommandContext,
): Promise<Viewed> {
  if (read === undefined) {
    const { source, files } = await readFamily(path, context);
    return { source, files, blobs: blobStoreOf(path, parsed, context), lacksChildren: false };
  }
  const blobs = memoryBlobStore();
  const source = await read({ blobs, keep: "none" });
  const lacksChildren = source.report.findings.some(({ code }) => code === "missingChild");
  return { source, blobs, lacksChildren };
}

/** A session's file, and the files beside it of the subagents that its calls started, and of theirs. */
async function readFamily(
  path: string,
  context: CommandContext,
): Promise<{ readonly source: ViewerSource; readonly files: readonly string[] }> {
  const main = await readOwn(path, context);
  const children: ParsedSession[] = [];
  const files = [path];
  const ids = new Set(startedIds(main));
  const beside = ids.size === 0 ? [] : await readdir(dirname(path));
  // Iteration over a set includes members added meanwhile, and visits a cycle once.
  for (const id of ids) {
    const name = beside.find((each) => each === `${id}.jsonl` || each.endsWith(`_${id}.jsonl`));
    if (id === main.header?.id) continue;
    if (name === undefined) {
      // Changes when the file comes.
      if (!files.includes(dirname(path))) files.push(dirname(path));
      continue;
    }
    const file = join(dirname(path), name);
    const child = await readOwn(file, context).catch((error: unknown) => {
      context.signal.throwIfAborted();
      context.out.skip(file, error);
    });
    if (child?.header?.id !== id) continue;
    children.push(child);
    files.push(file);
    for (const more of startedIds(child)) ids.add(more);
  }
  return { source: { ...main, children }, files };
}

function startedIds({ entries }: ParsedSession): readonly string[] {
  return entries.flatMap((entry) => {
    if (entry.type !== "custom" || entry.customType !== "sessile.subagent") return [];
    const id = isRecord(entry.data) ? entry.data.sessionId : undefined;
    return typeof id === "string" && id !== "" ? [id] : [];
  });
}
