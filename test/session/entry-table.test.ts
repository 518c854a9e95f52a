import { readFileSync } from "node:fs";
import type { Message, Resource, SystemMessage, Usage } from "sessile/content";
import type { EntryMap, EntryType, SessionHeader } from "sessile/session";
import type { TetherFrame, TetherImage, UserMessagePayload } from "sessile/tether";
import { describe, expect, expectTypeOf, it, test } from "vitest";
import {
  contentRules,
  messageShape,
  type resourceShape,
  type systemMessageShape,
  type usageShape,
} from "../../src/internal/message-shapes.js";
import type { Fields, Infer, InferFields } from "../../src/internal/shape.js";
import {
  type EntryTypeSpec,
  entryTypeNames,
  entryTypes,
  entryTypesWith,
  type headerFields,
  kindsInContext,
  references,
} from "../../src/session/format/entry-types.js";
import type { frameShape, imageFields, payloadShapes } from "../../src/tether/shape.js";

describe("the types written by hand are those of the shapes", () => {
  test("entries", () => {
    type Inferred = { [T in EntryType]: InferFields<(typeof entryTypes)[T]["fields"]> };
    type Written = { [T in EntryType]: Flat<EntryMap[T]> };
    expectTypeOf<Inferred>().toEqualTypeOf<Written>();
    expectTypeOf<keyof typeof entryTypes>().toEqualTypeOf<keyof EntryMap>();
  });

  test("messages, resources and usage", () => {
    expectTypeOf<Infer<typeof messageShape>>().toEqualTypeOf<Message>();
    expectTypeOf<Infer<typeof systemMessageShape>>().toEqualTypeOf<SystemMessage>();
    expectTypeOf<Infer<typeof resourceShape>>().toEqualTypeOf<Resource>();
    expectTypeOf<Infer<typeof usageShape>>().toEqualTypeOf<Usage>();
  });

  test("the header, whose time and directory other writers may leave out", () => {
    type Stated = Omit<SessionHeader, "timestamp" | "cwd">;
    type Defaulted = Partial<Pick<SessionHeader, "timestamp" | "cwd">>;
    expectTypeOf<InferFields<typeof headerFields>>().toEqualTypeOf<Flat<Stated & Defaulted>>();
  });

  test("frames", () => {
    expectTypeOf<InferFields<typeof imageFields>>().toEqualTypeOf<TetherImage>();
    expectTypeOf<Infer<(typeof payloadShapes)["user.message"]>>().toEqualTypeOf<UserMessagePayload>();
    expectTypeOf<Infer<typeof frameShape>>().toExtend<TetherFrame>();
  });
});

type Flat<T> = { [K in keyof T]: T[K] };

describe("the table of docs/reference/format.md", () => {
  const text = readFileSync("docs/reference/format.md", "utf8");
  const tableOf = (section: string) => {
    const [, after = ""] = text.split(section);
    return (/^\|.*?\n\n/ms.exec(after)?.[0] ?? "").split("\n").flatMap((line) => {
      const [, name, isExtension, fields = "", inContext = ""] =
        /^\| `(\w+)`(\\\*)? *\|([^|]*)\|([^|]*)\|?$/.exec(line) ?? [];
      const named = Array.from(fields.matchAll(/`(\w+\??)`/g), ([, field]) => field).sort();
      return name === undefined ? [] : [{ name, isExtension: isExtension !== undefined, named, inContext }];
    });
  };
  const printed = (fields: Fields) =>
    Object.entries(fields)
      .map(([name, field]) => `${name}${"isOptional" in field ? "?" : ""}`)
      .sort();
  const rows = tableOf("\n## Entries\n");

  it("has the entry types, in their order", () => {
    expect(rows.map(({ name }) => name)).toEqual(entryTypeNames);
  });

  it.each(rows)("has the fields of $name, and says whether it is pi's", ({ name, named, isExtension }) => {
    const row: EntryTypeSpec = entryTypes[name as EntryType];
    expect(named).toEqual(printed(row.fields));
    expect(isExtension).toBe(row.isExtension === true);
  });

  it.each(rows)("says of $name whether it is an item of contexts", ({ name, inContext }) => {
    expect(/^ (yes|unless empty) *$/.test(inContext)).toBe(entryTypesWith("inContext").has(name));
  });

  it("has the fields of each role of a message, besides its time", () => {
    const roles = messageShape.spec.kind === "variants" ? messageShape.spec.cases : [];
    const expected = roles.map(({ spec }) => {
      const { role, timestamp: _, ...fields } = spec.kind === "object" ? spec.fields : {};
      return { name: role?.spec.kind === "oneOf" ? role.spec.values[0] : "", named: printed(fields) };
    });
    expect(tableOf("\n### Messages\n").map(({ name, named }) => ({ name, named }))).toEqual(expected);
  });
});

describe("the rows", () => {
  it("name only fields that they have as references", () => {
    for (const [type, { fields, references = [] }] of Object.entries<EntryTypeSpec>(entryTypes))
      for (const name of references) expect(Object.keys(fields), type).toContain(name.replace("[]", ""));
  });

  it("that edit a message refer to it, and change what came earlier", () => {
    for (const type of entryTypesWith("edits")) {
      const row: EntryTypeSpec = entryTypes[type as EntryType];
      expect(row.references).toEqual(["targetId"]);
      expect(entryTypesWith("changesEarlier")).toContain(type);
    }
  });

  it("give an item to each role of a message", () => {
    const roles = ["user", "assistant", "toolResult", "bashExecution", "custom", "system"];
    const kinds = [...roles.map((role) => `message/${role}`), "branch_summary", "custom_message"];
    expect(kindsInContext).toEqual(kinds);
  });

  it("say which blocks a role has", () => {
    const rules = Array.from(contentRules, ([role, { blocks, takesText }]) => [role, [...blocks], takesText]);
    expect(rules).toEqual([
      ["user", ["text", "image"], true],
      ["assistant", ["text", "thinking", "toolCall", "opaque"], false],
      ["toolResult", ["text", "image"], false],
      ["custom", ["text", "image"], true],
      ["system", ["text"], true],
    ]);
  });
});

describe("references", () => {
  const found = (entry: { readonly type: string; readonly [field: string]: unknown }) => references(entry);

  it("are found in fields and lists, whatever their values are", () => {
    const compaction = { type: "compaction", firstKeptEntryId: "a", retain: ["b", 1] };
    expect(found(compaction)).toEqual([
      ["firstKeptEntryId", "a"],
      ["retain[0]", "b"],
      ["retain[1]", 1],
    ]);
    expect(found({ ...compaction, retain: "b" })).toEqual([["firstKeptEntryId", "a"]]);
    expect(found({ type: "context_pin", targetId: "b", pinned: true })).toEqual([["targetId", "b"]]);
    expect(found({ type: "toString" })).toEqual([]);
  });
});
