import type OpenAI from "openai";
import { jpegBytes, pdfBytes, pngBytes, url } from "../samples.js";

type ResponsesRequest = OpenAI.Responses.ResponseCreateParamsNonStreaming;

/** A request with everything that a projection can hold, which Responses takes. */
export function validResponses(): ResponsesRequest {
  return {
    model: "gpt-5.6",
    instructions: "Be brief.",
    store: false,
    include: ["reasoning.encrypted_content"],
    input: [
      { role: "developer", content: "Be kind." },
      {
        role: "user",
        content: [
          {
            type: "input_text",
            text: "What is wrong? \u{1F642}",
            prompt_cache_breakpoint: { mode: "explicit" },
          },
          { type: "input_image", detail: "original", image_url: url("image/png", pngBytes) },
          { type: "input_image", detail: "auto", image_url: "https://example.com/a.png" },
          { type: "input_image", detail: "low", file_id: "file-1" },
          { type: "input_file", filename: "a.pdf", file_data: url("application/pdf", pdfBytes) },
          { type: "input_file", filename: "a.txt", file_data: url("text/plain", Buffer.from("hi")) },
          { type: "input_file", file_url: "https://example.com/a.pdf" },
          { type: "input_file", file_id: "file-2" },
        ],
      },
      {
        type: "reasoning",
        id: "rs_1",
        summary: [{ type: "summary_text", text: "Look at it." }],
        encrypted_content: "gAAAone",
      },
      {
        type: "message",
        role: "assistant",
        id: "msg_1",
        status: "completed",
        phase: "commentary",
        content: [{ type: "output_text", text: "Let me look.", annotations: [] }],
      },
      {
        type: "function_call",
        id: "fc_1",
        call_id: "call_1",
        name: "read",
        arguments: '{"path":"a"}',
        status: "completed",
      },
      { type: "function_call", call_id: "call_2", name: "list", arguments: "{}" },
      {
        type: "function_call_output",
        call_id: "call_2",
        output: [
          { type: "input_text", text: "two" },
          { type: "input_image", image_url: url("image/jpeg", jpegBytes), detail: "auto" },
          { type: "input_file", filename: "b.pdf", file_data: url("application/pdf", pdfBytes) },
        ],
      },
      { type: "function_call_output", call_id: "call_1", output: "" },
      { type: "reasoning", id: "rs_2", summary: [], encrypted_content: "gAAAtwo" },
      {
        type: "web_search_call",
        id: "ws_1",
        status: "completed",
        action: { type: "search", query: "sessile" },
      },
      {
        type: "message",
        role: "assistant",
        id: "msg_2",
        status: "completed",
        content: [{ type: "refusal", refusal: "No." }],
      },
      { role: "user", content: "Why?" },
      { role: "assistant", content: "Because.", phase: "final_answer" },
      { role: "user", content: "Go on." },
    ],
  };
}
