/** Events, and `follow`. */

import type { SessionEntry, SessionEventName, UnknownEntry } from "../../session/index.js";
import { equal, within } from "../expect.js";
import { conformanceCase, say } from "./harness.js";

const watched: readonly SessionEventName[] = ["created", "updated", "entry", "leaf", "closed", "error"];

export const eventCases = [
  conformanceCase("events say what was written, once it is", async (harness) => {
    const store = await harness.store();
    const session = await harness.create({ store });
    const { id } = session;
    const seen: unknown[] = [];
    const take = () => seen.splice(0);
    for (const name of watched) {
      session.on(name, (payload) => {
        seen.push([name, payload]);
      });
    }
    const announced: unknown[] = [];
    store.on("created", (payload) => {
      announced.push(["created", payload]);
    });
    store.on("updated", (payload) => {
      announced.push(["updated", payload]);
    });
    equal(take(), [], "events before the first append");
    const appending = session.append([say("one"), say("two")]);
    equal(take(), [], "events before the append resolves");
    const [one, two] = await appending;
    equal(
      take(),
      [
        ["created", { id }],
        ["entry", { entry: one, origin: "local" }],
        ["entry", { entry: two, origin: "local" }],
        ["leaf", { leafId: two?.id, previousLeafId: null }],
      ],
      "events of the first append",
    );
    const info = await session.updateInfo({ name: "name" });
    const named = (await session.entry(session.leafId as string)) as SessionEntry;
    equal(
      take(),
      [
        ["entry", { entry: named, origin: "local" }],
        ["updated", { info }],
        ["leaf", { leafId: named.id, previousLeafId: two?.id }],
      ],
      "events of updateInfo",
    );
    await session.branch(one?.id as string);
    await session.branch(one?.id as string);
    equal(take(), [["leaf", { leafId: one?.id, previousLeafId: named.id }]], "events of branch");
    await session.close();
    const atClose = take();
    equal(atClose.at(-1), ["closed", { id }], "the last event");
    equal(atClose.length, 2, "events at close: the leaf's entry, and closed");
    equal(
      announced,
      [
        ["created", { id }],
        ["updated", { id, info }],
      ],
      "events of the store",
    );
  }),

  conformanceCase("events say what another writer wrote, when it is read", async (harness) => {
    const session = await harness.start();
    const reader = await harness.open(session.id, "read");
    const seen: unknown[] = [];
    reader.on("entry", (payload) => {
      seen.push(payload);
    });
    const undo = reader.on("entry", () => {
      seen.push("undone");
    });
    undo();
    const entries = await session.append([say("one"), say("two")]);
    await reader.refresh();
    equal(
      seen,
      entries.map((entry) => ({ entry, origin: "remote" })),
      "entries",
    );
  }),

  conformanceCase(
    "follow gives what another handle appends, in order, until its signal aborts",
    async (harness) => {
      const session = await harness.start();
      const reader = await harness.open(session.id, "read");
      const controller = new AbortController();
      const seen: (SessionEntry | UnknownEntry)[] = [];
      const following = (async () => {
        for await (const entry of reader.follow({ signal: controller.signal, pollMs: 5 })) {
          seen.push(entry);
          if (seen.length === 6) controller.abort();
        }
      })();
      const written: SessionEntry[] = [];
      for (const text of ["one", "two", "three"]) {
        written.push(...(await session.append([say(text), say(`${text} and a half`)])));
      }
      await within(following, "the end of follow after its signal aborts");
      equal(seen, written, "entries");
      await session.append([say("four")]);
      const aborted = reader.follow({ signal: AbortSignal.abort() })[Symbol.asyncIterator]();
      const { done } = await within(Promise.resolve(aborted.next()), "follow with an aborted signal");
      equal(done, true, "follow with an aborted signal is at its end");
    },
  ),

  conformanceCase("follow gives what its own handle appends, and ends with it", async (harness) => {
    const session = await harness.start();
    const seen: string[] = [];
    const { signal } = new AbortController();
    const following = (async () => {
      for await (const { id } of session.follow({ signal, pollMs: 5 })) seen.push(id);
    })();
    await Promise.resolve();
    const ids = (await session.append([say("one"), say("two")])).map(({ id }) => id);
    await session.close();
    await within(following, "the end of follow after close");
    equal(seen, ids, "entries");
  }),
];
