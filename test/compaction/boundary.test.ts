import fc from "fast-check";
import {
  assistantMessage,
  type ImageBlock,
  type Message,
  project,
  type Resource,
  type Session,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { type LeakageBoundary, type LeakageVerdict, resourceObservation } from "sessile/attachments";
import {
  type CompactionStrategy,
  compact,
  type GeneratePrompt,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
  summarizeBranch,
} from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { serializeItems } from "../../src/compaction/prompts.js";
import { base64, png } from "../attachments/samples.js";
import { checkedTargets } from "../support/checked-targets.js";
import { sessionOf } from "./scripted.js";

const target = { name: "summariser", model: { provider: "p", model: "m" } };
const idOf = (number: number) => `res_${number.toString(16).padStart(16, "0")}`;

/** An attachment of which everything that could be told has the number in it. */
function canary(number: number, kind: Resource["kind"] = "file"): Resource {
  const common = { resourceId: idOf(number), name: `CANARY${number}.x`, source: "upload" } as const;
  if (kind === "link") return { ...common, kind, uri: `https://example.com/CANARY${number}/page` };
  const digits = number.toString(16).padStart(64, "c");
  const mediaType = `application/x-canary${number}-type`;
  return { ...common, kind, mediaType, size: 1000 + number, blob: `sha256:${digits}`, contentSha256: digits };
}

/** Which attachments a text tells of. */
function toldIn(text: string): readonly number[] {
  const numbers = [...text.matchAll(/canary(\d+)|res_0*([0-9a-f]+)/gi)].map(([, number, id]) =>
    number === undefined ? Number.parseInt(id as string, 16) : Number(number),
  );
  return [...new Set(numbers)].sort((a, b) => a - b);
}

interface Round {
  readonly asked: readonly Resource[];
  readonly said?: Resource;
  readonly given: readonly Resource[];
  readonly provider?: string;
}

const padding = "word ".repeat(900);
const inline = (number: number): ImageBlock => ({
  type: "image",
  data: base64(png()),
  mimeType: `image/x-canary${number}`,
});

function messagesOf(rounds: readonly Round[]): readonly Message[] {
  return rounds.flatMap(({ asked, said, given, provider = "p" }, at): Message[] => {
    const call = { type: "toolCall", id: `c${at}`, name: "read", arguments: { at } } as const;
    const thinking = { type: "thinking", thinking: `THOUGHT of ${provider}` } as const;
    const answer = assistantMessage({ provider, model: "m" }, thinking, `${padding} answer ${at}`, call);
    const block = said && { type: "text" as const, text: `[file ${said.name}]`, resource: said };
    return [
      userMessage(`${padding} question ${at}`, ...asked),
      block === undefined ? answer : { ...answer, content: [...answer.content, block] },
      toolResult(call, `${padding} output ${at}`, ...given),
    ];
  });
}

/** A model that keeps what it was shown, and answers briefly. */
function listening(answer = "A summary.") {
  const prompts: GeneratePrompt[] = [];
  const generate = async (prompt: GeneratePrompt) => {
    prompts.push(prompt);
    return { text: answer };
  };
  // The prompts have an id as an example.
  return { prompts, generate, shown: () => JSON.stringify(prompts).replaceAll("res_0123456789abcdef", "") };
}

/** A boundary that counts what it is asked about. */
function asking(verdictOf: (number: number) => LeakageVerdict) {
  const asked: number[] = [];
  const targets = new Set<string>();
  const boundary: LeakageBoundary = (resource, transfer) => {
    expect(transfer).toMatchObject({ place: { entryId: expect.any(String) } });
    const [number = -1] = toldIn(resource.resourceId);
    asked.push(number);
    targets.add(transfer.target);
    return verdictOf(number);
  };
  return { boundary, asked, targets };
}

const strategies: readonly CompactionStrategy[] = [
  rollingSummary({ keepRecentTokens: 1000 }),
  recentUserMessages({ keepUserTokens: 1500 }),
  pruneThenSummarize(),
];
const compacting = (strategy: CompactionStrategy, more: object = {}) => ({
  strategy,
  window: 8000,
  generateWindow: 100_000,
  trigger: "manual" as const,
  retry: { delayMs: () => 0 },
  ...more,
});

async function requestsOf(session: Session, boundary: LeakageBoundary): Promise<string> {
  const context = await session.context();
  const texts: string[] = [];
  for (const { target: each } of checkedTargets) {
    const { value } = await project(context, each as Target<unknown>, { boundary });
    texts.push(JSON.stringify(value));
  }
  return texts.join("\n");
}

const rounds: readonly Round[] = [
  { asked: [canary(1), canary(2, "link")], given: [canary(3, "image")] },
  { asked: [], said: canary(4), given: [canary(5, "link")] },
  { asked: [canary(6, "image")], given: [canary(1)] },
  { asked: [], given: [] },
];
const withInline = (messages: readonly Message[]): readonly Message[] => {
  const picture = { ...userMessage("see"), content: [inline(7)] };
  return [picture, ...messages];
};

describe.each(strategies)("a boundary that refuses all keeps everything from $name:", (strategy) => {
  // @covers security:boundary
  test("the model, the entry, and each later request of each target", async () => {
    const session = await sessionOf(withInline(messagesOf(rounds)));
    const { generate, prompts, shown } = listening();
    const { boundary, asked, targets } = asking(() => "refuse");
    const result = await compact(session, { ...compacting(strategy), generate, boundary, target });
    expect(result.status).toBe("compacted");
    expect(prompts.length).toBeGreaterThan(0);
    expect(toldIn(shown())).toEqual([]);
    for (const { text } of prompts) {
      expect(/<conversation>.*<\/conversation>/s.exec(text)?.[0]).not.toMatch(/x-canary|image|png/);
    }
    if (result.status !== "compacted") return;
    expect(toldIn(JSON.stringify(result.entry))).toEqual([]);
    expect(asked.length).toBeGreaterThan(0);
    expect([...targets]).toEqual(["summariser"]);
    expect(toldIn(await requestsOf(session, boundary))).toEqual([]);
  });

  test("an update of a summary whose notes it allowed once", async () => {
    const session = await sessionOf(messagesOf(rounds));
    const first = await compact(session, { ...compacting(strategy), generate: listening().generate });
    expect(first.status).toBe("compacted");
    const before = asking(() => "refuse");
    const told = await requestsOf(session, before.boundary);
    expect(toldIn(told)).toEqual([]);
    expect(before.asked.length).toBeGreaterThan(0);
    await session.append(
      messagesOf([
        { asked: [canary(8)], given: [] },
        { asked: [], given: [] },
        { asked: [], given: [] },
      ]).map((message) => ({ type: "message" as const, message })),
    );
    const { generate, shown } = listening();
    const { boundary, asked } = asking(() => "refuse");
    const second = await compact(session, { ...compacting(strategy), generate, boundary, target });
    expect(toldIn(shown())).toEqual([]);
    if (second.status !== "compacted") return expect.fail(second.status);
    expect(toldIn(JSON.stringify(second.entry))).toEqual([]);
    // What the first summary noted, and what came since.
    expect(new Set(asked)).toEqual(new Set([...asked, 1, 3, 8]));
    expect(toldIn(await requestsOf(session, boundary))).toEqual([]);
  });

  test("after an overflow, words stand for attachments that name nothing", async () => {
    const session = await sessionOf(
      messagesOf([...rounds, { asked: [canary(9), canary(10, "link")], given: [] }]),
    );
    const { generate } = listening();
    await compact(session, { ...compacting(strategy, { trigger: "overflow" }), generate });
    // No boundary was there then, and what it would have been asked about is still to be asked.
    expect(toldIn(await requestsOf(session, asking(() => "refuse").boundary))).toEqual([]);
  });
});

describe("a boundary and a summary", () => {
  const rolling = compacting(rollingSummary({ keepRecentTokens: 1000 }));

  test("is asked about each place that is summarised, and about each attachment that is noted", async () => {
    const session = await sessionOf(messagesOf(rounds.slice(0, 3)));
    const { generate } = listening();
    const { boundary, asked } = asking(() => "allow");
    const all = { ...rolling, strategy: recentUserMessages({ keepUserTokens: 0 }) };
    await compact(session, { ...all, generate, boundary, target });
    const places = [1, 2, 3, 4, 5, 6, 1];
    expect(asked).toEqual([...places, 3, 4, 6, 1]);
    const later = asking(() => "allow");
    const { items, views } = await session.context();
    await project(
      { items: items.slice(0, 1), views },
      { name: "t", model: target.model, render: (of) => of },
      later,
    );
    expect(later.asked).toEqual([3, 4, 6, 1]);
  });

  test("that allows all, or describes, changes nothing", async () => {
    for (const verdict of ["allow", "describe"] as const) {
      const [one, other] = [
        await sessionOf(withInline(messagesOf(rounds))),
        await sessionOf(withInline(messagesOf(rounds))),
      ];
      const [plain, bounded] = [listening(), listening()];
      const without = await compact(one, { ...rolling, generate: plain.generate, target });
      const { boundary } = asking(() => verdict);
      const result = await compact(other, { ...rolling, generate: bounded.generate, boundary, target });
      expect(bounded.prompts).toEqual(plain.prompts);
      if (without.status !== "compacted" || result.status !== "compacted")
        return expect.fail("not compacted");
      expect(result.entry.summary).toBe(without.entry.summary);
      expect(result.entry.details).toEqual(without.entry.details);
      const all = await other.context();
      const target2 = { name: "t", model: target.model, render: (of: unknown) => of };
      const sent = async (more: object) => JSON.stringify((await project(all, target2, more)).value);
      expect(await sent({ boundary: asking(() => "allow").boundary })).toBe(await sent({}));
    }
  });

  test("a branch that is left", async () => {
    const session = await sessionOf(messagesOf(rounds));
    const { generate, shown } = listening();
    const { boundary, asked } = asking((number) => (number === 1 ? "allow" : "refuse"));
    const [first] = (await session.tree()).path(session.leafId);
    const result = await summarizeBranch(session, first?.id ?? null, {
      window: 100_000,
      generate,
      boundary,
      target,
    });
    expect(toldIn(shown())).toEqual([1]);
    if (result.status !== "summarized") return expect.fail(result.status);
    expect(toldIn(JSON.stringify(result.entry))).toEqual([1]);
    expect(new Set(asked)).toEqual(new Set([1, 3, 4, 5, 6]));
    const refusing = asking(() => "refuse");
    expect(toldIn(await requestsOf(session, refusing.boundary))).toEqual([]);
    expect(refusing.asked).toContain(1);
  });

  test("is told what was attached, whole, also of what an earlier summary notes", async () => {
    const session = await sessionOf(messagesOf(rounds));
    await compact(session, { ...rolling, generate: listening().generate });
    const seen: Resource[] = [];
    const boundary: LeakageBoundary = (resource, { wanted, intent }) => {
      expect({ wanted, intent }).toEqual({ wanted: "describe", intent: "replay" });
      seen.push(resource);
      return "refuse";
    };
    const { items } = await session.context();
    const summary = items.slice(0, 1);
    const { losses, attachments } = await project(
      { items: summary, views: [] },
      { name: "t", model: target.model, render: (of) => of },
      { boundary },
    );
    expect(seen).toEqual(expect.arrayContaining([canary(1), canary(3, "image")]));
    expect(losses).toEqual([]);
    expect(attachments).toEqual(
      seen.map(({ resourceId }) => ({
        entryId: summary[0]?.entryId,
        resourceId,
        sent: "nothing",
        reason: "boundary",
      })),
    );
  });

  test("is told what was seen in an attachment where the notes tell it", async () => {
    const session = await sessionOf(messagesOf(rounds));
    await session.append([resourceObservation(idOf(3), "a red dialog")]);
    const seen = async (act: (boundary: LeakageBoundary) => Promise<unknown>) => {
      const told: string[] = [];
      await act((resource, { observation }) => {
        if (observation !== undefined) told.push(`${resource.resourceId} ${observation}`);
        return "allow";
      });
      return told;
    };
    const { generate } = listening();
    const expected = [`${idOf(3)} a red dialog`];
    expect(await seen((boundary) => compact(session, { ...rolling, generate, boundary, target }))).toEqual(
      expected,
    );
    const { items } = await session.context();
    const summary = { items: items.slice(0, 1), views: [] };
    const plain = { name: "t", model: target.model, render: (of: unknown) => of };
    expect(await seen((boundary) => project(summary, plain, { boundary }))).toEqual(expected);
  });

  test("takes the notes out of a summary that a strategy hands on whole", async () => {
    const session = await sessionOf(messagesOf(rounds));
    const previous = `Earlier.\n\n<covered-resources>\nx\n- ${idOf(1)}, image CANARY1\n</covered-resources>`;
    const strategy: CompactionStrategy = {
      ...rolling.strategy,
      choose: (...given) => {
        const choice = rolling.strategy.choose(...given);
        return choice && { ...choice, parts: choice.parts.map((part) => ({ ...part, previous })) };
      },
    };
    const { generate, shown } = listening();
    const { boundary } = asking(() => "refuse");
    await compact(session, { ...rolling, strategy, generate, boundary, target });
    expect(shown()).toContain("Earlier.");
    expect(toldIn(shown())).toEqual([]);
  });

  test("with a boundary, a note without a known descriptor is dropped", async () => {
    const note = `<covered-resources>\nx\n- ${idOf(1)}, image CANARY1, image/png\n</covered-resources>`;
    const message = {
      role: "compactionSummary",
      summary: `Done.\n\n${note}`,
      tokensBefore: 1,
      timestamp: 1,
    } as const;
    const context = { items: [{ entryId: "s", origin: "summary" as const, message }], views: [] };
    const plain = { name: "t", model: target.model, render: (of: unknown) => of };
    const sent = async (more: object) => JSON.stringify((await project(context, plain, more)).value);
    expect(toldIn(await sent({}))).toEqual([1]);
    expect(toldIn(await sent({ boundary: () => "allow" }))).toEqual([]);
    expect(await sent({ boundary: () => "allow" })).toContain("Done.");
  });

  test("keeps a refused attachment out of what is written after a rebase", async () => {
    const session = await sessionOf(messagesOf(rounds));
    const { boundary } = asking(() => "refuse");
    const generate = async () => {
      await session.append([{ type: "message", message: userMessage("meanwhile") }]);
      return { text: "A summary." };
    };
    const result = await compact(session, { ...rolling, generate, boundary, target });
    if (result.status !== "compacted") return expect.fail(result.status);
    expect(toldIn(JSON.stringify(result.entry))).toEqual([]);
  });

  test("a hook's summary is noted by what the boundary allows", async () => {
    const session = await sessionOf(messagesOf(rounds));
    const { boundary, asked } = asking((number) => (number === 3 ? "allow" : "refuse"));
    const { generate, prompts } = listening();
    const before = () => ({ summary: "By hand." });
    const result = await compact(session, { ...rolling, generate, boundary, target, before });
    if (result.status !== "compacted") return expect.fail(result.status);
    expect(prompts).toEqual([]);
    expect(toldIn(result.entry.summary)).toEqual([3]);
    expect(new Set(asked).size).toBe(asked.length);
  });

  test("an error of the boundary, or an abort while it thinks, writes nothing", async () => {
    const session = await sessionOf(messagesOf(rounds));
    const { leafId } = session;
    const { generate, prompts } = listening();
    const error = new Error("no answer");
    const fails = () => Promise.reject(error);
    await expect(compact(session, { ...rolling, generate, boundary: fails, target })).rejects.toBe(error);
    const controller = new AbortController();
    const never = () => {
      setTimeout(() => controller.abort(error), 1);
      return new Promise<LeakageVerdict>(() => undefined);
    };
    const { signal } = controller;
    await expect(compact(session, { ...rolling, generate, boundary: never, target, signal })).rejects.toBe(
      error,
    );
    expect([prompts, session.leafId]).toEqual([[], leafId]);
  });

  test("needs a target to tell", async () => {
    const session = await sessionOf(messagesOf(rounds));
    const { generate } = listening();
    const { boundary } = asking(() => "allow");
    const [first] = (await session.tree()).path(session.leafId);
    for (const bad of [undefined, { name: "x" }, { name: 1, model: target.model }]) {
      const options = { generate, boundary, target: bad as never };
      const message = "target: expected a name and a model with provider and model";
      await expect(compact(session, { ...rolling, ...options })).rejects.toThrow(message);
      await expect(summarizeBranch(session, first?.id ?? null, { window: 9000, ...options })).rejects.toThrow(
        message,
      );
    }
  });
});

describe("the summariser is shown the reasoning of", () => {
  const mixed: readonly Round[] = [
    { asked: [], given: [], provider: "p" },
    { asked: [], given: [], provider: "q" },
    { asked: [], given: [] },
  ];
  const options = compacting(recentUserMessages({ keepUserTokens: 0 }));

  test.each([
    ["its own model", target, ["p"]],
    ["no other provider", { ...target, model: { provider: "q", model: "m" } }, ["q"]],
    ["no other model", { ...target, model: { provider: "p", model: "n" } }, []],
    ["nobody, without a target", undefined, []],
  ] as const)("%s", async (_, of, expected) => {
    const session = await sessionOf(messagesOf(mixed));
    const { generate, shown } = listening();
    const thought = () => [...new Set([...shown().matchAll(/THOUGHT of (\w)/g)].map(([, by]) => by))];
    await compact(session, { ...options, generate, ...(of === undefined ? {} : { target: of }) });
    expect(thought()).toEqual(expected);
    const branched = await sessionOf(messagesOf(mixed));
    const branch = listening();
    const [first] = (await branched.tree()).path(branched.leafId);
    await summarizeBranch(branched, first?.id ?? null, {
      window: 100_000,
      generate: branch.generate,
      ...(of === undefined ? {} : { target: of }),
    });
    expect([...new Set([...branch.shown().matchAll(/THOUGHT of (\w)/g)].map(([, by]) => by))]).toEqual(
      expected,
    );
  });
});

test("serializeItems names an attachment in what a model said by its descriptor, whatever the text says", async () => {
  const session = await sessionOf(messagesOf([{ asked: [], said: canary(1), given: [] }]));
  const { items } = await session.context();
  expect(serializeItems(items)).toContain("[file CANARY1.x, application/x-canary1-type, 1 kB, ");
});

describe("in generated sessions", () => {
  const kind = fc.constantFrom<Resource["kind"]>("file", "image", "link");
  const number = fc.integer({ min: 1, max: 12 });
  const resources = fc.array(fc.tuple(number, kind), { maxLength: 3 });
  const round = fc.record({
    asked: resources,
    said: fc.option(number, { nil: undefined }),
    given: resources,
  });
  const of = (list: readonly (readonly [number, Resource["kind"]])[]) =>
    // One kind each.
    list.map(([at]) => canary(at, at % 3 === 0 ? "link" : at % 3 === 1 ? "file" : "image"));

  // @covers R16 security:boundary
  test("what is refused is told nowhere, in two compactions and the requests after each", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(round, { minLength: 3, maxLength: 5 }),
        fc.array(round, { minLength: 3, maxLength: 4 }),
        fc.uniqueArray(number),
        fc.constantFrom(...strategies),
        fc.constantFrom("manual" as const, "overflow" as const),
        async (before, after, refusedNumbers, strategy, trigger) => {
          const refused = new Set(refusedNumbers);
          const messages = (list: typeof before) =>
            messagesOf(
              list.map(({ asked, said, given }) => ({
                asked: of(asked),
                given: of(given),
                ...(said === undefined ? {} : { said: of([[said, "file"]])[0] as Resource }),
              })),
            );
          const session = await sessionOf(messages(before));
          await session.append(
            Array.from({ length: 12 }, (_, at) =>
              resourceObservation(idOf(at + 1), `CANARY${at + 1} was seen`),
            ),
          );
          const { boundary } = asking((at) => (refused.has(at) ? "refuse" : "allow"));
          const check = async (shown: string, entry: unknown) => {
            const told = [shown, JSON.stringify(entry), await requestsOf(session, boundary)];
            for (const text of told) expect(toldIn(text).filter((at) => refused.has(at))).toEqual([]);
          };
          for (const next of [undefined, after]) {
            if (next !== undefined) {
              await session.append(messages(next).map((message) => ({ type: "message" as const, message })));
            }
            const { generate, shown } = listening();
            const options = { ...compacting(strategy), trigger, generate, boundary, target };
            const result = await compact(session, options);
            await check(shown(), result.status === "compacted" ? result.entry : result);
          }
        },
      ),
      { numRuns: 10 },
    );
  });
});
