import fc from "fast-check";
import {
  type Context,
  type ContextMessage,
  contextFrom,
  type Loss,
  project,
  type StoredResource,
  toolPairs,
  userMessage,
} from "sessile";
import { windowContext } from "sessile/tether";
import { describe, expect, test } from "vitest";
import { imageCharacters, messageCharacters } from "../../src/tether/window.js";
import { contextAt, hazardousSession } from "../arbitraries/hazards.js";
import { message } from "../arbitraries/messages.js";
import { checkedPlain } from "../support/plain-target.js";
import { checkedAnthropic } from "../support/providers/anthropic/checked.js";
import { rounds } from "../support/rounds.js";

const user = (text: string): ContextMessage => ({ role: "user", content: text, timestamp: 0 });
const said = (text: string, ...calls: readonly string[]): ContextMessage => ({
  role: "assistant",
  content: [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map((id) => ({ type: "toolCall" as const, id, name: "read", arguments: {} })),
  ],
  provider: "p",
  model: "m",
  timestamp: 0,
});
const result = (toolCallId: string, text: string): ContextMessage => ({
  role: "toolResult",
  toolCallId,
  toolName: "read",
  content: [{ type: "text", text }],
  isError: false,
  timestamp: 0,
});
const summary = (text: string): ContextMessage => ({
  role: "compactionSummary",
  summary: text,
  tokensBefore: 1,
  timestamp: 0,
});
const custom = (text: string): ContextMessage => ({
  role: "custom",
  customType: "note",
  content: text,
  display: true,
  timestamp: 0,
});

/** What each message of a window says, shortly: `u3` is a user's message of three characters. */
function shape({ items }: Context): string {
  return items
    .map(({ message }) => {
      if (message.role === "assistant") {
        const calls = message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
        return `a${calls.length === 0 ? messageCharacters(message) : `(${calls})`}`;
      }
      if (message.role === "toolResult") return `r(${message.toolCallId})`;
      return `${message.role === "compactionSummary" ? "summary" : message.role[0]}${messageCharacters(message)}`;
    })
    .join(" ");
}

const sizeOf = ({ items }: Pick<Context, "items">) =>
  items.reduce((sum, { message }) => sum + messageCharacters(message), 0);
const newestUser = ({ items }: Context) => items.findLastIndex(({ message }) => message.role === "user");

const text = fc.nat({ max: 30 }).map((length) => "x".repeat(length));
const id = fc.constantFrom("c0", "c1", "c2");
const anyMessage: fc.Arbitrary<ContextMessage> = fc.oneof(
  text.map(user),
  fc.tuple(text, fc.array(id, { maxLength: 2 })).map(([words, ids]) => said(words, ...ids)),
  fc.tuple(id, text).map(([of, words]) => result(of, words)),
  text.map(custom),
);
/** Turns as they are, some of them cut off, and messages in no order at all. */
const someTurn: fc.Arbitrary<readonly ContextMessage[]> = fc.oneof(
  fc
    .tuple(text, fc.array(fc.tuple(text, id, text), { maxLength: 3 }), text, fc.nat({ max: 12 }))
    .map(([asked, rounds, answer, length]) =>
      [
        user(asked),
        ...rounds.flatMap(([words, of, found]) => [said(words, of), result(of, found)]),
        said(answer),
      ].slice(0, length),
    ),
  fc.array(anyMessage, { maxLength: 4 }),
);
const anyContext: fc.Arbitrary<Context> = fc
  .tuple(
    fc.option(text.map(summary), { nil: undefined }),
    fc.array(someTurn, { maxLength: 5 }),
    fc.array(fc.nat({ max: 20 }), { maxLength: 4 }),
    fc.array(fc.nat({ max: 20 }), { maxLength: 4 }),
    fc.nat({ max: 20 }),
  )
  .map(([head, turns, views, pins, usageSince]) => {
    const context = contextFrom([...(head === undefined ? [] : [head]), ...turns.flat()]);
    const { length } = context.items;
    return {
      ...context,
      views: views
        .map((item) => item % (length + 1))
        .sort((a, b) => a - b)
        .map((item, at) => ({ entryId: `v${at}`, resourceId: `res_${at}`, item })),
      observations: views
        .map((item) => item % (length + 1))
        .sort((a, b) => a - b)
        .map((item, at) => ({ entryId: `o${at}`, resourceId: `res_${at}`, item, text: "seen" })),
      pins: [...pins.map((pin) => `m${pin % (length + 1)}`), "of an entry before the context"],
      usageSince: usageSince % (length + 1),
    };
  });
