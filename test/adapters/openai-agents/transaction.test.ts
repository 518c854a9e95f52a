import fc from "fast-check";
import { memoryBlobStore, memorySessionStore } from "sessile";
import { SessileError } from "sessile/errors";
import { openaiAgentsSession } from "sessile/openai-agents";
import { expect, it } from "vitest";

const secret = "api-key-secret";
const cycle: Record<string, unknown> = { [secret]: secret };
cycle.self = cycle;
let deep: unknown = secret;
for (let depth = 0; depth < 20_000; depth++) deep = { [secret]: deep };

/** Values that no session keeps. */
const refused: readonly unknown[] = [
  Symbol(secret),
  () => secret,
  12n,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  new Date(0),
  new Uint16Array([300]),
  new Map([[secret, secret]]),
  new (class Secret {
    value = secret;
  })(),
  Object.defineProperty({}, secret, {
    enumerable: true,
    get: () => {
      throw new Error(secret);
    },
  }),
  { [Symbol(secret)]: secret },
  Object.assign([secret], { [secret]: secret }),
  Object.assign(Uint8Array.of(1), { [secret]: secret }),
  new Proxy({ [secret]: secret }, {}),
  cycle,
  deep,
];

const open = () =>
  openaiAgentsSession<object>({ sessions: memorySessionStore(), blobs: memoryBlobStore(), sessionId: "s" });

async function failureOf(args: unknown): Promise<SessileError> {
  const session = open();
  const error: unknown = await session.applyHistoryTransaction(args as never).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(SessileError);
  expect(await session.getItems()).toEqual([]);
  await session.close();
  return error as SessileError;
}

/** All that a log of the error shows. */
const shownOf = ({ message, details, cause, stack }: SessileError) =>
  [message, JSON.stringify(details), String(cause), stack].join("\n");

it("shows nothing of a transaction in the error of a value that it cannot keep", async () => {
  const key = fc.constantFrom(secret, "providerData", "items", "0");
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...refused.keys()),
      fc.array(fc.oneof(key, fc.constant(0)), { maxLength: 4 }),
      fc.nat({ max: 2 }),
      fc.boolean(),
      async (which, path, before, isSuffix) => {
        let value = refused[which];
        for (const step of path) value = step === 0 ? [value] : { [step]: value };
        const items = [...Array(before).fill({ role: "user", content: "fine" }), { [secret]: value }];
        const transaction = isSuffix
          ? { type: "replace_suffix", expectedSuffix: [], replacement: items }
          : { type: "append_items", items };
        const error = await failureOf({ operationId: "op", transaction });
        expect(error.code).toBe("INVALID_ENTRY");
        expect(error.message).toBe("Session history transaction items contain invalid or unsupported data.");
        expect(shownOf(error)).not.toContain(secret);
      },
    ),
    { numRuns: 300 },
  );
});

it("names the item, and what it expects", async () => {
  const items = [{ a: 1 }, { b: { [secret]: Symbol(secret) } }];
  expect(
    (await failureOf({ operationId: "op", transaction: { type: "append_items", items } })).details,
  ).toEqual({
    path: "transaction.items[1]",
    expected: "JSON values, undefined and Uint8Array",
  });
});

it("shows nothing of other fields, and of what an accessor throws", async () => {
  const thrower = (name: string) =>
    Object.defineProperty({ operationId: "op", transaction: {} }, name, {
      get: () => {
        throw new Error(secret);
      },
    });
  const transactions: readonly (readonly [unknown, string])[] = [
    [thrower("operationId"), "Session history transaction arguments are invalid."],
    [thrower("transaction"), "Session history transaction arguments are invalid."],
    [
      { operationId: "", transaction: {} },
      "Session history transaction operationId must be a non-empty string.",
    ],
    [{ operationId: "op", transaction: secret }, "Session history transaction must be an object."],
    [{ operationId: "op", transaction: { type: secret } }, "Unsupported session history transaction type."],
    [
      { operationId: "op", transaction: { type: "append_items", items: [], [secret]: 1 } },
      "Session history append transaction fields are invalid.",
    ],
    [
      { operationId: "op", transaction: { type: "append_items", items: [], [secret]: Symbol(secret) } },
      "Session history transaction items contain invalid or unsupported data.",
    ],
    [
      { operationId: "op", transaction: { type: "append_items", items: [secret] } },
      "Session history transaction items contain invalid or unsupported data.",
    ],
  ];
  for (const [args, message] of transactions) {
    const error = await failureOf(args);
    expect(error.message).toBe(message);
    expect(shownOf(error)).not.toContain(secret);
  }
});
