/**
 * The law of replies, for every provider and every recording: a stream gives the message of the whole reply, however it is
 * split; a cut gives what had come; and nothing after the provider's end changes it. A provider is one row.
 */
import type { AssistantMessage, ReplyStream } from "sessile";
import { anthropicStream, readAnthropicReply } from "sessile/anthropic";
import { bedrockStream, readBedrockReply } from "sessile/bedrock";
import {
  type GeminiInteractionEvent,
  geminiInteractionStream,
  geminiStream,
  readGeminiInteraction,
  readGeminiReply,
} from "sessile/gemini";
import {
  openaiChatStream,
  openaiResponsesStream,
  readOpenaiChatReply,
  readOpenaiResponsesReply,
} from "sessile/openai";
import { describe, expect, it } from "vitest";
import { isRecord } from "../support/plain-values.js";
import { callingReply as anthropicReply, messageOf } from "../support/providers/anthropic/replies.js";
import { eventStreamFrames } from "../support/providers/bedrock/event-stream.js";
import { callingReply as bedrockReply } from "../support/providers/bedrock/replies.js";
import { callingInteraction, richInteraction } from "../support/providers/gemini/interactions.js";
import { callingReply as geminiReply } from "../support/providers/gemini/replies.js";
import {
  chatCallsReply,
  chatReply,
  responsesCallsReply,
  responsesReply,
} from "../support/providers/openai/replies.js";
import { chatStreamed, responsesStreamed } from "../support/providers/openai/streamed.js";
import {
  anthropicStreamed,
  bedrockStreamed,
  geminiStreamed,
  interactionStreamed,
} from "../support/providers/streamed.js";
import {
  checkCuts,
  eventsFrom,
  recordedReplies,
  recordedStreams,
  serverSentEvents,
} from "../support/reply-streams.js";
import { rounds } from "../support/rounds.js";

type Source = AsyncIterable<object | Uint8Array | string>;
type Fields = Record<string, unknown>;

/** A protocol whose replies are streamed. */
interface StreamedProtocol {
  readonly name: string;
  /** The folders of ../shared/fixtures/replies that have recordings of it. */
  readonly folders: readonly string[];
  /** Whether a recorded stream is one, and is whole. */
  readonly isStream: (events: readonly Fields[]) => boolean;
  /** Whether the provider says with an event that the reply is whole; events behind the first add usage alone. */
  readonly isEnd: (event: Fields) => boolean;
  readonly open: (source: Source, signal?: AbortSignal) => ReplyStream;
  /** Whether a recorded file is a whole reply. */
  readonly isReply: (reply: Fields) => boolean;
  readonly read: (reply: never) => AssistantMessage;
  /** A whole reply as events, its texts in pieces of `size` characters. */
  readonly streamed: (reply: object, size: number) => readonly object[];
  /** Replies of the project's own, for where there are no recordings. */
  readonly replies: readonly object[];
  /** Events that say nothing. */
  readonly pings: readonly object[];
  /** The event of a failure. */
  readonly error: object;
  /** The events as the body of a response; server-sent events by default. */
  readonly encode?: (events: readonly object[]) => Uint8Array;
}

const model = "m";
const gives = (events: readonly Fields[], type: string) => events.some((event) => event.type === type);

