import fc from "fast-check";
import { assistantMessage, type ContextMessage, type ReplayPlace, userMessage } from "sessile";
import {
  type LeakageVerdict,
  type ReplayBudget,
  replayAlways,
  replayCurrentTurn,
  replayNever,
  replayWithin,
} from "sessile/attachments";
import { estimateImageTokens } from "sessile/estimate";
import { describe, expect, test } from "vitest";
import { applyVerdict } from "../../src/attachments/decide.js";
import { decideAttachments } from "../../src/attachments/internal.js";
import { contextWith, image } from "./samples.js";

const reply = assistantMessage({ provider: "p", model: "m" }, "ok");

const place = (more: Partial<ReplayPlace> = {}): ReplayPlace => ({
  entryId: "e",
  item: 0,
  currentTurn: false,
  viewed: false,
  newer: { count: 0, bytes: 0 },
  ...more,
});
const newer = (count: number, bytes: number) => place({ newer: { count, bytes } });

describe("replay policies", () => {
  // @covers R8
  test("of the current turn: what is attached or viewed in it", () => {
    expect(replayCurrentTurn(image(1), place())).toBe("describe");
    expect(replayCurrentTurn(image(1), place({ currentTurn: true }))).toBe("full");
    expect(replayCurrentTurn(image(1), place({ viewed: true }))).toBe("full");
  });

  test("always and never", () => {
    expect(replayAlways(image(1), place())).toBe("full");
    expect(replayNever(image(1), place({ currentTurn: true, viewed: true }))).toBe("describe");
  });

  test("within a budget: the newest that fit with all that is newer, and the turn's own in any case", () => {
    const replay = replayWithin({ maxBytes: 250, maxCount: 2 });
    expect(replay(image(1), newer(1, 150))).toBe("full");
    expect(replay(image(1), newer(1, 151))).toBe("describe");
    expect(replay(image(1), newer(2, 0))).toBe("describe");
    expect(replay(image(1), { ...newer(9, 9000), currentTurn: true })).toBe("full");
    expect(replayWithin({})(image(1), newer(99, 99_999))).toBe("full");
    expect(replayWithin({ maxCount: 0 })(image(1), place())).toBe("describe");
    expect(() => replayWithin({ maxBytes: -1 })).toThrow(RangeError);
    expect(() => replayWithin({ maxCount: 0.5 })).toThrow(RangeError);
  });

  const window = { tokens: 5_000, images: 6, turns: 7 };

  test.each([
    ["tokens", { tokens: -1 }],
    ["images", { images: 0.5 }],
    ["turns", { turns: 0 }],
  ])("a budget of %s that cannot be is refused by its name", (name, budget) => {
    expect(() => replayWithin(budget)).toThrow(new RegExp(`^${name}: `));
  });

  test.each(["tokens", "images", "turns"] as const)(
    "of a budget of %s never more is sent, at least half of it if there is as much, and a cut seldom moves",
    async (kind) => {
      const bound = window[kind];
      const replay = replayWithin({ [kind]: bound });
      const messages: ContextMessage[] = [];
      let cuts = 0;
      let earlier: readonly string[] = [];
      for (let turn = 1; turn <= 60; turn++) {
        messages.push(userMessage("look", image(turn, { width: 700, height: 700 })), reply);
        messages.push(userMessage("and now?"));
        const plan = await decideAttachments(contextWith(messages), { target: "t", replay });
        messages.pop();
        const decisions = plan.attachments.map(({ decision }) => decision);
        const full = decisions.filter((decision) => decision === "full").length;
        const one = kind === "tokens" ? estimateImageTokens({ width: 700, height: 700 }, "anthropic") : 1;
        // The question is a turn of its own.
        const own = kind === "turns" ? 1 : 0;
        expect(full * one + own).toBeLessThanOrEqual(bound);
        if (turn * one >= bound) expect((full + 1) * one + own).toBeGreaterThanOrEqual(bound / 2);
        expect(decisions.lastIndexOf("describe")).toBe(turn - full - 1);
        if (earlier.some((decision, at) => decision !== decisions[at])) cuts++;
        earlier = decisions;
      }
      const perCut = Math.floor(bound / 2) / (kind === "tokens" ? 625 : 1);
      expect(cuts).toBeLessThanOrEqual(60 / perCut + 1);
      expect(cuts).toBeGreaterThan(60 / (2 * perCut) - 5);
    },
  );

  test("a document counts by its tokens and turn, not among the images", async () => {
    const paper = image(9, { kind: "file", mediaType: "application/pdf", size: 500_000 });
    const context = contextWith([
      userMessage("read", paper, image(1)),
      reply,
      userMessage("look", image(2)),
      reply,
      userMessage("and now?"),
    ]);
    const decided = async (budget: ReplayBudget) =>
      (await decideAttachments(context, { target: "t", replay: replayWithin(budget) })).attachments.map(
        ({ decision }) => decision,
      );
    expect(await decided({ images: 1 })).toEqual(["full", "describe", "full"]);
    expect(await decided({ images: 0 })).toEqual(["full", "describe", "describe"]);
    expect(await decided({ tokens: 10_000 })).toEqual(["describe", "full", "full"]);
    expect(await decided({ turns: 2 })).toEqual(["describe", "describe", "full"]);
    expect(await decided({ turns: 3 })).toEqual(["full", "full", "full"]);
  });
});

describe("applyVerdict", () => {
  const order = ["omit", "describe", "full"] as const;

  test("never exceeds the wanted decision or the verdict", () => {
    const most = { allow: "full", describe: "describe", refuse: "omit" } as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...order),
        fc.constantFrom("allow", "describe", "refuse"),
        (wanted, verdict) => {
          const least = Math.min(order.indexOf(wanted), order.indexOf(most[verdict as keyof typeof most]));
          expect(applyVerdict(wanted, verdict as LeakageVerdict)).toBe(order[least]);
        },
      ),
    );
  });

  test("an unknown verdict refuses", () => {
    for (const verdict of [undefined, true, "Allow", "full"]) {
      expect(applyVerdict("full", verdict as LeakageVerdict)).toBe("omit");
    }
  });
});
