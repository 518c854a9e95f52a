/**
 * One stored reply as items of Responses, for files that keep items. A request is made of a whole context by
 * `project`.
 */

import type { AssistantMessage } from "../../content/index.js";
import { assistantParts } from "../assistant-turn.js";
import { BlockReader } from "../block-reader.js";
import { type Loss, LossList } from "../losses.js";
import type { AssistantPart, Part } from "../request.js";
import type { ModelRef, RenderTools } from "../target.js";
import { AssistantItems, itemRules } from "./responses-assistant.js";
import type { OpenaiResponsesItem } from "./responses-types.js";

/** The items of a reply, and the losses. */
export interface ReplyItems {
  readonly items: readonly OpenaiResponsesItem[];
  readonly losses: readonly Loss[];
}

/**
 * The items of a reply for a model: reasoning and ids if the model made it. Ids of calls are those of the
 * message, and have to be valid. Attachments of the reply are left out, and blocks without their media.
 */
export function replyItems(message: AssistantMessage, entryId: string, model: ModelRef): ReplyItems {
  const losses = new LossList();
  const options = { model, rules: {}, losses };
  const origin = { entryId, item: 0 };
  const parts = assistantParts(message, origin, new BlockReader(options), options).flatMap(
    (part): readonly AssistantPart[] => {
      if (part.type === "attachment") return [];
      if (part.type === "opaqueMedia") {
        losses.add(part.origin, { code: "opaque", by: "history", reason: "a medium without its bytes" });
        return [];
      }
      return part.type === "call" ? [{ ...part, id: part.storedId.split("|", 1)[0] as string }] : [part];
    },
  );
  const tools: RenderTools = {
    trace: (block) => block,
    endsCache: () => false,
    reportLoss: (part: Part, loss) => losses.add(part.origin, loss),
  };
  const items = new AssistantItems(tools, itemRules(model.provider, false), new Map());
  return { items: items.items(parts), losses: losses.inOrder() };
}
