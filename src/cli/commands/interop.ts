/** `import`, `export`, `convert`: sessions from and to other agents, with the report of losses. */

import { rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import {
  commonSecrets,
  type ExportableSession,
  type ExportSource,
  exportSession,
  type InteropReport,
  redactSession,
  secretRedaction,
} from "../../agents/index.js";
import { agents, dataSets, writers } from "../../agents/internal.js";
import type { Session } from "../../session/index.js";
import { fileBlobStore, fileSessionStore } from "../../storage/files/index.js";
import {
  type CommandBody,
  type CommandContext,
  type ExitCode,
  type OptionSpec,
  type Parsed,
  requiredOption,
  textOption,
  UsageError,
} from "../command.js";
import { writeNewFile } from "../files.js";
import { lossCodes, type OpenedSession, readOwn } from "../named-session.js";
import { type Output, table } from "../output.js";
import { adoptImport, locate, openNamed, sourceOptions } from "../sources.js";
import { sessionId } from "./show.js";

const importCommand: CommandBody = {
  description: [
    "The agent's files stay as they are. Their bytes become blobs, so that `export` can give them back.",
    "A second import adds the entries that are new.",
  ],
  finds: "if records are lost or refer to lost ones",
  arguments: [{ name: "S", kind: "session", description: "The session of another agent." }],
  options: [
    ...sourceOptions.filter(({ name }) => name === "agent"),
    { name: "to", value: "DIR", description: "The store of sessions." },
    { name: "blobs", value: "DIR", description: "The blob store. Default: the parent of the store." },
  ],
  examples: [
    { line: "sessile import latest --agent codex --to .sessile/sessions", does: "Codex's newest session" },
  ],
  async run(parsed, context) {
    const { out, cwd } = context;
    const dir = resolve(cwd, requiredOption(parsed, "to"));
    const { read, agent, path, modified } = await locate(parsed.positionals[0] ?? "", parsed, context);
    if (read === undefined) {
      // A file that is no session has an error of its own.
      await readOwn(path, context);
      throw new UsageError(`import: expected a session of another agent, got ${agent}'s`);
    }
    const blobs = fileBlobStore({ dir: resolve(cwd, textOption(parsed, "blobs") ?? dirname(dir)) });
    const imported = await read({ blobs, keep: "blob" });
    context.signal.throwIfAborted();
    const store = fileSessionStore({ dir, blobs });
    const paths = await adoptImport(store, imported, modified === undefined ? 0 : Date.parse(modified));
    const { report } = imported;
    if (out.json) await out.value({ id: imported.header.id, paths, report });
    else {
      await out.line(...paths.map((path) => out.clean(path)));
      await printReport(report, out);
    }
    return hasLosses({ damaged: 0, report }) ? 1 : 0;
  },
};

/** Agents whose sessions name a provider of their configuration. */
const withProviders = agents
  .filter(({ hasProviders }) => hasProviders === true)
  .map(({ name }): string => name);

const exporters = { ...writers, ...dataSets };

const exportOptions: readonly OptionSpec[] = [
  ...sourceOptions,
  {
    name: "to",
    value: "AGENT",
    choices: Object.keys(exporters),
    description: "The agent, or the form of a data set.",
  },
  { name: "output", short: "o", value: "DIR", description: "The directory that gets the agent's files." },
  { name: "at", value: "ID", isRare: true, description: "The leaf of the result. Default: the leaf." },
  { name: "cwd", value: "DIR", description: "The project's directory in the result." },
  {
    name: "model",
    value: "NAME",
    isRare: true,
    description: "The model of replies of other makers in the result.",
  },
  {
    name: "provider",
    isRare: true,
    value: "NAME",
    description: `The provider in the configuration of ${withProviders.join(" or ")}. Default: that of the replies.`,
  },
  { name: "redact", description: "Without attachments and secrets of known forms, as `redact`." },
];

const exportCommand: CommandBody = {
  description: [
    "The files have their places below the agent's home. For the agent that it came from a session is written",
    "with its original bytes. Nothing is overwritten. The report has a line for each kind of finding; `--json` has all.",
  ],
  finds: "if bytes of an attachment are gone, or records of the session are lost",
  arguments: [{ name: "S", kind: "session", description: "The session." }],
  options: exportOptions,
  examples: [
    { line: "sessile export latest --to claude-code -o home", does: "files, and the command that resumes" },
  ],
  run: runExport,
};

const convert: CommandBody = {
  ...exportCommand,
  description: ["An import into memory and an `export`: no store keeps the session."],
  arguments: [{ name: "S", kind: "session", description: "The file, or another name of a session." }],
  examples: [
    {
      line: "sessile convert rollout.jsonl --to claude-code -o home",
      does: "Codex's session for Claude Code",
    },
  ],
};

async function runExport(parsed: Parsed, context: CommandContext): Promise<ExitCode> {
  const { out, cwd, signal } = context;
  const to = await exporters[requiredOption(parsed, "to") as keyof typeof exporters]();
  const dir = resolve(cwd, requiredOption(parsed, "output"));
  const [model, provider] = [textOption(parsed, "model"), textOption(parsed, "provider")];
  if (provider !== undefined && !withProviders.includes(to.name))
    throw new UsageError(`--provider: expected --to ${withProviders.join(" or ")}, got ${to.name}`);
  const opened = await openNamed(parsed.positionals[0] ?? "", parsed, context, { hasOriginal: true });
  try {
    const { session, children, blobs, damaged } = opened;
    const at = textOption(parsed, "at");
    const project = textOption(parsed, "cwd");
    const paths: string[] = [];
    const isRedacted = parsed.options.redact === true;
    const rules = secretRedaction([...commonSecrets, "home-directory"]);
    const redacted = async (each: Session) => redactSession(await wholeSession(each), rules);
    const subagents: ExportSource[] = [];
    for (const each of children) subagents.push(isRedacted ? await redacted(each) : each);
    const source = isRedacted ? await redacted(session) : session;
    const { resume, report } = await exportSession(source, {
      to,
      async write({ path, bytes }) {
        const place = join(dir, ...path.split("/"));
        await writeNewFile(place, bytes, signal);
        paths.push(place);
      },
      children: subagents,
      now: () => context.now(),
      ...(blobs && !isRedacted && { blobs }),
      ...(at === undefined ? {} : { leafId: await sessionId(session, at) }),
      ...(project === undefined ? {} : { cwd: resolve(cwd, project) }),
      ...(model === undefined ? {} : { modelFor: () => model }),
      ...(provider === undefined ? {} : { provider }),
    }).catch(async (error: unknown) => {
      for (const path of paths) await rm(path, { force: true });
      throw error;
    });
    const isLossy = !report.exact && hasLosses(opened);
    if (out.json) await out.value({ files: paths, resume, report, ...(damaged > 0 && { damaged }) });
    else {
      await out.line(...paths.map((path) => out.clean(path)));
      if (resume.length > 0) await out.line(`resume with: ${out.clean(resume.join(" "))}`);
      await printReport(report, out, isLossy);
    }
    return isLossy || report.findings.some(({ code }) => code === "missing") ? 1 : 0;
  } finally {
    await opened.close();
  }
}

/** Whether records of a session are lost, of which other notes tell. */
export function hasLosses({ damaged, report }: Pick<OpenedSession, "damaged" | "report">): boolean {
  return damaged > 0 || report?.findings.some(({ code }) => lossCodes.has(code)) === true;
}

/** All entries of a session, which a redaction reads in whole. */
async function wholeSession(session: Session): Promise<ExportableSession> {
  const entries: ExportableSession["entries"][number][] = [];
  for (const { node } of (await session.tree()).walk()) {
    const entry = await session.entry(node.id);
    if (entry !== undefined) entries.push(entry);
  }
  return { header: session.header, entries, leafId: session.leafId };
}

const shownTexts = 3;

/** The findings of one code in a line: a long session has hundreds. JSON has each with its place. */
function kindOfFindings(findings: InteropReport["findings"]): string {
  const counts = new Map<string, number>();
  for (const { text } of findings) counts.set(text, (counts.get(text) ?? 0) + 1);
  const [first] = findings;
  const isOne = findings.length === 1;
  const place = isOne ? [first?.file, first?.line, first?.entryId].filter((part) => part !== undefined) : [];
  const shown = [...counts].slice(0, shownTexts);
  const rest = shown.reduce((left, [, count]) => left - count, findings.length);
  const texts = shown.map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`));
  return `${place.length === 0 ? "" : `${place.join(" ")}: `}${texts.join(", ")}${rest === 0 ? "" : `, and ${rest} more`}`;
}

/** @param isLossy whether the source has losses of its own */
export async function printReport(
  { counts, findings, exact }: InteropReport,
  out: Output,
  isLossy = false,
): Promise<void> {
  const rows = Object.entries(counts).map(([type, { read, mapped, kept }]) => [
    out.clean(type),
    String(read),
    String(mapped),
    String(kept),
  ]);
  const columns = [
    { title: "record" },
    { title: "read", align: "right" },
    { title: "entries", align: "right" },
    { title: "kept as is", align: "right" },
  ] as const;
  if (rows.length > 0) await out.line(...table(columns, rows, out.columns));
  const codes = new Set(findings.map(({ code }) => code));
  for (const code of codes) {
    const words = kindOfFindings(findings.filter((each) => each.code === code));
    await out.line(`${out.style("yellow", code)} ${out.clean(words)}`);
  }
  if (findings.length > 0) return;
  const loss = isLossy ? "no other loss" : "no loss";
  await out.line(out.style("green", exact ? "every byte is kept" : loss));
}

export const bodies = { import: importCommand, export: exportCommand, convert };
