/** `merge` and `sync`: the union of two copies of a session or a store that have diverged. */

import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { SessileError } from "../../core/errors/index.js";
import { fileBlobStore, fileSessionStore } from "../../storage/files/index.js";
import {
  copySessions,
  type ErasureOptions,
  mergeSessions,
  type SyncReport,
  syncSessions,
} from "../../sync/index.js";
import { type CommandBody, type Parsed, requiredOption, textOption, UsageError } from "../command.js";
import { assertDirectory, assertNewFile, readRegular, replaceFile, writeNewFile } from "../files.js";
import { bytesText } from "../output.js";

const erasuresOption = {
  name: "erasures",
  value: "apply|report",
  description: "Erase what the other copy erased, or only report it. Default: report.",
} as const;

function parsedErasures(parsed: Parsed): ErasureOptions {
  const erasures = textOption(parsed, "erasures") ?? "report";
  if (erasures === "apply" || erasures === "report") return { erasures };
  throw new UsageError(`--erasures: expected apply or report, got ${JSON.stringify(erasures)}`);
}

const merge: CommandBody = {
  description: [
    "The result has the entries of both, each line byte for byte. Of an entry that one copy edited it has the edited",
    "line, which `--base` tells. With `--force` it replaces FILE, so that it serves git as a merge driver:",
    "`sessile merge %A %B --base %O -o %A --force`; git then takes exit code 1 as a conflict.",
  ],
  finds:
    "if both copies edited an entry, or without `--base` if an entry differs; the file has one of the lines",
  arguments: [
    { name: "A", kind: "file", description: "A session file." },
    { name: "B", kind: "file", description: "Another copy of it." },
  ],
  options: [
    { name: "base", value: "FILE", description: "The common ancestor, which tells edited lines." },
    { name: "output", short: "o", value: "FILE", description: "The result." },
    { name: "force", description: "Replace the result if it exists." },
    erasuresOption,
  ],
  examples: [{ line: "sessile merge laptop.jsonl server.jsonl -o both.jsonl", does: "one file with both" }],
  async run(parsed, { out, cwd, signal }) {
    const to = resolve(cwd, requiredOption(parsed, "output"));
    (parsed.options.force === true ? assertDirectory : assertNewFile)("--output", to);
    const read = (path: string) => readRegular(resolve(cwd, path), signal);
    const base = textOption(parsed, "base");
    const [a = "", b = ""] = parsed.positionals;
    const origin = base === undefined ? undefined : await read(base);
    const copies = [await read(a), await read(b)] as const;
    const merged = await mergeSessions(origin, ...copies, parsedErasures(parsed));
    const { bytes, added, differing, conflicts: states } = merged;
    const conflicts = conflictLines(differing, origin, copies);
    await (parsed.options.force === true ? replaceFile : writeNewFile)(to, bytes, signal);
    if (out.json) await out.value({ file: to, bytes: bytes.length, added, differing, conflicts, states });
    else {
      await out.line(`${out.clean(to)}: ${added.a} entries of A alone, ${added.b} of B alone`);
      for (const id of differing) {
        const word = conflicts.includes(id) ? out.style("red", "conflict") : out.style("yellow", "edited");
        await out.line(`${word} ${out.clean(id)}`);
      }
      for (const state of states)
        await out.line(`${out.style("yellow", "both changed")} ${out.clean(JSON.stringify(state))}`);
    }
    return conflicts.length === 0 ? 0 : 1;
  },
};

/** The entries of which neither copy has the line of the base. */
function conflictLines(
  differing: readonly string[],
  base: Uint8Array | undefined,
  copies: readonly Uint8Array[],
): readonly string[] {
  if (base === undefined || differing.length === 0) return differing;
  const wanted = new Set(differing);
  const origin = linesById(base, wanted);
  const lines = copies.map((copy) => linesById(copy, wanted));
  return differing.filter((id) => {
    const line = origin.get(id);
    return line === undefined || lines.every((each) => each.get(id) !== line);
  });
}