const limit = fc.oneof(fc.nat({ max: 60 }), fc.nat({ max: 300 }));

/** The rule, tried at every place: the earliest that fits and may begin a window, or the newest round. */
function naiveStart(context: Context, maxCharacters: number): number {
  const { items } = context;
  const { pairs } = toolPairs(items.map(({ message }) => message));
  const crosses = (at: number) =>
    pairs.some(({ callAt, resultAt }) => resultAt !== undefined && callAt < at && at <= resultAt);
  const asked = newestUser(context);
  let round = items.findLastIndex(({ message }) => message.role === "assistant");
  const isAnswered = round < asked && !crosses(asked);
  while (round > 0 && crosses(round)) round--;
  const latest = round < 0 || isAnswered ? items.length : round;
  for (let at = 0; at < latest; at++) {
    const fits = sizeOf({ items: items.filter((_, item) => item >= at || item === asked) }) <= maxCharacters;
    const isCalling = pairs.some(({ callAt, resultAt }) => callAt === at && resultAt === undefined);
    if (fits && !crosses(at) && !isCalling && items[at]?.message.role !== "toolResult") return at;
  }
  return latest;
}

/** How many results lost their place, or were one too many. */
function strays(losses: readonly Loss[]): number {
  return losses.filter(({ code }) => code === "orphanResult" || code === "duplicateResult").length;
}

