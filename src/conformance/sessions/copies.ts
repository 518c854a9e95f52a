/** Forks and extracts. */

import type { Session } from "../../session/index.js";
import { equal, refuses, rejects } from "../expect.js";
import { collect, conformanceCase, cwd, type Harness, say, textsInContext } from "./harness.js";

/** Creates a session with two branches, a label on each, and the leaf on the first. */
async function branched(harness: Harness): Promise<Session> {
  const session = await harness.create({ id: "source" });
  await session.append([
    say("start", "e0000001"),
    { type: "label", targetId: "e0000001", label: "root", id: "e0000002" },
    say("left", "e0000003"),
  ]);
  await session.branch("e0000001");
  await session.append([
    say("right", "e0000004"),
    { type: "label", targetId: "e0000004", label: "aside", id: "e0000005" },
    { type: "custom", customType: "acme.state", data: { list: [1, "ü"] }, id: "e0000006" },
  ]);
  await session.branch("e0000003");
  await session.append([
    say("left again", "e0000007"),
    { type: "label", targetId: "e0000003", label: "here", id: "e0000008" },
    say("left at last", "e0000009"),
  ]);
  return session;
}

async function sessionIds(session: Session): Promise<readonly string[]> {
  return [...(await session.tree()).walk()].map(({ node }) => node.id);
}

async function haveSameLines(copy: Session, source: Session, ids: readonly string[]): Promise<void> {
  for (const id of ids) equal(await copy.raw(id), await source.raw(id), `line of ${id}`);
}

