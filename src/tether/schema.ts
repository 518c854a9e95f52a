/**
 * zod schemas of frames and of the arguments of `tether_send`. They derive from the shapes of `checkFrame`,
 * and keep unknown members. The number, sizes and bytes of images are checked by `checkFrame` only.
 */
import * as z from "zod";
import { memberSchemas, toSchema } from "../core/schema.js";
import { nonEmptyString, string } from "../core/shape.js";
import {
  type AssistantDeltaPayload,
  type AssistantDonePayload,
  frameShape,
  imageFields,
  payloadShapes,
  type TetherFrame,
  type TetherImage,
  type UserMessagePayload,
} from "./frame.js";

const { media_type, data } = memberSchemas(imageFields);

/**
 * An image on the wire.
 *
 * @example
 * ```ts
 * const { media_type, data } = tetherImageSchema.parse(json);
 * ```
 */
export const tetherImageSchema: z.ZodType<TetherImage> = z.looseObject({
  media_type: media_type.describe("MIME type"),
  data: data.describe("Base64 of the image's bytes, without a data URL's prefix"),
});

/** The payload of a `user.message`. */
export const userMessagePayloadSchema: z.ZodType<UserMessagePayload> = toSchema(
  payloadShapes["user.message"],
);

/** The payload of an `assistant.delta`. */
export const assistantDeltaPayloadSchema: z.ZodType<AssistantDeltaPayload> = toSchema(
  payloadShapes["assistant.delta"],
);

/** The payload of an `assistant.done`. */
export const assistantDonePayloadSchema: z.ZodType<AssistantDonePayload> = toSchema(
  payloadShapes["assistant.done"],
);

/**
 * A frame of any type. The payloads of `user.message`, `assistant.delta` and `assistant.done` are checked,
 * others pass.
 *
 * @example
 * ```ts
 * const frame = tetherFrameSchema.parse(json);
 * const documentation = z.toJSONSchema(tetherFrameSchema);
 * ```
 */
export const tetherFrameSchema: z.ZodType<TetherFrame> = toSchema(frameShape);

/**
 * The arguments of `tether_send`, as an input schema for a server of the MCP SDK. `session_id` defaults to
 * `default`.
 *
 * @see https://github.com/modelcontextprotocol/typescript-sdk version 1.32, `McpServer.registerTool` (read
 *   2026-11-22)
 * @example
 * ```ts
 * tetherSendInput.parse({ instance: "agent-1", text: "Hello" }).session_id; // "default"
 * ```
 */
export const tetherSendInput = z.looseObject({
  instance: toSchema(nonEmptyString).describe("Handle or id of the agent"),
  text: toSchema(string).describe("What to say to the agent"),
  images: z.exactOptional(z.array(tetherImageSchema)).describe("Images that go with it"),
  session_id: toSchema(nonEmptyString).default("default").describe("The conversation"),
});
