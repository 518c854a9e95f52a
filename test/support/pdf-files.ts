import { deflateSync } from "node:zlib";
import { bytesOf } from "./media-files.js";

/** Parts one after the other; text is one byte a character. */
export function latin1(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  return bytesOf(
    ...parts.map((part) => (typeof part === "string" ? Uint8Array.from(Buffer.from(part, "latin1")) : part)),
  );
}

/** An object that is a stream. `length` is what it says of its length. */
export function stream(entries: string, data: string | Uint8Array, length?: string, number = 90): Uint8Array {
  const body = latin1(data);
  return latin1(
    `${number} 0 obj<<${entries}/Length ${length ?? body.length}>>stream\r\n`,
    body,
    "\nendstream endobj\n",
  );
}

/** A stream with objects; `offset` overrides where they all are. */
export function objectStream(objects: readonly (readonly [number, string])[], offset?: number): Uint8Array {
  let at = 0;
  const index = objects.map(([number, text]) => {
    const entry = `${number} ${offset ?? at}`;
    at += text.length + 1;
    return entry;
  });
  const texts = offset === undefined ? objects.map(([, text]) => text) : [objects[0]?.[1] ?? ""];
  const first = `${index.join(" ")} `;
  const data = deflateSync(Buffer.from(first + texts.join(" "), "latin1"));
  return stream(
    `/Type/ObjStm/N ${objects.length}/First ${first.length}/Filter/FlateDecode`,
    data,
    undefined,
    91,
  );
}

/** A PDF of empty pages, whose numbers begin at 3. */
export function pdfOf(
  pages: number,
  options: {
    /** Whether the objects are in a compressed stream. */
    readonly packed?: boolean;
    /** Whether the tree has a level between. */
    readonly nested?: boolean;
    readonly extra?: string | Uint8Array;
    readonly trailer?: string;
    readonly kids?: string;
    readonly count?: number;
    readonly page?: string;
  } = {},
): Uint8Array {
  const {
    packed = false,
    nested = false,
    extra = "",
    trailer = "",
    count = pages,
    page = "/Type/Page",
  } = options;
  const leaves = Array.from({ length: pages }, (_, at) => `${at + 3} 0 R`).join(" ");
  const between = pages + 3;
  const kids = options.kids ?? (nested ? `${between} 0 R` : leaves);
  const objects: (readonly [number, string])[] = [
    [1, "<</Type/Catalog/Pages 2 0 R>>"],
    [2, `<</Type/Pages/Count ${count}/Kids[${kids}]>>`],
    ...Array.from(
      { length: pages },
      (_, at) => [at + 3, `<<${page}/Parent 2 0 R/MediaBox[0 0 99 99]>>`] as const,
    ),
    ...(nested ? [[between, `<</Type/Pages/Count ${pages}/Kids[${leaves}]>>`] as const] : []),
  ];
  const body = packed
    ? objectStream(objects)
    : latin1(...objects.map(([number, text]) => `${number} 0 obj${text}endobj\n`));
  return latin1("%PDF-1.7\n", body, extra, `trailer<</Size 9/Root 1 0 R${trailer}>>\nstartxref\n0\n%%EOF\n`);
}
