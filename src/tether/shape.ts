/**
 * The shapes of frames: the table from which `checkFrame` and the zod schemas of `sessile/schema`
 * derive.
 */

import { tetherLimits } from "../content/limits/index.js";
import type { ImageMediaType } from "../content/media/index.js";
import {
  anything,
  array,
  integerFrom,
  matching,
  nonEmptyString,
  object,
  oneOf,
  optional,
  type Problem,
  string,
  stringAmong,
  variants,
} from "../core/shape.js";

/**
 * The profile of ISO 8601 in RFC 3339. Impossible days pass.
 *
 * @see https://www.rfc-editor.org/rfc/rfc3339 section 5.6 (read 2026-11-22)
 */
const timePattern: RegExp =
  /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,100})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

const envelope = {
  v: oneOf(1),
  type: nonEmptyString,
  ts: matching<string>(timePattern, "a time such as 2026-01-31T12:00:00Z"),
  session: object({ channel: nonEmptyString, id: nonEmptyString }),
  msg_id: optional(nonEmptyString),
  seq: optional(integerFrom(1)),
};
const envelopeShape = object(envelope);

/** The members of an image. An unsupported type passes: it is LIMIT_EXCEEDED, not a wrong shape. */
export const imageFields = {
  media_type: stringAmong<ImageMediaType>(...tetherLimits.imageTypes),
  data: string,
};

const images = optional(array(object(imageFields)));
const user = optional(object({ id: optional(string), name: optional(string) }));

/** The payloads of the known types. */
export const payloadShapes = {
  "user.message": object({ text: string, images, user }),
  "assistant.delta": object({ text: string }),
  "assistant.done": object({ text: string, images }),
};

type KnownType = keyof typeof payloadShapes;

const knownFrame = <T extends KnownType>(type: T) =>
  object({ ...envelope, type: oneOf(type), payload: payloadShapes[type] });

/** A frame of any type. Frames of unknown types have any payload, or no payload. */
export const frameShape = variants("type", [
  knownFrame("user.message"),
  knownFrame("assistant.delta"),
  knownFrame("assistant.done"),
  object({ ...envelope, payload: anything }),
]);

/** The first problem of a frame's shape; its images are checked by their limits. */
export function frameProblem(value: unknown): Problem | undefined {
  // The envelope first: its problems matter more than those of the payload.
  return envelopeShape(value) ?? frameShape(value);
}
