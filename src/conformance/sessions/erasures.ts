/** Erasures of entries. */

import { encodeUtf8 } from "../../core/bytes.js";
import type { LineReplacement, LogBatch, LogPosition, Session, SessionLog } from "../../session/index.js";
import { equal, rejects } from "../expect.js";
import {
  type ConformanceCase,
  collect,
  conformanceCase,
  cwd,
  type Harness,
  say,
  textsInContext,
} from "./harness.js";

const secret = "e7a5ed-c4nary";

/** A case for backends that can erase; others skip it. */
function erasureCase(name: string, run: (harness: Harness) => Promise<void>): ConformanceCase {
  return conformanceCase(name, async (harness) => {
    const { backend } = await harness.store();
    const { log } = await backend.create({
      id: "probe",
      partition: "",
      cwd,
      timestamp: new Date().toISOString(),
    });
    const canErase = log.erase !== undefined;
    await log.close();
    if (!canErase) return { skipped: "this backend cannot erase" };
    await run(harness);
    return undefined;
  });
}

/** Opens the log of a session, and closes it after use. */
async function withLog<T>(harness: Harness, id: string, use: (log: SessionLog) => Promise<T>): Promise<T> {
  const { backend } = await harness.store();
  const log = await backend.open(id, { partition: "", mode: "write" });
  if (log === undefined) throw new Error(`there is no session ${id}`);
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

function linesIn({ lines, at }: LogBatch): readonly Uint8Array[] {
  if (!("bounds" in lines)) return lines;
  const { bytes, bounds } = lines;
  return at.map((_, index) => bytes.subarray(bounds[2 * index], bounds[2 * index + 1]));
}

/** The lines of these entries without their texts, and the end of the log. */
async function logChanges(
  log: SessionLog,
  ids: readonly string[],
): Promise<{ readonly changes: readonly LineReplacement[]; readonly position: LogPosition }> {
  const changes: LineReplacement[] = [];
  let position: LogPosition | undefined;
  for await (const batch of log.read(undefined)) {
    position = batch.next;
    for (const [index, line] of linesIn(batch).entries()) {
      const entry = JSON.parse(new TextDecoder().decode(line));
      if (!ids.includes(entry.id)) continue;
      const { crc: _crc, title: _title, ...rest } = entry;
      if (rest.message !== undefined) rest.message = { ...rest.message, content: "[erased]" };
      const at = batch.at[index] as number;
      changes.push({ at, length: line.length, line: encodeUtf8(`${JSON.stringify(rest)}\n`) });
    }
  }
  return { changes, position: position as LogPosition };
}

async function erase(harness: Harness, id: string, entryIds: readonly string[]): Promise<void> {
  await withLog(harness, id, async (log) => {
    const { changes, position } = await logChanges(log, entryIds);
    await log.erase?.(changes, position);
  });
}

async function secretsIn(session: Session): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { node } of (await session.tree()).walk()) {
    const line = new TextDecoder().decode(await session.raw(node.id));
    if (line.includes(secret)) found.push(node.id);
  }
  return found;
}

/** Fails if the storage has the bytes of the secret. */
async function hasNoSecret({ fixture }: Harness, what: string): Promise<void> {
  if (fixture.contents === undefined) return;
  const bytes = encodeUtf8(secret);
  for await (const chunk of fixture.contents()) {
    let at = chunk.indexOf(bytes[0] as number);
    for (; at >= 0; at = chunk.indexOf(bytes[0] as number, at + 1))
      if (bytes.every((byte, index) => chunk[at + index] === byte)) equal("a copy", "no copy", what);
  }
}

