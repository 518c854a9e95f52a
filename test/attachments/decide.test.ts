import fc from "fast-check";
import {
  assistantMessage,
  type Context,
  type ContextMessage,
  type LinkResource,
  type MessagePart,
  type ProjectOptions,
  type ReplayDecision,
  type ReplayPolicy,
  type Resource,
  toolResult,
  userMessage,
} from "sessile";
import {
  type LeakageBoundary,
  type LeakageVerdict,
  replayAlways,
  replayCurrentTurn,
  replayNever,
  replayWithin,
  type Transfer,
} from "sessile/attachments";
import { describe, expect, test } from "vitest";
import { decideAttachments } from "../../src/attachments/internal.js";
import { naiveDecisions } from "./naive-decisions.js";
import { contextWith, everyBlob, image, sentAttachments } from "./samples.js";

const model = { provider: "p", model: "m" };
const reply = assistantMessage(model, "ok");
const asks = assistantMessage(model, { type: "toolCall", id: "c", name: "t", arguments: {} });
/** Answers the call of `asks`. */
const result = (...parts: readonly MessagePart[]) => toolResult({ id: "c", name: "t" }, ...parts);
const link: LinkResource = {
  resourceId: "res_00000000000000aa",
  kind: "link",
  source: "link",
  uri: "https://a.example/",
};
const zip = image(0xbb, { kind: "file", mediaType: "application/octet-stream", name: "a.zip" });

const contexts = fc
  .array(
    fc.record({
      role: fc.constantFrom("user", "assistant", "toolResult"),
      resources: fc.array(fc.constantFrom<Resource>(image(1), image(2), image(3), link, zip), {
        maxLength: 3,
      }),
      view: fc.constantFrom(undefined, undefined, 1, 2, 3, 9),
    }),
    { maxLength: 10 },
  )
  .map((steps) => {
    const messages: ContextMessage[] = [];
    const views: { readonly item: number; readonly resourceId: string }[] = [];
    for (const { role, resources, view } of steps) {
      if (view !== undefined) views.push({ item: messages.length, resourceId: image(view).resourceId });
      if (role === "assistant") messages.push(reply);
      else if (role === "user") messages.push(userMessage("u", ...resources));
      else messages.push(asks, result("r", ...resources));
    }
    return contextWith(messages, views);
  });
const policies = fc.constantFrom<ReplayPolicy>(
  replayCurrentTurn,
  replayAlways,
  replayNever,
  replayWithin({ maxCount: 1 }),
  replayWithin({ maxBytes: 150 }),
  () => "omit",
);
const ranks: readonly ReplayDecision[] = ["omit", "describe", "full"];
const rank = (decision: ReplayDecision) => ranks.indexOf(decision);

/** What is sent of each attachment, and why. */
async function outcome(context: Context, options: ProjectOptions = {}): Promise<readonly string[]> {
  const sent = await sentAttachments(context, { blobs: everyBlob().blobs, ...options });
  return sent.map(({ resourceId = "", sent, reason }) => {
    return `${Number.parseInt(resourceId.slice(4), 16)} ${sent} ${reason}`;
  });
}

