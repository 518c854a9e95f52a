import fc from "fast-check";
import type { ClipboardEntry } from "sessile/context-tokens";
import { text } from "./values.js";

const names = ["ctx", "ctx2", "blobs", "a.png", "..", ".", "etc", "x y", "é", "...", "a:b", "a ", ">", "a>b"];

/** Absolute paths of a kind, with what is awkward in them: empty names, dots, other directories that look alike. */
const pathOf = (root: fc.Arbitrary<string>, separator: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(root, fc.array(fc.tuple(fc.constantFrom(...names, ""), separator), { maxLength: 6 }))
    .map(([start, parts]) => `${start}${parts.map(([name, end]) => name + end).join("")}a.png`);

/** Absolute paths as POSIX means them. */
export const posixPath: fc.Arbitrary<string> = pathOf(
  fc.constantFrom("/", "/ctx/", "/ctx/blobs/", "//", "///ctx/"),
  fc.constant("/"),
);

/** Absolute paths as Windows means them: of drives, shares and devices. */
export const windowsPath: fc.Arbitrary<string> = pathOf(
  fc.constantFrom(
    "C:\\",
    "c:/",
    "C:\\ctx\\",
    "C:/ctx/",
    "D:\\ctx\\",
    "\\\\srv\\share\\",
    "\\\\SRV\\share\\ctx\\",
    "//srv/share/ctx/",
    "\\\\srv\\share2\\ctx\\",
    "\\\\?\\C:\\ctx\\",
    "\\\\.\\C:\\ctx\\",
  ),
  fc.constantFrom("\\", "/"),
);

const fragments = [
  "<<context:",
  "<<context:image:",
  "<<context: TeXt :",
  "<<context:file:/ctx/a",
  "<<context:unknown:",
  "<<CONTEXT:image:/a>>>",
  "<<\\context:",
  "<<\\\\context:image:/ctx/b>>>",
  "<<context:image:/ctx/a.png>>>",
  "<<context:text:pending:typed>>>",
  "<<context:text:failed:disk full>>>",
  "<<context:image:relative.png>>>",
  "<<context:image:C:\\ctx\\a.png>>>",
  "context:",
  "\\context:image:",
  "image:",
  "text:",
  "/ctx/a",
  "/",
  ">>>",
  ">>",
  ">",
  "<<",
  "<",
  "\\",
  ":",
  " ",
  "\t",
  "\u00a0",
  "\ufeff",
  "\n",
  "\r",
  "\0",
  "a",
];

const pieces = fc.array(
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...fragments) }, { weight: 1, arbitrary: text }),
  { maxLength: 14 },
);

/** Any strings, most of them made of what matters to tokens. */
export const tokenish: fc.Arbitrary<string> = fc.oneof(
  { weight: 9, arbitrary: pieces.map((list) => list.join("")) },
  { weight: 1, arbitrary: text },
);

/** Ids "1", "2" and so on, the same every time. */
export function counter(): () => string {
  let last = 0;
  return () => String(++last);
}

const size = fc.constantFrom(0, 1, 14_200, 10_485_760, 10_485_761);

/** What can be on a clipboard or in a drop, good and bad. */
export const clipboard: fc.Arbitrary<readonly ClipboardEntry[]> = fc.array(
  fc.oneof(
    fc.record({
      type: fc.constant("image" as const),
      mediaType: fc.constantFrom("image/png", "IMAGE/JPEG", "image/webp", "image/tiff", "text/plain"),
      size,
    }),
    fc
      .record({
        type: fc.constant("path" as const),
        path: fc.constantFrom("/a/b.md", "/a/c.TXT", "C:\\d.json", "/x.exe", "relative.md", "/none"),
        size: fc.option(size, { nil: undefined }),
      })
      .map(({ size, ...entry }) => (size === undefined ? entry : { ...entry, size })),
    fc.record({ type: fc.constant("text" as const), text: tokenish }),
  ),
  { maxLength: 6 },
);
