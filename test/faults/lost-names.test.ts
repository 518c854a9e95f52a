import { linkSync, mkdtempSync, readFileSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userMessage } from "sessile";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rounds } from "../support/rounds.js";
import { useChildren } from "./start-child.js";

const startChild = useChildren();
const times = rounds(3, 100);
/** As docs/reference/durability.md says, and a millisecond for the clock, which counts whole ones. */
const boundMs = { disk: 0, os: 3 };

let dir = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "sessile-names-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe.each(["disk", "os"] as const)(
  "a log that loses its name under a running writer, durability %s",
  (durability) => {
    // @covers durability:lost-name
    test.each(["deleted", "replaced by a copy", "moved away"])(
      "and is %s: what is acknowledged later is not lost",
      {
        timeout: 300_000 + times * 5000,
      },
      async (how) => {
        for (let at = 0; at < times; at++) {
          const id = `${durability}-${how.replaceAll(" ", "-")}-${at}`;
          const session = await fileSessionStore({ dir }).create({ cwd: "/p", id });
          await session.appendMessage(userMessage("first"));
          await session.close();
          const path = session.location ?? "";
          const child = startChild("timed", dir, id, durability);
          await child.sayingSoMany(40 + Math.floor(Math.random() * 60));
          // What the file had when it lost its name, and whatever came into it later.
          linkSync(path, `${path}.kept`);
          if (how === "replaced by a copy") writeFileSync(`${path}.copy`, readFileSync(path));
          if (how === "deleted") unlinkSync(path);
          else if (how === "moved away") renameSync(path, `${path}.moved`);
          else renameSync(`${path}.copy`, path);
          const lostAt = Date.now();
          expect(await child.ended).toBe(0);
          const ended = child.said.at(-1);
          expect(ended).toBe(how === "replaced by a copy" ? "CONCURRENT_WRITER" : "SESSION_NOT_FOUND");
          // Each with the time before its call.
          const late = child.said
            .slice(0, -1)
            .filter((line) => Number(line.split(" ")[1]) > lostAt + boundMs[durability]);
          expect(late).toEqual([]);
          expect(child.said.length).toBeGreaterThan(40);
          const kept = readFileSync(`${path}.kept`, "utf8");
          for (const line of child.said.slice(0, -1)) expect(kept).toContain(`"id":"${line.split(" ")[0]}"`);
        }
      },
    );
  },
);
