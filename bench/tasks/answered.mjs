import { readTurns } from "./turns.mjs";

/** The model that both sides ask. */
export const model = "claude-opus-5-5";
export const maxTokens = 8192;
export const system = "You are a coding agent. ".repeat(500);

/**
 * Carries a session through its turns, each of two requests: one that is answered by a call, and one with the call's
 * result. Counts what was sent.
 *
 * @param {string} path of the turns
 * @param {(text: string) => unknown} ask
 * @param {(call: { id: string, name: string }, text: string) => unknown} result
 * @param {(reply: () => Response) => Promise<{ body: Uint8Array, isContinued: boolean }>} send makes the body, and reads
 *   the reply
 */
export async function converse(path, ask, result, send) {
  const sent = { requests: 0, continued: 0, bytes: 0, news: 0 };
  /** @param {string} text @param {readonly object[]} blocks */
  const request = async (text, blocks) => {
    const id = `msg_01${String(sent.requests).padStart(22, "0")}`;
    const { body, isContinued } = await send(() => reply(id, blocks));
    sent.requests++;
    if (isContinued) sent.continued++;
    sent.bytes += body.length;
    sent.news += Buffer.byteLength(JSON.stringify(text));
  };
  for (const { question, call, output, answer } of readTurns(path)) {
    const thinking = { type: "thinking", thinking: answer, signature: "c2lnbmVk".repeat(100) };
    await ask(question);
    await request(question, [thinking, { type: "tool_use", id: call.id, name: call.name, input: call.args }]);
    await result(call, output);
    await request(output, [thinking, { type: "text", text: answer }]);
  }
  return sent;
}

/** A reply as the API streams it. @param {string} id @param {readonly any[]} blocks */
function reply(id, blocks) {
  const usage = { input_tokens: 10, output_tokens: 1 };
  const isCall = blocks.some(({ type }) => type === "tool_use");
  const events = [
    {
      type: "message_start",
      message: { id, type: "message", role: "assistant", model, content: [], stop_reason: null, usage },
    },
    ...blocks.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: { ...block, ...emptied(block) } },
      ...deltasOf(block).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: isCall ? "tool_use" : "end_turn" }, usage },
    { type: "message_stop" },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** @param {any} block */
function emptied({ type }) {
  if (type === "tool_use") return { input: {} };
  return type === "text" ? { text: "" } : { thinking: "", signature: "" };
}

/** @param {any} block */
function deltasOf({ type, input, text, thinking, signature }) {
  if (type === "tool_use") return [{ type: "input_json_delta", partial_json: JSON.stringify(input) }];
  if (type === "text") return [{ type: "text_delta", text }];
  return [
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature },
  ];
}
