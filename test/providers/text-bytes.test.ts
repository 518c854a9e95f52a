import fc from "fast-check";
import { type ContextMessage, contextFrom } from "sessile";
import { describe, expect, test } from "vitest";
import { textBytes } from "../../src/providers/finalize-request.js";
import { LossList } from "../../src/providers/losses.js";
import { pairTurns } from "../../src/providers/pair-tool-calls.js";
import type { PendingTurn } from "../../src/providers/request.js";
import { selectMessages } from "../../src/providers/select-messages.js";
import { message } from "../arbitraries/messages.js";

const origin = { entryId: "e", item: 0 };
const said = (text: string): PendingTurn => ({
  role: "user",
  results: [],
  parts: [{ type: "text", text, origin }],
});
const bytes =
  (...texts: readonly string[]) =>
  (room: number) =>
    textBytes([], texts.map(said), room);

describe("textBytes", () => {
  test("is no less than what a request takes, whatever the room, and no more for less of it", () => {
    const rooms = fc.constantFrom(Number.POSITIVE_INFINITY, 10_000, 3000, 1000, 0, -1);
    fc.assert(
      fc.property(fc.array(message, { maxLength: 6 }), rooms, (messages: readonly ContextMessage[], room) => {
        const { items } = contextFrom(messages);
        const maker = { provider: "p", model: "m" };
        const options = { model: maker, rules: {}, losses: new LossList() };
        const { system, messages: drafts } = selectMessages(items, options);
        const turns = pairTurns(items, drafts, options);
        // A string of JSON within JSON is the most that a target makes of arguments.
        const written = JSON.stringify([system, turns], (key, value: unknown) => {
          if (key === "arguments" || key === "data") return JSON.stringify(value);
          return ["origin", "storedId", "storedCallId", "item"].includes(key) ? undefined : value;
        });
        // Of a request as a whole there is little more, for which other room is kept.
        const least = Buffer.byteLength(written) - 100;
        expect(textBytes(system, turns, room)).toBeGreaterThanOrEqual(least);
        expect(textBytes(system, turns, room)).toBeLessThanOrEqual(
          textBytes(system, turns, Number.POSITIVE_INFINITY),
        );
      }),
      { numRuns: 500 },
    );
  });

  test("looks at the characters only where lengths are not enough, and writes out only where these are not", () => {
    const plain = bytes("a".repeat(1000));
    expect([plain(6300), plain(6299), plain(2300), plain(2299)]).toEqual([6300, 2300, 2300, 1300]);
    const other = bytes("é".repeat(1000));
    expect([other(6300), other(6299)]).toEqual([6300, 2300]);
    const quotes = bytes('"\n'.repeat(500));
    expect(quotes(0)).toBe(2300);
  });

  test("counts results that are empty: they are sent all the same", () => {
    const result = {
      callId: "c".repeat(64),
      storedCallId: "",
      name: "n".repeat(64),
      isError: true,
      parts: [],
      origin,
    };
    const turns: readonly PendingTurn[] = [{ role: "user", results: Array(50).fill(result), parts: [] }];
    const least = JSON.stringify(turns).length;
    for (const room of [Number.POSITIVE_INFINITY, 0])
      expect(textBytes([], turns, room)).toBeGreaterThan(least);
  });
});
