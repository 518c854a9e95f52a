import type { ContextMessage } from "sessile/content";

/** What a message says in words, whatever its role; tool calls, thinking and images are not words. */
export function messageText(message: ContextMessage): string {
  switch (message.role) {
    case "bashExecution":
      return `$ ${message.command}\n${message.output}`;
    case "compactionSummary":
    case "branchSummary":
      return message.summary;
    default: {
      const { content } = message;
      if (typeof content === "string") return content;
      return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    }
  }
}