describe("decideAttachments", () => {
  test("decides as a request sends, except for unreadable bytes and bytes sent elsewhere", async () => {
    await fc.assert(
      fc.asyncProperty(contexts, policies, async (context, replay) => {
        const { attachments } = await decideAttachments(context, { target: "t", replay });
        const sent = await sentAttachments(context, { replay, blobs: everyBlob().blobs });
        expect(attachments.map(({ entryId, block }) => [entryId, block])).toEqual(
          sent.map(({ entryId, block }) => [entryId, block]),
        );
        const decisions = { bytes: "full", descriptor: "describe", nothing: "omit" };
        sent.forEach((one, at) => {
          const decided = attachments[at];
          if (one.reason === "sentAlready") expect(decided?.decision).toBe("full");
          else {
            const decision = decisions[one.sent as keyof typeof decisions];
            expect(decided).toMatchObject({ decision, reason: one.reason });
          }
        });
      }),
    );
  });

  test("a boundary is asked about each attachment that would be sent, and can only reduce", async () => {
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

  test("gives the boundary target, intent and position", async () => {
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

  test("an unknown value of a policy or a boundary omits the attachment", async () => {
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

  test("an error of a policy or a boundary rejects", async () => {
    const context = contextWith([userMessage(image(1))]);
    const fail = () => expect.fail("no");
    await expect(decideAttachments(context, { target: "t", replay: fail })).rejects.toThrow("no");
    await expect(decideAttachments(context, { target: "t", boundary: fail })).rejects.toThrow("no");
  });

  test("aborts, also while the boundary is pending", async () => {
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

describe("attachments of a request by the default policy", () => {
  // @covers R7
  test("sends the current turn's image on every round of its tools, then describes it", async () => {
    const turn: ContextMessage[] = [userMessage("look", image(1))];
    for (let round = 0; round < 3; round++) {
      expect(await outcome(contextWith(turn))).toEqual(["1 bytes currentTurn"]);
      turn.push(asks, result("done"));
    }
    turn.push(reply, userMessage("and now?"));
    expect(await outcome(contextWith(turn))).toEqual(["1 descriptor earlierTurn"]);
  });

  test("a view adds exactly one image, and the next turn has none", async () => {
    const before = [userMessage("look", image(1)), reply, userMessage("again?"), asks];
    const view = { item: 4, resourceId: image(1).resourceId };
    expect(await outcome(contextWith(before, [view]))).toEqual(["1 bytes viewed"]);
    expect(await outcome(contextWith([...before, result("shown"), reply], [view]))).toEqual([
      "1 bytes viewed",
    ]);
    expect(await outcome(contextWith([...before, result(image(1))], [view]))).toEqual([
      "1 descriptor earlierTurn",
      "1 bytes currentTurn",
    ]);
    const after = [...before, result(image(1)), reply, userMessage("next")];
    expect(await outcome(contextWith(after, [view]))).toEqual([
      "1 descriptor earlierTurn",
      "1 descriptor earlierTurn",
    ]);
  });

  test("two views of one resource send it once, and a view of one in the turn adds nothing", async () => {
    const resourceId = image(1).resourceId;
    const messages = [userMessage(image(1)), asks, result(image(1)), reply, userMessage("see both")];
    const views = [
      { item: 5, resourceId },
      { item: 5, resourceId },
    ];
    expect(await outcome(contextWith(messages, views))).toEqual([
      "1 descriptor earlierTurn",
      "1 bytes viewed",
    ]);
    const inTurn = [userMessage(image(1)), asks, result(image(1))];
    expect(await outcome(contextWith(inTurn, [{ item: 2, resourceId }]))).toEqual([
      "1 bytes currentTurn",
      "1 descriptor sentAlready",
    ]);
  });

  test("a view that a user makes before asking counts for the question", async () => {
    const messages = [userMessage(image(1)), reply, userMessage("what is in it?")];
    expect(await outcome(contextWith(messages, [{ item: 2, resourceId: image(1).resourceId }]))).toEqual([
      "1 bytes viewed",
    ]);
    expect(await outcome(contextWith(messages, [{ item: 1, resourceId: image(1).resourceId }]))).toEqual([
      "1 descriptor earlierTurn",
    ]);
  });

  test("keeps the image of a current message that a compaction retained", async () => {
    const context = contextWith([userMessage("look", image(1)), asks, result("r")]);
    const [first, ...rest] = context.items;
    const summary = { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: 0 } as const;
    const items: Context["items"] = [
      { entryId: "c", origin: "summary", message: summary },
      { ...(first as Context["items"][number]), origin: "retained" },
      ...rest,
    ];
    expect(await outcome({ ...context, items })).toEqual(["1 bytes currentTurn"]);
  });

  // @covers R19
  test("describes links and bytes of unknown type, without asking the policy", async () => {
    const context = contextWith([userMessage(link, zip)]);
    const replay = () => expect.fail("it was asked");
    expect(await outcome(context, { replay })).toEqual(["170 descriptor link", "187 descriptor unknownType"]);
  });

  test("reports views of the turn whose resource is not in the context", async () => {
    const messages = [userMessage("a"), reply, userMessage("b"), reply];
    const views = [
      { item: 1, resourceId: "res_old" },
      { item: 4, resourceId: "res_gone" },
      { item: 4, resourceId: "res_gone" },
    ];
    const decided = await decideAttachments(contextWith(messages, views), { target: "t" });
    expect(decided).toEqual({ attachments: [], unplacedViews: ["res_gone"] });
  });

  // @covers R64
  test("does what the rule says, in any context", async () => {
    await fc.assert(
      fc.asyncProperty(contexts, fc.subarray([image(1).blob, image(2).blob]), async (context, missing) => {
        const sent = await sentAttachments(context, { blobs: everyBlob(missing).blobs });
        const expected = naiveDecisions(context, missing).map(({ item, block, decision }) => {
          return [`m${item}`, block, decision === "full" ? "bytes" : "descriptor"];
        });
        expect(sent.map(({ entryId, block, sent }) => [entryId, block, sent])).toEqual(expected);
      }),
      { numRuns: 150 },
    );
  });

  test("sends a resource's bytes at most once, whatever the policy, and reads each blob once", async () => {
    await fc.assert(
      fc.asyncProperty(contexts, policies, async (context, replay) => {
        const { blobs, reads } = everyBlob();
        const sent = (await sentAttachments(context, { blobs, replay })).flatMap(({ resourceId, sent }) =>
          sent === "bytes" ? [resourceId] : [],
        );
        expect(new Set(sent).size).toBe(sent.length);
        expect(new Set(reads).size).toBe(reads.length);
      }),
    );
  });
});

describe("attachments of a request by other policies", () => {
  const history = [
    userMessage(image(1)),
    reply,
    userMessage(image(2), image(3)),
    reply,
    userMessage(image(4)),
  ];

  test("budgeted: the newest that fit together with what is newer", async () => {
    expect(await outcome(contextWith(history), { replay: replayWithin({ maxBytes: 300 }) })).toEqual([
      "1 descriptor earlierTurn",
      "2 bytes replayed",
      "3 bytes replayed",
      "4 bytes currentTurn",
    ]);
    expect(await outcome(contextWith(history), { replay: replayWithin({ maxCount: 2 }) })).toEqual([
      "1 descriptor earlierTurn",
      "2 descriptor earlierTurn",
      "3 bytes replayed",
      "4 bytes currentTurn",
    ]);
  });

  test("a resource does not take room from itself", async () => {
    const twice = [userMessage(image(1)), reply, userMessage(image(1)), reply, userMessage("x")];
    expect(await outcome(contextWith(twice), { replay: replayWithin({ maxCount: 1 }) })).toEqual([
      "1 bytes replayed",
      "1 descriptor sentAlready",
    ]);
  });

  test("always, never, and one that omits", async () => {
    const context = contextWith([userMessage(image(1)), reply, userMessage(image(2))]);
    expect(await outcome(context, { replay: replayAlways })).toEqual([
      "1 bytes replayed",
      "2 bytes currentTurn",
    ]);
    expect(await outcome(context, { replay: replayNever })).toEqual([
      "1 descriptor earlierTurn",
      "2 descriptor policy",
    ]);
    expect(await outcome(context, { replay: () => "omit" })).toEqual([
      "1 nothing policy",
      "2 nothing policy",
    ]);
  });
});

describe("attachments of a request across the boundary", () => {
  const context = contextWith(
    [userMessage("a", image(1)), reply, userMessage("b", image(2), link), asks, result("r")],
    [{ item: 4, resourceId: image(1).resourceId }],
  );

  test("gives it target, decision and intent", async () => {
    const asked: (Omit<Transfer, "place"> & { readonly id: string })[] = [];
    const boundary = (resource: Resource, { place, ...transfer }: Transfer) => {
      expect(place.item).toBeLessThan(3);
      asked.push({ id: resource.resourceId.slice(-2), ...transfer });
      return "allow" as const;
    };
    await outcome(context, { boundary });
    expect(asked).toEqual([
      { id: "01", target: "t", wanted: "full", intent: "view" },
      { id: "02", target: "t", wanted: "full", intent: "attach" },
      { id: "aa", target: "t", wanted: "describe", intent: "attach" },
    ]);
  });

  // @covers R16
  test("can lessen what is sent, and never add to it", async () => {
    expect(await outcome(context, { boundary: () => "describe" })).toEqual([
      "1 descriptor boundary",
      "2 descriptor boundary",
      "170 descriptor link",
    ]);
    expect(await outcome(context, { boundary: async () => "refuse" as const })).toEqual([
      "1 nothing boundary",
      "2 nothing boundary",
      "170 nothing boundary",
    ]);
    expect(await outcome(context, { boundary: () => "allow", replay: replayNever })).toEqual([
      "1 descriptor policy",
      "2 descriptor policy",
      "170 descriptor link",
    ]);
  });

  test("refused attachments are neither described nor read", async () => {
    const { blobs, reads } = everyBlob();
    const sent = await sentAttachments(context, { blobs, boundary: () => "refuse" });
    expect(sent.map(({ text }) => text)).toEqual(["", "", ""]);
    expect(reads).toEqual([]);
  });

  test("an error of the boundary rejects the request", async () => {
    const boundary = (): Promise<never> => Promise.reject(new Error("ask again"));
    await expect(outcome(context, { boundary })).rejects.toThrow("ask again");
  });
});

describe("attachments of a request whose bytes are not there", () => {
  const context = contextWith([userMessage("see", image(1), image(2), image(3))]);

  // @covers R22 R65
  test("says that they are missing or damaged, and sends the rest", async () => {
    const { blobs } = everyBlob([image(1).blob], [image(2).blob]);
    expect(await outcome(context, { blobs })).toEqual([
      "1 descriptor missing",
      "2 descriptor corrupt",
      "3 bytes currentTurn",
    ]);
    const [missing, damaged] = await sentAttachments(context, { blobs });
    expect(missing?.text).toContain("res_0000000000000001");
    expect(missing?.text).toContain("not shown: its bytes are no longer stored");
    expect(damaged?.text).toContain("damaged");
  });

  test("without a store all are missing", async () => {
    const sent = await sentAttachments(context);
    expect(sent.map(({ reason }) => reason)).toEqual(["missing", "missing", "missing"]);
  });

  test("rejects with other errors of the store and with the signal's reason", async () => {
    const get = () => Promise.reject(new Error("no disk"));
    await expect(sentAttachments(context, { blobs: { get } })).rejects.toThrow("no disk");
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(sentAttachments(context, { signal })).rejects.toThrow("enough");
  });
});
