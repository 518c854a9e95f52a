/** `redact`: a copy of a session to share. */

import { mkdtemp, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { crc32 } from "node:zlib";
import {
  commonSecrets,
  type ImportedSession,
  type SecretRedaction,
  secretRedaction,
} from "../../agents/index.js";
import { sessionRedactor } from "../../agents/internal.js";
import { memoryBlobStore } from "../../blobs/index.js";
import { encodeValidLine } from "../../log/internal.js";
import type { Session, SessionEntry, UnknownEntry } from "../../session/index.js";
import { readSlice, treeRows } from "../../session/internal.js";
import { fileSessionStore } from "../../storage/files/index.js";
import { type CommandBody, type Parsed, requiredOption, textOptions, UsageError } from "../command.js";
import { assertNewFile, chunksOfFile, writeNewFile } from "../files.js";
import { readHint } from "../help.js";
import { damagedRecords } from "../named-session.js";
import { locate, sourceOptions } from "../sources.js";

const home = "home-directory";
const ruleNames = [...commonSecrets.map(({ name }) => name), home];

const redact: CommandBody = {
  description: [
    "Replaces credentials of known forms, names of users in paths of homes, and attachments. The report counts",
    "what was replaced, and never shows it. Without `--rule` all rules are used. No rule finds a password in a",
    "sentence: read the copy before you share it.",
  ],
  arguments: [{ name: "S", kind: "session", description: "The session." }],
  options: [
    ...sourceOptions.filter(({ name }) => name !== "blobs"),
    { name: "to", value: "FILE", description: "The new file, which must not exist." },
    {
      name: "rule",
      value: "RULE",
      multiple: true,
      offers: ruleNames,
      description: "A rule by name, or a regular expression as /…/. In place of all rules if it names one.",
    },
  ],
  examples: [
    { line: "sessile redact latest --to shared.jsonl", does: "a copy by all rules" },
    {
      line: "sessile redact latest --to shared.jsonl --rule '/ACME-\\d{6}/'",
      does: "and a form of your own",
    },
  ],
  async run(parsed, context) {
    const { out, cwd } = context;
    const to = resolve(cwd, requiredOption(parsed, "to"));
    assertNewFile("--to", to);
    const rules = secretRedaction(parsedRules(parsed));
    const { open, read } = await locate(parsed.positionals[0] ?? "", parsed, context);
    const source = read === undefined ? await open() : await read({ blobs: memoryBlobStore(), keep: "none" });
    try {
      const whole = "session" in source ? await storedSession(source.session) : importedSession(source);
      await writeCopy(whole, rules, to, context.signal);
    } finally {
      if ("session" in source) await source.close();
    }
    const counts = redactionCounts(rules);
    const damaged = "session" in source ? source.damaged : damagedRecords(source.report);
    if (out.json) await out.value({ file: to, replaced: counts, ...(damaged > 0 && { damaged }) });
    else {
      await out.line(out.clean(to));
      for (const [name, count] of Object.entries(counts))
        await out.line(`${String(count).padStart(8)}  ${name}`);
      if (Object.keys(counts).length === 0) await out.line("no secret of a known form");
    }
    return 0;
  },
};

const redactionCounts = ({ counts }: SecretRedaction) =>
  Object.fromEntries(Object.entries(counts).sort(([, a], [, b]) => b - a));

/** @throws UsageError for an unknown name or an invalid expression */
function parsedRules(parsed: Parsed): readonly (RegExp | string | (typeof commonSecrets)[number])[] {
  const given = textOptions(parsed, "rule").map((rule) => {
    if (ruleNames.includes(rule)) return rule;
    const end = rule.lastIndexOf("/");
    const flags = rule.slice(end + 1);
    if (!rule.startsWith("/") || end < 2 || /[^a-z]/.test(flags)) {
      const hint = readHint(rule, ruleNames);
      throw new UsageError(
        `--rule: there is no rule ${JSON.stringify(rule)}${hint} An expression is written /…/`,
      );
    }
    try {
      return new RegExp(rule.slice(1, end), flags.includes("g") ? flags : `${flags}g`);
    } catch (error) {
      throw new UsageError(`--rule: ${(error as Error).message}`);
    }
  });
  // An expression is an additional rule; a name selects a known one.
  return given.some((rule) => typeof rule === "string") ? given : [...commonSecrets, home, ...given];
}

/** A session whose entries are read one after the other. */
interface SourceSession extends Pick<Session, "header" | "leafId"> {
  readonly ids: readonly string[];
  /** In the order of the file. */
  entries(): AsyncIterable<SessionEntry | UnknownEntry> | Iterable<SessionEntry>;
}

function importedSession({ header, leafId, entries }: ImportedSession): SourceSession {
  return { header, leafId, ids: entries.map(({ id }) => id), entries: () => entries };
}

/** A session that may be longer than the memory. */
async function storedSession(session: Session): Promise<SourceSession> {
  const table = treeRows(await session.tree());
  const ids = Array.from({ length: table.size }, (_, row) => table.id(row));
  async function* entries() {
    for (let at = 0; at < ids.length; ) {
      const slice = await readSlice(session, ids, at);
      for (const entry of slice.entries) if (entry !== undefined) yield entry;
      at = slice.end;
    }
  }
  const { header, leafId } = session;
  return { header, leafId, ids, entries };
}

/** Writes the redacted lines. A store of its own makes the header. */
async function writeCopy(
  source: SourceSession,
  rules: SecretRedaction,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const redactor = sessionRedactor(new Set(source.ids), rules);
  const dir = await mkdtemp(join(dirname(to), `.${basename(to)}-`));
  try {
    const header = redactor.header(source.header);
    const empty = await fileSessionStore({ dir }).adopt({ header, entries: [], leafId: null });
    await empty.close();
    async function* lines() {
      yield* chunksOfFile(empty.location ?? "", signal);
      let leaf: string | null = null;
      for await (const stored of source.entries()) {
        const entry = redactor.entry(stored);
        leaf = entry.type === "leaf" ? entry.targetId : entry.id;
        yield encodeValidLine(entry, true, crc32);
      }
      const { leafId: targetId } = source;
      if (leaf === targetId) return;
      const timestamp = new Date().toISOString();
      const entry = {
        type: "leaf",
        id: crypto.randomUUID(),
        parentId: targetId,
        timestamp,
        targetId,
      } as const;
      yield encodeValidLine(entry, true, crc32);
    }
    await writeNewFile(to, lines(), signal);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

export const bodies = { redact };
