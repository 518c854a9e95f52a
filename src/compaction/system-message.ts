import type { ContextItem, SystemMessage, TextBlock } from "../content/index.js";
import { isRecord } from "../internal/shape.js";

/**
 * The system messages of a context as one, since a compaction would lose those of the part that it summarises: what they say,
 * in order, the sections as the latest has them, and the tools that were added and not removed. undefined where there is none.
 */
export function foldSystemMessages(items: readonly ContextItem[]): SystemMessage | undefined {
  const messages: SystemMessage[] = [];
  for (const { message } of items) if (message.role === "system") messages.push(message);
  const [first] = messages;
  if (first === undefined || messages.length === 1) return first;
  const content: TextBlock[] = [];
  const sections = new Map<string, string>();
  let tools: readonly unknown[] = [];
  for (const message of messages) {
    if (typeof message.content !== "string") content.push(...message.content);
    else if (message.content !== "") content.push({ type: "text", text: message.content });
    for (const [name, section] of Object.entries(message.sections ?? {})) {
      if (section === null) sections.delete(name);
      else sections.set(name, section);
    }
    const gone = new Set((message.toolsRemoved ?? []).map(toolName));
    if (gone.size > 0) tools = tools.filter((tool) => !gone.has(toolName(tool)));
    tools = [...tools, ...(message.toolsAdded ?? [])];
  }
  return {
    role: "system",
    content,
    ...(sections.size === 0 ? {} : { sections: Object.fromEntries(sections) }),
    ...(tools.length === 0 ? {} : { toolsAdded: tools }),
    timestamp: (messages.at(-1) as SystemMessage).timestamp,
  };
}

/** What a tool is known by: its name, or the value that stands for it. */
function toolName(tool: unknown): unknown {
  return isRecord(tool) && typeof tool.name === "string" ? tool.name : tool;
}
