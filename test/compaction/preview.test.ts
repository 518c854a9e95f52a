import fc from "fast-check";
import { type CompactionPlan, initialContext } from "sessile/compaction";
import type { Context, ContextItem } from "sessile/content";
import { expect, test } from "vitest";
import { previewItems } from "../../src/compaction/verify.js";
import { compactNow, gave, keepLast, scripted, sessionOf, textOf, told, user } from "./scripted.js";

const long = "line of text\n".repeat(2000);
const shown = (items: readonly ContextItem[]) =>
  items.map(({ origin, message }) => [origin, message.role, textOf(message)]);

test("what a plan leaves is what the session shows after it", async () => {
  const message = (of: Parameters<typeof sessionOf>[0][number]) =>
    ({ type: "message", message: of }) as const;
  const system = (content: string) => message({ role: "system", content, timestamp: 1 });
  const written = [
    system("be kind"),
    initialContext("old rules"),
    message(user("first")),
    message(told("on it", ["1"])),
    message(gave("1", long)),
    system("be short"),
    message(user(long)),
    message(told("and", ["2"])),
    initialContext("late rules"),
    message(gave("2", long)),
  ];
  const at = fc.nat({ max: written.length - 1 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(at, { maxLength: 3 }),
      fc.nat({ max: 9 }),
      fc.boolean(),
      fc.boolean(),
      async (pins, keep, tells, twice) => {
        const session = await sessionOf([]);
        const ids = (await session.append(written)).map(({ id }) => id);
        await session.append(
          pins.map((index) => ({ type: "context_pin", targetId: ids[index] as string, pinned: true })),
        );
        for (const round of twice ? [1, 2] : [1]) {
          let planned: readonly [CompactionPlan, Context] | undefined;
          const done = await compactNow(session, {
            ...scripted("S".repeat(300 - 100 * round)),
            strategy: keepLast(keep + 1),
            window: 40_000,
            before: (plan, context) => {
              planned = [plan, context];
              return undefined;
            },
            ...(tells ? { initialContext: { content: `rules ${round}`, mode: "before-last-user" } } : {}),
          }).catch((error: unknown) => error as { readonly code: string });
          if (planned === undefined || !("status" in done) || done.status !== "compacted") return;
          const [plan, context] = planned;
          const { items } = await session.context();
          expect(shown(items)).toEqual(shown(previewItems(context, plan, done.entry.summary)));
        }
      },
    ),
    { numRuns: 150 },
  );
});
