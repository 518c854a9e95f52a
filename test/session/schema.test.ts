import fc from "fast-check";
import type { SessionEntry } from "sessile/session";
import { sessionEntrySchema, sessionHeaderSchema } from "sessile/session/schema";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { entryProblem, headerProblem } from "../../src/session/format/validate.js";
import { entryTypes, header, sessionEntry } from "../arbitraries/entries.js";
import { mutationOf } from "../arbitraries/mutations.js";
import { jsonValue } from "../arbitraries/values.js";

const runs = { numRuns: 3000 };

describe("sessionEntrySchema", () => {
  // @covers R141
  it("accepts every entry, and gives it back as it is", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(sessionEntry, (entry) => {
        seen.add(entry.type);
        expect(entryProblem(entry)).toBeUndefined();
        expect(sessionEntrySchema.parse(entry)).toEqual(entry);
      }),
      { numRuns: 1000 },
    );
    expect([...seen].sort()).toEqual([...entryTypes].sort());
  });

  it("agrees with the session's own check on every mutation of an entry", () => {
    fc.assert(
      fc.property(mutationOf(sessionEntry), (value) => {
        expect(sessionEntrySchema.safeParse(value).success).toBe(entryProblem(value) === undefined);
      }),
      runs,
    );
  });

  it("agrees with it on any JSON", () => {
    fc.assert(
      fc.property(jsonValue, fc.constantFrom(...entryTypes), (value, type) => {
        for (const candidate of [
          value,
          { ...(value as object), type, id: "a", parentId: null, timestamp: "" },
        ]) {
          expect(sessionEntrySchema.safeParse(candidate).success).toBe(entryProblem(candidate) === undefined);
        }
      }),
    );
  });

  it.each([
    { message: { role: ["user"], content: "", timestamp: 0 } },
    { message: { role: "user", content: [{ type: ["text"], text: "" }], timestamp: 0 } },
    { message: { role: "toString", content: "", timestamp: 0 } },
  ])("refuses, as the check does, what only looks right as text: %j", (fields) => {
    const entry = { type: "message", id: "a", parentId: null, timestamp: "", ...fields };
    expect(entryProblem(entry)).toBeDefined();
    expect(sessionEntrySchema.safeParse(entry).success).toBe(false);
  });

  it("keeps fields that it does not know, at every depth", () => {
    const line = {
      type: "message",
      id: "a",
      parentId: null,
      timestamp: "",
      message: { role: "user", content: [{ type: "text", text: "hi", later: 1 }], timestamp: 0, later: [2] },
      crc: "00000000",
      later: { deep: true },
    };
    expect(sessionEntrySchema.parse(line)).toEqual(line);
  });

  it("gives what a session takes, as far as types go", () => {
    const parsed: SessionEntry = sessionEntrySchema.parse({
      type: "label",
      id: "b",
      parentId: "a",
      timestamp: "",
      targetId: "a",
    });
    expect(parsed.type).toBe("label");
  });

  it("can be printed as a JSON Schema that names every type", () => {
    const { oneOf = [] } = z.toJSONSchema(sessionEntrySchema);
    expect(oneOf.map(({ properties }) => properties?.type)).toEqual(
      entryTypes.map((type) => ({ type: "string", const: type })),
    );
  });

  it("can be printed for writers too", () => {
    expect(z.toJSONSchema(sessionEntrySchema, { io: "input", target: "draft-7" })).toHaveProperty("oneOf");
  });
});

describe("sessionHeaderSchema", () => {
  it("accepts every header, and gives it back as it is", () => {
    fc.assert(
      fc.property(header, (value) => {
        expect(headerProblem(value)).toBeUndefined();
        expect(sessionHeaderSchema.parse(value)).toEqual(value);
      }),
    );
  });

  it("agrees with the session's own check on every mutation of a header", () => {
    fc.assert(
      fc.property(mutationOf(header), (value) => {
        expect(sessionHeaderSchema.safeParse(value).success).toBe(headerProblem(value) === undefined);
      }),
      runs,
    );
  });

  it("reads an absent time and directory as empty, as opening the session does", () => {
    expect(sessionHeaderSchema.parse({ type: "session", id: "a" })).toEqual({
      type: "session",
      id: "a",
      timestamp: "",
      cwd: "",
    });
  });

  it("can be printed as a JSON Schema", () => {
    expect(z.toJSONSchema(sessionHeaderSchema)).toHaveProperty("properties.cwd");
  });
});
