import fc from "fast-check";
import { type FileRecord, staleFiles } from "sessile/compaction";
import { describe, expect, test } from "vitest";
import { operationsOfPatch, pathsFrom } from "../../../src/compaction/file-ledger/operations.js";
import { hashes } from "./arbitraries.js";

describe("paths", () => {
  const directories = [
    undefined,
    "/",
    "/w",
    "/w/x y/",
    "C:\\repo",
    "d:/a/b",
    "\\\\Server\\share\\dir",
    "w",
    "",
  ];
  const piece = fc.constantFrom(
    "/",
    "\\",
    ".",
    "..",
    "a",
    "b c",
    "ä",
    "%41",
    "%",
    "%00",
    "file://",
    "C:",
    "c:",
    "~",
    "?",
    "#",
    "//",
    "\\\\",
    "localhost",
    "UNC",
    "\n",
    "\ud800",
  );
  const path = fc.oneof(
    fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
    fc.string({ unit: "binary" }),
  );
  const key = (cwd: string | undefined, each: string) => pathsFrom(cwd).keyByPath(each)?.path;

  describe("a path", () => {
    test("keeps its spelling once it has it, below any directory", () => {
      fc.assert(
        fc.property(fc.constantFrom(...directories), path, (cwd, each) => {
          const once = key(cwd, each);
          if (once !== undefined) expect(key(cwd, once)).toBe(once);
        }),
        {
          numRuns: 2000,
          examples: [
            ["d:/a/b", "//?//C:"],
            ["d:/a/b", "//?//UNC/a/b/.."],
            ["d:/a/b", "//?/UNC/?/C:/x"],
            ["d:/a/b", "//?/UNC"],
          ],
        },
      );
    });

    test("has neither empty names nor dots, but where it leads above a start that is not known", () => {
      fc.assert(
        fc.property(path, (each) => {
          const found = key("/w", each);
          if (found === undefined || found === "." || found === "/") return;
          const names = (found.startsWith("/") ? found.slice(1) : found).split("/");
          for (const name of names) expect(["", ".", ".."]).not.toContain(name);
        }),
      );
    });

    const name = fc.constantFrom("a", "b.ts", "ä", "x y", "..a", "%41");
    test("is one in all spellings", () => {
      const noise = fc.constantFrom("", ".//", "/", "up/../", ".//");
      fc.assert(
        fc.property(fc.array(name, { minLength: 1, maxLength: 4 }), fc.array(noise), (names, noises) => {
          const noisy = names.map((each, at) => (noises[at] ?? "").replace(/^\//, ".//") + each).join("/");
          const plain = names.join("/");
          const url = `file:///w/x/${names.map(encodeURIComponent).join("/")}`;
          for (const each of [
            plain,
            noisy,
            `./${noisy}/`,
            `/w/x/${noisy}`,
            `../x/${noisy}`,
            url,
            `//w//x/${plain}`,
          ]) {
            expect(key("/w/x", each)).toBe(plain);
          }
          const backslashes = noisy.replaceAll("/", "\\");
          for (const each of [
            plain,
            noisy,
            backslashes,
            `C:\\w\\${backslashes}`,
            `c:/w/${noisy}`,
            `\\w\\${backslashes}`,
            `\\\\?\\C:\\w\\${plain}`,
          ]) {
            expect(key("c:\\w", each)).toBe(plain);
          }
        }),
      );
    });

    test.each([
      ["/w", "/w", "."],
      ["/w", "/", "/"],
      ["/w", "../a", "/a"],
      ["/w", "/wx/a", "/wx/a"],
      ["/w", "a\\b", "a\\b"],
      ["/w", "C:\\a", "C:\\a"],
      ["/w", "file://host/a", "file:/host/a"],
      ["/w", "file:///C:/a", "/C:/a"],
      ["/w", "file:///a%20b?c#d", "/a b"],
      ["/w", "FILE://localhost/w/100%", "100%"],
      ["/", "/a", "a"],
      ["/", "../../a", "a"],
      [undefined, "./a/../b", "b"],
      [undefined, "../a/../../b", "../../b"],
      [undefined, "/a/../../b/", "/b"],
      [undefined, "c:\\a\\.\\b", "C:/a/b"],
      [undefined, "./c:/a", "./c:/a"],
      ["C:\\repo", "c:\\Repo\\a", "C:/Repo/a"],
      ["C:\\repo", "D:a", "D:/a"],
      ["C:\\repo", "c:a", "a"],
      ["C:\\repo", ".\\d:x", "./d:x"],
      ["C:\\repo", "file:///C:/repo/a%20b", "a b"],
      ["C:\\repo", "file://Host/Share/a", "//host/share/a"],
      ["C:\\repo", "\\\\?\\UNC\\Host\\Share\\a", "//host/share/a"],
      ["\\\\Host\\Share\\d", "\\\\host\\share\\d\\a", "a"],
      ["file:///w", "/w/a", "a"],
      ["w", "/w/a", "/w/a"],
    ])("in %j, %j is %j", (cwd, each, expected) => {
      expect(key(cwd, each)).toBe(expected);
    });

    test.each(["", "\0", "a\0", "file:///a%00", "a".repeat(4097)])("%j is none", (each) => {
      expect(key("/w", each)).toBeUndefined();
    });

    test("is none where the directory makes it too long", () => {
      expect(key(`/${"w".repeat(4000)}`, `../${"a".repeat(4000)}`)).toHaveLength(4001);
      expect(key(`/${"w".repeat(4000)}/x`, `../${"a".repeat(4000)}`)).toBeUndefined();
    });
  });
});

describe("patches", () => {
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
      file.map((path) => ({
        text: [`*** Delete File: ${path}`],
        operations: [{ operation: "delete", path }],
      })),
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
});

describe("stale files", () => {
  const [hashA = "", hashB = ""] = hashes;
  const file = (path: string, more: Partial<FileRecord> = {}): FileRecord => ({
    path,
    operations: ["read"],
    step: 1,
    ...more,
  });
  const known = { contentSha256: hashA };

  describe("a file", () => {
    const rows: readonly (readonly [string, FileRecord, string | undefined, string | undefined])[] = [
      ["as it was", file("a", known), hashA, undefined],
      ["as it was, in capitals", file("a", known), hashA.toUpperCase(), undefined],
      ["with another content", file("a", known), hashB, "changed"],
      ["that is not there", file("a", known), undefined, "missing"],
      ["of unknown content that is not there", file("a"), undefined, "missing"],
      ["of unknown content", file("a"), hashB, undefined],
      ["that is there and has no hash", file("a", known), "", undefined],
      ["that is gone and not there", file("a", { gone: true }), undefined, undefined],
      ["that is gone and there", file("a", { gone: true }), hashB, "back"],
      ["that is gone and there as a directory", file("a", { gone: true }), "", "back"],
    ];

    test.each(rows)("%s", async (_, record, now, reason) => {
      const expected = reason === undefined ? [] : [{ record, reason }];
      expect(await staleFiles({ files: [record] }, () => now)).toEqual(expected);
      expect(await staleFiles({ files: [record] }, async () => now)).toEqual(expected);
    });

    test("that is unconfirmed is not asked for", async () => {
      const asked: string[] = [];
      const probe = (path: string) => void asked.push(path);
      await staleFiles({ files: [file("a", { unconfirmed: true }), file("b")] }, probe);
      expect(asked).toEqual(["b"]);
    });

    test("whose probe throws is unknown, and the others are told", async () => {
      const cause = new Error("no access");
      const probe = (path: string) => {
        if (path === "a") throw cause;
        return undefined;
      };
      const [a, b] = [file("a", known), file("b", known)];
      expect(await staleFiles({ files: [a, b] }, probe)).toEqual([
        { record: a, reason: "unknown", cause },
        { record: b, reason: "missing" },
      ]);
    });
  });

  describe("probes", () => {
    test("run at most so many at a time, each file once, and the result is in the order of the ledger", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.nat(20),
          fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
          fc.infiniteStream(fc.integer({ min: 1, max: 3 })),
          async (count, concurrency, waits) => {
            const files = Array.from({ length: count }, (_, at) => file(`f${at}`, known));
            const asked: string[] = [];
            let running = 0;
            let most = 0;
            const probe = async (path: string) => {
              asked.push(path);
              most = Math.max(most, ++running);
              for (let wait = waits.next().value ?? 0; wait > 0; wait--) await undefined;
              running -= 1;
              return hashB;
            };
            const stale = await staleFiles(
              { files },
              probe,
              concurrency === undefined ? {} : { concurrency },
            );
            expect(asked).toEqual(files.map(({ path }) => path));
            expect(stale.map(({ record }) => record)).toEqual(files);
            expect(most).toBe(Math.min(count, concurrency ?? 8));
          },
        ),
      );
    });

    test("that hang are left when the signal aborts, and no more are begun", async () => {
      const controller = new AbortController();
      let asked = 0;
      const probe = () => {
        asked += 1;
        return new Promise<undefined>(() => undefined);
      };
      const files = [file("a"), file("b"), file("c")];
      const stale = staleFiles({ files }, probe, { signal: controller.signal, concurrency: 2 });
      controller.abort(new Error("enough"));
      await expect(stale).rejects.toThrow("enough");
      expect(asked).toBe(2);
    });

    test("that abort the signal themselves are the last", async () => {
      const controller = new AbortController();
      const asked: string[] = [];
      const probe = (path: string) => {
        asked.push(path);
        controller.abort(new Error("enough"));
        return undefined;
      };
      const options = { signal: controller.signal, concurrency: 1 };
      await expect(staleFiles({ files: [file("a"), file("b")] }, probe, options)).rejects.toThrow("enough");
      expect(asked).toEqual(["a"]);
    });

    test("that hang after they aborted the signal are left too", async () => {
      const controller = new AbortController();
      const probe = () => {
        controller.abort(new Error("enough"));
        return new Promise<undefined>(() => undefined);
      };
      const stale = staleFiles({ files: [file("a")] }, probe, { signal: controller.signal });
      await expect(stale).rejects.toThrow("enough");
    });

    test("are not begun after an abort, nor with a concurrency of none", async () => {
      let asked = 0;
      const probe = () => {
        asked += 1;
        return undefined;
      };
      const ledger = { files: [file("a")] };
      await expect(staleFiles(ledger, probe, { signal: AbortSignal.abort(new Error("no")) })).rejects.toThrow(
        "no",
      );
      await expect(staleFiles(ledger, probe, { concurrency: 0 })).rejects.toThrow(RangeError);
      expect(asked).toBe(0);
    });
  });
});
