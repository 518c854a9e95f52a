import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildSessionContext, parseSession, project } from "sessile";
import { describe, expect, test } from "vitest";
import { root } from "../../scripts/entries.mjs";
import { checkedTargets } from "../support/checked-targets.js";
import { goesOn } from "../support/projection-oracle.js";

const fixtures = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures");
const real = join(fixtures, "pi/large-session.v1.jsonl");

describe.skipIf(!existsSync(real))("a real session of pi's (skipped where SESSILE_FIXTURES has none)", () => {
  const session = () => parseSession(readFileSync(real));

  test.each(checkedTargets)("is taken by $name", async ({ target, breaches }) => {
    const { value } = await project(buildSessionContext(session()), target);
    expect(breaches(value)).toEqual([]);
  });

  test("keeps its beginning while it grows", async () => {
    const [target] = checkedTargets.filter(({ name }) => name === "plain").map(({ target }) => target);
    if (target === undefined) throw new Error("there is no plain target");
    const parsed = session();
    const path = parsed.tree.path(parsed.leafId);
    const steps = [0.3, 0.6, 1].map((part) => path[Math.floor(part * (path.length - 1))]?.id ?? null);
    const values: object[] = [];
    for (const leaf of steps) {
      const { value } = await project(buildSessionContext(parsed, leaf), target);
      values.push({ ...value, system: [] });
    }
    expect(values.slice(1).map((value, at) => goesOn(values[at], value))).toEqual([true, true]);
  });
});