describe("windowContext", () => {
  test("is the newest user message and the longest suffix that fits and may begin, or the newest round", () => {
    fc.assert(
      fc.property(anyContext, limit, (context, max) => {
        const from = naiveStart(context, max);
        const asked = newestUser(context);
        const expected = context.items.filter((_, at) => at >= from || at === asked);
        expect(windowContext(context, max).items).toEqual(expected);
      }),
      { numRuns: rounds(125, 500) },
    );
  });

  test("never begins with a tool's result, parts no call from its result, and keeps the user's newest message", () => {
    fc.assert(
      fc.property(anyContext, limit, (context, max) => {
        const window = windowContext(context, max);
        if (window === context) return;
        expect(window.items[0]?.message.role).not.toBe("toolResult");
        const all = toolPairs(context.items.map(({ message }) => message));
        const here = toolPairs(window.items.map(({ message }) => message));
        const open = (pairs: typeof all.pairs) => pairs.flatMap(({ call, result }) => (result ? [] : [call]));
        // A call without a result, or a result without a call, was one before.
        expect(all.pairs.length).toBeGreaterThanOrEqual(here.pairs.length);
        for (const call of open(here.pairs)) expect(open(all.pairs)).toContain(call);
        const strays = all.orphans.map((at) => context.items[at]);
        for (const at of here.orphans) expect(strays).toContain(window.items[at]);
        const asked = context.items[newestUser(context)];
        if (asked !== undefined) expect(window.items).toContain(asked);
        // What waits for a result begins a window only where it is the newest round.
        const [first] = here.pairs;
        if (first?.callAt === 0 && first.result === undefined) {
          expect(window.items).toEqual(windowContext(context, 0).items);
        }
      }),
      { numRuns: rounds(125, 500) },
    );
  });

  test("is within the limit where the newest message and round are", () => {
    fc.assert(
      fc.property(anyContext, limit, (context, max) => {
        const least = sizeOf(windowContext(context, 0));
        expect(sizeOf(windowContext(context, max))).toBeLessThanOrEqual(Math.max(least, max));
      }),
      { numRuns: rounds(125, 500) },
    );
  });

  test("holds no less where it may hold more, and all where all fits", () => {
    fc.assert(
      fc.property(anyContext, limit, fc.nat({ max: 60 }), (context, max, more) => {
        const smaller = windowContext(context, max).items;
        expect(windowContext(context, max + more).items).toEqual(expect.arrayContaining([...smaller]));
        expect(windowContext(context, Math.max(sizeOf(context), max)).items.length).toBe(
          windowContext(context, Number.MAX_SAFE_INTEGER).items.length,
        );
      }),
      { numRuns: rounds(125, 500) },
    );
  });

  test("its views, pins and usage are of what is left", () => {
    fc.assert(
      fc.property(anyContext, limit, (context, max) => {
        const window = windowContext(context, max);
        if (window === context) return;
        const places = window.items.map((item) => context.items.indexOf(item));
        expect(window.usageSince).toBe(window.items.length);
        expect({ ...window, items: [], views: [], observations: [], pins: [], usageSince: 0 }).toEqual({
          ...context,
          items: [],
          views: [],
          observations: [],
          pins: [],
          usageSince: 0,
        });
        const left = new Set(window.items.map(({ entryId }) => entryId));
        const before = new Set(context.items.map(({ entryId }) => entryId));
        expect(window.pins).toEqual(context.pins.filter((pin) => left.has(pin) || !before.has(pin)));
        // A view stays where something before it was left out only if the user's newest message is before it.
        const first = places[0] ?? context.items.length;
        const isApart = first === newestUser(context) && (places[1] ?? context.items.length) !== first + 1;
        const start = isApart ? first + 1 : first;
        expect(window.views.map(({ entryId }) => entryId)).toEqual(
          context.views.filter(({ item }) => item >= start).map(({ entryId }) => entryId),
        );
        for (const { entryId, item } of window.views) {
          const was = context.views.find((view) => view.entryId === entryId)?.item ?? 0;
          expect(item).toBe(places.filter((place) => place < was).length);
        }
        expect(window.observations).toEqual(
          context.observations?.map((one) => ({
            ...one,
            item: places.filter((place) => place < one.item).length,
          })),
        );
      }),
      { numRuns: rounds(125, 500) },
    );
  });

  test.each(checkedPlain.slice(0, 1).concat(checkedAnthropic.slice(0, 1)))(
    "any window of any session is a valid request of $name",
    { timeout: 180_000 },
    async ({ target, makers, breaches }) => {
      await fc.assert(
        fc.asyncProperty(hazardousSession(30, makers), fc.nat({ max: 3000 }), async (session, max) => {
          const context = contextAt(session);
          const window = windowContext(context, max);
          const { value, losses } = await project(window, target, { blobs: session.blobs });
          expect(breaches(value)).toEqual([]);
          const whole = await project(context, target, { blobs: session.blobs });
          expect(strays(losses)).toBeLessThanOrEqual(strays(whole.losses));
        }),
        { numRuns: rounds(50, 200) },
      );
    },
  );

  // @covers R66
  test("Context windowing: an image counts 2000 characters, so that turns with images go before they fill the window", () => {
    const image = { type: "image" as const, data: "A".repeat(1_000_000), mimeType: "image/png" };
    const turn = (): readonly ContextMessage[] => [
      { role: "user", content: [{ type: "text", text: "What?" }, image], timestamp: 0 },
      said("A dog."),
    ];
    const context = contextFrom([...turn(), ...turn(), ...turn(), ...turn()]);
    expect(imageCharacters).toBe(2000);
    const ofTurn = 5 + imageCharacters + 6;
    expect(sizeOf(context)).toBe(4 * ofTurn);
    for (const turns of [1, 2, 3, 4]) {
      expect(windowContext(context, turns * ofTurn).items).toEqual(context.items.slice(-2 * turns));
      // One less: the question with its image goes, and what it was answered may stay.
      expect(windowContext(context, turns * ofTurn - 1).items[0]?.message.role).toBe(
        turns === 1 ? "user" : "assistant",
      );
    }
  });

  test("leading tool turns and assistant turns whose results are incomplete are trimmed", () => {
    const context = contextFrom([
      user("123"),
      said("", "c0", "c1"),
      result("c0", "12345"),
      result("c1", "12345"),
      said("", "lost"),
      said("12"),
      user("1234"),
      said("1"),
    ]);
    const whole = sizeOf(context);
    expect(windowContext(context, whole)).toBe(context);
    expect(shape(windowContext(context, whole - 1))).toBe("a(c0,c1) r(c0) r(c1) a(lost) a2 u4 a1");
    // Neither one call of two, nor a result alone, nor the call that was never answered.
    expect(shape(windowContext(context, whole - 4))).toBe("a2 u4 a1");
    expect(shape(windowContext(context, 6))).toBe("u4 a1");
    // The newest user message and the newest round stay over the limit.
    expect(shape(windowContext(context, 0))).toBe("u4 a1");
  });

  test("the newest user message is always in, even when it alone is over the limit, with nothing before it", () => {
    const before = [user("1"), said("1")];
    expect(shape(windowContext(contextFrom([...before, user("12345")]), 4))).toBe("u5");
    expect(shape(windowContext(contextFrom([user("12345")]), 0))).toBe("u5");
    const calling = [
      ...before,
      user("12345"),
      said("", "c0"),
      result("c0", "1"),
      said("", "c1"),
      result("c1", "12"),
    ];
    // Behind it the newest round stays, whole, so that the model sees what became of what it called.
    for (const max of [0, 4]) expect(shape(windowContext(contextFrom(calling), max))).toBe("u5 a(c1) r(c1)");
    expect(shape(windowContext(contextFrom(calling.slice(0, -1)), 4))).toBe("u5 a(c1)");
    // Both of a round's calls stay where one is still to be answered.
    const pending = [...before, user("12345"), said("", "c0", "c1"), result("c0", "1")];
    expect(shape(windowContext(contextFrom(pending), 4))).toBe("u5 a(c0,c1) r(c0)");
  });

  test("of a long turn the first rounds go, and what the user asked stays", () => {
    const rounds = Array.from({ length: 50 }, (_, at) => [
      said("", `c${at}`),
      result(`c${at}`, "x".repeat(100)),
    ]);
    const context = contextFrom([user("old"), said("old"), user("task"), ...rounds.flat()]);
    expect(shape(windowContext(context, 330))).toBe("u4 a(c47) r(c47) a(c48) r(c48) a(c49) r(c49)");
    expect(windowContext(context, 330).usageSince).toBe(7);
  });

  test("a round that the user spoke into stays whole", () => {
    const context = contextFrom([user("1"), said("", "c0"), user("stop"), result("c0", "12345")]);
    expect(shape(windowContext(context, 0))).toBe("a(c0) u4 r(c0)");
  });

  test("a compaction's summary is the oldest item, and goes as others do", () => {
    const context = contextFrom([summary("1234567890"), user("12"), said("12"), user("123")]);
    expect(shape(windowContext(context, 17))).toBe("summary10 u2 a2 u3");
    expect(shape(windowContext(context, 16))).toBe("u2 a2 u3");
  });

  test("without a user's message it holds what fits, and the newest round", () => {
    expect(windowContext(contextFrom([]), 0).items).toEqual([]);
    expect(windowContext(contextFrom([custom("12"), custom("3")]), 0).items).toEqual([]);
    expect(shape(windowContext(contextFrom([custom("12"), custom("3")]), 1))).toBe("c1");
    expect(shape(windowContext(contextFrom([custom("12"), said("", "c0"), result("c0", "1")]), 0))).toBe(
      "a(c0) r(c0)",
    );
  });

  test("leaves the context that it is given as it is", () => {
    fc.assert(
      fc.property(anyContext, limit, (context, max) => {
        const before = JSON.stringify(context);
        windowContext(context, max);
        expect(JSON.stringify(context)).toBe(before);
      }),
    );
  });

  test("refuses a limit that is none", () => {
    for (const max of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => windowContext(contextFrom([userMessage("hi")]), max)).toThrow(RangeError);
      expect(() => windowContext(contextFrom([userMessage("hi")]), max)).toThrow(
        "maxCharacters: expected an integer >= 0",
      );
    }
  });
});

