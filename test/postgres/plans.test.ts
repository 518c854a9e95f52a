import { beforeAll, expect, it } from "vitest";
import { costlyStatements } from "../support/postgres-rows.js";
import { pglite, startMs } from "./pglite.js";

beforeAll(async () => {
  await pglite();
}, startMs);

// @covers durability:postgres-growth
it.each([
  { prepared: false, analyzed: false },
  { prepared: true, analyzed: false },
])(
  "no statement of a backend over 1,000 lines compares pairs of them: prepared $prepared",
  async (statistics) => {
    expect(await costlyStatements(await pglite(), statistics, 1000)).toEqual([]);
  },
  startMs,
);
