/** Values of frameworks as messages: exactness of every value, and the size of differences. */

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { memoryBlobStore, memorySessionStore, userMessage } from "sessile";
import { describe, expect, it } from "vitest";
import {
  difference,
  type MessageForm,
  MessageValues,
  patched,
} from "../../../src/frameworks/shared/message-values.js";
import { Parcels } from "../../../src/frameworks/shared/parcels.js";
import { number, text } from "../../arbitraries/values.js";
import { encodeBase64 } from "../../support/plain-values.js";

const key = fc.oneof(text, fc.constantFrom("__proto__", "toJSON", "constructor", "type", "0", "1"));
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: "value" },
    fc.constantFrom<unknown>(null, undefined, true, false, "", "a"),
    number,
    text,
    fc.uint8Array({ minLength: 3000, maxLength: 3200 }).map(encodeBase64),
    fc.uint8Array({ maxLength: 20 }),
    fc.array(tie("value"), { maxLength: 4, depthIdentifier: "value" }),
    fc
      .array(fc.tuple(key, tie("value")), { maxLength: 4, depthIdentifier: "value" })
      .map((members): unknown => Object.fromEntries(members)),
  ),
}));

/** Whether two values are the same, in the order of their keys too. */
function isSame(one: unknown, other: unknown): boolean {
  const order = (any: unknown): unknown => {
    if (typeof any !== "object" || any === null || any instanceof Uint8Array) return null;
    return Object.entries(any).map(([name, member]) => [name, order(member)]);
  };
  return isDeepStrictEqual(one, other) && isDeepStrictEqual(order(one), order(other));
}

describe("a difference", () => {
  it("makes any value of any other one, through a parcel", async () => {
    const parcels = new Parcels({ blobs: memoryBlobStore(), outOfLine: 4096 });
    await fc.assert(
      fc.asyncProperty(value, value, async (shown, saved) => {
        const patch = difference(shown, saved);
        if (patch === undefined) {
          expect(isSame(shown, saved)).toBe(true);
          return;
        }
        const stored = JSON.parse(JSON.stringify(await parcels.make(patch, "value")));
        expect(isSame(patched(shown, await parcels.open(stored)), saved)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("has the members and items that differ alone", () => {
    const long = "x".repeat(100);
    const shown = {
      id: "",
      role: "user",
      parts: [{ type: "a", text: long }, { type: "b" }, { type: "c", text: long }],
    };
    const saved = {
      id: "m",
      role: "user",
      parts: [{ type: "a", text: long }, { type: "n" }, { type: "b", n: 1 }, shown.parts[2]],
    };
    expect(difference(shown, saved)).toEqual({
      id: ["m"],
      parts: [[0, [{ type: "n" }], [1, { n: [1] }], 2], 0],
    });
    expect(difference({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([{ b: 0, a: 0 }, 1]);
    expect(difference({ a: 1, b: 2 }, { b: 2 })).toEqual({ a: [] });
  });
});

/** A text is a message, with whatever else the value has in the difference. */
const form: MessageForm = {
  async drafts(any) {
    const said = (any as { readonly say?: unknown } | null | undefined)?.say;
    if (typeof said !== "string") return undefined;
    return [..."ab"].map((name) => ({ type: "message", message: { ...userMessage(said), name } }));
  },
  async render(entries) {
    return entries.flatMap((entry) =>
      entry.type === "message" && entry.message.role === "user" && entry.message.name !== "b"
        ? [{ say: entry.message.content }]
        : [],
    );
  },
  isMedia: () => false,
};

it("any value comes back from a session, as messages or as itself", async () => {
  const parcels = new Parcels({ blobs: memoryBlobStore(), outOfLine: 4096 });
  const values = new MessageValues({ of: "test", form, parcels, blobs: memoryBlobStore() });
  const said = fc.tuple(value, fc.string()).map(([any, say]) => ({ ...(any as object), say }));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(value, said), { maxLength: 4 }), async (saved) => {
      const session = await memorySessionStore().create({ cwd: "/" });
      for (const [at, each] of saved.entries())
        await session.append(await values.drafts(parcels.copy(each, "value"), { id: `v${at}` }));
      const loaded = await values.load(values.values(await session.path()));
      expect(loaded.length).toBe(saved.length);
      for (const [at, each] of saved.entries()) expect(isSame(loaded[at], each)).toBe(true);
    }),
    { numRuns: 150 },
  );
});
