import fc from "fast-check";
import { expect, test } from "vitest";
import { operationsOfPatch } from "../../../src/compaction/file-ledger/operations.js";

test("every header of a patch is an operation, and what stands in it is none", () => {
  const file = fc.constantFrom("a.ts", "src/b c.ts", "ä", "d/File: x");
  const body = fc.array(
    fc.constantFrom("+*** Add File: no", " *** Delete File: no", "-*** Update File: no", "@@", ""),
  );
  const section = fc.oneof(
    fc.tuple(file, body).map(([path, lines]) => ({
      text: [`*** Update File: ${path}`, "@@", ...lines, "*** End of File"],
      operations: [{ operation: "modify", path }],
    })),
    fc.tuple(file, file).map(([path, to]) => ({
      text: [`*** Update File: ${path}`, `*** Move to: ${to}`, "@@", "-a", "+b"],
      operations: [
        { operation: "move", path, to },
        { operation: "modify", path: to },
      ],
    })),
    file.map((path) => ({
      text: [`*** Add File: ${path}`, "+*** Delete File: no"],
      operations: [{ operation: "create", path }],
    })),
    file.map((path) => ({ text: [`*** Delete File: ${path}`], operations: [{ operation: "delete", path }] })),
  );
  fc.assert(
    fc.property(fc.array(section), fc.constantFrom("\n", "\r\n"), (sections, end) => {
      const lines = ["*** Begin Patch", ...sections.flatMap(({ text }) => text), "*** End Patch"];
      expect(operationsOfPatch(lines.join(end))).toEqual(sections.flatMap(({ operations }) => operations));
    }),
  );
});

test("space around a header is taken where no update is open", () => {
  expect(
    operationsOfPatch("<<'EOF'\n  *** Begin Patch\n  *** Add File: a  \n+x\n *** Delete File: b"),
  ).toEqual([
    { operation: "create", path: "a" },
    { operation: "delete", path: "b" },
  ]);
});

test("a move counts only right behind its update", () => {
  expect(operationsOfPatch("*** Move to: x\n*** Update File: a\n@@\n*** Move to: b")).toEqual([
    { operation: "modify", path: "a" },
  ]);
});

test("any text is taken", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(Array.isArray(operationsOfPatch(text))).toBe(true);
    }),
  );
});
