/** Adoption: sessions from entries that exist already. */

import { userMessage } from "../../content/index.js";
import { SessileError } from "../../core/errors/index.js";
import type { AdoptableSession, SessionEntry } from "../../session/index.js";
import { equal, refuses, rejects } from "../expect.js";
import { collect, conformanceCase, cwd, textsInContext } from "./harness.js";

const header = { type: "session", id: "adopted", timestamp: "2025-03-04T05:06:07.890Z", cwd } as const;

/** An entry with a time that follows from its number; every seventh time runs backwards. */
function said(number: number, parent: number | null): SessionEntry {
  const timestamp = new Date(
    Date.UTC(2025, 2, 4) + (number % 7 === 0 ? -number : number) * 1000,
  ).toISOString();
  const message = { ...userMessage(`text ${number}`), timestamp: Date.parse(timestamp) };
  return {
    type: "message",
    id: readId(number),
    parentId: parent === null ? null : readId(parent),
    timestamp,
    message,
  };
}

function readId(number: number): string {
  return `a${String(number).padStart(7, "0")}`;
}

/** Two branches, of which the older has the leaf. */
const branched: AdoptableSession = {
  header,
  entries: [said(1, null), said(2, 1), said(3, 2), said(4, 1), said(5, 4)],
  leafId: readId(3),
};

/** A session with one more entry after its leaf, as an import of a file that has grown. */
const grown: AdoptableSession = {
  ...branched,
  entries: [...branched.entries, said(6, 3)],
  leafId: readId(6),
};

