/** Idempotent appends: drafts with an id, whose retry writes nothing. */

import { equal, rejects } from "../expect.js";
import { conformanceCase, say } from "./harness.js";

export const idCases = [
  conformanceCase("the same draft with an id, appended twice, is one entry", async (harness) => {
    const session = await harness.start();
    const root = session.leafId;
    const draft = say("once", "once0001");
    const first = await session.append([draft]);
    equal(first[0]?.id, "once0001", "id");
    equal(await session.append([draft]), first, "entries of the second append");
    equal((await harness.readBack(session.id)).ids, [root, "once0001"], "entries read back");
  }),

  conformanceCase("a retry through another handle is one entry", async (harness) => {
    const session = await harness.start();
    const draft = say("once", "once0001");
    const late = await harness.open(session.id);
    const first = await session.append([draft, say("after")]);
    equal(await late.append([draft]), first.slice(0, 1), "entries that the retry gives");
    equal((await harness.readBack(session.id)).entries.slice(1), first, "entries read back");
    const fresh = await harness.open(session.id);
    equal(await fresh.append([draft]), first.slice(0, 1), "entries that a retry after opening gives");
    equal((await harness.readBack(session.id)).entries.slice(1), first, "entries read back");
  }),

  conformanceCase("the same draft with an id, twice in one tick, is one entry", async (harness) => {
    const session = await harness.start();
    const root = session.leafId;
    const draft = say("once", "once0001");
    const [first, second] = await Promise.all([session.append([draft]), session.append([draft])]);
    equal(second, first, "entries of the second append");
    equal((await harness.readBack(session.id)).ids, [root, "once0001"], "entries read back");
  }),

  conformanceCase(
    "an id that is taken by another body is refused, and nothing is written",
    async (harness) => {
      const session = await harness.start();
      const root = session.leafId;
      await session.append([say("first", "once0001")]);
      const details = await rejects(
        () => session.append([say("before"), say("other", "once0001")]),
        "DUPLICATE_ID",
        "append of another body",
      );
      equal(details, { entryId: "once0001" }, "details");
      await rejects(
        () => session.append([{ type: "label", targetId: "once0001", label: "x", id: "once0001" }]),
        "DUPLICATE_ID",
        "append of another type",
      );
      equal((await harness.readBack(session.id)).ids, [root, "once0001"], "entries read back");
      const [next] = await session.append([say("next")]);
      equal(next?.parentId, "once0001", "parent of the next entry");
    },
  ),

  conformanceCase("an id that another writer gave to another body is refused", async (harness) => {
    const session = await harness.start();
    const root = session.leafId as string;
    const late = await harness.open(session.id);
    const entries = await session.append([say("first", "once0001")]);
    const other = say("other", "once0001");
    await rejects(() => late.append([other]), "CONCURRENT_WRITER", "append of the second writer");
    await rejects(
      () => late.append([other]),
      "DUPLICATE_ID",
      "append of the second writer, having refreshed",
    );
    equal((await harness.readBack(session.id)).entries.slice(1), entries, "entries read back");
    const later = await harness.open(session.id);
    const labels = await session.append([{ type: "label", targetId: root, label: "a", id: "once0002" }]);
    const label = { type: "label", targetId: root, label: "b", id: "once0002" } as const;
    for (const conflict of ["rebase", "reject"] as const) {
      const codes = ["CONCURRENT_WRITER", "DUPLICATE_ID"] as const;
      await rejects(
        () => later.append([label], { conflict }),
        codes,
        `append of another label, to ${conflict}`,
      );
    }
    equal(
      (await harness.readBack(session.id)).entries.slice(1),
      [...entries, ...labels],
      "entries read back",
    );
  }),
];
