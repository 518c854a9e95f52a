/** `diagnose` and `salvage`: whether a file is whole, and a clean copy of a damaged one. */

import { resolve } from "node:path";
import { isOwnAgent } from "../../agents/internal.js";
import { type BlobStore, memoryBlobStore } from "../../blobs/index.js";
import type { BlobRef } from "../../content/index.js";
import { SessileError } from "../../core/errors/index.js";
import {
  type BlobState,
  diagnoseSession,
  type SessionFinding,
  salvageSession,
} from "../../storage/files/index.js";
import {
  type CommandBody,
  type CommandContext,
  type Parsed,
  requiredOption,
  textOption,
} from "../command.js";
import { assertNewFile } from "../files.js";
import { lossCodes, type NamedSession } from "../named-session.js";
import { bytesText, type Output, PipeClosed } from "../output.js";
import { blobStoreByPath, locateAll, locateOwn, sourceOptions } from "../sources.js";

const severityStyles = { error: "red", warning: "yellow", info: "dim" } as const;

const diagnose: CommandBody = {
  description: [
    "Reads every line, and the lock and sidecar files; takes no lock and changes nothing. With a blob store it",
    "reads every attachment too. A session of another agent is imported into memory, which finds lost records.",
  ],
  finds: "if a file is damaged, or not as it was written",
  arguments: [{ name: "S", kind: "session", multiple: true, description: "The sessions." }],
  options: sourceOptions,
  examples: [
    { line: "sessile diagnose session.jsonl", does: "the verdict, and each problem with its offset" },
  ],
  async run(parsed, context) {
    const named = await locateAll(parsed.positionals, parsed, context);
    let found = false;
    for (const each of named) {
      try {
        found = !(await isSound(each, parsed, context)) || found;
      } catch (error) {
        if (named.length === 1 || error instanceof PipeClosed || context.signal.aborted) throw error;
        context.out.skip(each.path, error);
      }
    }
    return found ? 1 : 0;
  },
};

/** Diagnoses one session, and prints its verdict and findings. */
async function isSound(
  { agent, path, read }: NamedSession,
  parsed: Parsed,
  context: CommandContext,
): Promise<boolean> {
  const { out, signal } = context;
  if (read !== undefined && !isOwnAgent(agent)) return isForeignSound({ agent, path, read }, context);
  const blobs = blobStoreByPath(path, parsed, context);
  const state = blobs === undefined ? {} : { blobs: (ref: BlobRef) => blobState(blobs, ref) };
  const diagnosis = await diagnoseSession(path, { ...state, signal });
  const { verdict, summary, size, findings, omitted } = diagnosis;
  if (out.json) await out.value(diagnosis);
  else {
    const style = verdict === "sound" ? "green" : verdict === "usable" ? "yellow" : "red";
    const rest = summary.slice(verdict.length);
    await out.line(`${out.style(style, verdict)}${out.clean(rest)}, ${bytesText(size)}: ${out.clean(path)}`);
    for (const finding of findings) await printFinding(finding, out);
    if (omitted > 0) await out.line(`  and ${omitted} more`);
  }
  return verdict === "sound";
}

/** Prints the findings of an import of another agent's session that are damage. */
async function isForeignSound(
  { agent, path, read }: Required<Pick<NamedSession, "agent" | "path" | "read">>,
  { out }: CommandContext,
): Promise<boolean> {
  const { report } = await read({ blobs: memoryBlobStore(), keep: "none" });
  const findings = report.findings.filter(({ code }) => lossCodes.has(code));
  const verdict = findings.length === 0 ? "sound" : "damaged";
  if (out.json) await out.value({ path, agent, verdict, findings });
  else {
    const style = verdict === "sound" ? "green" : "red";
    await out.line(`${out.style(style, verdict)}, ${agent}: ${out.clean(path)}`);
    for (const { code, file = "", line, text } of findings)
      await out.line(
        `  ${out.style("red", "error")} ${code} ${out.clean(`${file}${line === undefined ? "" : ` line ${line}`}: ${text}`)}`,
      );
  }
  return verdict === "sound";
}

async function blobState(blobs: BlobStore, ref: BlobRef): Promise<BlobState> {
  try {
    return (await blobs.get(ref)) === undefined ? "missing" : "ok";
  } catch (error) {
    if (SessileError.is(error, "BLOB_CORRUPT")) return "corrupt";
    throw error;
  }
}

async function printFinding(finding: SessionFinding, out: Output): Promise<void> {
  const { severity, code, line, offset, message, path } = finding;
  const place =
    line === undefined ? (path === undefined ? "file" : out.clean(path)) : `line ${line}, offset ${offset}`;
  await out.line(
    `  ${out.style(severityStyles[severity], severity)} ${code} ${place}: ${out.clean(message)}`,
  );
}

const salvage: CommandBody = {
  description: [
    "Readable lines are copied byte for byte; placeholders keep the tree in one piece. The damaged file stays.",
  ],
  finds: "if lines are lost",
  arguments: [{ name: "S", kind: "session", description: "The damaged session." }],
  options: [
    ...sourceOptions.filter(({ name }) => name === "dir"),
    { name: "to", value: "FILE", description: "The new file, which must not exist." },
    {
      name: "orphans",
      value: "PLACE",
      choices: ["chain", "root"],
      description: "The place of entries without a parent.",
    },
  ],
  examples: [
    { line: "sessile salvage broken.jsonl --to whole.jsonl", does: "a file that opens for writing" },
  ],
  async run(parsed, context) {
    const { out, signal, cwd } = context;
    const to = resolve(cwd, requiredOption(parsed, "to"));
    assertNewFile("--to", to);
    const path = await locateOwn(parsed.positionals[0] ?? "", parsed, context);
    const orphans = textOption(parsed, "orphans") as "chain" | "root" | undefined;
    const report = await salvageSession(path, {
      to,
      signal,
      ...(orphans === undefined ? {} : { orphans }),
    });
    const isWhole = report.lost.lines === 0;
    if (out.json) {
      await out.value(report);
      return isWhole ? 0 : 1;
    }
    const { kept, lost, losses, placed } = report;
    await out.line(
      `${out.clean(report.to)}: ${kept.lines} lines kept (${bytesText(kept.bytes)}), ${lost.lines} lost (${bytesText(lost.bytes)})`,
    );
    for (const finding of losses) await printFinding(finding, out);
    if (placed > 0) await out.line(`  ${placed} entries have a place though their line or parent is lost`);
    return isWhole ? 0 : 1;
  },
};

export const bodies = { diagnose, salvage };
