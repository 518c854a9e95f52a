import type { ContextItem } from "../content/index.js";

/** How much of what a summariser is shown, in UTF-16 code units. Each cut says how much was left out. */
export interface SerializeBounds {
  /** All texts of a user's message. */
  readonly user: number;
  /** All texts of a model's message. */
  readonly assistant: number;
  /** All reasoning of a model's message. */
  readonly thinking: number;
  /** One argument of a call. */
  readonly argument: number;
  /** All calls of a model's message. */
  readonly calls: number;
  /** All texts of a tool's result. */
  readonly toolResult: number;
  /** A command that the user ran. */
  readonly command: number;
  /** What it printed. */
  readonly output: number;
  /** An earlier summary, of a compaction or a branch. */
  readonly summary: number;
  /** A message of an extension. */
  readonly custom: number;
}

/** The bounds by default. 2,000 of a tool's result are pi 0.73.1's; what pi leaves open is bounded too. */
export const serializeBounds: SerializeBounds = {
  user: 20_000,
  assistant: 20_000,
  thinking: 4_000,
  argument: 2_000,
  calls: 8_000,
  toolResult: 2_000,
  command: 2_000,
  output: 2_000,
  summary: 60_000,
  custom: 8_000,
};

/** An item as text for a summariser; "" for one that says nothing. Never throws on content. */
export function serializeItem(_item: ContextItem, _bounds: Partial<SerializeBounds> = {}): string {
  return "";
}

/** Items as text for a summariser, a blank line between them. */
export function serializeItems(items: readonly ContextItem[], bounds: Partial<SerializeBounds> = {}): string {
  return items
    .map((item) => serializeItem(item, bounds))
    .filter((text) => text !== "")
    .join("\n\n");
}
