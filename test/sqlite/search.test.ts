import { sessionStore, userMessage } from "sessile";
import { type SqliteDriver, type SqliteRow, sqliteSessionBackend } from "sessile/sqlite";
import { afterEach, expect, test } from "vitest";
import { maxPlaces } from "../../src/storage/sql/sqlite/search.js";
import { closeDatabases, memoryDriver } from "./databases.js";

afterEach(closeDatabases);

const places = 10;

/** A database in which a search gives few places, and the longest text that it gave. */
function bounded(driver: SqliteDriver): { readonly driver: SqliteDriver; longest(): number } {
  let longest = 0;
  return {
    longest: () => longest,
    driver: {
      transaction: (statements) => driver.transaction(statements),
      async all(sql, params) {
        const rows: readonly SqliteRow[] = await driver.all(
          sql.replaceAll(`${maxPlaces}`, `${places}`),
          params,
        );
        for (const value of rows.flatMap((row) => Object.values(row)))
          if (typeof value === "string" && /^[\d,]+$/.test(value)) longest = Math.max(longest, value.length);
        return rows;
      },
    },
  };
}

test("a search gives the places of a bounded number of lines, and has the others read", async () => {
  const driver = memoryDriver();
  const { longest, driver: few } = bounded(driver);
  const indexed = sqliteSessionBackend({ driver: few, search: true });
  await indexed.migrate();
  const plain = sessionStore(sqliteSessionBackend({ driver }));
  const write = async (id: string, count: number, { store = sessionStore(indexed), text = "" } = {}) => {
    const session = await store.create({ id, cwd: "/work" });
    const messages = Array.from({ length: count }, (_, at) => userMessage(`reef ${at} ${text}`));
    await session.append(messages.map((message) => ({ type: "message", message }) as const));
    await session.close();
  };
  // Each line is in another part of its log.
  const text = "shoal ".repeat(30_000);
  await write("many", 3 * places, {});
  await write("just", places, {});
  await write("long", 4, { text });
  await write("longest", places + 1, { text });
  await write("unread", 3, { store: plain });
  await write("unread-many", places + 1, { store: plain });
  const found = new Map<string, number | undefined>();
  for await (const { id, at } of indexed.search?.({ partition: "", anyOf: [["reef"]] }) ?? [])
    found.set(id, at?.length);
  expect(Object.fromEntries(found)).toEqual({
    ...{ many: undefined, just: places, long: 4, longest: undefined },
    // With the line of the header.
    ...{ unread: 4, "unread-many": undefined },
  });
  expect(longest()).toBeLessThanOrEqual(12 * places);
  const counts: Record<string, number> = {};
  for await (const { sessionId } of sessionStore(indexed).search({ text: "reef", limit: 1000 }))
    counts[sessionId] = (counts[sessionId] ?? 0) + 1;
  expect(counts).toEqual({
    ...{ many: 3 * places, just: places, long: 4, longest: places + 1 },
    ...{ unread: 3, "unread-many": places + 1 },
  });
});
