/** Whole replies of Anthropic, Bedrock, Gemini and its Interactions as the events of a stream, each text in pieces of a few characters. */
import { isRecord } from "../plain-values.js";

type Fields = Record<string, unknown>;

const pieces = <T extends string | Uint8Array>(whole: T, size: number): readonly T[] =>
  Array.from(
    { length: Math.ceil(whole.length / size) },
    (_, at) => whole.slice(at * size, (at + 1) * size) as T,
  );
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** @see https://platform.claude.com/docs/en/build-with-claude/streaming (stored copy, 2026-11-28) */
export function anthropicStreamed(reply: object, size: number): readonly object[] {
  const { content, stop_reason, stop_sequence, stop_details, usage, ...message } = reply as Fields;
  const ending = Object.fromEntries(
    Object.entries({ stop_reason, stop_sequence, stop_details }).filter(([, value]) => value !== undefined),
  );
  return [
    { type: "message_start", message: { ...message, content: [], stop_reason: null, usage } },
    ...(content as readonly Fields[]).flatMap((block, index) => anthropicBlock(block, index, size)),
    { type: "message_delta", delta: ending, usage },
    { type: "message_stop" },
  ];
}

function anthropicBlock(block: Fields, index: number, size: number): readonly object[] {
  const { type, text, thinking, signature, input, citations, content, ...fields } = block;
  const deltas = (list: readonly object[]) =>
    list.map((delta) => ({ type: "content_block_delta", index, delta }));
  const begun = (more: Fields) => ({
    type: "content_block_start",
    index,
    content_block: { type, ...fields, ...more },
  });
  const stop = { type: "content_block_stop", index };
  if (type === "text") {
    const cited = Array.isArray(citations) ? citations : [];
    return [
      begun({
        text: "",
        ...(citations === undefined ? {} : { citations: cited.length > 0 ? [] : citations }),
      }),
      ...deltas(cited.map((citation: unknown) => ({ type: "citations_delta", citation }))),
      ...deltas(pieces(textOf(text), size).map((piece) => ({ type: "text_delta", text: piece }))),
      stop,
    ];
  }
  if (type === "thinking") {
    return [
      begun({ thinking: "", ...(signature === undefined ? {} : { signature: "" }) }),
      ...deltas(pieces(textOf(thinking), size).map((piece) => ({ type: "thinking_delta", thinking: piece }))),
      ...deltas(
        pieces(textOf(signature), size).map((piece) => ({ type: "signature_delta", signature: piece })),
      ),
      stop,
    ];
  }
  if (type === "compaction")
    return [begun({ content: null }), ...deltas([{ type: "compaction_delta", content }]), stop];
  if (input !== undefined) {
    const json = pieces(JSON.stringify(input), size);
    const partial = json.map((piece) => ({ type: "input_json_delta", partial_json: piece }));
    return [begun({ input: {}, ...(content === undefined ? {} : { content }) }), ...deltas(partial), stop];
  }
  return [{ type: "content_block_start", index, content_block: block }, stop];
}

/** @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html (stored copy, 2026-11-28) */
export function bedrockStreamed(reply: object, size: number): readonly object[] {
  const { output, stopReason, additionalModelResponseFields, ...metadata } = reply as Fields;
  const { message } = output as { message: { content: readonly Fields[] } };
  return [
    { messageStart: { role: "assistant" } },
    ...message.content.flatMap((block, index) => bedrockBlock(block, index, size)),
    {
      messageStop: {
        stopReason,
        ...(additionalModelResponseFields === undefined ? {} : { additionalModelResponseFields }),
      },
    },
    { metadata },
  ];
}

function bedrockBlock(block: Fields, contentBlockIndex: number, size: number): readonly object[] {
  const deltas = (list: readonly object[]) =>
    list.map((delta) => ({ contentBlockDelta: { contentBlockIndex, delta } }));
  const begun = (start: object) => ({ contentBlockStart: { contentBlockIndex, start } });
  const stop = { contentBlockStop: { contentBlockIndex } };
  const texts = (whole: unknown) => pieces(textOf(whole), size).map((text) => ({ text }));
  const [[kind = "", value] = []] = Object.entries(block);
  const fields = isRecord(value) ? value : {};
  switch (kind) {
    case "text":
      return [...deltas(texts(value)), stop];
    case "citationsContent": {
      const { content, citations } = fields as { content: readonly Fields[]; citations: readonly object[] };
      return [
        ...deltas(texts(content[0]?.text)),
        ...deltas(citations.map((citation) => ({ citation }))),
        stop,
      ];
    }
    case "toolUse": {
      const { input, ...start } = fields;
      const json = pieces(JSON.stringify(input), size).map((piece) => ({ toolUse: { input: piece } }));
      return [begun({ toolUse: start }), ...deltas(json), stop];
    }
    case "toolResult": {
      const { content, ...start } = fields as Fields & { content: readonly Fields[] };
      const parts = content.flatMap((part) => ("text" in part ? texts(part.text) : [part]));
      return [begun({ toolResult: start }), ...deltas(parts.map((part) => ({ toolResult: [part] }))), stop];
    }
    case "reasoningContent": {
      const { reasoningText, redactedContent } = fields as {
        reasoningText?: Fields;
        redactedContent?: Uint8Array | string;
      };
      const list =
        redactedContent === undefined
          ? [
              ...texts(reasoningText?.text),
              ...pieces(textOf(reasoningText?.signature), size).map((signature) => ({ signature })),
            ]
          : redactedPieces(redactedContent, size).map((bytes) => ({ redactedContent: bytes }));
      return [...deltas(list.map((reasoningContent) => ({ reasoningContent }))), stop];
    }
    case "image": {
      const { source, ...start } = fields as Fields & { source: { bytes: Uint8Array } };
      const bytes = pieces(source.bytes, size).map((piece) => ({ image: { source: { bytes: piece } } }));
      return [begun({ image: start }), ...deltas(bytes), stop];
    }
    default:
      return [begun(block), stop];
  }
}

