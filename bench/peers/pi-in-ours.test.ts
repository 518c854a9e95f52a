import { readFileSync } from "node:fs";
import fc from "fast-check";
import { openSessionFile } from "sessile/node";
import { expect, test } from "vitest";
import { ourView, piView } from "./compare.js";
import { inDirectory, SessionManager } from "./pi.js";
import { scriptWithAssistant } from "./scripts.js";
import { carryOut, piHand } from "./writers.js";

test("this library opens what pi wrote, sees the same, and does not touch it", {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(scriptWithAssistant, async (steps) => {
      await inDirectory(async (dir) => {
        const written = SessionManager.create("/work/project", dir);
        await carryOut(piHand(written), steps);
        const path = written.getSessionFile() as string;
        const before = readFileSync(path);
        const session = await openSessionFile(path);
        expect(session.diagnostics).toEqual([]);
        expect(session.id).toBe(written.getSessionId());
        expect(session.info.cwd).toBe("/work/project");
        expect(await ourView(session)).toEqual(piView(SessionManager.open(path)));
        await session.close();
        expect(readFileSync(path).equals(before)).toBe(true);
      });
    }),
    { numRuns: 300 },
  );
});
