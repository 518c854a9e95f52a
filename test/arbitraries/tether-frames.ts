import fc from "fast-check";
import { encodeBase64 } from "../support/plain-values.js";
import { madeImage } from "./media.js";
import { jsonValue, text } from "./values.js";

const name = text.filter((one) => one !== "");
const time = fc.oneof(
  fc
    .date({
      min: new Date("0000-01-01T00:00:00Z"),
      max: new Date("9999-12-31T00:00:00Z"),
      noInvalidDate: true,
    })
    .map((date) => date.toISOString()),
  fc.constantFrom("2026-01-31T12:00:00Z", "2026-01-31t12:00:00.123456789z", "2026-01-31T12:00:00-08:00"),
);
const optional = { requiredKeys: [] as [] };

/** Two names for a conversation. */
export const tetherSession = fc.record({ channel: name, id: name });

/** Some are half a megabyte, which takes long where frames are made by the thousand. */
const smallImage = madeImage.filter(({ bytes }) => bytes.length < 5000);

/** Images as the wire has them, whose base64 is padded or not, with the reserved fields or not. */
export const tetherImages = fc.array(
  fc
    .tuple(
      smallImage,
      fc.boolean(),
      fc.record({ ref: fc.constant("sha256:00"), size: fc.nat(), later: jsonValue }, optional),
    )
    .map(([{ bytes, media }, padded, more]) => ({
      media_type: media.mediaType,
      data: padded ? encodeBase64(bytes) : encodeBase64(bytes).replace(/=+$/, ""),
      ...more,
    })),
  { maxLength: 4 },
);

const user = fc.record({ id: text, name: text }, optional);

const withOptional = <T extends object, U extends object>(all: fc.Arbitrary<T>, some: fc.Arbitrary<U>) =>
  fc.tuple(all, some).map(([first, second]) => ({ ...first, ...second }));

const userMessagePayload = withOptional(
  fc.record({ text }),
  fc.record({ images: tetherImages, user, later: jsonValue }, optional),
);
const assistantDonePayload = withOptional(
  fc.record({ text }),
  fc.record({ images: tetherImages, later: jsonValue }, optional),
);
const assistantDeltaPayload = fc.record({ text });

const content = fc.oneof(
  fc.record({ type: fc.constant("user.message"), payload: userMessagePayload }),
  fc.record({ type: fc.constant("assistant.done"), payload: assistantDonePayload }),
  fc.record({ type: fc.constant("assistant.delta"), payload: assistantDeltaPayload }),
  fc.record({
    type: fc.oneof(fc.constantFrom("control.cancel", "__proto__", "user.message\n"), name),
    payload: jsonValue,
  }),
  fc.record({ type: fc.constant("status.presence") }),
);

/** Frames that hold to the protocol: of the known types and of others, of this version's fields and of more. */
export const tetherFrame: fc.Arbitrary<object> = fc
  .tuple(
    fc.record({ v: fc.constant(1), ts: time, session: tetherSession }),
    content.filter(({ type, ...rest }) => "payload" in rest || !/^(?:user\.message|assistant\.)/.test(type)),
    fc.record({ msg_id: name, seq: fc.integer({ min: 1 }), later: jsonValue }, optional),
  )
  .map(([envelope, { type, ...payload }, more]) => ({ ...envelope, type, ...payload, ...more }));
