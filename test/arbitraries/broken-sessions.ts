import fc from "fast-check";
import { damage, damaged } from "./bytes.js";

type LineChange =
  | { readonly kind: "drop" | "join" | "repeat" | "half" | "zero"; readonly at: number }
  | { readonly kind: "move"; readonly at: number; readonly to: number };

const at = fc.nat({ max: 64 });

/** What becomes of whole lines: lost, run into the next, written twice, cut off, full of NULs, or in another place. */
const lineChange: fc.Arbitrary<LineChange> = fc.oneof(
  fc.record({ kind: fc.constantFrom("drop", "join", "repeat", "half", "zero"), at }),
  fc.record({ kind: fc.constant("move"), at, to: at }),
);

/** A way to damage a session file: its lines, its bytes, or both. */
export const breakage: fc.Arbitrary<(bytes: Uint8Array) => Uint8Array> = fc
  .record({
    lines: fc.array(lineChange, { maxLength: 3 }),
    changes: fc.option(damage),
    isShuffled: fc.boolean().chain((yes) => (yes ? fc.boolean() : fc.constant(false))),
  })
  .map(({ lines, changes, isShuffled }) => (bytes) => {
    const whole = isShuffled ? withLines(bytes, (all) => [all[0] ?? "", ...all.slice(1).reverse()]) : bytes;
    const broken = lines.reduce((so, change) => withLines(so, (all) => changed(all, change)), whole);
    return changes === null ? broken : damaged(broken, changes);
  });

/** Lines as Latin-1, so that every byte is a character. */
function withLines(bytes: Uint8Array, change: (lines: readonly string[]) => readonly string[]): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1");
  const lines = text.split("\n");
  const rest = lines.pop() ?? "";
  return Uint8Array.from(Buffer.from([...change(lines).map((line) => `${line}\n`), rest].join(""), "latin1"));
}

function changed(lines: readonly string[], change: LineChange): readonly string[] {
  if (lines.length === 0) return lines;
  const at = change.at % lines.length;
  const line = lines[at] as string;
  const others = lines.toSpliced(at, 1);
  switch (change.kind) {
    case "drop":
      return others;
    case "join":
      return lines.toSpliced(at, 2, line + (lines[at + 1] ?? ""));
    case "repeat":
      return lines.toSpliced(at, 0, line);
    case "half":
      return lines.toSpliced(at, 1, line.slice(0, line.length / 2));
    case "zero":
      return lines.toSpliced(
        at,
        1,
        line.replace(/.{1,20}$/s, (end) => "\0".repeat(end.length)),
      );
    case "move":
      return others.toSpliced(change.to % lines.length, 0, line);
  }
}
