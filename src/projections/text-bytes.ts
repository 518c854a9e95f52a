import { encodeUtf8 } from "../internal/bytes.js";
import type { SaidDraft, ShownDraft, TurnDraft } from "./draft.js";

/** JSON writes a control character in six bytes; nothing takes more for one UTF-16 unit. */
const mostBytesPerUnit = 6;
/** Of these a quote, a backslash and a line break take two, and the rest one. */
const plainText = /^[\x20-\x7e\n\t\r]*$/;
const mostBytesPerPlainUnit = 2;
const quotes = 2;
/** What any target puts around a part or a result, its keys and an id among it. */
const bytesAround = 300;

/**
 * At least as many bytes as a request has besides its attachments. By lengths alone where that is no more than the room
 * there is, or by lengths and a look at the characters; by writing it out where both are.
 */
export function textBytes(system: readonly ShownDraft[], turns: readonly TurnDraft[], room: number): number {
  const texts = [...textsOf(system, turns)];
  const around = texts.length * bytesAround;
  const most = texts.reduce((sum, { length }) => sum + length * mostBytesPerUnit, around);
  if (most <= room) return most;
  const less = texts.reduce(
    (sum, text) => sum + text.length * (plainText.test(text) ? mostBytesPerPlainUnit : mostBytesPerUnit),
    around,
  );
  if (less <= room) return less;
  return texts.reduce((sum, text) => sum + encodeUtf8(JSON.stringify(text)).length - quotes, around);
}

function* textsOf(system: readonly ShownDraft[], turns: readonly TurnDraft[]): Iterable<string> {
  for (const part of system) yield textOf(part);
  for (const turn of turns) {
    const results = turn.role === "user" ? turn.results : [];
    for (const { name, parts } of results) {
      // Without parts it is sent all the same.
      yield name;
      for (const part of parts) yield textOf(part);
    }
    for (const part of turn.parts) yield textOf(part);
  }
}

function textOf(part: ShownDraft | SaidDraft): string {
  switch (part.type) {
    case "text":
    case "attachment":
      return part.text + ("signature" in part ? part.signature : "");
    case "reasoning":
      return part.text + part.signature;
    case "call":
      return (JSON.stringify(part.arguments) ?? "") + (part.signature ?? "");
    case "opaque":
      return JSON.stringify(part.data) ?? "";
  }
}