/** Base64 is one piece: its parts are no base64. */
const redactedPieces = (whole: Uint8Array | string, size: number): readonly (Uint8Array | string)[] =>
  typeof whole === "string" ? [whole] : pieces(whole, size);

/** @see https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent (stored copy, 2026-11-28) */
export function geminiStreamed(reply: object, size: number): readonly object[] {
  const { candidates, usageMetadata, ...rest } = reply as Fields & { candidates: readonly Fields[] };
  const { content, ...ending } = candidates[0] as Fields & { content?: { parts?: readonly Fields[] } };
  const parts = (content?.parts ?? []).flatMap((part): readonly object[] => {
    const { text, ...others } = part;
    const isPlain = Object.keys(others).every((name) => name === "thought");
    if (typeof text !== "string" || !isPlain) return [part];
    return pieces(text, size).map((piece) => ({ ...others, text: piece }));
  });
  const chunk = (list: readonly object[], more: object = {}) => ({
    ...rest,
    candidates: [{ index: 0, content: { role: "model", parts: list }, ...more }],
  });
  const last = { ...chunk([], ending), ...(usageMetadata === undefined ? {} : { usageMetadata }) };
  return [...parts.map((part) => chunk([part])), last];
}

/** @see https://ai.google.dev/gemini-api/docs/interactions/streaming (stored copy, 2026-11-28) */
export function interactionStreamed(reply: object, size: number): readonly object[] {
  const { steps, usage, status, ...interaction } = reply as Fields & { steps?: readonly Fields[] };
  const id = interaction.id ?? "";
  return [
    { event_type: "interaction.created", interaction: { ...interaction, id, status: "in_progress" } },
    { event_type: "interaction.status_update", interaction_id: id, status: "in_progress" },
    ...(steps ?? []).flatMap((step, index) => interactionStep(step, index, size)),
    { event_type: "interaction.completed", interaction: { ...interaction, id, usage, status } },
  ];
}

function interactionStep(step: Fields, index: number, size: number): readonly object[] {
  const { type, content, summary, signature, arguments: args, result, ...fields } = step;
  const begun = (more: Fields = {}) => ({
    event_type: "step.start",
    index,
    step: { type, ...fields, ...more },
  });
  const deltas = (list: readonly object[]) =>
    list.map((delta) => ({ event_type: "step.delta", index, delta }));
  const stop = { event_type: "step.stop", index };
  const given = (member: string, value: unknown) => (value === undefined ? {} : { [member]: value });
  switch (type) {
    case "model_output": {
      const [first, ...more] = content as readonly Fields[];
      if (first === undefined) return [begun(), stop];
      // A content with more than its text and its citations begins with the step.
      const { text, annotations, ...rest } = first;
      const [begin = "", ...following] = pieces(textOf(text), size);
      const isText = first.type === "text";
      const start = isText ? { content: [{ ...rest, text: begin }] } : { content: [first] };
      const cited =
        isText && annotations !== undefined ? [{ type: "text_annotation_delta", annotations }] : [];
      return [
        begun(start),
        ...deltas(following.map((piece) => ({ type: "text", text: piece }))),
        ...deltas(cited),
        ...deltas(more.flatMap((one) => interactionContent(one, size))),
        stop,
      ];
    }
    case "thought": {
      const list = (summary ?? []) as readonly Fields[];
      const isStreamed = list.length === 1 && Object.keys(list[0] ?? {}).join() === "type,text";
      const texts = isStreamed ? pieces(textOf(list[0]?.text), size) : [];
      const summaries = texts.map((text) => ({ type: "thought_summary", content: { type: "text", text } }));
      const signed = signature === undefined ? [] : [{ type: "thought_signature", signature }];
      return [begun(isStreamed ? {} : given("summary", summary)), ...deltas([...summaries, ...signed]), stop];
    }
    case "function_call": {
      const json = pieces(JSON.stringify(args), size).map((piece) => ({
        type: "arguments_delta",
        arguments: piece,
      }));
      return [begun({ arguments: {}, ...given("signature", signature) }), ...deltas(json), stop];
    }
    default: {
      if (!/_(?:call|result)$/.test(String(type))) return [{ ...begun(), step }, stop];
      const more = { ...given("signature", signature), ...given("arguments", args) };
      const results =
        typeof result === "string" ? pieces(result, size) : result === undefined ? [] : [result];
      const said = results.map((one) => ({ type, result: one }));
      return [begun({ signature: "" }), ...deltas([{ type, ...more }, ...said]), stop];
    }
  }
}

function interactionContent(content: Fields, size: number): readonly object[] {
  if (content.type !== "text") return [content];
  const { text, annotations } = content;
  const cited = annotations === undefined ? [] : [{ type: "text_annotation_delta", annotations }];
  return [...pieces(textOf(text), size).map((piece) => ({ type: "text", text: piece })), ...cited];
}
