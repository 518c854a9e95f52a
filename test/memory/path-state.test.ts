import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { assistantMessage, memorySessionStore, type Session, userMessage } from "sessile";
import { sessionMemory } from "sessile/memory";
import { fileSessionStore } from "sessile/node";
import { describe, expect, it } from "vitest";
import { rounds } from "../support/rounds.js";
import { model } from "./support.js";

const blocks = ["a", "b"].map((label) => ({ label, writable: true }) as const);

/** The values by their definition: the newest entry of each label on the path. */
async function naive(session: Session): Promise<Readonly<Record<string, string>>> {
  const values: Record<string, string> = { a: "", b: "" };
  for (const entry of await session.path()) {
    if (entry.type !== "custom" || entry.customType !== "sessile.memory") continue;
    const { label, text } = entry.data as { label: string; text: string };
    values[label] = text;
  }
  return values;
}

type Op =
  | readonly ["set", "a" | "b"]
  | readonly ["others", number]
  | readonly ["branch", number]
  | readonly ["message" | "refresh" | "prompt" | "reopen" | "fork"];

const op: fc.Arbitrary<Op> = fc.oneof(
  fc.tuple(fc.constant("set" as const), fc.constantFrom("a" as const, "b" as const)),
  fc.tuple(fc.constant("others" as const), fc.integer({ min: 1, max: 90 })),
  fc.tuple(fc.constant("branch" as const), fc.nat()),
  fc.tuple(
    fc.constantFrom(
      "message" as const,
      "refresh" as const,
      "prompt" as const,
      "reopen" as const,
      "fork" as const,
    ),
  ),
);

describe.each(["memory", "files"])("the values of a session in %s", (kind) => {
  it("are those of the naive model, whatever is between them, before and behind them", async () => {
    const dir = mkdtempSync(join(tmpdir(), "sessile-memory-"));
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(op, { maxLength: 25 }), async (ops) => {
          const store = kind === "files" ? fileSessionStore({ dir, durability: "os" }) : memorySessionStore();
          let session = await store.create({ cwd: "/" });
          await session.appendMessage(userMessage("Hello."));
          let memory = sessionMemory(session, { blocks });
          for (const [n, [what, more]] of ops.entries()) {
            if (what === "set") await memory.set(more, `${n}`);
            else if (what === "others") {
              const data = (at: number) => ({ type: "custom", customType: "other", data: at }) as const;
              await session.append(Array.from({ length: more }, (_, at) => data(at)));
            } else if (what === "message") await session.appendMessage(assistantMessage(model, "Yes."));
            else if (what === "refresh") await memory.refresh();
            else if (what === "prompt") await memory.prompt();
            else if (what === "branch") {
              const nodes = Array.from((await session.tree()).walk());
              await session.branch(nodes[more % nodes.length]?.node.id ?? null);
            } else {
              const forks = what === "fork" ? await store.fork(session) : undefined;
              await session.close();
              session = forks ?? (await store.open(session.id, { mode: "write" }));
              memory = sessionMemory(session, { blocks });
            }
            if (n % 3 !== 0 && n < ops.length - 1) continue;
            const [a, b] = await Promise.all([memory.get("a"), memory.get("b")]);
            expect({ a: a.text, b: b.text }).toEqual(await naive(session));
          }
          await session.close();
        }),
        { numRuns: rounds(kind === "files" ? 4 : 12, 200) },
      );
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
