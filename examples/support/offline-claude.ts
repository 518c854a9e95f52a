import Anthropic from "@anthropic-ai/sdk";

/** A part of a scripted reply: text, or the call of a tool. */
export type Said = string | { readonly name: string; readonly input: object };

/** The newest text of the user, and the results of tools since then as JSON. */
export interface Turn {
  readonly prompt: string;
  readonly results: readonly string[];
}

/**
 * Anthropic's own client: with ANTHROPIC_API_KEY for the real model, else with a `fetch` that answers by a script, so
 * that an example needs neither a key nor a network.
 */
export function claudeClient(script: (turn: Turn) => readonly Said[]): Anthropic {
  if (process.env.ANTHROPIC_API_KEY) return new Anthropic();
  console.log("(without ANTHROPIC_API_KEY a script answers in place of the model)");
  return new Anthropic({
    apiKey: "none",
    fetch: async (_url, init) => {
      const { model, messages, stream }: Anthropic.MessageCreateParams = JSON.parse(String(init?.body));
      const content = script(turnOf(messages)).map((part, at) =>
        typeof part === "string"
          ? { type: "text", text: part }
          : { type: "tool_use", id: `toolu_${messages.length}_${at}`, ...part },
      );
      const stop_reason = content.at(-1)?.type === "tool_use" ? "tool_use" : "end_turn";
      const usage = { input_tokens: JSON.stringify(messages).length >> 2, output_tokens: 20 };
      const message = { id: `msg_${messages.length}`, type: "message", role: "assistant", model, usage };
      if (!stream) return Response.json({ ...message, content, stop_reason });
      const events = [
        { type: "message_start", message: { ...message, content: [] } },
        ...content.flatMap(eventsOfBlock),
        { type: "message_delta", delta: { stop_reason }, usage },
        { type: "message_stop" },
      ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      return new Response(events.join(""), { headers: { "content-type": "text/event-stream" } });
    },
  });
}

/** Text comes word by word, a call at once. */
function eventsOfBlock(block: { type: string; text?: string }, index: number) {
  const words = block.text?.match(/\s*\S+\s*/g) ?? [];
  const content_block = block.text === undefined ? block : { ...block, text: "" };
  return [
    { type: "content_block_start", index, content_block },
    ...words.map((text) => ({ type: "content_block_delta", index, delta: { type: "text_delta", text } })),
    { type: "content_block_stop", index },
  ];
}

function turnOf(messages: readonly Anthropic.MessageParam[]): Turn {
  let turn: Turn = { prompt: "", results: [] };
  for (const { role, content } of messages) {
    const blocks = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
    const texts = blocks.flatMap((block) => (block.type === "text" ? [block.text] : []));
    const results = blocks.flatMap((block) =>
      block.type === "tool_result" ? [JSON.stringify(block.content)] : [],
    );
    if (role === "user" && texts.length > 0) turn = { prompt: texts.join("\n"), results: [] };
    else turn = { ...turn, results: [...turn.results, ...results] };
  }
  return turn;
}

// A wrong argument of a template is one line with its code: a person reads it, not a stack.
process.on("uncaughtException", ({ name, message, code = name }: NodeJS.ErrnoException) => {
  console.error(`${code}: ${message.replace(`${code}: `, "").split("\n", 1)}`);
  process.exit(1);
});