const protocols: readonly StreamedProtocol[] = [
  {
    name: "Chat Completions",
    folders: [
      "openai",
      "azure",
      "deepseek",
      "groq",
      "mistral",
      "moonshotai",
      "openai-compatible",
      "xai",
      "alibaba",
    ],
    isStream: (events) => events.some((event) => finishReason(event) !== undefined) && hasDelta(events),
    isEnd: (event) => finishReason(event) !== undefined,
    open: (source, signal) => openaiChatStream(source, { model, ...(signal && { signal }) }),
    isReply: ({ choices }) =>
      Array.isArray(choices) && Object.hasOwn((choices[0] ?? {}) as object, "message"),
    read: (reply) => readOpenaiChatReply(reply, { model }),
    streamed: chatStreamed,
    replies: chatReplies(),
    pings: [{}, { choices: [] }, { choices: [{ index: 0, delta: {}, finish_reason: "" }] }],
    error: { error: { code: 502, message: "upstream" } },
  },
  {
    name: "Responses",
    folders: ["openai", "azure", "xai", "open-responses"],
    isStream: (events) => gives(events, "response.completed") && hasAllDeltas(events),
    isEnd: ({ type }) => type === "response.completed" || type === "response.incomplete",
    open: (source, signal) =>
      openaiResponsesStream(source as AsyncIterable<{ type: string }>, { model, ...(signal && { signal }) }),
    isReply: ({ output, object }) => Array.isArray(output) && object === "response",
    read: (reply) => readOpenaiResponsesReply(reply, { model }),
    streamed: responsesStreamed,
    replies: [responsesCallsReply(), itemsReply()],
    pings: [
      { type: "keepalive", sequence_number: 3 },
      { type: "response.new_thing.delta", delta: "x" },
    ],
    error: { type: "error", code: "server_error", message: "Sorry." },
  },
  {
    name: "Messages",
    folders: ["anthropic"],
    // A recording with a restart takes words back.
    isStream: (events) =>
      gives(events, "message_stop") && events.filter(({ type }) => type === "message_start").length === 1,
    isEnd: ({ delta }) => isRecord(delta) && typeof delta.stop_reason === "string",
    open: (source, signal) =>
      anthropicStream(source as AsyncIterable<{ type: string }>, {
        model,
        timestamp: 0,
        ...(signal && { signal }),
      }),
    isReply: ({ type }) => type === "message",
    read: (reply) => readAnthropicReply(reply, { model, timestamp: 0 }),
    streamed: anthropicStreamed,
    replies: [messageOf(anthropicReply, model, 0)],
    pings: [{ type: "ping" }, { type: "new_event", index: 0 }],
    error: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
  },
  {
    name: "Converse",
    folders: ["amazon-bedrock"],
    isStream: (events) => events.some((event) => "messageStop" in event),
    isEnd: (event) => "messageStop" in event,
    open: (source, signal) => bedrockStream(source, { model, ...(signal && { signal }) }),
    // Text with a `type` is another library's: the service streams none of it.
    isReply: ({ output }) => isRecord(output) && !JSON.stringify(output).includes('"type":"text"'),
    read: (reply) => readBedrockReply(reply, { model }),
    streamed: bedrockStreamed,
    replies: [bedrockReply(model)],
    pings: [{}, { newEvent: { a: 1 } }],
    error: { throttlingException: { message: "slow down" } },
    encode: (events) => Uint8Array.from(eventStreamFrames(events as readonly Fields[])),
  },
  {
    name: "Gemini",
    folders: ["google"],
    isStream: (events) => events.some((event) => geminiReason(event) !== undefined),
    isEnd: (event) => geminiReason(event) !== undefined,
    open: (source, signal) =>
      geminiStream(source as AsyncIterable<{ candidates?: object[] }>, { model, ...(signal && { signal }) }),
    isReply: ({ candidates }) => Array.isArray(candidates),
    read: (reply) => readGeminiReply(reply, { model }),
    streamed: geminiStreamed,
    replies: [geminiReply("gemini-3-pro-preview", { ids: true })],
    pings: [{}, { candidates: [] }, { candidates: [{ index: 0, content: { parts: [] } }] }],
    error: { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } },
  },
  {
    name: "Interactions",
    folders: ["google"],
    isStream: (events) => events.some(isInteractionEnd),
    isEnd: isInteractionEnd,
    open: (source, signal) =>
      geminiInteractionStream(source as AsyncIterable<GeminiInteractionEvent>, {
        model,
        ...(signal && { signal }),
      }),
    isReply: ({ object, steps }) => object === "interaction" && Array.isArray(steps),
    read: (reply) => readGeminiInteraction(reply, { model }),
    streamed: interactionStreamed,
    replies: [callingInteraction(model), richInteraction(model)],
    pings: [{}, { event_type: "new.event", index: 0 }, { event_type: "step.delta", index: 0 }],
    error: { event_type: "error", error: { code: "gateway_timeout", message: "Deadline expired." } },
  },
];

function isInteractionEnd({ event_type }: Fields): boolean {
  return event_type === "interaction.completed";
}

function geminiReason({ candidates }: Fields): string | undefined {
  const reason = Array.isArray(candidates) ? (candidates[0] as Fields | undefined)?.finishReason : undefined;
  return typeof reason === "string" && reason !== "" ? reason : undefined;
}

function finishReason({ choices }: Fields): string | undefined {
  const reason = Array.isArray(choices) ? (choices[0] as Fields | undefined)?.finish_reason : undefined;
  return typeof reason === "string" && reason !== "" ? reason : undefined;
}

/** Not of the older protocol of completions, whose choices have a text. */
function hasDelta(events: readonly Fields[]): boolean {
  return events.some(({ choices }) => Array.isArray(choices) && Object.hasOwn({ ...choices[0] }, "delta"));
}