export const adoptionCases = [
  conformanceCase("adopt writes entries with their ids, parents and times", async (harness) => {
    const store = await harness.store();
    const created: unknown[] = [];
    store.on("created", (payload) => {
      created.push(payload);
    });
    const session = await harness.keep(store.adopt(branched));
    equal(created, [{ id: "adopted" }], "created events");
    equal([session.id, session.writable], ["adopted", true], "id and writable");
    equal(session.header.timestamp, header.timestamp, "the time in the header");
    const expected = [1, 2, 3, 4, 5].map((number) => branched.entries[number - 1]);
    for (const [at, entry] of expected.entries()) {
      equal(await session.entry(readId(at + 1)), entry, `entry ${at + 1}`);
    }
    const back = await harness.readBack("adopted");
    equal(back.entries.slice(0, 3), expected.slice(0, 3), "entries of another handle");
    equal([back.leafId, back.codes], [readId(3), []], "leaf and diagnostics of another handle");
    equal(await textsInContext(session), ["text 1", "text 2", "text 3"], "context");
    const [row] = await collect(store.list());
    equal([row?.id, row?.created, row?.cwd], ["adopted", header.timestamp, cwd], "the row of a list");
    await session.append([{ type: "message", message: userMessage("on") }]);
    equal((await textsInContext(session)).at(-1), "on", "the last text behind an append");
  }),

  conformanceCase("adopt is all or none", async (harness) => {
    const store = await harness.store();
    const [first, second] = branched.entries as [SessionEntry, SessionEntry];
    const wrong = { ...second, message: { role: "user" } } as unknown as SessionEntry;
    const bad: readonly (readonly [
      string,
      Partial<AdoptableSession>,
      "INVALID_ENTRY" | "DUPLICATE_ID" | "ENTRY_NOT_FOUND",
    ])[] = [
      ["an invalid entry", { entries: [first, wrong], leafId: readId(1) }, "INVALID_ENTRY"],
      ["an id twice", { entries: [first, second, said(1, 2)], leafId: readId(1) }, "DUPLICATE_ID"],
      ["an unknown parent", { entries: [first, said(2, 9)], leafId: readId(1) }, "ENTRY_NOT_FOUND"],
      ["a parent behind its child", { entries: [second, first], leafId: readId(1) }, "ENTRY_NOT_FOUND"],
      ["an unknown leaf", { leafId: readId(9) }, "ENTRY_NOT_FOUND"],
      ["an invalid time", { header: { ...header, timestamp: "../../x" } }, "INVALID_ENTRY"],
    ];
    for (const [what, part, code] of bad) {
      await rejects(() => harness.keep(store.adopt({ ...branched, ...part })), code, `adoption of ${what}`);
    }
    await refuses(
      () => harness.keep(store.adopt({ ...branched, header: { ...header, id: "../adopted" } })),
      "adoption under an id that is no name",
    );
    const details = await rejects(
      () => harness.keep(store.adopt({ ...branched, entries: [first, wrong], leafId: null })),
      "INVALID_ENTRY",
      "adoption of an invalid entry",
    );
    equal(
      String((details as { path?: unknown }).path).includes(readId(2)),
      true,
      "the id of the invalid entry in the error",
    );
    equal(await collect(store.list()), [], "sessions after failed adoptions");
  }),

  conformanceCase("adopt refuses an id that is taken, and adds to it on request", async (harness) => {
    const store = await harness.store();
    await harness.keep(store.adopt(branched));
    const taken = (options?: object) => harness.keep(store.adopt(grown, options));
    await rejects(() => taken(), "SESSION_EXISTS", "a second adoption");
    equal((await harness.readBack("adopted")).ids.length, 6, "entries after a refused adoption");
    const same = await harness.keep(store.adopt(branched, { existing: "append" }));
    equal((await same.tree()).size, 6, "entries after an adoption of what is there");
    const more = await taken({ existing: "append" });
    equal([(await more.tree()).size, more.leafId], [7, readId(6)], "entries and leaf with one more");
    equal(await textsInContext(more), ["text 1", "text 2", "text 3", "text 6"], "context");
    const own = await more.appendMessage(userMessage("here"));
    const last = await harness.keep(
      (await harness.store()).adopt(
        { ...grown, entries: [...grown.entries, said(8, 6)], leafId: readId(8) },
        { existing: "append" },
      ),
    );
    equal(last.leafId, own.id, "the leaf that an append of this session has moved");
    equal((await last.tree()).node(readId(8))?.parentId, readId(6), "the parent of an entry beside it");
    const other = { ...branched, entries: [said(90, null)], leafId: readId(90) };
    await rejects(
      () => harness.keep(store.adopt(other, { existing: "append" })),
      "SESSION_MISMATCH",
      "adoption into another session",
    );
  }),

  conformanceCase(
    "adopt moves the leaf to that of the entries, but not from what was appended here",
    async (harness) => {
      const store = await harness.store();
      const append = (session: AdoptableSession) =>
        harness.keep(store.adopt(session, { existing: "append" }));
      await append(branched);
      const moved = await append({ ...branched, leafId: readId(5) });
      equal(moved.leafId, readId(5), "a leaf that moved without a new entry");
      equal(await textsInContext(moved), ["text 1", "text 4", "text 5"], "context");
      const { size } = await moved.tree();
      equal(
        (await (await append({ ...branched, leafId: readId(5) })).tree()).size,
        size,
        "entries after the same again",
      );
      // The last entry was imported incomplete: its whole state is another entry of the same time.
      const whole = { ...said(5, 4), id: "complete" };
      const complete = { ...branched, entries: [...branched.entries.slice(0, 4), whole], leafId: whole.id };
      const grown = await append(complete);
      equal(grown.leafId, whole.id, "the leaf behind an earlier state of the entry");
      equal((await grown.tree()).node(whole.id)?.parentId, readId(4), "the parent of the whole entry");
      await grown.branch(readId(5));
      const own = await grown.appendMessage(userMessage("here"));
      equal(
        (await append(complete)).leafId,
        own.id,
        "the leaf behind an earlier state that was continued here",
      );
      // All of a session may be one entry that was not complete.
      const one = {
        ...branched,
        header: { ...header, id: "one" },
        entries: [said(1, null)],
        leafId: readId(1),
      };
      await append(one);
      const other = { ...one, entries: [{ ...said(1, null), id: whole.id }], leafId: whole.id };
      equal((await append(other)).leafId, whole.id, "the leaf behind an earlier state of the first entry");
    },
  ),

  conformanceCase("of adoptions that race one writes, and the others add nothing", async (harness) => {
    const stores = await Promise.all([0, 1, 2, 3].map(() => harness.store()));
    const refused = await Promise.allSettled(
      stores.map(async (store) =>
        harness.keep(store.adopt({ ...branched, header: { ...header, id: "once" } })),
      ),
    );
    const failures = refused.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    equal(failures.length, 3, "adoptions that failed");
    for (const error of failures) {
      equal(SessileError.is(error, "SESSION_EXISTS"), true, `SESSION_EXISTS, and not ${String(error)},`);
    }
    await harness.keep((await harness.store()).adopt(branched));
    await Promise.all(stores.map((store) => harness.keep(store.adopt(grown, { existing: "append" }))));
    const back = await harness.readBack("adopted");
    equal([back.ids.length, back.leafId, back.codes], [7, readId(6), []], "entries, leaf and diagnostics");
  }),
];
