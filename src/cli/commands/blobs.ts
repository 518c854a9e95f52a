/** `blobs verify`, `blobs ls`, `blobs gc`: the bytes of attachments, checked and collected. */

import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { type BlobMark, collectGarbage } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { sessionBlobRoots } from "../../session/index.js";
import { fileBlobStore, fileSessionStore } from "../../storage/files/index.js";
import {
  type CommandBody,
  type CommandContext,
  numberOption,
  type OptionSpec,
  type Parsed,
  requiredOption,
} from "../command.js";
import { chunksOfFile } from "../files.js";
import { bytesText } from "../output.js";

const dayMs = 86_400_000;
const argument = {
  name: "DIR",
  kind: "directory",
  description: "The directory of the blob store: the parent of the folder `blobs`.",
} as const;
const sessionsOption: OptionSpec = {
  name: "sessions",
  value: "DIR",
  description: "The store of all sessions that use the blobs.",
};

/** @throws the error of Node if there is no such directory: an empty store would look sound */
async function readStore({ positionals: [name = ""] }: Parsed, { cwd }: CommandContext) {
  const dir = resolve(cwd, name);
  await readdir(dir);
  return fileBlobStore({ dir });
}

/** The references of every session of a store; incomplete for one that is damaged or unreadable. */
async function* rootsByDir(dir: string, { signal, out }: CommandContext): AsyncGenerator<BlobMark> {
  await readdir(dir);
  const store = fileSessionStore({ dir });
  const skipped: BlobMark[] = [];
  const stop = store.on("skipped", ({ location, error }) =>
    skipped.push({ root: location, refs: [], complete: false, reason: error.message }),
  );
  try {
    for await (const partition of store.partitions()) {
      for await (const { location = "" } of store.list({ partition, signal })) {
        out.progress(() => `references of ${location}`);
        yield sessionBlobRoots(location, chunksOfFile(location, signal));
      }
    }
  } finally {
    stop();
  }
  yield* skipped;
}

const blobsList: CommandBody = {
  description: ["With `--sessions` each blob has the number of sessions that refer to it; 0 is garbage."],
  arguments: [argument],
  options: [sessionsOption],
  examples: [
    { line: "sessile blobs ls .sessile --sessions .sessile/sessions", does: "blobs with their references" },
  ],
  async run(parsed, context) {
    const { out, signal } = context;
    const counts = new Map<BlobRef, number>();
    const isCounted = parsed.options.sessions !== undefined;
    if (isCounted) {
      const dir = resolve(context.cwd, requiredOption(parsed, "sessions"));
      for await (const { refs } of rootsByDir(dir, context))
        for (const ref of new Set(refs)) counts.set(ref, (counts.get(ref) ?? 0) + 1);
    }
    for await (const { ref, size, touchedAt } of (await readStore(parsed, context)).list({ signal })) {
      const touched = new Date(touchedAt).toISOString();
      const sessions = isCounted ? { sessions: counts.get(ref) ?? 0 } : {};
      if (out.json) await out.value({ ref, size, touched, ...sessions });
      else
        await out.line(
          `${ref}  ${bytesText(size).padStart(8)}  ${touched.slice(0, 16)}${isCounted ? `  ${counts.get(ref) ?? 0} sessions` : ""}`,
        );
    }
    return 0;
  },
};

