import type OpenAI from "openai";
import { gifBytes, jpegBytes, pdfBytes, pngBytes, url } from "../samples.js";

type ChatRequest = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;

/** A request with everything that a projection can hold, which Chat Completions takes. */
export function validChat(): ChatRequest {
  return {
    model: "gpt-5.6",
    messages: [
      { role: "developer", content: "Be brief." },
      { role: "system", content: [{ type: "text", text: "Be kind." }] },
      {
        role: "user",
        name: "Alice_1",
        content: [
          {
            type: "text",
            text: "What is wrong here? \u{1F642}",
            prompt_cache_breakpoint: { mode: "explicit" },
          },
          { type: "image_url", image_url: { url: url("image/png", pngBytes), detail: "high" } },
          { type: "image_url", image_url: { url: url("image/gif", gifBytes) } },
          { type: "image_url", image_url: { url: "https://example.com/a.png" } },
          { type: "file", file: { filename: "a.pdf", file_data: url("application/pdf", pdfBytes) } },
          { type: "file", file: { file_id: "file-123" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "read", arguments: '{"path":"a"}' } },
          { id: "call_2", type: "function", function: { name: "list", arguments: "{}" } },
          { id: "call_3", type: "custom", custom: { name: "patch", input: "*** Begin" } },
        ],
      },
      { role: "tool", tool_call_id: "call_2", content: "a\nb" },
      { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "see the image below" }] },
      { role: "tool", tool_call_id: "call_3", content: "done" },
      {
        role: "user",
        content: [{ type: "image_url", image_url: { url: url("image/jpeg", jpegBytes), detail: "low" } }],
      },
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
      { role: "user", content: "Why?" },
      { role: "assistant", content: [{ type: "text", text: "Because." }] },
      { role: "user", content: "Go on." },
    ],
  };
}
