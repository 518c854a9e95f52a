import type { ImageContent, TextContent } from "../projections/mcp/index.js";
import type { CheckedUserMessage } from "./check.js";
import type { FrameReading } from "./ring.js";

/** The tool `tether_send` as a server lists it: `{ name, description, inputSchema }`. */
export declare const tetherSendTool: {
  readonly name: "tether_send";
  readonly description: string;
  readonly inputSchema: {
    readonly type: "object";
    readonly properties: object;
    readonly required: readonly string[];
  };
};

/** A call of `tether_send`, checked as {@link checkFrame} checks a frame. */
export interface TetherSend {
  /** Handle or id of the agent. */
  readonly instance: string;
  readonly message: CheckedUserMessage;
}

/**
 * Reads the arguments of `tether_send`: `session_id` is `default` where none is told.
 *
 * @param channel of the session. Default `mcp`.
 * @throws SessileError what {@link checkFrame} throws, with places such as `images[0].data`
 */
export declare function readTetherSend(args: unknown, channel?: string): TetherSend;

/** The content of a tool's result: one text, then images. */
export type TetherReadResult = { content: [TextContent, ...ImageContent[]] };

/**
 * The result of `tether_read`: a text with all of the reading as JSON, in which each image is `{ _mcp_index: N }`, and behind it
 * the images, N counting them alone, in the order of the frames. An image that is not there, or is none, leaves a stub
 * with a reason, and the others keep their numbers.
 */
export declare function tetherReadResult(reading: FrameReading): TetherReadResult;
