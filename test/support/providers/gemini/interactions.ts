/** Replies of the Interactions API, whole, and what the members of one say. */
import { signatureOf } from "./signatures.js";

type Json = Readonly<Record<string, unknown>>;

const usage = {
  total_tokens: 1150,
  total_input_tokens: 1000,
  input_tokens_by_modality: [{ modality: "text", tokens: 1000 }],
  total_cached_tokens: 400,
  total_output_tokens: 60,
  total_tool_use_tokens: 50,
  total_thought_tokens: 40,
};

/** An interaction with these steps. */
export function interaction(model: string, steps: readonly Json[], more: Json = {}): Json {
  return {
    id: "v1_abc",
    status: "completed",
    usage,
    created: "2026-11-28T10:00:00Z",
    updated: "2026-11-28T10:00:01Z",
    service_tier: "standard",
    steps,
    object: "interaction",
    model,
    ...more,
  };
}

/** Thought, text and two calls at once. */
export function callingInteraction(model: string): Json {
  return interaction(
    model,
    [
      {
        type: "thought",
        signature: signatureOf(model, "thought"),
        summary: [{ type: "text", text: "I should read both." }],
      },
      { type: "model_output", content: [{ type: "text", text: "Let me look." }] },
      {
        type: "function_call",
        id: "1a2b3c4d",
        name: "read",
        arguments: { path: "a.png" },
        signature: signatureOf(model, "thought"),
      },
      { type: "function_call", id: "5e6f7a8b", name: "read", arguments: { path: "b.png", lines: [1, 2] } },
    ],
    { status: "requires_action" },
  );
}

const wav = { type: "audio", mime_type: "audio/wav", data: "UklGRiQAAABXQVZFZm10IA==" };

/** An answer with everything that the API's own tools and outputs have. */
export function richInteraction(model: string): Json {
  const signature = signatureOf(model, "search");
  return interaction(model, [
    { type: "thought", signature: signatureOf(model, "first") },
    { type: "google_search_call", id: "g1", arguments: { queries: ["a", "b"] }, signature },
    {
      type: "google_search_result",
      call_id: "g1",
      result: [{ search_suggestions: "<p>" }, { search_suggestions: "<b>" }],
      is_error: false,
      signature,
    },
    { type: "code_execution_call", id: "x1", arguments: { code: "print(1)", language: "python" } },
    { type: "code_execution_result", call_id: "x1", result: "1\n2\n3\n" },
    {
      type: "thought",
      signature: signatureOf(model, "second"),
      summary: [
        { type: "text", text: "One." },
        { type: "text", text: " Two." },
      ],
    },
    {
      type: "model_output",
      content: [
        {
          type: "text",
          text: "It is so, by the page.",
          annotations: [{ type: "url_citation", url: "https://e.x", start_index: 0, end_index: 9 }],
        },
        wav,
        { type: "text", text: " And that is how it sounds." },
        { type: "hologram", depth: [1, 2] },
      ],
    },
    { type: "model_output", content: [{ type: "text", text: "A second output." }] },
    { type: "model_output", content: [wav] },
    { type: "model_output", content: [{ type: "text", text: "" }, wav], error: { code: 0, message: "fine" } },
    { type: "new_step", payload: { a: 1 } },
  ]);
}
