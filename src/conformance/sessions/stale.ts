/** Handles on a session that was deleted, and whose id another session has by now. */

import type { Session, SessionEntry, UnknownEntry } from "../../session/index.js";
import { equal, rejects } from "../expect.js";
import { conformanceCase, cwd, type Harness, pause, say, textsInContext } from "./harness.js";

/** Equal ids and lengths, so that only the identity of the session tells its lines from the other's. */
const drafts = {
  first: [say("first", "same0001"), say("again", "same0002")],
  second: [say("other", "same0001"), say("later", "same0002"), say("third", "same0003")],
};

/** The errors of a handle whose session is gone. */
const goneCodes = ["SESSION_NOT_FOUND", "LOG_CHANGED", "CONCURRENT_WRITER"] as const;

/** Deletes the session, and creates another one under its id. */
async function recreate(harness: Harness, id: string): Promise<Session> {
  const store = await harness.store();
  equal(await store.delete(id), true, "delete");
  const second = await harness.keep(store.create({ cwd, id }));
  await second.append(drafts.second);
  return second;
}

/** The result of an act, or undefined if it fails because the session is gone. */
async function unlessGone<T>(act: () => Promise<T>, subject: string): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    await rejects(() => Promise.reject(error), goneCodes, subject);
    return undefined;
  }
}

function entryText(entry: SessionEntry | UnknownEntry | undefined): unknown {
  return entry?.type === "message" && entry.message.role === "user" ? entry.message.content : undefined;
}

export const staleCases = [
  conformanceCase(
    "a session that is deleted and created again is another one: a handle of the first writes nothing",
    async (harness) => {
      const first = await harness.start();
      const store = await harness.store();
      equal(await store.delete(first.id), true, "delete");
      const second = await harness.start({ id: first.id, store });
      const entries = (await harness.readBack(first.id)).entries;
      await rejects(
        () => first.append([say("stale")]),
        ["SESSION_NOT_FOUND", "CONCURRENT_WRITER"],
        "append through the handle of the deleted session",
      );
      equal((await harness.readBack(first.id)).entries, entries, "entries of the second session");
      const [next] = await second.append([say("next")]);
      equal(next?.parentId, entries.at(-1)?.id, "parent of the second session's next entry");
    },
  ),

  conformanceCase(
    "a handle on a session that was deleted and created again reads nothing of the new one",
    async (harness) => {
      const writer = await harness.create({ id: "same" });
      await writer.append(drafts.first);
      for (const mode of ["read", "write"] as const) {
        // Its bodies are read on demand, after the deletion.
        const stale = await harness.open("same", mode);
        await recreate(harness, "same");
        const entry = await unlessGone(() => stale.entry("same0001"), `entry, to ${mode}`);
        equal(entryText(entry) === "other", false, "whether the entry has the new text");
        const raw = await unlessGone(() => stale.raw("same0002"), `raw, to ${mode}`);
        equal(new TextDecoder().decode(raw).includes("later"), false, "whether raw has the new line");
        const texts = (await unlessGone(() => textsInContext(stale), `context, to ${mode}`)) ?? [];
        equal(texts.includes("other") || texts.includes("later"), false, "whether the context has new texts");
        equal((await unlessGone(() => stale.refresh(), `refresh, to ${mode}`)) ?? [], [], "new entries");
        equal([...(await stale.tree()).walk()].length, 2, "entries of the tree after refresh");
        const copy = await unlessGone(async () => harness.keep(stale.extract()), `extract, to ${mode}`);
        const copied = copy === undefined ? [] : await textsInContext(copy);
        equal(copied.includes("other") || copied.includes("later"), false, "whether a copy has new texts");
        // The next round begins as this one did.
        await (await harness.store()).delete("same");
        const again = await harness.create({ id: "same" });
        await again.append(drafts.first);
      }
    },
  ),

  conformanceCase(
    "follow yields nothing of a session that was created again under the id",
    async (harness) => {
      const writer = await harness.create({ id: "same" });
      await writer.append(drafts.first);
      const stale = await harness.open("same", "read");
      const controller = new AbortController();
      const followed: unknown[] = [];
      const following = (async () => {
        const { signal } = controller;
        for await (const entry of stale.follow({ signal, pollMs: 5 })) followed.push(entryText(entry));
      })();
      await pause();
      await recreate(harness, "same");
      await pause(100);
      controller.abort();
      await unlessGone(() => following, "follow");
      equal(followed, [], "followed entries");
    },
  ),

  conformanceCase(
    "a fork that races with a deletion and a creation copies one of both sessions, whole",
    async (harness) => {
      for (const [round, delayMs] of [0, 0, 1, 1, 2, 3, 5, 8].entries()) {
        const id = `same-${round}`;
        await (await harness.create({ id })).append(drafts.first);
        const store = await harness.store();
        const [copy] = await Promise.all([
          unlessGone(async () => harness.keep(store.fork(id, { id: `copy-${round}` })), "fork"),
          pause(delayMs).then(() => recreate(harness, id)),
        ]);
        if (copy === undefined) continue;
        const texts = (await textsInContext(copy)).join();
        equal(["first,again", "other,later,third"].includes(texts), true, `whether ${texts} is one session`);
      }
    },
  ),
];