/** The first line of each entry that can be read. */
function linesById(bytes: Uint8Array, ids: ReadonlySet<string>): ReadonlyMap<string, string> {
  const lines = new Map<string, string>();
  for (const line of new TextDecoder().decode(bytes).split("\n")) {
    const id = idOfLine(line);
    if (id !== undefined && ids.has(id) && !lines.has(id)) lines.set(id, line);
  }
  return lines;
}

function idOfLine(line: string): string | undefined {
  try {
    const { id } = JSON.parse(line);
    return typeof id === "string" ? id : undefined;
  } catch {
    return undefined;
  }
}

const sync: CommandBody = {
  description: [
    "Nothing is deleted. Blobs are taken from the parents of the directories, if one of them has the folder",
    "`blobs`.",
  ],
  finds: "if a session was skipped, a blob is lost, or entries differ",
  arguments: [
    { name: "A", kind: "directory", description: "A store of sessions." },
    { name: "B", kind: "directory", description: "Another one." },
  ],
  options: [{ name: "one-way", description: "Only from A to B, byte for byte." }, erasuresOption],
  examples: [{ line: "sessile sync .sessile/sessions /backup/sessions --one-way", does: "a backup" }],
  async run(parsed, { out, cwd, signal }) {
    const [a = "", b = ""] = parsed.positionals.map((dir) => resolve(cwd, dir));
    if (!existsSync(a))
      throw new SessileError("SESSION_NOT_FOUND", `there is no directory ${SessileError.printable(a)}`, {
        details: { id: a },
      });
    if (a === b) throw new UsageError("sync: expected two stores, got one twice");
    const hasBlobs = [a, b].some((dir) => existsSync(join(dirname(dir), "blobs")));
    const blobs = { from: fileBlobStore({ dir: dirname(a) }), to: fileBlobStore({ dir: dirname(b) }) };
    const options = { signal, ...(hasBlobs ? { blobs: () => blobs } : {}) };
    const [from, to] = [fileSessionStore({ dir: a }), fileSessionStore({ dir: b })];
    const isOneWay = parsed.options["one-way"] === true;
    const report = isOneWay
      ? await copySessions(from, to, options)
      : await syncSessions(from, to, { ...options, ...parsedErasures(parsed) });
    const {
      differing = [],
      collisions = [],
      conflicts = [],
      pendingErasures = [],
      erased = [],
    } = report as Partial<SyncReport>;
    const { sessions, changed, entries, bytes, blobs: moved, skipped } = report;
    if (out.json) {
      const causes = skipped.map(({ error, ...session }) => ({ ...session, code: error.code }));
      await out.value({ ...report, skipped: causes });
    } else {
      await out.line(`${sessions} sessions, ${changed} changed: ${entries} entries, ${bytesText(bytes)}`);
      if (moved.count > 0) await out.line(`${moved.count} blobs, ${bytesText(moved.bytes)}`);
      for (const ref of moved.lost) await out.line(`${out.style("red", "lost")} ${ref}`);
      for (const { id, location, error } of skipped)
        await out.line(
          `${out.style("yellow", "skipped")} ${out.clean(`${id ?? location ?? ""}: ${error.message}`)}`,
        );
      for (const entry of pendingErasures)
        await out.line(`${out.style("yellow", "to erase")} ${out.clean(JSON.stringify(entry))}`);
      for (const entry of erased)
        await out.line(`${out.style("yellow", "erased")} ${out.clean(JSON.stringify(entry))}`);
      for (const entry of conflicts)
        await out.line(`${out.style("yellow", "both changed")} ${out.clean(JSON.stringify(entry))}`);
      for (const entry of [...differing, ...collisions])
        await out.line(`${out.style("yellow", "differs")} ${out.clean(JSON.stringify(entry))}`);
    }
    return skipped.length + moved.lost.length + differing.length + collisions.length === 0 ? 0 : 1;
  },
};

export const bodies = { merge, sync };
