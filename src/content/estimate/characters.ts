/**
 * The class of a UTF-16 code unit for the estimator: letter, digit, mark or script. The order matters: words
 * consist of classes up to `digit`, and classes from `symbol` on cost by the character.
 */
export const kinds = {
  lower: 1,
  upper: 2,
  digit: 3,
  space: 4,
  lineEnd: 5,
  mark: 6,
  /** Dashes, quotes, arrows, lines. */
  symbol: 7,
  cyrillic: 8,
  greek: 9,
  hebrew: 10,
  arabic: 11,
  indic: 12,
  thai: 13,
  han: 14,
  kana: 15,
  hangul: 16,
  /** Full-width punctuation and letters. */
  wide: 17,
  /** Either half of a surrogate pair. */
  surrogate: 18,
  other: 19,
} as const;

/** The name of a kind of character. */
export type Kind = keyof typeof kinds;

/**
 * First and last code unit; later ranges override earlier ones. Latin letters with diacritics count as lower
 * case.
 */
const ranges: readonly (readonly [number, number, Kind])[] = [
  [0x00, 0x7f, "mark"],
  [0x09, 0x09, "space"],
  [0x0a, 0x0a, "lineEnd"],
  [0x0d, 0x0d, "lineEnd"],
  [0x20, 0x20, "space"],
  [0x30, 0x39, "digit"],
  [0x41, 0x5a, "upper"],
  [0x61, 0x7a, "lower"],
  [0x80, 0xbf, "symbol"],
  [0xc0, 0x24f, "lower"],
  [0xd7, 0xd7, "symbol"],
  [0xf7, 0xf7, "symbol"],
  [0x370, 0x3ff, "greek"],
  [0x400, 0x52f, "cyrillic"],
  [0x590, 0x5ff, "hebrew"],
  [0x600, 0x77f, "arabic"],
  [0x900, 0xdff, "indic"],
  [0xe00, 0xe7f, "thai"],
  [0x1e00, 0x1eff, "lower"],
  [0x2000, 0x2dff, "symbol"],
  [0x3000, 0x303f, "wide"],
  [0x3040, 0x30ff, "kana"],
  [0x3400, 0x4dbf, "han"],
  [0x4e00, 0x9fff, "han"],
  [0xac00, 0xd7af, "hangul"],
  [0xd800, 0xdfff, "surrogate"],
  [0xf900, 0xfaff, "han"],
  [0xff00, 0xffff, "wide"],
];

/** The kind of each code unit, as a table because it is read once per character. */
export const readKind: Uint8Array = ranges.reduce(
  (table, [first, last, kind]) => table.fill(kinds[kind], first, last + 1),
  new Uint8Array(2 ** 16).fill(kinds.other),
);