/** Some recordings are shortened: they lack deltas. */
function hasAllDeltas(events: readonly Fields[]): boolean {
  const joined = (type: string, member: "text" | "delta") =>
    events.map((event) => (event.type === `response.output_text.${type}` ? event[member] : "")).join("");
  return joined("delta", "delta") === joined("done", "text");
}

/** Replies with everything that the protocol's servers send. */
function chatReplies(): readonly object[] {
  const said = (message: object, more: object = {}) => {
    const whole = chatReply(message as never) as unknown as Fields & { choices: readonly object[] };
    return { ...whole, ...more, choices: [{ ...whole.choices[0], native_finish_reason: "end" }] };
  };
  const call = (id: string, more: object = {}) => ({
    id,
    type: "function",
    function: { name: "read", arguments: '{"path":"a.ts","lines":[1,2]}', strict: true },
    ...more,
  });
  const thinking = (text: string, more: object = {}) => ({
    type: "thinking",
    thinking: [{ type: "text", text }],
    ...more,
  });
  return [
    chatCallsReply(),
    said(
      { reasoning_content: "Let me see.", content: "So it is.", refusal: "But no." },
      { citations: ["a"] },
    ),
    said({
      content: [thinking("Let me see.", { closed: true }), { type: "text", text: "The answer is 42." }],
    }),
    said({
      content: [
        { type: "text", text: "See" },
        { type: "reference", reference_ids: [1] },
        { type: "text", text: "." },
      ],
    }),
    said({ audio: { id: "audio_1", transcript: "Hello, you.", data: "AAAABBBBCCCC", expires_at: 1 } }),
    said({ content: null, function_call: { name: "read", arguments: '{"a":1}' } }),
    said({
      content: "Both.",
      reasoning: "Hm.",
      reasoning_details: [{ type: "reasoning.encrypted", data: "x", index: 0 }],
      annotations: [{ type: "url_citation", url_citation: { url: "https://a.example" } }],
      tool_calls: [call("a", { extra_content: { google: { thought_signature: "s" } } }), call("b"), call("")],
    }),
  ];
}

function itemsReply(): object {
  const text = (text: string, more: object = {}) => ({ type: "output_text", text, annotations: [], ...more });
  return responsesReply([
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAA", new_member: 1 },
    { type: "new_call", id: "new_1", status: "completed", payload: { a: 1 } },
    { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "patch", input: "***", async: true },
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [
        text("One of", { annotations: [{ type: "url_citation", url: "https://a.example" }] }),
        { type: "output_sound", sound: "moo" },
        text(" many"),
        { type: "refusal", refusal: "No." },
      ],
    },
    { type: "message", id: "msg_2", role: "assistant", status: "completed", content: [] },
  ] as never[]);
}

const undated = (message: AssistantMessage) => ({ ...message, timestamp: 0 });
const said = ({ content, stopReason }: AssistantMessage) => ({ content, stopReason });

/** Up to `count` numbers below `length`, spread evenly, the last among them. */
function sampled(length: number, count: number): readonly number[] {
  const step = Math.max(1, length / count);
  const all = Array.from({ length: Math.min(length, count) }, (_, at) => Math.floor(at * step));
  return [...new Set([...all, ...(length > 0 ? [length - 1] : [])])];
}

async function* chunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function* ending(events: readonly object[], last: () => unknown): AsyncGenerator<object> {
  yield* events;
  await last();
}

/** How many bytes and events of a stream are cut, damaged or replaced. */
const allPlaces = 60;
const places = rounds(3, allPlaces);
const isThorough = places > 3;

