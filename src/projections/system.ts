import type { Context } from "../content/index.js";
import type { BlockReader } from "./block-reader.js";
import type { ShownDraft } from "./draft.js";

/**
 * The instructions in force: what system messages say, in order, and their sections where each was first named, as the
 * latest message that names it has it. Tools that a system message declares are the request's parameters, which a harness
 * gives beside the projection.
 */
export function systemParts(items: Context["items"], reader: BlockReader): readonly ShownDraft[] {
  const parts: ShownDraft[][] = [];
  const sections = new Map<string, ShownDraft[]>();
  items.forEach(({ entryId, message }, item) => {
    if (message.role !== "system") return;
    const origin = { entryId, item };
    parts.push([...reader.shown(message.content, origin, "textOnly")]);
    for (const [name, text] of Object.entries(message.sections ?? {})) {
      const known = sections.get(name);
      const slot = known ?? [];
      slot.length = 0;
      if (text !== null) for (const draft of reader.text(text, origin)) slot.push(draft);
      if (known === undefined) {
        sections.set(name, slot);
        parts.push(slot);
      }
    }
  });
  return parts.flat();
}
