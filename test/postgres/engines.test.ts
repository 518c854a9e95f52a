import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { migrationTo } from "../../src/storage/sql/postgres/migrations.js";
import { statementsFor } from "../../src/storage/sql/postgres/statements.js";

// What engines that shard by themselves refuse, with the sources in docs/guide/scale.md: a statement that begins to use
// it is a new reason, which the guide has to name.

const { makeIndices, ...single } = statementsFor("sessile", true);
const statements: Readonly<Record<string, string>> = {
  ...single,
  makeIndices: makeIndices(["words"]).join(";"),
  migrate: migrationTo("sessile"),
};

/** The tables that a statement changes, once for each change. */
function changedTables(text: string): readonly string[] {
  const changes = text.matchAll(/(?<!on conflict do )\b(?:insert into|update|delete from) ("sessile"\.\w+)/g);
  return [...changes].map(([, table = ""]) => table);
}

const refusals: Readonly<Record<string, { uses(text: string): boolean; readonly by: readonly string[] }>> = {
  "Citus: volatile functions in a change": {
    uses: (text) =>
      changedTables(text).length > 0 &&
      /\b(?:clock_timestamp|random|gen_random_uuid|nextval)\s*\(/.test(text),
    by: [],
  },
  "Citus: recursive CTEs": { uses: (text) => /\bwith recursive\b/.test(text), by: ["partitions"] },
  "Citus: locks over several shards": {
    uses: (text) => /\bfor (?:no key )?(?:update|share)\b/.test(text),
    by: [],
  },
  "CockroachDB: a table that one statement changes twice": {
    uses: (text) => !text.startsWith("do ") && new Set(changedTables(text)).size < changedTables(text).length,
    by: ["copy", "erase", "replace"],
  },
  "YugabyteDB: stored generated columns": {
    uses: (text) => /\bgenerated always as\b/.test(text),
    by: ["migrate"],
  },
  "CockroachDB, YugabyteDB: LISTEN and NOTIFY": {
    uses: (text) => /\b(?:pg_)?notify\b|\blisten\b/.test(text),
    by: [],
  },
  "Aurora DSQL: PL/pgSQL, collations": {
    uses: (text) => /^do |\bplpgsql\b|\bcollate\b/.test(text),
    by: ["migrate"],
  },
  "Aurora DSQL: indices that are not async": {
    uses: (text) => /\bcreate (?:unique )?index (?!async)/.test(text),
    by: ["makeIndices", "migrate"],
  },
};

describe("what other engines refuse of the statements of sessions", () => {
  it.each(Object.entries(refusals))("%s", (_, { uses, by }) => {
    const users = Object.entries(statements).filter(([, text]) => uses(text));
    expect(users.map(([name]) => name).sort()).toEqual(by);
  });

  it("is in the guide", () => {
    const guide = readFileSync(new URL("../../docs/guide/scale.md", import.meta.url), "utf8");
    for (const engine of ["Citus", "CockroachDB", "YugabyteDB", "Aurora DSQL"])
      expect(guide).toMatch(new RegExp(`^\\| \\[${engine}\\]\\(https://`, "m"));
  });
});
