import { dirname } from "node:path";
import fc from "fast-check";
import { fileSessionStore } from "sessile/node";
import { expect, test } from "vitest";
import { inDirectory, SessionManager } from "./pi.js";
import { type Step, scriptWithAssistant } from "./scripts.js";
import { carryOut, ourHand, piHand } from "./writers.js";

const cwd = "/work/project";

/** Texts that a list shows alike: pi does not trim, and takes white space for a message. */
function isPlain(step: Step): boolean {
  if (step.type !== "message" || step.message.role !== "user") return true;
  const { content } = step.message;
  const text =
    typeof content === "string"
      ? content
      : content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ");
  return text === text.trim();
}

const sessions = fc.array(
  fc.tuple(
    fc.constantFrom("pi" as const, "ours" as const),
    scriptWithAssistant.map((steps) => steps.filter(isPlain)),
  ),
  { minLength: 1, maxLength: 5, size: "max" },
);

test("both list the same sessions, with the same names, first messages, times of creation and parents", {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(sessions, async (list) => {
      await inDirectory(async (dir) => {
        const store = fileSessionStore({ dir, durability: "os" });
        const first = await store.create({ cwd });
        await first.append([{ type: "custom", customType: "first" }]);
        const project = dirname(first.location as string);
        await first.close();
        for (const [who, steps] of list) {
          if (who === "pi") {
            await carryOut(piHand(SessionManager.create(cwd, project)), steps);
          } else {
            const session = await store.create({ cwd, parentSession: first.location as string });
            await carryOut(ourHand(session), steps);
            await session.close();
          }
        }
        const ofPi = (await SessionManager.list(cwd, project)).map((info) => ({
          id: info.id,
          cwd: info.cwd,
          name: info.name,
          // What pi says where there is none.
          firstMessage: info.firstMessage === "(no messages)" ? undefined : info.firstMessage,
          created: info.created.toISOString(),
          location: info.path,
          parentSession: info.parentSessionPath,
        }));
        const ours: typeof ofPi = [];
        for await (const summary of store.list({ cwd })) {
          const { id, name, firstMessage, created, parentSession } = summary;
          const location = summary.location as string;
          ours.push({ id, cwd: summary.cwd, name, firstMessage, created, location, parentSession });
        }
        const byId = (a: { readonly id: string }, b: { readonly id: string }) => (a.id < b.id ? -1 : 1);
        expect(ours.sort(byId)).toEqual(ofPi.sort(byId));
      });
    }),
    { numRuns: 100 },
  );
});
