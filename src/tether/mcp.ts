/** The tools `tether_send` and `tether_read` for MCP servers. */

import { tetherLimits } from "../content/limits/index.js";
import { stringArgument } from "../core/arguments.js";
import { padBase64 } from "../core/base64.js";
import { SessileError } from "../core/errors/index.js";
import { uuidv7 } from "../core/ids.js";
import { isRecord } from "../core/shape.js";
import type { ImageContent, TextContent } from "../frameworks/mcp/index.js";
import { type CheckedUserMessage, checkFrame, checkFrameWith, wrongShape } from "./check.js";
import type { TetherImage } from "./frame.js";
import type { FrameReading } from "./ring.js";

/** The tool `tether_send` as a server lists it. */
export const tetherSendTool = {
  name: "tether_send",
  description: "Sends a message to an agent, with images or without.",
  inputSchema: {
    type: "object",
    properties: {
      instance: { type: "string", description: "Instance handle or ID" },
      text: { type: "string", description: "Message text to send to the agent" },
      images: {
        type: "array",
        description: "Images to include with the message. Each image is base64-encoded.",
        items: {
          type: "object",
          properties: {
            media_type: {
              type: "string",
              description: "MIME type (image/png, image/jpeg, image/gif, image/webp)",
            },
            data: { type: "string", description: "Base64-encoded image data" },
          },
          required: ["media_type", "data"],
        },
      },
      session_id: { type: "string", description: "Session ID. Defaults to 'default'." },
    },
    required: ["instance", "text"],
  },
} as const;

/** A call of `tether_send`, checked as {@link checkFrame} checks a frame. */
export interface TetherSend {
  /** Handle or id of the agent. */
  readonly instance: string;
  /** The message as a frame, with a new id. */
  readonly message: CheckedUserMessage;
}

/**
 * Reads the arguments of `tether_send`. `session_id` defaults to `default`, and unknown arguments are
 * ignored. The message has no user: MCP does not identify the caller.
 *
 * @param channel of the session; default `mcp`
 * @throws SessileError as {@link checkFrame}, with paths such as `images[0].data`, and LIMIT_EXCEEDED for a
 *   message that is too long for the wire
 * @throws TypeError for a channel that is not a non-empty string
 * @example
 * ```ts
 * const { instance, message } = readTetherSend({ instance: "agent", text: "What is new?" });
 * message.frame.session; // { channel: "mcp", id: "default" }
 * ```
 */
export function readTetherSend(args: unknown, channel = "mcp"): TetherSend {
  stringArgument("channel", channel);
  if (!isRecord(args)) throw wrongShape({ path: "arguments", expected: "an object" });
  const { instance, text, images, session_id = "default" } = args;
  if (typeof instance !== "string" || instance === "") {
    throw wrongShape({ path: "instance", expected: "a non-empty string" });
  }
  if (typeof session_id !== "string" || session_id === "") {
    throw wrongShape({ path: "session_id", expected: "a non-empty string" });
  }
  const now = Date.now();
  const envelope = {
    v: 1,
    type: "user.message",
    ts: new Date(now).toISOString(),
    session: { channel, id: session_id },
    msg_id: uuidv7(now),
  } as const;
  const payload = images === undefined || isEmpty(images) ? { text } : { text, images: wireImages(images) };
  // The arguments have no `payload`, so errors name paths without it.
  const message = checkFrameWith({ ...envelope, payload }, { measured: false, payloadPath: "" });
  return { instance, message: message as CheckedUserMessage };
}

function isEmpty(images: unknown): boolean {
  return Array.isArray(images) && images.length === 0;
}

/** Drops reserved fields such as `ref`. Invalid values are left to the check. */
function wireImages(images: unknown): unknown {
  if (!Array.isArray(images) || images.length > tetherLimits.maxImages) return images;
  return images.map((image: unknown) => {
    if (!isRecord(image)) return image;
    const { media_type, data } = image;
    return { media_type, data };
  });
}

/** The content of a tool result: one text, then images. */
export type TetherReadResult = { content: [TextContent, ...ImageContent[]] };

/**
 * Builds the result of `tether_read`: a text with the reading as JSON, `{ frames, next_seq, missed }`, and
 * the images after it. In the text, each image of a payload is `{ _mcp_index: N }`: the zero-based index
 * among the image blocks, in frame order. A payload's `images` array is converted for any type of frame. An
 * invalid image becomes `{ _mcp_missing: CODE }` with its error code, and takes no index. Never throws for
 * the contents of a frame: a frame that cannot be serialized loses its payload and its invalid fields.
 *
 * The reading bounds the length of the result, by `maxBytes`.
 *
 * @example
 * ```ts
 * const ring = new FrameRing();
 * const { content } = tetherReadResult(ring.read());
 * content[0].text; // '{"frames":[],"next_seq":0,"missed":0}'
 * ```
 */
export function tetherReadResult({ frames, nextSeq, missed }: FrameReading): TetherReadResult {
  const images: ImageContent[] = [];
  const texts = frames.map((frame) => frameText(frame, images));
  const text = `{"frames":[${texts.join(",")}],"next_seq":${nextSeq},"missed":${missed}}`;
  return { content: [{ type: "text", text }, ...images] };
}

function frameText(frame: FrameReading["frames"][number], images: ImageContent[]): string {
  const before = images.length;
  return jsonText(frame, images) ?? fallbackText(frame, images, before);
}

/** Returns undefined if the frame cannot be serialized. */
function jsonText(frame: FrameReading["frames"][number], images: ImageContent[]): string | undefined {
  try {
    const { payload } = frame;
    if (!isRecord(payload) || !Array.isArray(payload.images)) return JSON.stringify(frame);
    const stubs = Array.from(payload.images, (image: unknown) => imageStub(image, images));
    return JSON.stringify({ ...frame, payload: { ...payload, images: stubs } });
  } catch {
    return undefined;
  }
}

/**
 * The fields that the ring guarantees, and valid strings. Removes the images that the failed attempt added.
 */
function fallbackText(frame: FrameReading["frames"][number], images: ImageContent[], before: number): string {
  images.length = before;
  const { type, ts, session, msg_id, seq } = frame;
  return JSON.stringify({
    v: 1,
    type,
    ...(typeof ts === "string" && { ts }),
    session: { channel: session.channel, id: session.id },
    ...(typeof msg_id === "string" && { msg_id }),
    seq,
    payload: { _mcp_missing: "INVALID_MESSAGE" },
  });
}

function imageStub(image: unknown, images: ImageContent[]): object {
  const found = checkedImage(image);
  if (typeof found === "string") return { _mcp_missing: found };
  const { media_type: mimeType, data } = found;
  // MCP requires padded base64.
  images.push({ type: "image", data: padBase64(data), mimeType });
  return { _mcp_index: images.length - 1 };
}

/** Returns the image, or the code of its error. */
function checkedImage(image: unknown): TetherImage | string {
  const session = { channel: "mcp", id: "default" };
  const ts = "1970-01-01T00:00:00.000Z";
  try {
    const payload = { text: "", images: [image] };
    const { frame } = checkFrame({ v: 1, type: "assistant.done", ts, session, payload });
    return (frame.payload as { readonly images: readonly [TetherImage] }).images[0];
  } catch (error) {
    if (error instanceof SessileError) return error.code;
    throw error;
  }
}
