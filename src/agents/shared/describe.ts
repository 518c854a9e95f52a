/** Records in the first and last bytes of a file, as the rows of agents describe a session by them. */

import { collapsed } from "../../core/text.js";
import type { AgentWindows } from "../types.js";
import { parseCutJson } from "./cut-json.js";
import { type ForeignObject, readObject, readText, toArray } from "./values.js";

/** Lines of the start that are looked at. */
const maxLines = 100;

/** The objects of the lines of a window. A first line that is cut at its start is no JSON, and left out. */
export function* readRecords(bytes: Uint8Array, lines = maxLines): Generator<ForeignObject> {
  const text = new TextDecoder().decode(bytes);
  let at = 0;
  for (let line = 0; line < lines && at < text.length; line++) {
    const feed = text.indexOf("\n", at);
    const end = feed < 0 ? text.length : feed;
    const value = readObject(parseCutJson(text.slice(at, end)));
    if (value !== undefined) yield value;
    at = end + 1;
  }
}

/** The records of the tail that have one of some texts, last first. The others are not parsed. */
export function* lastRecords(
  { head, tail }: AgentWindows,
  texts: readonly string[],
): Generator<ForeignObject> {
  const text = new TextDecoder().decode(tail);
  const start = head === tail ? 0 : text.indexOf("\n") + 1;
  for (let end = text.length; end > start; ) {
    const at = Math.max(text.lastIndexOf("\n", end - 1) + 1, start);
    const line = text.slice(at, end);
    const value = texts.some((each) => line.includes(each)) ? readObject(parseCutJson(line)) : undefined;
    if (value !== undefined) yield value;
    end = at - 1;
  }
}

/** The first value that a function finds in some records. */
export function recordFirst<T>(
  records: Iterable<ForeignObject>,
  find: (record: ForeignObject) => T | undefined,
) {
  for (const record of records) {
    const found = find(record);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The name of a file without its folders and the extensions of sessions. */
export function nameByPath(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).replace(/\.jsonl?(?:\.zst)?$/, "");
}

/** The folder of a file; "" for one without. */
export function folderByPath(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

const maxTitle = 200;

/** One line without control characters. */
export function textTitle(text: string | undefined): string | undefined {
  const clean = collapsed(text?.slice(0, 1000) ?? "", /[\p{Cc}\s]{1,1000}/gu).trim();
  if (clean === "") return undefined;
  // A cut may be within a surrogate pair.
  return clean.length <= maxTitle ? clean : clean.slice(0, maxTitle).replace(/[\ud800-\udbff]$/, "");
}

/** The text of a content: text, or blocks with one. */
export function textIn(content: unknown): string | undefined {
  if (typeof content === "string") return readText(content);
  for (const block of toArray(content)) {
    const text = readText(readObject(block)?.text);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** The version of an agent in a record, as a member of what was detected. */
export function readVersion(value: unknown): { readonly agentVersion?: string } {
  const agentVersion = readText(value)?.slice(0, 100);
  return agentVersion === undefined || agentVersion === "" ? {} : { agentVersion };
}
