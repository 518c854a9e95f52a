/** The table of ownership: complete, and right for each type by itself. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { encodeEntry, type SessionEntry } from "sessile";
import { describe, expect, test } from "vitest";
import { erasureOfLine, ownEntry, tombstoneLine } from "../../src/log/internal.js";
import { bareValue, customOwnership, entryOwnership } from "../../src/log/ownership.js";
import { entryFields, entryTypes } from "../arbitraries/entries.js";
import { bytesWithCanary, canary, withCanary } from "../support/canary.js";
import { rounds } from "../support/rounds.js";

const src = join(import.meta.dirname, "../../src");
const place = { id: "e0000001", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
const erasure = { at: "2026-01-02T00:00:00.000Z", reason: "a request" };
const customTypes = Object.keys(customOwnership) as (keyof typeof customOwnership)[];

/** Custom types of messages, whose texts are members of their entry. */
const ofMessages = new Set(
  ["initial_context", "meta_message", "attachment", "function_response", "model_switch", "continue"].map(
    (name) => `sessile.${name}`,
  ),
);

test("a type without a row does not compile", () => {
  // @ts-expect-error a type that is not in the table
  ownEntry("sessile.unheard", (data) => data);
  const { label: _label, ...others } = entryOwnership;
  // @ts-expect-error a table without a row
  const incomplete: typeof entryOwnership = others;
  const { name: _name, ...members } = entryOwnership.leaf.members;
  // @ts-expect-error a row without a member
  const short: typeof entryOwnership.leaf.members = members;
  expect([incomplete, short].every((each) => each !== undefined)).toBe(true);
});

test("every custom type in the source has a row", () => {
  const found = new Set<string>();
  for (const { name, parentPath } of readdirSync(src, { recursive: true, withFileTypes: true })) {
    if (!/\.tsx?$/.test(name)) continue;
    const text = readFileSync(join(parentPath, name), "utf8");
    for (const [, type] of text.matchAll(/["'`](sessile\.[a-z][\w.-]*)["'`]/g)) found.add(type as string);
    for (const [, type] of text.matchAll(/type: "custom", customType: "([^"]+)"/g)) found.add(type as string);
  }
  expect(found.size).toBeGreaterThan(20);
  const missing = [...found].filter(
    (type) => !ofMessages.has(type) && !type.startsWith("acme") && !Object.hasOwn(customOwnership, type),
  );
  expect(missing.filter((type) => !type.endsWith("."))).toEqual([]);
});

/** The line of an entry, its tombstone, and the tombstone of that. */
function erased(entry: SessionEntry) {
  const line = Buffer.from(encodeEntry(entry));
  const tombstone = tombstoneLine(line, erasure, "body") ?? line;
  return { tombstone, again: tombstoneLine(tombstone, { at: "later", reason: "again" }, "body") };
}

describe("a tombstone", () => {
  // @covers security:erasure
  test.each(entryTypes)("of %s has no text, and is its own tombstone", (type) => {
    fc.assert(
      fc.property(entryFields[type] as fc.Arbitrary<object>, (fields) => {
        const { tombstone, again } = erased(withCanary({ type, ...place, ...fields } as SessionEntry));
        expect(bytesWithCanary(tombstone)).toBe(false);
        expect(again).toBeUndefined();
        expect(erasureOfLine(tombstone)).toEqual({ erasure, part: "body" });
      }),
      { numRuns: rounds(20, 500) },
    );
  });

  test.each(customTypes)("of %s is its own tombstone, whatever the data", (customType) => {
    const keys = fc.constantFrom(
      ...[
        "message",
        "entry",
        "item",
        "value",
        "bytes",
        "list",
        "v",
        "json",
        "role",
        "parts",
        "content",
        "type",
      ],
      ...[
        "id",
        "messageId",
        "entryId",
        "noStep",
        "kwargs",
        "output",
        "tool_calls",
        "name",
        "arguments",
        "usage",
      ],
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom("text", "[erased]", "{}", 1, true, null),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(keys, tie("value"), { maxKeys: 4, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(value, (data) => {
        const { tombstone, again } = erased({ type: "custom", ...place, customType, data });
        expect(again).toBeUndefined();
        expect(erasureOfLine(tombstone)).toEqual({ erasure, part: "body" });
      }),
      { numRuns: rounds(100, 3000) },
    );
  });
});

test("a bare value has no text, number or flag of a state", () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 5 }),
      fc.constantFrom("content", "messages", "state", "data"),
      (value, key) => {
        const bare = bareValue({ [key]: withCanary(value), answer: `${canary}`, secret: 42 });
        expect(JSON.stringify(bare)).not.toContain(canary);
        expect(JSON.stringify(bare)).not.toContain("42");
      },
    ),
    { numRuns: rounds(200, 5000) },
  );
  expect(bareValue([canary, 42, true, null, { note: canary }])).toEqual(["[erased]", 0, false, null, {}]);
});

test("messages of frameworks keep roles, ids, calls and places", () => {
  const call = { type: "tool_use", id: "t1", name: "Read", input: { path: canary } };
  expect(
    bareValue({ role: "assistant", id: "m", content: [{ type: "thinking", thinking: canary }, call] }),
  ).toEqual({
    ...{ role: "assistant", id: "m", content: [{ ...call, input: {} }] },
  });
  expect(bareValue({ role: "user", name: canary, content: [{ type: "image", source: canary }] })).toEqual({
    ...{ role: "user", content: "[erased]" },
  });
  const usage = { input_tokens: 3, service_tier: canary };
  expect(bareValue({ role: "assistant", usage, content: canary, status: "failed" })).toEqual({
    ...{ role: "assistant", usage: { input_tokens: 3 }, content: "[erased]", status: "failed" },
  });
  const head = { v: 4, id: "c1", ts: "t", channel_versions: { messages: 2 }, versions_seen: { agent: {} } };
  expect(bareValue({ ...head, pending_sends: [canary] })).toEqual(head);
});
