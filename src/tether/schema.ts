/**
 * Frames and the tools' arguments as zod schemas, for the boundary. They agree with what the checks by hand accept in shape, and
 * keep fields that they do not know; how many images, their sizes and their bytes are `checkFrame`'s.
 *
 * @module tether/schema
 */
import * as z from "zod";
import { tetherLimits } from "../limits/index.js";
import type {
  AssistantDeltaFrame,
  AssistantDeltaPayload,
  AssistantDoneFrame,
  AssistantDonePayload,
  TetherFrame,
  TetherImage,
  TetherUser,
  UserMessageFrame,
  UserMessagePayload,
} from "./frame.js";
import { knownTypes, timePattern } from "./shape.js";

const text = z.string();
const name = text.min(1);
const optionalText = z.exactOptional(text);

/**
 * An image on the wire.
 *
 * @example
 * ```ts
 * const { media_type, data } = tetherImageSchema.parse(json);
 * ```
 */
export const tetherImageSchema = z.looseObject({
  media_type: z.enum(tetherLimits.imageTypes).describe("MIME type"),
  data: text.describe("Base64 of the image's bytes, without a data URL's prefix"),
}) satisfies z.ZodType<TetherImage>;

const images = z.exactOptional(z.array(tetherImageSchema));
const user = z.looseObject({ id: optionalText, name: optionalText }) satisfies z.ZodType<TetherUser>;

/** What a `user.message` holds. */
export const userMessagePayloadSchema = z.looseObject({
  text,
  images,
  user: z.exactOptional(user),
}) satisfies z.ZodType<UserMessagePayload>;

/** What an `assistant.delta` holds. */
export const assistantDeltaPayloadSchema = z.looseObject({ text }) satisfies z.ZodType<AssistantDeltaPayload>;

/** What an `assistant.done` holds. */
export const assistantDonePayloadSchema = z.looseObject({
  text,
  images,
}) satisfies z.ZodType<AssistantDonePayload>;

const envelope = {
  v: z.literal(1),
  ts: text.regex(timePattern),
  session: z.looseObject({ channel: name, id: name }),
  msg_id: z.exactOptional(name),
  seq: z.exactOptional(z.int().min(1)),
};

const userMessage = z.looseObject({
  ...envelope,
  type: z.literal("user.message"),
  payload: userMessagePayloadSchema,
}) satisfies z.ZodType<UserMessageFrame>;

const assistantDelta = z.looseObject({
  ...envelope,
  type: z.literal("assistant.delta"),
  payload: assistantDeltaPayloadSchema,
}) satisfies z.ZodType<AssistantDeltaFrame>;

const assistantDone = z.looseObject({
  ...envelope,
  type: z.literal("assistant.done"),
  payload: assistantDonePayloadSchema,
}) satisfies z.ZodType<AssistantDoneFrame>;

/** A known type whose payload is wrong is not one of these. */
const otherType = new RegExp(`^(?!(?:${knownTypes.map((type) => type.replace(".", "\\.")).join("|")})$)`);

const other = z.looseObject({
  ...envelope,
  type: name.regex(otherType),
  // Whatever it is, and absent too.
  payload: z.unknown().catch(undefined),
}) satisfies z.ZodType<TetherFrame>;

/**
 * A frame of any type: the payloads of `user.message`, `assistant.delta` and `assistant.done` are looked at, others are not.
 *
 * @example
 * ```ts
 * const frame = tetherFrameSchema.parse(json);
 * const documentation = z.toJSONSchema(tetherFrameSchema);
 * ```
 */
export const tetherFrameSchema: z.ZodType<TetherFrame> = z.union([
  userMessage,
  assistantDelta,
  assistantDone,
  other,
]);

/**
 * The arguments of `tether_send`, as an input schema for a server of the MCP SDK. `session_id` is `default` where none is told.
 *
 * @see https://github.com/modelcontextprotocol/typescript-sdk version 1.32, `McpServer.registerTool` (read 2026-11-22)
 * @example
 * ```ts
 * tetherSendInput.parse({ instance: "agent-1", text: "Hello" }).session_id; // "default"
 * ```
 */
export const tetherSendInput = z.looseObject({
  instance: name.describe("Handle or id of the agent"),
  text: text.describe("What to say to the agent"),
  images: images.describe("Images that go with it"),
  session_id: name.default("default").describe("The conversation"),
});
