/**
 * What a request of Anthropic's API has: messages, tool calls, results, and characters of text, by which two of the same
 * history are known to be alike.
 *
 * @param {string} body
 */
export function countsOf(body) {
  const counts = { messages: 0, calls: 0, results: 0, characters: 0 };
  const { messages } = JSON.parse(body);
  for (const { content } of messages) {
    counts.messages++;
    count(content);
  }
  return counts;

  /** @param {string | readonly { type: string, text?: string, content?: any }[]} content */
  function count(content) {
    if (typeof content === "string") {
      counts.characters += content.length;
      return;
    }
    for (const block of content) {
      if (block.type === "tool_use") counts.calls++;
      if (block.type === "tool_result") {
        counts.results++;
        count(block.content);
      }
      if (block.type === "text") counts.characters += block.text?.length ?? 0;
    }
  }
}