const stored = (kind: "image" | "file"): StoredResource => ({
  resourceId: "res_0123456789abcdef",
  kind,
  source: "upload",
  mediaType: kind === "image" ? "image/png" : "application/pdf",
  size: 5_000_000,
  blob: `sha256:${"0".repeat(64)}`,
  contentSha256: "0".repeat(64),
});
const zeroTime = { timestamp: 0 };
const of = { ...zeroTime, provider: "p", model: "m" };

const examples: readonly (readonly [what: string, characters: number, message: ContextMessage])[] = [
  ["a text", 3, { role: "user", content: "one", ...zeroTime }],
  ["a name, which is not in the text", 3, { role: "user", content: "one", name: "Ann", ...zeroTime }],
  [
    "an inline image and a stored one, whatever their text",
    3 + 2 * imageCharacters,
    {
      role: "user",
      content: [
        { type: "text", text: "one" },
        { type: "image", data: "A".repeat(10_000), mimeType: "image/png" },
        { type: "text", text: "[image, image/png]", resource: stored("image") },
      ],
      ...zeroTime,
    },
  ],
  [
    "a file, of which the description is sent",
    6,
    {
      role: "toolResult",
      toolCallId: "c",
      toolName: "read",
      isError: false,
      details: "for programs",
      content: [{ type: "text", text: "[file]", resource: stored("file") }],
      ...zeroTime,
    },
  ],
  [
    "what a model said, thought and called, and a block of its provider's",
    3 + 5 + 4 + '{"a":"\\n"}'.length + '{"b":1}'.length,
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "think", thinkingSignature: "signature" },
        { type: "text", text: "one", textSignature: "signature" },
        {
          type: "toolCall",
          id: "long id",
          name: "read",
          arguments: { a: "\n" },
          thoughtSignature: "signature",
        },
        { type: "opaque", data: { b: 1 } },
      ],
      ...of,
    },
  ],
  [
    "a command",
    2 + 4,
    { role: "bashExecution", command: "ls", output: "file", cancelled: false, truncated: false, ...zeroTime },
  ],
  [
    "a command that no model sees",
    0,
    {
      role: "bashExecution",
      command: "ls",
      output: "file",
      cancelled: false,
      truncated: false,
      excludeFromContext: true,
      ...zeroTime,
    },
  ],
  [
    "a note",
    3,
    { role: "custom", customType: "note", content: "one", display: false, details: "more", ...zeroTime },
  ],
  [
    "instructions, sections and tools",
    3 + 5 + 2 + '[{"name":"read"}]'.length,
    {
      role: "system",
      content: [{ type: "text", text: "one" }],
      sections: { tools: "words", old: null, other: "ab" },
      toolsAdded: [{ name: "read" }],
      toolsRemoved: ["write"],
      ...zeroTime,
    },
  ],
  [
    "a summary",
    3,
    { role: "compactionSummary", summary: "one", tokensBefore: 9, details: "more", ...zeroTime },
  ],
  [
    "a branch's summary",
    3,
    { role: "branchSummary", summary: "one", fromId: "root", details: "more", ...zeroTime },
  ],
];

describe("messageCharacters", () => {
  test.each(examples)("counts %s as %d", (_, characters, given) => {
    expect(messageCharacters(given)).toBe(characters);
  });

  test("is a whole number for any message, and no more than its JSON but for images", () => {
    fc.assert(
      fc.property(message, (any) => {
        const json = JSON.stringify(any);
        const images = json.split('"type":"image"').length + json.split('"kind":"image"').length - 2;
        const characters = messageCharacters(any);
        expect(Number.isSafeInteger(characters)).toBe(true);
        expect(characters).toBeLessThanOrEqual(json.length + images * imageCharacters);
      }),
    );
  });
});