/** Checks one stream in every way; gives the message of the whole. */
async function checkStream(protocol: StreamedProtocol, events: readonly object[]): Promise<AssistantMessage> {
  const { open, isEnd, pings, error } = protocol;
  const read = (list: readonly object[]) => open(eventsFrom(list)).message();
  const end = events.findIndex((event) => isEnd(event as Fields)) + 1;
  expect(end).toBeGreaterThan(0);
  const whole = undated(await checkCuts(events, open, end));
  const isSame = async (stream: ReplyStream) => {
    expect(undated(await stream.message())).toEqual(whole);
    expect(stream.error).toBeUndefined();
  };

  const encode = protocol.encode ?? ((list) => new TextEncoder().encode(serverSentEvents(list)));
  const bytes = encode(events);
  if (bytes.length < 10_000 || isThorough) await isSame(open(chunks(bytes, 1)));
  const isEach = places === allPlaces && bytes.length < 5_000;
  for (const at of sampled(bytes.length, isEach ? bytes.length : places)) {
    await isSame(open(eventsFrom([bytes.slice(0, at), bytes.slice(at)])));
    // A cut between two bytes: nothing but what had come, and no word of a parser.
    const cut = open(eventsFrom([bytes.slice(0, at)]));
    const { stopReason } = await cut.message();
    if (stopReason !== whole.stopReason) expect(stopReason).toBe("aborted");
    expect(cut.error).toBeUndefined();
    // A byte that is no longer what it was: the same, an error of the library's own, or other words.
    const damaged = bytes.slice();
    damaged[at] = 0x7d;
    const stream = open(eventsFrom([damaged]));
    await stream.message();
    expect(stream.error).not.toBeInstanceOf(SyntaxError);
  }

  const pinged = events.flatMap((event, at) => [pings[at % pings.length] as object, event]);
  await isSame(open(eventsFrom(pinged)));
  if (protocol.encode === undefined) {
    const idle = ["data:\n\n", "data: \r\n\r\n", ": ping\n\n", "event: ping\n\n", "retry: 9\n\n", "data\n\n"];
    const text = events.map((event, at) => idle[at % idle.length] + serverSentEvents([event])).join("");
    await isSame(open(eventsFrom([`${text}data: [DONE]\n\n`])));
    await isSame(open(eventsFrom([text.replace(/\n+$/, "\n")])));
  }

  for (const at of sampled(end, places)) {
    const before = await read(events.slice(0, at));
    const failed = open(eventsFrom([...events.slice(0, at), error, ...events.slice(at)]));
    expect(said(await failed.message())).toEqual({ content: before.content, stopReason: "error" });
    expect(failed.error).toMatchObject({ code: "REPLY_FAILED" });
  }

  // Directly after the end only the usage can be missing.
  for (const count of new Set([end, events.length])) {
    const all = events.slice(0, count);
    const expected = said(undated(await read(all)));
    expect(expected).toEqual(said(whole));
    const reset = () => Promise.reject(Object.assign(new Error("terminated"), { code: "UND_ERR_SOCKET" }));
    const stop = new AbortController();
    const late: Record<string, ReplyStream> = {
      reset: open(ending(all, reset)),
      abort: open(
        ending(all, () => stop.abort()),
        stop.signal,
      ),
      "error event": open(eventsFrom([...all, error])),
      "the reply again": open(eventsFrom([...all, ...events.slice(0, end)])),
      garbage: open(eventsFrom([encode(all), new TextEncoder().encode("data: {\n\n")])),
    };
    for (const [name, stream] of Object.entries(late)) {
      expect([name, said(await stream.message())]).toEqual([name, expected]);
      expect([name, stream.error]).toEqual([name, undefined]);
    }
  }
  return whole;
}

describe.each(protocols)("replies of $name", (protocol) => {
  const { folders, isReply, isStream, read, streamed } = protocol;
  const replies = [
    ...protocol.replies.map((reply, at) => ({ name: `own ${at}`, reply })),
    ...folders.flatMap((folder) =>
      recordedReplies(folder)
        .filter(({ reply }) => typeof reply === "object" && reply !== null && isReply(reply as Fields))
        .map(({ name, reply }) => ({ name: `${folder}/${name}`, reply: reply as object })),
    ),
  ];
  it.each(replies)("are the same whole and streamed: $name", async ({ reply }) => {
    const whole = undated(read(reply as never));
    for (const size of [1, 7, 10_000]) {
      const message = await protocol.open(eventsFrom(streamed(reply, size))).message();
      expect(undated(message)).toEqual(whole);
    }
    // The ways of breaking a stream are the same for all, and expensive.
    if (!isThorough && !protocol.replies.includes(reply)) return;
    expect(await checkStream(protocol, streamed(reply, 24))).toEqual(whole);
  });

  const streams = folders.flatMap((folder) =>
    recordedStreams(folder)
      .filter(({ events }) => isStream(events))
      .map(({ name, events }) => ({ name: `${folder}/${name}`, events: events as readonly Fields[] })),
  );
  const tried = isThorough
    ? streams
    : sampled(streams.length, 8).map((at) => streams[at] as (typeof streams)[0]);
  it.skipIf(streams.length === 0).each(tried)("streams keep the law: $name", async ({ events }) => {
    const whole = await checkStream(protocol, events);
    if (whole.refused === true) return;
    expect(whole.stopReason).toMatch(/^(stop|toolUse|length)$/);
    expect(whole.content.length).toBeGreaterThan(0);
    const { response } = (events.find(({ type }) => type === "response.completed") ?? {}) as Fields;
    if (response === undefined || (response as Fields & { output: [] }).output.length === 0) return;
    expect(whole).toEqual(undated(read(response as never)));
  });
});
