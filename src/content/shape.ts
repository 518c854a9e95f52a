import { type Check, fields, finite, isRecord, oneOf, optional, text } from "../internal/shape.js";
import type { Resource } from "./resource.js";

const matches =
  (pattern: RegExp): Check =>
  (value) =>
    typeof value === "string" && pattern.test(value) ? undefined : { path: "", expected: String(pattern) };

const common = {
  resourceId: matches(/^res_[0-9a-f]{16}$/),
  name: optional(text),
  source: text,
  declared: optional(fields({ mediaType: optional(text), size: optional(finite) })),
};

const stored = fields({
  ...common,
  kind: oneOf("image", "file"),
  mediaType: text,
  size: finite,
  blob: matches(/^(?:sha256|blake3):[0-9a-f]{64}$/),
  contentSha256: matches(/^[0-9a-f]{64}$/),
  width: optional(finite),
  height: optional(finite),
  uri: optional(text),
});

const link = fields({ ...common, kind: oneOf("link"), uri: text });

/** Whether a value is a well-formed resource descriptor. Says nothing of whether its blob exists. */
export function isResource(value: unknown): value is Resource {
  if (!isRecord(value)) return false;
  return (value.kind === "link" ? link(value) : stored(value)) === undefined;
}
