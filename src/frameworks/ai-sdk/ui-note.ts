/**
 * Notes: fields of a message of the user interface that messages of a session have no place for. A note is an
 * entry before the message's first one, which maps the message's id to that entry.
 */

import { parseJson } from "../../core/json.js";
import { isRecord } from "../../core/shape.js";
import { ownEntry } from "../../log/internal.js";
import type { UiPart } from "./ui-message.js";

/** A difference between a part as the session shows it and as it was. */
export interface PartChange {
  /** Index of the part. */
  readonly at: number;
  /** A part that the session does not have. */
  readonly put?: UiPart;
  readonly set?: Readonly<Record<string, unknown>>;
  readonly drop?: readonly string[];
  /** Holds only while the part's call has no result. */
  readonly open?: true;
}

/** A message id of a page, and its entry. */
export interface UiNote {
  readonly messageId: string;
  readonly entryId: string;
  readonly metadata?: unknown;
  /**
   * Whether the first part is no step-start, although the role has steps. Of a steering message: whether the
   * next part is none.
   */
  readonly noStep?: true;
  /** Whether the message is one of the user that the page shows as a part of the reply before it. */
  readonly steering?: true;
  readonly parts?: readonly PartChange[];
}

export const uiNote = ownEntry<UiNote>("sessile.ai-sdk.ui", (data) => {
  if (!isRecord(data) || typeof data.messageId !== "string" || typeof data.entryId !== "string")
    throw new TypeError("data: expected the id of a message and of its entry");
  if (data.parts !== undefined && !(Array.isArray(data.parts) && data.parts.every(isChange)))
    throw new TypeError("data.parts: expected changes");
  return data as unknown as UiNote;
});

function isChange(value: unknown): boolean {
  return isRecord(value) && Number.isSafeInteger(value.at);
}

/** The changes that make `shown` the original parts; `put` has those that the session does not have. */
export function changesBetween(
  shown: readonly UiPart[],
  original: readonly UiPart[],
  isPut: (at: number) => boolean,
  isOpen: (at: number) => boolean,
): readonly PartChange[] {
  const changes: PartChange[] = [];
  let next = 0;
  for (const [at, part] of original.entries()) {
    if (isPut(at)) {
      changes.push({ at, put: part });
      continue;
    }
    const now = shown[next++] ?? { type: "" };
    const set = Object.fromEntries(
      Object.entries(part).filter(([key, value]) => !(key in now) || !isSame(value, now[key])),
    );
    const drop = Object.keys(now).filter((key) => !(key in part));
    if (Object.keys(set).length === 0 && drop.length === 0) continue;
    changes.push({
      at,
      ...(Object.keys(set).length === 0 ? {} : { set }),
      ...(drop.length === 0 ? {} : { drop }),
      ...(isOpen(at) ? { open: true } : {}),
    });
  }
  return changes;
}

/**
 * The parts after the changes. `isOpen` tells the shown parts whose calls have no result, by their indexes.
 */
export function changedParts(
  shown: readonly UiPart[],
  changes: readonly PartChange[],
  isOpen: (at: number) => boolean,
): UiPart[] {
  const parts: UiPart[] = [];
  const byPlace = new Map(changes.map((change) => [change.at, change]));
  const addPut = () => {
    for (let put = byPlace.get(parts.length)?.put; put !== undefined; put = byPlace.get(parts.length)?.put)
      parts.push(put);
  };
  for (const [at, part] of shown.entries()) {
    addPut();
    const change = byPlace.get(parts.length);
    // A result that came later decides the state.
    const isLate = change?.open === true && !isOpen(at);
    const dropped = new Set(isLate ? [] : change?.drop);
    const kept = Object.fromEntries(Object.entries(part).filter(([key]) => !dropped.has(key)));
    parts.push({ ...kept, ...change?.set, ...(isLate ? { state: part.state } : {}) } as UiPart);
  }
  addPut();
  return parts;
}

/** Equal as JSON. The order of keys does not count. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item, at) => isSame(item, other[at]));
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  const [keys, others] = [readKeys(one), readKeys(other)];
  return (
    keys.length === others.length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]))
  );
}

function readKeys(value: Record<string, unknown>): readonly string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

/** A provider's metadata as the text of a block's signature; undefined for none. */
export function metadataSignature(metadata: unknown): string | undefined {
  return isRecord(metadata) && Object.keys(metadata).length > 0 ? JSON.stringify(metadata) : undefined;
}

/** The inverse of {@link metadataSignature}; undefined for a signature of another origin. */
export function signatureMetadata(signature: string | undefined): Record<string, unknown> | undefined {
  if (signature?.startsWith("{") !== true) return undefined;
  const value = parseJson(signature);
  return isRecord(value) && Object.values(value).every(isRecord) ? value : undefined;
}
