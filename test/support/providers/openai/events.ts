import type OpenAI from "openai";

type ChatCompletion = OpenAI.Chat.ChatCompletion;
type Chunk = OpenAI.Chat.ChatCompletionChunk;
type Choice = Chunk["choices"][number];
type Response = OpenAI.Responses.Response;

/** A completion as it is streamed: its message, each call in two pieces, its end and what it cost. */
export function chatEvents({ id, created, model, choices, usage }: ChatCompletion): readonly Chunk[] {
  const [choice] = choices;
  const chunk = (delta: Choice["delta"], finish_reason: Choice["finish_reason"]): Chunk => ({
    id,
    created,
    model,
    object: "chat.completion.chunk",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const { content = null, refusal = null, tool_calls = [] } = choice?.message ?? {};
  const calls = tool_calls.flatMap((call, index): Chunk[] => {
    if (call.type !== "function") return [];
    const { name, arguments: text } = call.function;
    const half = Math.floor(text.length / 2);
    const first = { index, id: call.id, type: call.type, function: { name, arguments: text.slice(0, half) } };
    const second = { index, function: { arguments: text.slice(half) } };
    return [first, second].map((piece) => chunk({ tool_calls: [piece] }, null));
  });
  return [
    chunk({ role: "assistant", content, refusal }, null),
    ...calls,
    chunk({}, choice?.finish_reason ?? "stop"),
    { ...chunk({}, null), choices: [], ...(usage === undefined ? {} : { usage }) },
  ];
}

/** A response as it is streamed, as far as the client reads it: its beginning, its items, and the whole. */
export function responseEvents(response: Response): readonly object[] {
  const items = response.output.flatMap((item, output_index) => [
    { type: "response.output_item.added", output_index, item: begun(item) },
    ...textDeltas(item, output_index),
    { type: "response.output_item.done", output_index, item },
  ]);
  const events = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    ...items,
    { type: "response.completed", response },
  ];
  return events.map((event, sequence_number) => ({ ...event, sequence_number }));
}

function begun(item: OpenAI.Responses.ResponseOutputItem): object {
  return item.type === "message" ? { ...item, status: "in_progress", content: [] } : item;
}

function textDeltas(item: OpenAI.Responses.ResponseOutputItem, output_index: number): readonly object[] {
  if (item.type !== "message") return [];
  return item.content.flatMap((part, content_index): readonly object[] => {
    const place = { item_id: item.id, output_index, content_index };
    if (part.type !== "output_text") return [{ type: "response.content_part.added", ...place, part }];
    return [
      { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
      { type: "response.output_text.delta", ...place, delta: part.text },
    ];
  });
}