const blobsVerify: CommandBody = {
  description: [
    "Reads and hashes every blob; a rotten one goes to quarantine, so that a put of its bytes heals it. With `--sessions` it also finds references without a blob, and blobs without a",
    "reference.",
  ],
  finds: "if a blob is rotten or missing, or a session cannot be read whole",
  arguments: [argument],
  options: [sessionsOption],
  examples: [
    {
      line: "sessile blobs verify .sessile --sessions .sessile/sessions",
      does: "a check of every attachment",
    },
  ],
  async run(parsed, context) {
    const { out, signal } = context;
    const store = await readStore(parsed, context);
    const sizes = new Map<BlobRef, number>();
    for await (const { ref, size } of store.list({ signal })) sizes.set(ref, size);
    const { corrupt } = await store.verify({ signal });
    const rotten = corrupt.map(({ ref }) => ref);
    const missing = new Set<BlobRef>();
    const orphaned = new Set(sizes.keys());
    const incomplete: { readonly root: string; readonly reason?: string | undefined }[] = [];
    const isCounted = parsed.options.sessions !== undefined;
    if (isCounted) {
      const dir = resolve(context.cwd, requiredOption(parsed, "sessions"));
      for await (const { root, refs, complete, reason } of rootsByDir(dir, context)) {
        if (!complete) incomplete.push({ root, reason });
        for (const ref of refs) {
          if (!sizes.has(ref)) missing.add(ref);
          orphaned.delete(ref);
        }
      }
    }
    const sum = (refs: Iterable<BlobRef>) =>
      [...refs].reduce((bytes, ref) => bytes + (sizes.get(ref) ?? 0), 0);
    const result = {
      blobs: sizes.size,
      bytes: sum(sizes.keys()),
      rotten,
      ...(isCounted
        ? { missing: [...missing], orphaned: { count: orphaned.size, bytes: sum(orphaned) }, incomplete }
        : {}),
    };
    const isFine = rotten.length === 0 && missing.size === 0 && incomplete.length === 0;
    if (out.json) {
      await out.value(result);
      return isFine ? 0 : 1;
    }
    await out.line(`${result.blobs} blobs, ${bytesText(result.bytes)}`);
    for (const ref of rotten) await out.line(`${out.style("red", "rotten")} ${ref}`);
    for (const ref of missing) await out.line(`${out.style("red", "missing")} ${ref}`);
    for (const { root, reason } of incomplete)
      await out.line(`${out.style("yellow", "incomplete")} ${out.clean(`${root}: ${reason ?? ""}`)}`);
    if (isCounted) await out.line(`${orphaned.size} without a reference, ${bytesText(sum(orphaned))}`);
    return isFine ? 0 : 1;
  },
};

const blobsCollect: CommandBody = {
  description: [
    "Moves blobs without a reference to the trash, and deletes them in a later collection. It refuses if a session",
    "is damaged or unreadable, since its references are unknown.",
  ],
  finds: "if a session refers to a blob that is missing",
  arguments: [argument],
  options: [
    sessionsOption,
    { name: "dry-run", description: "Change nothing, and report." },
    { name: "grace-days", value: "N", description: "Keep what was stored in the last N days. Default: 14." },
  ],
  examples: [
    {
      line: "sessile blobs gc .sessile --sessions .sessile/sessions --dry-run",
      does: "the plan of a collection",
    },
  ],
  async run(parsed, context) {
    const { out, signal } = context;
    const dir = resolve(context.cwd, requiredOption(parsed, "sessions"));
    const days = numberOption(parsed, "grace-days");
    const report = await collectGarbage(await readStore(parsed, context), {
      marks: rootsByDir(dir, context),
      dryRun: parsed.options["dry-run"] === true,
      signal,
      onProgress: ({ blobs }) => out.progress(() => `${blobs} blobs`),
      ...(days === undefined ? {} : { graceMs: days * dayMs }),
    });
    if (out.json) {
      await out.value(report);
      return report.missing.count === 0 ? 0 : 1;
    }
    await out.line(`${report.roots.count} sessions, ${report.roots.refs} references`);
    for (const part of ["kept", "recent", "trashed", "restored", "deleted", "waiting"] as const) {
      const { count, bytes } = report[part];
      await out.line(`${part.padEnd(9)} ${String(count).padStart(8)}  ${bytesText(bytes).padStart(8)}`);
    }
    for (const ref of report.missing.first) await out.line(`${out.style("red", "missing")} ${ref}`);
    if (report.dryRun) out.note("nothing was changed");
    return report.missing.count === 0 ? 0 : 1;
  },
};

export const bodies = {
  "blobs ls": blobsList,
  "blobs verify": blobsVerify,
  "blobs gc": blobsCollect,
};
