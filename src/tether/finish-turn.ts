import { currentTurnStart } from "../attachments/internal.js";
import {
  type AssistantMessage,
  type Context,
  type ImageBlock,
  resourceOf,
  type StoredResource,
  type ToolResultMessage,
} from "../content/index.js";
import { tetherLimits } from "../limits/index.js";
import { assistantDone, type FrameOptions } from "./build.js";
import { imagesWithin, type OutgoingImage, type OutgoingImages, type OutgoingOptions } from "./egress.js";
import type { AssistantDoneFrame, TetherSession } from "./frame.js";
import { wireBytes } from "./wire-bytes.js";

/**
 * The images that tools and the model made in the current turn, oldest first: what an agent sends along with its answer. Those
 * that a tool gave inline are among them. What a tool merely names, by a path or a link, is not, nor is what a view of this turn
 * shows the model again.
 *
 * @example
 * ```ts
 * producedImages(contextOf([userMessage("hi")])); // []
 * ```
 */
export function producedImages(
  context: Pick<Context, "items"> & Partial<Pick<Context, "views">>,
): readonly (StoredResource | ImageBlock)[] {
  const { items, views = [] } = context;
  const start = currentTurnStart(context);
  const viewedAt = new Map<string, number>();
  for (const { resourceId, item } of views) {
    if (item >= start && !viewedAt.has(resourceId)) viewedAt.set(resourceId, item);
  }
  return items.slice(start).flatMap(({ message }, at) => {
    if (message.role !== "toolResult" && message.role !== "assistant") return [];
    return message.content.flatMap((block: Block): readonly (StoredResource | ImageBlock)[] => {
      if (block.type === "image") return [block];
      const resource = resourceOf(block);
      if (resource?.kind !== "image") return [];
      return start + at >= (viewedAt.get(resource.resourceId) ?? items.length) ? [] : [resource];
    });
  });
}

type Block = (AssistantMessage | ToolResultMessage)["content"][number];

/** Options of {@link finishTurn}. */
export interface FinishTurnOptions extends OutgoingOptions, FrameOptions {
  /** Images to send. By default those of {@link producedImages}. */
  readonly images?: readonly OutgoingImage[];
}

/** The end of a turn, to be sent. */
export interface FinishedTurn extends Pick<OutgoingImages, "left"> {
  readonly frame: AssistantDoneFrame;
}

/**
 * The `assistant.done` frame that ends a turn: the text of the answer at the end of the context, and its images. Behind an answer
 * that was aborted, or that an error ended, stands its `errorMessage`, where it has one. Empty where the turn has no answer: one of an earlier
 * turn is not said again. A text so long that no image fits beside it on the wire goes without.
 *
 * @throws what {@link outgoingImages} throws; SessileError LIMIT_EXCEEDED for a text that is too long for the wire by itself
 * @throws TypeError, RangeError for a session, a message's name or a time that {@link assistantDone} does not take
 * @example
 * ```ts
 * const { frame, left } = await finishTurn({ channel: "mcp", id: "default" }, await session.context(), { blobs });
 * ```
 */
export async function finishTurn(
  session: TetherSession,
  context: Pick<Context, "items"> & Partial<Pick<Context, "views">>,
  options: FinishTurnOptions,
): Promise<FinishedTurn> {
  const text = answerOf(context);
  const room =
    tetherLimits.maxWireBytes - wireBytes(assistantDone(session, text, [], options)) - aroundImages;
  const wanted = options.images ?? producedImages(context);
  const { images, left } = await imagesWithin(wanted, options, room);
  return { frame: assistantDone(session, text, images, options), left };
}

/** More bytes than all that stands around four images in a frame, and than their base64 is rounded up by. */
const aroundImages = 512;

function answerOf(context: Pick<Context, "items">): string {
  const turn = context.items.slice(currentTurnStart(context));
  const message = turn.findLast((item) => item.message.role === "assistant")?.message;
  if (message?.role !== "assistant") return "";
  const { stopReason, errorMessage = "" } = message;
  const failure = stopReason === "error" || stopReason === "aborted" ? errorMessage : "";
  return [wordsOf(message), failure].filter((part) => part !== "").join("\n\n");
}

/** A text may come in pieces, which belong together where nothing stands between them. */
function wordsOf({ content }: AssistantMessage): string {
  let words = "";
  let apart = false;
  for (const block of content) {
    if (block.type !== "text" || block.resource !== undefined) apart = true;
    else if (block.text !== "") {
      words += apart && words !== "" ? `\n\n${block.text}` : block.text;
      apart = false;
    }
  }
  return words;
}