export const erasureCases = [
  erasureCase("an erased body is gone, and all else is as it was", async (harness) => {
    const session = await harness.start({ id: "erased" });
    await session.append([
      say(`first ${secret}`, "e0000001"),
      say("between", "e0000002"),
      say(`second ${secret}`, "e0000003"),
      say("last", "e0000004"),
    ]);
    const kept = ["e0000002", "e0000004"];
    const lines = await Promise.all(kept.map((id) => session.raw(id)));
    await erase(harness, "erased", ["e0000001", "e0000003"]);
    const back = await harness.open("erased", "read");
    equal(
      await textsInContext(back),
      ["start", "[erased]", "between", "[erased]", "last"],
      "texts in the context",
    );
    equal(back.diagnostics, [], "diagnostics");
    equal(await secretsIn(back), [], "entries that still have the text");
    equal(await Promise.all(kept.map((id) => back.raw(id))), lines, "lines of the others");
    equal(
      [...(await back.tree()).walk()].map(({ node }) => node),
      [...(await session.tree()).walk()].map(({ node }) => node),
      "the tree",
    );
    await hasNoSecret(harness, "the erased text in the storage");
  }),

  erasureCase("a handle from before an erasure is told, and reads again", async (harness) => {
    const session = await harness.start({ id: "erased" });
    await session.append([say(secret, "e0000001")]);
    const reader = await harness.open("erased", "read");
    await reader.context();
    await erase(harness, "erased", ["e0000001"]);
    await rejects(() => session.append([say("next")]), "CONCURRENT_WRITER", "the first append after it");
    await session.append([say("next")]);
    await reader.refresh();
    const expected = ["start", "[erased]", "next"];
    equal(await textsInContext(session), expected, "texts of the writer");
    equal(await textsInContext(reader), expected, "texts of the reader");
    equal(await textsInContext(await harness.open("erased", "read")), expected, "texts read back");
  }),

  erasureCase("an erasure of a log that another writer changed does nothing", async (harness) => {
    const session = await harness.start({ id: "erased" });
    await session.append([say("one", "e0000001")]);
    await withLog(harness, "erased", async (log) => {
      const { changes, position } = await logChanges(log, ["e0000001"]);
      await session.append([say("two", "e0000002")]);
      await rejects(
        () => log.erase?.(changes, position),
        "CONCURRENT_WRITER",
        "an erasure at an older position",
      );
    });
    equal(
      await textsInContext(await harness.open("erased", "read")),
      ["start", "one", "two"],
      "texts read back",
    );
  }),

  erasureCase("a list shows nothing of an erased first message or its title", async (harness) => {
    const session = await harness.create({ id: "erased" });
    await session.append([say(`${secret} begins`, "e0000001"), say("more", "e0000002")]);
    const [info] = await session.append([
      { type: "session_info", title: `About ${secret}`, archivedAt: "2026-01-01T00:00:00.000Z" },
    ]);
    await erase(harness, "erased", ["e0000001", info?.id ?? ""]);
    const [row] = await collect((await harness.store()).list());
    equal(row?.firstMessage, "[erased]", "the first message in the list");
    equal(row?.title, undefined, "the title in the list");
    equal(row?.archivedAt, "2026-01-01T00:00:00.000Z", "the time of archiving");
    const [counted] = await collect((await harness.store()).list({ stats: true }));
    equal(counted?.counts, { entries: 3, messages: 2 }, "counts");
    await hasNoSecret(harness, "the erased text in the storage");
  }),

  erasureCase("after an erasure a session is read, appended to, forked and erased again", async (harness) => {
    const session = await harness.start({ id: "erased" });
    await session.append([say(secret, "e0000001"), say("kept", "e0000002")]);
    await erase(harness, "erased", ["e0000001"]);
    const writer = await harness.open("erased");
    await writer.append([say(`again ${secret}`, "e0000003")]);
    const fork = await harness.keep((await harness.store()).fork("erased", { id: "fork", upTo: "e0000002" }));
    equal(await textsInContext(fork), ["start", "[erased]", "kept"], "texts of the fork");
    await erase(harness, "erased", ["e0000003", "e0000001"]);
    const back = await harness.open("erased", "read");
    equal(await textsInContext(back), ["start", "[erased]", "kept", "[erased]"], "texts read back");
    equal(back.diagnostics, [], "diagnostics");
    await hasNoSecret(harness, "the erased text in the storage");
  }),

  erasureCase("search finds nothing of an erased body, and what is beside it as before", async (harness) => {
    const session = await harness.start({ id: "erased" });
    await session.append([say(`a unicorn ${secret}`, "e0000001"), say("a zebra", "e0000002")]);
    const found = async (text: string) => {
      const hits = await collect((await harness.store()).search({ text, branch: "all" }));
      return hits.map(({ entryId }) => entryId);
    };
    equal(await found("unicorn"), ["e0000001"], "entries with the word before");
    await erase(harness, "erased", ["e0000001"]);
    equal(await found("unicorn"), [], "entries with the word after the erasure");
    equal(await found("zebra"), ["e0000002"], "entries with another word");
    await (await harness.open("erased")).append([say("another zebra", "e0000003")]);
    equal([...(await found("zebra"))].sort(), ["e0000002", "e0000003"], "entries after one more append");
    await hasNoSecret(harness, "the erased text in the storage");
  }),

  erasureCase("an erasure removes the copy that a migration kept", async (harness) => {
    const { fixture } = harness;
    if (fixture.put === undefined) return;
    const message = (content: string) =>
      `{"type":"message","timestamp":"","message":{"role":"user","content":"${content}","timestamp":1}}`;
    const header = `{"type":"session","id":"old","timestamp":"2026-01-01T00:00:00.000Z","cwd":"${cwd}"}`;
    await fixture.put("old", [header, message(secret), message("two")]);
    const migrated = await harness.open("old");
    await migrated.append([say("three")]);
    await erase(harness, "old", ["00000001"]);
    const back = await harness.open("old", "read");
    equal(await textsInContext(back), ["[erased]", "two", "three"], "texts read back");
    await hasNoSecret(harness, "the erased text in the storage");
  }),
];
