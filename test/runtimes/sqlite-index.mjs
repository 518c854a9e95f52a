// The index of words in SQLite, which takes FTS5: more than the conformance suite shows.

/**
 * @typedef {{ sessionStore: typeof import("sessile").sessionStore, sqliteSessionBackend: typeof import("sessile/sqlite").sqliteSessionBackend, userMessage: typeof import("sessile").userMessage }} Library
 * @typedef {Library & { driver: import("sessile/sqlite").SqliteDriver }} Subject
 */

/** @param {Subject} subject @param {boolean} search @param {boolean} [migrate] */
async function storeOf({ sessionStore, sqliteSessionBackend, driver }, search, migrate = true) {
  const backend = sqliteSessionBackend({ driver, search });
  if (migrate) await backend.migrate();
  return sessionStore(backend);
}

/** @param {Subject} subject @param {boolean} search @param {string} id @param {readonly string[]} texts @param {string} [partition] */
async function say(subject, search, id, texts, partition = "") {
  const store = await storeOf(subject, search);
  const where = partition === "" ? {} : { partition };
  const session = await store
    .open(id, { mode: "write", ...where })
    .catch(() => store.create({ cwd: "/", id, ...where }));
  for (const text of texts) await session.appendMessage(subject.userMessage(text));
  await session.close();
}

/** The lines that the index gives for a word, by the ids of their sessions. @param {Subject} subject @param {string} word @param {string} [partition] */
async function candidates({ sqliteSessionBackend, driver }, word, partition = "") {
  const backend = sqliteSessionBackend({ driver, search: true });
  /** @type {Record<string, number>} */
  const found = {};
  for await (const { id, at } of backend.search?.({ partition, anyOf: [[word]] }) ?? [])
    found[id] = at.length;
  return found;
}

/** @param {unknown} actual @param {unknown} expected @param {string} what */
function equal(actual, expected, what) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: expected ${b}, got ${a}`);
}

/** @type {readonly { name: string, run(subject: Subject): Promise<unknown> }[]} */
export const indexCases = [
  {
    name: "lines without terms are candidates until migrate indexes them, and those behind them too",
    async run(subject) {
      await say(subject, false, "a", ["an apple", "a pear"]);
      await storeOf(subject, true);
      await say(subject, false, "b", ["an apple", "a plum"]);
      const store = await storeOf(subject, true, false);
      const late = await store.open("b", { mode: "write" });
      await late.appendMessage(subject.userMessage("a late apple"));
      const other = await store.create({ cwd: "/", id: "c" });
      await other.appendMessage(subject.userMessage("an apple"));
      await other.appendMessage(subject.userMessage("a fig"));
      equal(await candidates(subject, "apple"), { c: 1, b: 4, a: 1 }, "candidates");
      await storeOf(subject, true);
      equal(await candidates(subject, "apple"), { c: 1, b: 2, a: 1 }, "candidates after migrate");
      await say(subject, true, "b", ["one more apple"]);
      equal(await candidates(subject, "app"), { b: 3, c: 1, a: 1 }, "candidates of a beginning");
    },
  },
  {
    name: "a fork has its own terms, and a deleted session none",
    async run(subject) {
      await say(subject, true, "a", ["an apple", "a pear"]);
      const store = await storeOf(subject, true);
      await (await store.fork("a", { id: "b" })).close();
      equal(await candidates(subject, "pear"), { b: 1, a: 1 }, "candidates");
      // Also by a program that does not use the index.
      await (await storeOf(subject, false)).delete("a");
      equal(await candidates(subject, "pear"), { b: 1 }, "candidates after the deletion");
      const [row] = await subject.driver.all(
        "select count(*) as n from sessile_terms where sessile_terms match 'pear'",
        [],
      );
      equal(Number(row?.n), 1, "rows with the word");
    },
  },
  {
    name: "partitions are apart",
    async run(subject) {
      await say(subject, true, "a", ["an apple"], "one");
      await say(subject, true, "a", ["an apple", "another apple"], "two");
      equal(await candidates(subject, "apple", "one"), { a: 1 }, "candidates in one");
      equal(await candidates(subject, "apple", "two"), { a: 2 }, "candidates in the other");
      equal(await candidates(subject, "apple"), {}, "candidates in the unnamed one");
    },
  },
  {
    name: "a replaced log has the terms of its new lines alone",
    async run(subject) {
      const backend = subject.sqliteSessionBackend({ driver: subject.driver, search: true });
      await backend.migrate();
      const at = "2026-01-01T00:00:00.000Z";
      const { log, position } = await backend.create({ id: "old", partition: "", cwd: "/", timestamp: at });
      const lines = [
        `{"type":"session","version":1,"id":"old","timestamp":"${at}","cwd":"/"}`,
        `{"type":"message","timestamp":"${at}","message":{"role":"user","content":"an apple","timestamp":1}}`,
      ];
      await log.append(
        lines.map((line) => new TextEncoder().encode(`${line}\n`)),
        position,
      );
      await say(subject, true, "old", ["a pear"]);
      equal(await candidates(subject, "apple"), { old: 1 }, "candidates");
      const [row] = await subject.driver.all("select count(*) as n from sessile_terms", []);
      equal(Number(row?.n), 2, "rows of the index");
    },
  },
];
