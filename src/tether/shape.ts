import {
  type Check,
  fields,
  joinPath,
  listOf,
  nonEmptyText,
  optional,
  type Problem,
  text,
} from "../internal/shape.js";

/**
 * The part of ISO 8601 that `toISOString` and other languages' clocks write. Whether there is such a day is not looked at.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3339 section 5.6 (read 2026-11-22)
 */
export const timePattern: RegExp =
  /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/;

const check =
  (expected: string, test: (value: unknown) => boolean): Check =>
  (value) =>
    test(value) ? undefined : { path: "", expected };

const envelope = fields({
  v: check("the number 1", (value) => value === 1),
  type: nonEmptyText,
  ts: check(
    "a time such as 2026-01-31T12:00:00Z",
    (value) => typeof value === "string" && timePattern.test(value),
  ),
  session: fields({ channel: nonEmptyText, id: nonEmptyText }),
  msg_id: optional(nonEmptyText),
  seq: optional(check("an integer >= 1", (value) => Number.isSafeInteger(value) && (value as number) >= 1)),
});

const images = optional(listOf(fields({ media_type: text, data: text })));

/** Types whose payloads are known. */
export const knownTypes = ["user.message", "assistant.delta", "assistant.done"] as const;

const payloads: Readonly<Record<(typeof knownTypes)[number], Check>> = {
  "user.message": fields({
    text,
    images,
    user: optional(fields({ id: optional(text), name: optional(text) })),
  }),
  "assistant.delta": fields({ text }),
  "assistant.done": fields({ text, images }),
};

/** Where a value is no frame in shape, whatever its images hold; undefined for one that is. */
export function frameProblem(value: unknown): Problem | undefined {
  const problem = envelope(value);
  if (problem !== undefined) return problem;
  const { type, payload } = value as { readonly type: string; readonly payload?: unknown };
  const known = knownTypes.find((one) => one === type);
  const wrong = known && payloads[known](payload);
  return wrong && { path: joinPath("payload", wrong.path), expected: wrong.expected };
}
