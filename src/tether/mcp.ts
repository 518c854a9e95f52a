import { SessileError } from "../errors/index.js";
import { stringArgument } from "../internal/arguments.js";
import { padBase64 } from "../internal/base64.js";
import { uuidv7 } from "../internal/ids.js";
import { isRecord } from "../internal/shape.js";
import { tetherLimits } from "../limits/index.js";
import type { ImageContent, TextContent } from "../projections/mcp/index.js";
import { type CheckedUserMessage, checked, checkFrame } from "./check.js";
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
  /** The message as the frame that it is to go on as, with an id of its own. */
  readonly message: CheckedUserMessage;
}

/**
 * Reads the arguments of `tether_send`: `session_id` is `default` where none is told, and arguments that are not known are
 * passed over. Whoever calls is not asked who they are, so that the message has no user.
 *
 * @param channel of the session. Default `mcp`.
 * @throws SessileError what {@link checkFrame} throws, with places such as `images[0].data`, and LIMIT_EXCEEDED for a message that
 *   is too long for the wire
 * @throws TypeError for a channel that is empty or none
 * @example
 * ```ts
 * const { instance, message } = readTetherSend({ instance: "agent", text: "What is new?" });
 * message.frame.session; // { channel: "mcp", id: "default" }
 * ```
 */
export function readTetherSend(args: unknown, channel = "mcp"): TetherSend {
  stringArgument("channel", channel);
  if (!isRecord(args)) throw invalid("arguments", "an object");
  const { instance, text, images, session_id = "default" } = args;
  if (typeof instance !== "string" || instance === "") {
    throw invalid("instance", "a non-empty string");
  }
  if (typeof session_id !== "string" || session_id === "") {
    throw invalid("session_id", "a non-empty string");
  }
  const now = Date.now();
  const envelope = {
    v: 1,
    type: "user.message",
    ts: new Date(now).toISOString(),
    session: { channel, id: session_id },
    msg_id: uuidv7(now),
  } as const;
  const payload = images === undefined || isEmpty(images) ? { text } : { text, images: sentImages(images) };
  // Whoever called knows nothing of a payload.
  const message = checked({ ...envelope, payload }, { measured: false, payloadPlace: "" });
  return { instance, message: message as CheckedUserMessage };
}

function isEmpty(images: unknown): boolean {
  return Array.isArray(images) && images.length === 0;
}

/** A reserved `ref` does not go on. What is no list of images is for the check. */
function sentImages(images: unknown): unknown {
  if (!Array.isArray(images) || images.length > tetherLimits.maxImages) return images;
  return images.map((image: unknown) => {
    if (!isRecord(image)) return image;
    const { media_type, data } = image;
    return { media_type, data };
  });
}

function invalid(path: string, expected: string): SessileError<"INVALID_MESSAGE"> {
  return new SessileError("INVALID_MESSAGE", `${path}: expected ${expected}`, {
    details: { path, expected },
  });
}

/** The content of a tool's result: one text, then images. */
export type TetherReadResult = { content: [TextContent, ...ImageContent[]] };

/**
 * The result of `tether_read`: a text with all of the reading as JSON, `{ frames, next_seq, missed }`, in which each image of a
 * payload is `{ _mcp_index: N }`, and behind it the images, N counting them alone, from 0, in the order of the frames. Of whatever
 * type a frame is, its payload's `images` are looked at where they are an array. One that no host would take, such as one that
 * is not there any more or is none, leaves `{ _mcp_missing: CODE }` with the code of what is wrong, and the others keep their
 * numbers. Never throws for what is in a frame: one that JSON cannot have loses its payload, and around it what is none.
 *
 * How long it gets is for the reading to say, by `maxBytes`.
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
  const told = frames.map((frame) => frameText(frame, images));
  const text = `{"frames":[${told.join(",")}],"next_seq":${nextSeq},"missed":${missed}}`;
  return { content: [{ type: "text", text }, ...images] };
}

function frameText(frame: FrameReading["frames"][number], images: ImageContent[]): string {
  const before = images.length;
  return jsonText(frame, images) ?? bareText(frame, images, before);
}

/** Undefined where JSON cannot have the frame. */
function jsonText(frame: FrameReading["frames"][number], images: ImageContent[]): string | undefined {
  try {
    const { payload } = frame;
    if (!isRecord(payload) || !Array.isArray(payload.images)) return JSON.stringify(frame);
    const stubs = Array.from(payload.images, (image: unknown) => stubOf(image, images));
    return JSON.stringify({ ...frame, payload: { ...payload, images: stubs } });
  } catch {
    return undefined;
  }
}

/** Of a frame what a ring vouches for, and what is text; the images that it gave are taken back. */
function bareText(frame: FrameReading["frames"][number], images: ImageContent[], before: number): string {
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

function stubOf(image: unknown, images: ImageContent[]): object {
  const found = checkedImage(image);
  if (typeof found === "string") return { _mcp_missing: found };
  const { media_type: mimeType, data } = found;
  // MCP's base64 is padded.
  images.push({ type: "image", data: padBase64(data), mimeType });
  return { _mcp_index: images.length - 1 };
}

/** An image, or the code of what is wrong with it. */
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
