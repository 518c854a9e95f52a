import { Buffer } from "node:buffer";
import type Anthropic from "@anthropic-ai/sdk";
import { bytesOf, gif, gifFrame, jpeg, png, type Size, sof } from "../../media-files.js";

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

/** A PNG of this size as an image block. */
export function pngBlock(size: Size = { width: 2, height: 2 }): Anthropic.ImageBlockParam {
  return { type: "image", source: { type: "base64", media_type: "image/png", data: base64(png(size)) } };
}

const small = { width: 3, height: 2 };
const jpegData = base64(jpeg(sof(small)));
const gifData = base64(gif(small, [gifFrame(1)]));
const pdfData = base64(bytesOf("%PDF-1.7\n%%EOF\n"));

/** A request with all that a session can have: every kind of block, at every place that takes it. */
export function richRequest(): Anthropic.MessageCreateParamsNonStreaming {
  return {
    model: "claude-opus-5-5",
    max_tokens: 1024,
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral", ttl: "1h" } }],
    tools: [
      { name: "read", description: "Reads a file.", input_schema: { type: "object", properties: {} } },
      { type: "web_search_20250305", name: "web_search" },
    ],
    messages: [
      {
        role: "user",
        content: [
          pngBlock(),
          { type: "image", source: { type: "base64", media_type: "image/jpeg", data: jpegData } },
          { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
          { type: "image", source: { type: "file", file_id: "file_011" } },
          {
            type: "document",
            source: { type: "base64", media_type: "application/pdf", data: pdfData },
            title: "Report",
            context: "Of last year.",
            citations: { enabled: true },
          },
          {
            type: "document",
            source: { type: "text", media_type: "text/plain", data: "grass is green" },
            citations: { enabled: true },
          },
          { type: "text", text: "What are these?", cache_control: { type: "ephemeral" } },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Let me look.", signature: "c2lnbmVk" },
          { type: "redacted_thinking", data: "b3BhcXVl" },
          { type: "text", text: "I look at both. " },
          {
            type: "tool_use",
            id: "toolu_01",
            name: "read",
            input: { path: "a" },
            caller: { type: "direct" },
          },
          { type: "thinking", thinking: "", signature: "b21pdHRlZA==" },
          { type: "tool_use", id: "toolu_02", name: "read", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          {
            type: "tool_result",
            tool_use_id: "toolu_02",
            is_error: true,
            content: [{ type: "text", text: "no such file" }],
          },
          {
            type: "tool_result",
            tool_use_id: "toolu_01",
            content: [
              { type: "text", text: "a picture" },
              { type: "image", source: { type: "base64", media_type: "image/gif", data: gifData } },
              {
                type: "document",
                source: { type: "content", content: [{ type: "text", text: "a chunk" }] },
                citations: { enabled: true },
              },
              {
                type: "search_result",
                source: "https://example.com",
                title: "A",
                content: [{ type: "text", text: "b" }],
              },
            ],
          },
          { type: "text", text: "And the sky?" },
        ],
      },
      { role: "system", content: "The user is in a hurry." },
      {
        role: "assistant",
        content: [
          { type: "server_tool_use", id: "srvtoolu_01", name: "web_search", input: { query: "sky" } },
          {
            type: "web_search_tool_result",
            tool_use_id: "srvtoolu_01",
            content: [
              {
                type: "web_search_result",
                encrypted_content: "RW5j",
                title: "Sky",
                url: "https://example.com/sky",
              },
            ],
          },
          {
            type: "text",
            text: "The sky is blue.",
            citations: [
              {
                type: "char_location",
                cited_text: "grass is green",
                document_index: 1,
                document_title: null,
                start_char_index: 0,
                end_char_index: 14,
              },
            ],
          },
        ],
      },
      { role: "user", content: "Thanks 👍" },
    ],
  };
}
