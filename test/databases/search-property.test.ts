import fc from "fast-check";
import { eraseEntries } from "sessile";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { pglite, startMs } from "../postgres/pglite.js";
import { closeDatabases } from "../sqlite/databases.js";
import { rounds } from "../support/rounds.js";
import { engines, find, storeOf, write } from "./subjects.js";

beforeAll(async () => {
  await pglite();
}, startMs);
afterEach(closeDatabases);
const reason = "a request";

describe.each(engines)("an index of words in $name", ({ start }) => {
  const words = ["ebb", "Flood", "ebbTide", "潮流", "straße", "ébb", "flood-gate", "it's", '"'];
  const text = fc
    .array(fc.constantFrom(...words), { minLength: 1, maxLength: 4 })
    .map((all) => all.join(" "));
  const act = fc.oneof(
    { weight: 5, arbitrary: fc.record({ say: text, by: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ erase: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ edit: fc.nat(), to: text }) },
    { weight: 1, arbitrary: fc.record({ fork: fc.nat(), partition: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ remove: fc.nat() }) },
    { weight: 1, arbitrary: fc.constant({ migrate: true }) },
  );

  // Writers with the index and without it, in any order.
  it("finds what a scan finds (property)", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 14 }), async (acts) => {
        const tables = await start({ search: true });
        const [indexed, plain] = [true, false].map((search) => storeOf(tables.direct({ search })));
        if (indexed === undefined || plain === undefined) throw new Error("two stores");
        const sessions: { id: string; partition: string }[] = [];
        const at = (index: number) => sessions[index % Math.max(1, sessions.length)];
        const entryOf = async ({ id, partition }: (typeof sessions)[0], index: number) => {
          const session = await plain.open(id, { partition });
          const messages = (await session.context()).items;
          return messages[index % Math.max(1, messages.length)]?.entryId;
        };
        for (const [step, each] of acts.entries()) {
          if ("say" in each) {
            const target = sessions.length < 2 ? { id: `s${step}`, partition: "" } : at(step);
            if (target === undefined) continue;
            if (!sessions.includes(target)) sessions.push(target);
            await write(each.by ? indexed : plain, target.id, [each.say], target.partition);
          } else if ("migrate" in each) await tables.direct().migrate();
          else {
            const target = at("erase" in each ? each.erase : "edit" in each ? each.edit : step);
            if (target === undefined) continue;
            const { id, partition } = target;
            if ("erase" in each || "edit" in each) {
              const entryId = await entryOf(target, "erase" in each ? each.erase : each.edit);
              if (entryId === undefined) continue;
              if ("erase" in each) await eraseEntries(indexed, id, [entryId], { partition, reason });
              else {
                const session = await indexed.open(id, { partition, mode: "write" });
                await session.append([
                  { type: "context_edit", targetId: entryId, replacement: { content: each.to } },
                ]);
              }
            } else if ("fork" in each) {
              const copy = { id: `f${step}`, partition: each.partition ? "tenant" : partition };
              await indexed.fork(id, { partition, toPartition: copy.partition, id: copy.id });
              sessions.push(copy);
            } else {
              await (each.remove % 2 === 0 ? indexed : plain).delete(id, { partition });
              sessions.splice(sessions.indexOf(target), 1);
            }
          }
        }
        for (const partition of ["", "tenant"])
          for (const query of ["ebb", "flood", "tide", "潮", '"straße ebb"', "it's"])
            for (const branch of ["path", "all"] as const) {
              const both = await Promise.all(
                [indexed, plain].map((store) => find(store, query, { partition, branch })),
              );
              expect(both[0], query).toEqual(both[1]);
            }
      }),
      { numRuns: rounds(2, 20) },
    );
  });
});
