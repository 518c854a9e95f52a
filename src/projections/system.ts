import type { Context, SystemMessage } from "../content/index.js";
import type { BlockReader } from "./select.js";
import type { Origin, TextPart } from "./turns.js";

/**
 * The instructions in force: what system messages say, in order, and their sections where each was first named, as the
 * latest message that names it has it. Tools that a system message declares are the request's parameters, which a harness
 * gives beside the projection.
 */
export function systemParts(items: Context["items"], reader: BlockReader): readonly TextPart[] {
  const parts: TextPart[][] = [];
  const sections = new Map<string, TextPart[]>();
  items.forEach(({ entryId, message }, item) => {
    if (message.role !== "system") return;
    const origin = { entryId, item };
    parts.push([...contentParts(message, origin, reader)]);
    for (const [name, text] of Object.entries(message.sections ?? {})) {
      const slot = sections.get(name);
      const now = text === null ? [] : [...reader.text(text, origin)];
      if (slot !== undefined) slot.splice(0, slot.length, ...now);
      else {
        sections.set(name, now);
        parts.push(now);
      }
    }
  });
  return parts.flat();
}

function contentParts({ content }: SystemMessage, origin: Origin, reader: BlockReader): readonly TextPart[] {
  if (typeof content === "string") return reader.text(content, origin);
  return content.flatMap((block, index) => reader.text(block.text, { ...origin, block: index }));
}
