/** Enough for a user to know which file it was. */
const maxCharacters = 60;
/** UTF-16 units that are looked at; no file system has longer names. */
const maxUnits = 1024;

/**
 * The last part of a path as a model may read it: letters, digits and a few marks, on one line, at most 60 characters.
 * What could be taken for markup, a quotation's end, an `@` mention, another path or nothing at all (control, bidirectional
 * and invisible characters) is a `_` or left out, since whoever named the file may have meant it for the model.
 */
export function plainName(path: string): string {
  const end = path.slice(-maxUnits);
  const name = end.split(/[/\\]/).findLast((part) => part !== "") ?? "";
  const plain = name
    .toWellFormed()
    .replace(/\s+/gu, " ")
    .replace(/[\p{Cc}\p{Default_Ignorable_Code_Point}]+/gu, "")
    .replace(/[^\p{L}\p{M}\p{N} ._()+,-]/gu, "_")
    .trim();
  if (plain === "") return "unnamed";
  const characters = Array.from(plain);
  return characters.length <= maxCharacters ? plain : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}
