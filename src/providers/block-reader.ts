/** Converts text and attachment blocks to parts of a request. */

import type { ImageBlock, TextBlock } from "../content/index.js";
import type { LossList } from "./losses.js";
import type { AttachmentPlace, Origin, PendingAttachment, PendingUserPart, TextPart } from "./request.js";
import type { TargetRules } from "./target.js";

/** Converts blocks of text and attachments to parts of a request. */
export class BlockReader {
  readonly #losses: LossList;
  readonly #refusesNul: boolean;

  constructor({ losses, rules }: { readonly losses: LossList; readonly rules: TargetRules }) {
    this.#losses = losses;
    this.#refusesNul = rules.refusesNul ?? false;
  }

  /** Converts blocks, or a text in place of one block. */
  userParts(
    content: string | readonly (TextBlock | ImageBlock)[],
    origin: Origin,
    place: AttachmentPlace,
  ): readonly PendingUserPart[] {
    if (typeof content === "string") return this.text(content, origin);
    const parts: PendingUserPart[] = [];
    content.forEach((block, index) => {
      const at = { ...origin, block: index };
      const read =
        block.type === "image" || block.resource !== undefined
          ? [this.attachment(at, place)]
          : this.text(block.text, at);
      for (const part of read) parts.push(part);
    });
    return parts;
  }

  /** Adds a pending attachment. */
  attachment(
    origin: Origin,
    place: AttachmentPlace,
    of: Pick<PendingAttachment, "resourceId" | "required" | "shared"> = {},
  ): PendingAttachment {
    return { type: "attachment", place, origin, ...of, text: "" };
  }

  /** Returns a text part, or none for blank text. */
  text(text: string, origin: Origin): readonly TextPart[] {
    return isBlank(text) ? [] : [{ type: "text", text: this.clean(text, origin), origin }];
  }

  /** Cleans a text, and reports a loss if that changed it. */
  clean(text: string, origin: Origin): string {
    const clean = cleanText(text, this.#refusesNul);
    if (clean === text) return text;
    const reason = this.#refusesNul
      ? "lone surrogates and NUL characters are replaced"
      : "lone surrogates are replaced";
    this.#losses.add(origin, { code: "malformed", by: "target", reason });
    return clean;
  }
}

/**
 * Removes lone surrogates, and NUL if the target refuses it. Returns the same string if there is nothing to
 * remove.
 */
export function cleanText(text: string, refusesNul: boolean): string {
  const formed = text.isWellFormed() ? text : text.toWellFormed();
  return refusesNul && formed.includes("\0") ? formed.replaceAll("\0", "\ufffd") : formed;
}

/** White space by JavaScript's definition and by Python's, which adds the separators. */
const space = String.raw`\s\u001c-\u001f\u0085`;
const print = new RegExp(`[^${space}]`);
const spaceAtEnd = new RegExp(`[${space}]$`);

/** Whether a text is blank: providers refuse such text. */
export function isBlank(text: string): boolean {
  return !print.test(text);
}

/** Removes white space at the end. */
export function withoutSpaceAtEnd(text: string): string {
  let end = text.length;
  while (spaceAtEnd.test(text.slice(Math.max(0, end - 1), end))) end--;
  return text.slice(0, end);
}

/** Deeper than the arguments of any tool, and shallow enough for every JSON parser. */
const maxDepth = 128;
const tooDeep = Symbol("too deep");

/**
 * Cleans all strings of a JSON value; returns the same value if there is nothing to clean. Other values
 * become their JSON form, a bigint its digits. Returns null below the maximum depth, and so for a cyclic
 * value.
 */
export function cleanJson(value: unknown, refusesNul: boolean): unknown {
  const clean = cleanBelow(value, refusesNul, maxDepth);
  return clean === tooDeep ? null : clean;
}

function cleanBelow(value: unknown, refusesNul: boolean, depth: number): unknown {
  switch (typeof value) {
    case "string":
      return cleanText(value, refusesNul);
    case "number":
      return Number.isFinite(value) ? value : null;
    case "boolean":
      return value;
    case "bigint":
      return String(value);
    case "object":
      if (value === null) return null;
      if (depth === 0) return tooDeep;
      if (Array.isArray(value)) return cleanItems(value, refusesNul, depth - 1);
      if ("toJSON" in value && typeof value.toJSON === "function") {
        return cleanBelow(value.toJSON(), refusesNul, depth - 1);
      }
      return cleanMembers(value, refusesNul, depth - 1);
    default:
      return null;
  }
}

function cleanItems(items: readonly unknown[], refusesNul: boolean, depth: number): unknown {
  let copy: unknown[] | undefined;
  for (let at = 0; at < items.length; at++) {
    const clean = cleanBelow(items[at], refusesNul, depth);
    if (clean === tooDeep) return tooDeep;
    if (copy === undefined && !Object.is(clean, items[at])) copy = items.slice(0, at);
    copy?.push(clean);
  }
  return copy ?? items;
}

function cleanMembers(value: object, refusesNul: boolean, depth: number): unknown {
  const members: [string, unknown][] = [];
  let changed = false;
  for (const [key, member] of Object.entries(value)) {
    const name = cleanText(key, refusesNul);
    if (member === undefined) continue;
    if (typeof member === "function" || typeof member === "symbol") {
      changed = true;
      continue;
    }
    const clean = cleanBelow(member, refusesNul, depth);
    if (clean === tooDeep) return tooDeep;
    if (name !== key || !Object.is(clean, member)) changed = true;
    members.push([name, clean]);
  }
  // Defines the property, because an assignment to `__proto__` sets the prototype.
  return changed ? Object.fromEntries(members) : value;
}
