import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type EntrySummary,
  Refused,
  readEventStream,
} from "../../../../examples/apps/turn-endpoint/page/api.js";
import { Session } from "../../../../examples/apps/turn-endpoint/page/session.js";
import {
  linesOf,
  maxColumn,
  type Row,
  treeRows,
} from "../../../../examples/apps/turn-endpoint/page/tree-rows.js";
import {
  asSentence,
  firstWords,
  reasonInWords,
  sizeInWords,
} from "../../../../examples/apps/turn-endpoint/page/words.js";

/** A stream's bytes, cut at these positions. */
async function* cutAt(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (const [at, place] of places.entries()) {
    const next = places[at + 1];
    if (next !== undefined) yield bytes.subarray(place, next);
  }
}

async function eventsOf(text: string, cuts: readonly number[] = []) {
  const events = [];
  for await (const event of readEventStream(cutAt(new TextEncoder().encode(text), cuts))) events.push(event);
  return events;
}

describe("readEventStream", () => {
  it("reads events however they are cut, with any ends of lines", async () => {
    const unit = fc.constantFrom("a", " ", ":", "\u00e9", "\u2028", "\u{1f600}", "\ufeff");
    const line = fc.string({ unit, maxLength: 6 });
    const event = fc.record({
      event: fc.constantFrom("entry", "delta"),
      lines: fc.array(line, { minLength: 1, maxLength: 3 }),
    });
    const end = fc.constantFrom("\n", "\r\n", "\r");
    await fc.assert(
      fc.asyncProperty(fc.array(event), end, fc.array(fc.nat()), async (events, end, cuts) => {
        const text = events
          .map(({ event, lines }) =>
            [`event: ${event}`, ...lines.map((data) => `data: ${data}`), "", ""].join(end),
          )
          .join("");
        const expected = events.map(({ event, lines }) => ({ event, data: lines.join("\n") }));
        expect(await eventsOf(`: a comment${end}${text}`, cuts)).toEqual(expected);
      }),
    );
  });

  it("keeps to the standard where a server writes otherwise than ours", async () => {
    const text =
      "data:no space\n\nevent: unnamed\n\ndata\n\nretry: 10\nid: 4\nevent: x\ndata: a:b\n\ndata: cut off\n";
    expect(await eventsOf(text)).toEqual([
      { event: "message", data: "no space" },
      { event: "message", data: "" },
      { event: "x", data: "a:b" },
    ]);
  });
});

/** A session of entries that follow these ones; -1 is the beginning. */
function sessionOf(parents: readonly number[], leaf = parents.length - 1): Session {
  const session = new Session();
  const entries = parents.map(
    (parent, at): EntrySummary => ({
      id: `e${at}`,
      parentId: parent < 0 ? null : `e${parent}`,
      type: "message",
    }),
  );
  session.restore({ id: "s", leafId: leaf < 0 ? null : `e${leaf}`, running: false, entries });
  return session;
}

const nameOf = ({ entry }: Row) => entry?.id ?? "beginning";

describe("treeRows", () => {
  it("goes one column to the right only where entries share a parent", () => {
    const rows = treeRows(sessionOf([-1, 0, 1, 1, 3, 4, 3]));
    const drawn = rows.map((row) => `${"  ".repeat(row.column)}${nameOf(row)}${row.isOnPath ? " *" : ""}`);
    expect(drawn).toEqual(["beginning *", "e0 *", "e1 *", "  e2", "  e3 *", "    e4", "    e5", "    e6 *"]);
    expect(rows.filter(({ isLeaf }) => isLeaf).map(nameOf)).toEqual(["e6"]);
  });

  const trees = fc.array(fc.nat(), { maxLength: 40 }).chain((picks) =>
    fc.record({
      parents: fc.constant(picks.map((pick, at) => (pick % (at + 1)) - 1)),
      leaf: fc.integer({ min: -1, max: Math.max(-1, picks.length - 1) }),
    }),
  );

  it("has each entry once, below what it follows, with lines that meet", () => {
    fc.assert(
      fc.property(trees, ({ parents, leaf }) => {
        const rows = treeRows(sessionOf(parents, leaf));
        const places = new Map(rows.map((row, at) => [row.entry?.id ?? null, at]));
        expect(places.size).toBe(parents.length + 1);
        for (const [at, row] of rows.entries()) {
          expect(row.column).toBeLessThanOrEqual(maxColumn);
          if (row.entry !== null) expect(places.get(row.entry.parentId)).toBeLessThan(at);
          // A line that leaves a row downwards continues in the next row, unless the columns are used up.
          if (rows.some(({ column }) => column === maxColumn)) continue;
          const down = linesOf(row).filter(({ part }) => part === "below");
          const up = linesOf(rows[at + 1] ?? row).filter(({ part }) => part !== "below");
          const columns = (lines: readonly { readonly column: number }[]) =>
            new Set(lines.map(({ column }) => column));
          if (at + 1 < rows.length) expect(columns(up)).toEqual(columns(down));
          else expect(down).toEqual([]);
        }
      }),
    );
  });

  it("marks the path from the beginning to the leaf", () => {
    fc.assert(
      fc.property(trees, ({ parents, leaf }) => {
        const session = sessionOf(parents, leaf);
        const onPath = treeRows(session).filter(({ isOnPath }) => isOnPath);
        expect(onPath.map(nameOf)).toEqual(["beginning", ...session.path().map(({ id }) => id)]);
      }),
    );
  });

  it("walks a deep session without recursion", () => {
    const rows = treeRows(sessionOf(Array.from({ length: 20_000 }, (_, at) => at - 1)));
    expect(rows).toHaveLength(20_001);
    expect(rows.at(-1)?.column).toBe(0);
  });
});

describe("words", () => {
  it("say sizes as a person reads them", () => {
    const sizes = [0, 1, 1023, 1024, 10_239, 20_480, (1 << 20) - 1, 10 << 20].map(sizeInWords);
    expect(sizes).toEqual([
      "0 bytes",
      "1 byte",
      "1023 bytes",
      "1.0 KB",
      "10.0 KB",
      "20 KB",
      "1024 KB",
      "10 MB",
    ]);
  });

  it("are the first of a text, on one line, without what turns a line around", () => {
    expect(firstWords(" a\u202eb\n\tc ", 10)).toBe("a b c");
    expect(firstWords("😀".repeat(10), 4)).toBe("😀😀😀…");
  });

  it("say that a reply is being written where one is, and the server's reason elsewhere", () => {
    const refused = (code: string, message: string) => reasonInWords(new Refused(409, { code, message }));
    expect(refused("TURN_RUNNING", "a turn is running")).toMatch(/^A reply is still being written\./);
    expect(refused("ABORTED", "the turn was aborted")).toBe("The turn was aborted.");
  });

  it("make a sentence of a reason", () => {
    expect(asSentence("it is empty")).toBe("It is empty.");
    expect(asSentence("Done!")).toBe("Done!");
    expect(asSentence(" ")).toBe("The server gives no reason.");
  });
});
