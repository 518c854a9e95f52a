import fc from "fast-check";
import {
  type LeakageBoundary,
  type LeakageVerdict,
  planAttachments,
  replayAlways,
  replayCurrentTurn,
  replayNever,
  replayWithin,
  type Transfer,
} from "sessile/attachments";
import {
  assistantMessage,
  type LinkResource,
  type ReplayDecision,
  type ReplayPolicy,
  type Resource,
  toolResult,
  userMessage,
} from "sessile/content";
import { describe, expect, test } from "vitest";
import { decideAttachments } from "../../src/attachments/decide.js";
import { contextWith, everyBlob, image } from "./samples.js";

const reply = assistantMessage({ provider: "p", model: "m" }, "ok");
const result = (...resources: readonly Resource[]) => toolResult({ id: "c", name: "t" }, ...resources);
const link: LinkResource = {
  resourceId: "res_link",
  kind: "link",
  source: "link",
  uri: "https://a.example/",
};
const zip = image(0xbb, { kind: "file", mediaType: "application/octet-stream" });

const contexts = fc
  .array(
    fc.record({
      role: fc.constantFrom("user", "assistant", "toolResult"),
      resources: fc.array(fc.constantFrom<Resource>(image(1), image(2), image(3), link, zip), {
        maxLength: 3,
      }),
      view: fc.constantFrom(undefined, undefined, 1, 2, 9),
    }),
    { maxLength: 10 },
  )
  .map((steps) => {
    const messages = steps.map(({ role, resources }) => {
      if (role === "assistant") return reply;
      return role === "user" ? userMessage("u", ...resources) : result(...resources);
    });
    const views = steps.flatMap(({ view }, item) =>
      view === undefined ? [] : [{ item, resourceId: image(view).resourceId }],
    );
    return contextWith(messages, views);
  });
const policies = fc.constantFrom<ReplayPolicy>(
  replayCurrentTurn,
  replayAlways,
  replayNever,
  replayWithin({ maxCount: 1 }),
  () => "omit",
);
const ranks: readonly ReplayDecision[] = ["omit", "describe", "full"];
const rank = (decision: ReplayDecision) => ranks.indexOf(decision);

describe("decideAttachments", () => {
  test("decides as a plan does, but for what only reading tells, and for what is sent at another place", async () => {
    await fc.assert(
      fc.asyncProperty(contexts, policies, async (context, replay) => {
        const decided = await decideAttachments(context, { target: "t", replay });
        const plan = await planAttachments(context, { target: "t", replay, blobs: everyBlob().blobs });
        expect(decided.unplacedViews).toEqual(plan.unplacedViews);
        expect(decided.attachments.map(({ item, block }) => [item, block])).toEqual(
          plan.attachments.map(({ item, block }) => [item, block]),
        );
        plan.attachments.forEach(({ decision, reason }, at) => {
          const one = decided.attachments[at];
          if (reason === "sentAlready") expect(one?.decision).toBe("full");
          else expect(one).toMatchObject({ decision, reason });
        });
      }),
    );
  });

  test("a boundary can only lessen, is asked for whatever would leave, and says so", async () => {
    const verdicts = fc.infiniteStream(fc.constantFrom<LeakageVerdict>("allow", "describe", "refuse"));
    await fc.assert(
      fc.asyncProperty(contexts, policies, verdicts, fc.boolean(), async (context, replay, stream, later) => {
        const asked: { readonly wanted: Transfer["wanted"]; readonly verdict: LeakageVerdict }[] = [];
        const boundary: LeakageBoundary = (_, { wanted }) => {
          const verdict: LeakageVerdict = stream.next().value ?? "refuse";
          asked.push({ wanted, verdict });
          return later ? Promise.resolve(verdict) : verdict;
        };
        const { attachments } = await decideAttachments(context, { target: "t", replay, boundary });
        const without = await decideAttachments(context, { target: "t", replay });
        const leaving = without.attachments.filter(({ decision }) => decision !== "omit");
        expect(asked.map(({ wanted }) => wanted)).toEqual(leaving.map(({ decision }) => decision));
        let next = 0;
        attachments.forEach(({ decision, reason }, at) => {
          const before = without.attachments[at];
          if (before === undefined) throw new Error("there is one more");
          if (before.decision === "omit") {
            expect(decision).toBe("omit");
            return;
          }
          const { verdict } = asked[next++] ?? { verdict: "refuse" };
          const most = verdict === "allow" ? "full" : verdict === "describe" ? "describe" : "omit";
          expect(rank(decision)).toBe(Math.min(rank(before.decision), rank(most)));
          expect(reason).toBe(decision === before.decision ? before.reason : "boundary");
        });
      }),
    );
  });

  test("tells the boundary where and why", async () => {
    const told: Transfer[] = [];
    const boundary: LeakageBoundary = (_, transfer) => {
      told.push(transfer);
      return "allow";
    };
    const messages = [userMessage(image(1)), reply, userMessage(image(2)), reply, userMessage(image(3))];
    const view = { item: 4, resourceId: image(1).resourceId };
    await decideAttachments(contextWith(messages, [view]), { target: "t", boundary });
    expect(told.map(({ target, wanted, intent, place }) => [target, wanted, intent, place.item])).toEqual([
      ["t", "full", "view", 0],
      ["t", "describe", "replay", 2],
      ["t", "full", "attach", 4],
    ]);
  });

  test("what a policy or a boundary says that is none of its words is a no", async () => {
    const context = contextWith([userMessage(image(1))]);
    for (const word of ["send", undefined, true, "FULL"]) {
      const replay = (() => word) as unknown as ReplayPolicy;
      const boundary = (() => word) as unknown as LeakageBoundary;
      expect((await decideAttachments(context, { target: "t", replay })).attachments).toMatchObject([
        { decision: "omit", reason: "policy" },
      ]);
      expect((await decideAttachments(context, { target: "t", boundary })).attachments).toMatchObject([
        { decision: "omit", reason: "boundary" },
      ]);
    }
  });

  test("a policy or a boundary that throws decides nothing", async () => {
    const context = contextWith([userMessage(image(1))]);
    const fail = () => expect.fail("no");
    await expect(decideAttachments(context, { target: "t", replay: fail })).rejects.toThrow("no");
    await expect(decideAttachments(context, { target: "t", boundary: fail })).rejects.toThrow("no");
  });

  test("ends when it is told to, also while the boundary is asked", async () => {
    const context = contextWith([userMessage(image(1), image(2), image(3))]);
    const controller = new AbortController();
    let asked = 0;
    const boundary = async () => {
      if (++asked === 2) controller.abort(new Error("enough"));
      return "allow" as const;
    };
    const deciding = decideAttachments(context, { target: "t", boundary, signal: controller.signal });
    await expect(deciding).rejects.toThrow("enough");
    expect(asked).toBe(2);
    const last = { target: "t", signal: controller.signal };
    await expect(decideAttachments(contextWith([]), last)).rejects.toThrow("enough");
  });

  test("needs the name of a target", async () => {
    await expect(decideAttachments(contextWith([]), { target: "" })).rejects.toThrow(TypeError);
    await expect(decideAttachments(contextWith([]), undefined as never)).rejects.toThrow(/target: expected/);
  });
});