export const copyCases = [
  conformanceCase("a fork has every line of the source, byte for byte", async (harness) => {
    const source = await branched(harness);
    const store = await harness.store();
    const fork = await harness.keep(store.fork("source"));
    const tree = await source.tree();
    const ids = await sessionIds(source);
    equal(
      (await sessionIds(fork)).filter((id) => tree.has(id)),
      ids,
      "ids",
    );
    await haveSameLines(fork, source, ids);
    equal(fork.id !== source.id, true, "the fork has an id of its own");
    equal(fork.header.parentSession, source.location ?? source.id, "parentSession");
    equal(fork.header.cwd, source.header.cwd, "cwd");
    equal(fork.writable, true, "writable");
    equal(await textsInContext(fork), await textsInContext(source), "context");
    equal((await fork.tree()).label("e0000003"), "here", "label");
    await fork.append([say("only here")]);
    equal((await harness.readBack("source")).ids, ids, "ids of the source after an append to the fork");
    const back = await harness.open(fork.id, "read");
    equal((await textsInContext(back)).at(-1), "only here", "last message of the fork read back");
    equal(back.diagnostics, [], "diagnostics");
  }),

  conformanceCase(
    "a fork goes from one partition to another, or stays where its source is",
    async (harness) => {
      const store = await harness.store();
      const source = await harness.keep(store.create({ cwd, id: "source", partition: "tenant-a" }));
      await source.append([say("start", "e0000001")]);
      const from = { partition: "tenant-a" };
      const moved = await harness.keep(
        store.fork("source", { ...from, toPartition: "tenant-b", id: "moved" }),
      );
      await haveSameLines(moved, source, ["e0000001"]);
      await harness.keep(store.fork("source", { ...from, id: "stays" }));
      await harness.keep(store.fork("source", { ...from, toPartition: "", id: "unnamed" }));
      const ids = async (partition: string) => {
        const rows = await collect((await harness.store()).list({ partition }));
        return rows.map(({ id }) => id).sort();
      };
      equal(await ids("tenant-a"), ["source", "stays"], "ids where the source is");
      equal(await ids("tenant-b"), ["moved"], "ids in the other partition");
      equal(await ids(""), ["unnamed"], "ids in the unnamed partition");
      await rejects(
        () => harness.keep(store.fork("source", { toPartition: "tenant-a" })),
        "SESSION_NOT_FOUND",
        "fork of a session that is in the partition of the fork only",
      );
      await refuses(
        () => harness.keep(store.fork("source", { ...from, toPartition: "no name" })),
        "fork to a partition whose name is none",
      );
    },
  ),

  conformanceCase(
    "a session is opened, forked, archived and deleted by what a list gave of it",
    async (harness) => {
      const source = await branched(harness);
      const store = await harness.store();
      const [row] = await collect(store.list());
      if (row === undefined) throw new Error("nothing is listed");
      equal((await harness.keep(store.open(row))).id, "source", "id of what was opened by a row");
      equal((await harness.keep(store.open(source))).id, "source", "id of what was opened by a session");
      await harness.keep(store.fork(row, { id: "fork" }));
      equal((await store.archive(row)).time.archived !== undefined, true, "archived");
      const stale = { ...row, id: "another" };
      await rejects(
        () => harness.keep(store.open(stale)),
        "SESSION_NOT_FOUND",
        "open of a row with another id",
      );
      equal(await store.delete(stale), false, "delete of a row with another id");
      equal(await store.delete(row), true, "delete");
      equal(await store.delete(row), false, "the second delete");
      equal(
        (await collect(store.list())).map(({ id }) => id),
        ["fork"],
        "ids after that",
      );
    },
  ),

  conformanceCase("a fork keeps lines that this version does not know", async (harness) => {
    const { fixture } = harness;
    if (fixture.put === undefined) return { skipped: "nobody else writes to this storage" };
    const timestamp = "2026-01-01T00:00:00.000Z";
    const numbers = `"n":12345678901234567890,"z":-0`;
    const custom = `"customType":"a", "later":[1e400]`;
    const judge = `"message":{"role":"judge"}`;
    const strange = [
      `{"type":"later","id":"f0000001","parentId":null,"timestamp":"${timestamp}",${numbers}}`,
      `{ "id":"f0000002", "type":"custom", "parentId":"f0000001", "timestamp":"", ${custom} }`,
      `{"type":"message","id":"f0000003","parentId":"f0000002","timestamp":"${timestamp}",${judge}}`,
    ];
    const header = JSON.stringify({ type: "session", version: 3, id: "strange", timestamp, cwd });
    await fixture.put("strange", [header, ...strange]);
    const fork = await harness.keep((await harness.store()).fork("strange"));
    for (const [index, line] of strange.entries()) {
      const raw = await fork.raw(`f000000${index + 1}`);
      equal(new TextDecoder().decode(raw), line, `line ${index + 1}`);
    }
    return undefined;
  }),

  conformanceCase("a fork up to an entry has the lines up to that one", async (harness) => {
    const source = await branched(harness);
    const store = await harness.store();
    const fork = await harness.keep(
      store.fork("source", { upTo: "e0000004", id: "part", cwd: "/work/other" }),
    );
    const ids = ["e0000001", "e0000002", "e0000003", "e0000004"];
    const tree = await fork.tree();
    equal(
      ids.map((id) => tree.has(id)),
      ids.map(() => true),
      "entries up to that one",
    );
    equal(
      ["e0000005", "e0000006", "e0000007"].filter((id) => tree.has(id)),
      [],
      "entries behind it",
    );
    await haveSameLines(fork, source, ids);
    equal([fork.id, fork.header.cwd], ["part", "/work/other"], "id and cwd");
    equal(await textsInContext(fork), ["start", "right"], "context");
    const details = await rejects(
      () => harness.keep(store.fork("source", { upTo: "nowhere" })),
      "ENTRY_NOT_FOUND",
      "fork up to an entry that is not there",
    );
    equal(details, { entryId: "nowhere" }, "details");
    await rejects(() => harness.keep(store.fork("nowhere")), "SESSION_NOT_FOUND", "fork of no session");
    await rejects(
      () => harness.keep(store.fork("source", { id: "part" })),
      "SESSION_EXISTS",
      "fork to an id that is taken",
    );
  }),

  conformanceCase("titles of forks are numbered on", async (harness) => {
    const source = await branched(harness);
    const store = await harness.store();
    const untitled = await harness.keep(store.fork("source"));
    equal(untitled.info.title, "start (fork #1)", "title of a fork of a session without one");
    await source.updateInfo({ title: "A title", name: "a name" });
    const first = await harness.keep(store.fork("source"));
    equal(first.info.title, "A title (fork #1)", "title of the fork");
    const second = await harness.keep(store.fork(first.id));
    equal(second.info.title, "A title (fork #2)", "title of the fork of the fork");
    const back = await harness.readBack(second.id);
    equal(back.info.title, "A title (fork #2)", "title read back");
    const sibling = await harness.keep(store.fork("source"));
    equal(sibling.info.title, "A title (fork #3)", "title of another fork of the source");
    equal(sibling.info.name, "a name (fork #3)", "its name");
    equal((await harness.readBack("source")).info.title, "A title", "title of the source");
  }),

  conformanceCase("an extract is one path, with its labels resolved", async (harness) => {
    const source = await branched(harness);
    const extract = await harness.keep(source.extract("e0000009", { id: "path", cwd: "/work/other" }));
    const kept = ["e0000001", "e0000003", "e0000007", "e0000009"];
    const back = await harness.open("path", "read");
    for (const session of [extract, back]) {
      equal(
        (await session.tree()).path("e0000009").map(({ id }) => id),
        kept,
        "path",
      );
      equal((await session.tree()).has("e0000004"), false, "an entry of another branch is there");
      const labels = [...(await session.tree()).labels()].map(({ targetId, label }) => [targetId, label]);
      equal(
        labels,
        [
          ["e0000001", "root"],
          ["e0000003", "here"],
        ],
        "labels",
      );
      equal(await textsInContext(session), ["start", "left", "left again", "left at last"], "context");
      equal(session.diagnostics, [], "diagnostics");
      equal([session.id, session.header.cwd], ["path", "/work/other"], "id and cwd");
      equal(session.header.parentSession, source.location ?? source.id, "parentSession");
    }
    equal(extract.writable, true, "writable");
    await extract.append([say("on")]);
    equal(
      (await harness.readBack("source")).ids,
      await sessionIds(source),
      "ids of the source after an append to the extract",
    );
    await rejects(() => harness.keep(source.extract("nowhere")), "ENTRY_NOT_FOUND", "extract of no entry");
  }),
];
