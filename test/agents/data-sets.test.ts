import fc from "fast-check";
import type { ChatCompletionMessageParam, ChatCompletionTool } from "openai/resources/chat/completions";
import {
  assistantMessage,
  type BlobStore,
  memoryBlobStore,
  memorySessionStore,
  type Session,
  userMessage,
} from "sessile";
import { ingest } from "sessile/attachments";
import { exportSession, type ForeignFormat, openaiFinetune, otlp, pi, shareGpt } from "sessile/interop";
import { kimiCode } from "sessile/kimi-code";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { plainHeader } from "../arbitraries/entries.js";
import { hazardousSession } from "../arbitraries/hazards.js";
import { rounds } from "../support/rounds.js";

// Written from the documents of the three formats.

const hex = (length: number) => z.string().regex(new RegExp(`^[0-9a-f]{${length}}$`));
const whole = z.string().regex(/^\d+$/);
const scalar = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: whole }),
  z.strictObject({ doubleValue: z.number() }),
]);
const attributes = z.array(
  z.strictObject({
    key: z.string().min(1),
    value: z.union([scalar, z.strictObject({ arrayValue: z.strictObject({ values: z.array(scalar) }) })]),
  }),
);
const span = z.strictObject({
  traceId: hex(32),
  spanId: hex(16),
  parentSpanId: hex(16).optional(),
  name: z.string().min(1),
  kind: z.union([z.literal(1), z.literal(3)]),
  startTimeUnixNano: whole,
  endTimeUnixNano: whole,
  attributes,
  status: z.strictObject({ code: z.literal(2).optional(), message: z.string().optional() }),
});
const traces = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.tuple([
        z.strictObject({ scope: z.strictObject({ name: z.string() }), spans: z.array(span) }),
      ]),
    }),
  ),
});

/** The spans of the session itself. */
function firstSpans(record: unknown) {
  const [first] = traces.parse(record).resourceSpans;
  return first?.scopeSpans[0] ?? { spans: [] };
}

const part = z.union([
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({
    type: z.literal("image_url"),
    image_url: z.strictObject({ url: z.string().startsWith("data:") }),
  }),
]);
const toolCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal("function"),
  function: z.strictObject({ name: z.string().min(1), arguments: z.string() }),
});
const example = z.strictObject({
  messages: z.array(
    z.union([
      z.strictObject({ role: z.literal("user"), content: z.union([z.string(), z.array(part)]) }),
      z
        .strictObject({
          role: z.literal("assistant"),
          content: z.string().optional(),
          tool_calls: z.array(toolCall).min(1).optional(),
        })
        .refine(({ content, tool_calls }) => content !== undefined || tool_calls !== undefined),
      z.strictObject({ role: z.literal("tool"), tool_call_id: z.string().min(1), content: z.string() }),
    ]),
  ),
  tools: z
    .array(
      z.strictObject({
        type: z.literal("function"),
        function: z.strictObject({
          name: z.string(),
          parameters: z.looseObject({ type: z.literal("object") }),
        }),
      }),
    )
    .optional(),
});

/** A line of the training file, of the types of OpenAI's client: a chat request without its settings. */
interface TrainingExample {
  readonly messages: readonly ChatCompletionMessageParam[];
  readonly tools?: readonly ChatCompletionTool[];
}

/** As JSON has no member that is undefined. */
type Json<T> = T extends object ? { [K in keyof T]: Json<Exclude<T[K], undefined>> } : T;

const conversation = z.strictObject({
  conversations: z
    .array(
      z.strictObject({ from: z.enum(["human", "gpt", "function_call", "observation"]), value: z.string() }),
    )
    .min(2),
  tools: z.string().optional(),
});

const lines = async (
  session: Parameters<typeof exportSession>[0],
  to: ForeignFormat,
  blobs = memoryBlobStore(),
) => {
  const { files, resume, report } = await exportSession(session, { to, blobs, now: () => 1_767_225_600_000 });
  expect(resume).toEqual([]);
  const text = new TextDecoder().decode(files[0]?.bytes);
  const records = text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return { records, report, path: files[0]?.path };
};

const makers = [{ provider: "anthropic", model: "claude-sonnet-4-5", api: "anthropic-messages" }] as const;

async function conversationOf(): Promise<{
  readonly session: Session;
  readonly blobs: ReturnType<typeof memoryBlobStore>;
}> {
  const blobs = memoryBlobStore();
  let now = Date.UTC(2026, 10, 29);
  const session = await memorySessionStore({ blobs, now: () => (now += 1000) }).create({ cwd: "/srv/app" });
  const say = (message: Parameters<Session["append"]>[0][number]) => session.append([message]);
  const usage = { input: 5, output: 7, cacheRead: 100, cacheWrite: 3, totalTokens: 115 };
  const model = { provider: "google", model: "gemini-3-pro", usage };
  const thinking = { type: "thinking", thinking: "Which file?" } as const;
  const call = { type: "toolCall", id: "c1", name: "read", arguments: { path: "a.ts" } } as const;
  await say({ type: "message", message: userMessage("Where is the parser?") });
  await say({ type: "message", message: assistantMessage(model, thinking, "Let me look.", call) });
  await say({
    type: "message",
    message: {
      ...{ role: "toolResult", toolCallId: "c1", toolName: "read", isError: true, timestamp: now },
      content: [{ type: "text", text: "no such file" }],
    },
  });
  await say({ type: "message", message: assistantMessage(model, "It is gone.") });
  await say({ type: "message", message: userMessage("Thank you.") });
  await say({ type: "message", message: assistantMessage(model, "You are welcome.") });
  return { session, blobs };
}

describe("OTLP", () => {
  it("has a trace a turn, with a span for each reply and call", async () => {
    const { session } = await conversationOf();
    const { records, path } = await lines(session, otlp);
    expect(path).toBe(`${session.id}.otlp.json`);
    const { spans } = firstSpans(records[0]);
    expect(spans.map(({ name }) => name)).toEqual([
      ...["invoke_agent", "chat gemini-3-pro", "execute_tool read", "chat gemini-3-pro"],
      ...["invoke_agent", "chat gemini-3-pro"],
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
    const named = (at: number) =>
      Object.fromEntries(spans[at]?.attributes.map(({ key, value }) => [key, Object.values(value)[0]]) ?? []);
    expect(named(1)).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "gcp.gemini",
      "gen_ai.request.model": "gemini-3-pro",
      "gen_ai.conversation.id": session.id,
      "gen_ai.usage.input_tokens": "108",
      "gen_ai.usage.cache_read.input_tokens": "100",
      "gen_ai.usage.output_tokens": "7",
    });
    expect(JSON.parse(named(1)["gen_ai.output.messages"] as string)).toEqual([
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "Which file?" },
          { type: "text", content: "Let me look." },
          { type: "tool_call", id: "c1", name: "read", arguments: { path: "a.ts" } },
        ],
        finish_reason: "toolUse",
      },
    ]);
    expect(named(2)).toMatchObject({
      "gen_ai.tool.call.id": "c1",
      "gen_ai.tool.call.arguments": '{"path":"a.ts"}',
      "gen_ai.tool.call.result": "no such file",
      "error.type": "_OTHER",
    });
    expect(spans[2]?.status).toEqual({ code: 2, message: "no such file" });
    // The second request of a turn has what is new: the result.
    expect(JSON.parse(named(3)["gen_ai.input.messages"] as string)).toEqual([
      { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: "no such file" }] },
    ]);
  });
});

describe("examples", () => {
  it("for fine-tuning have messages, calls with their results, and tools by their calls", async () => {
    const { session } = await conversationOf();
    const { records, report } = await lines(session, openaiFinetune);
    expect(records).toEqual([
      {
        messages: [
          { role: "user", content: "Where is the parser?" },
          {
            role: "assistant",
            content: "Let me look.",
            tool_calls: [
              { id: "c1", type: "function", function: { name: "read", arguments: '{"path":"a.ts"}' } },
            ],
          },
          { role: "tool", tool_call_id: "c1", content: "no such file" },
          { role: "assistant", content: "It is gone." },
          { role: "user", content: "Thank you." },
          { role: "assistant", content: "You are welcome." },
        ],
        tools: [
          {
            type: "function",
            function: { name: "read", parameters: { type: "object", properties: { path: {} } } },
          },
        ],
      },
    ]);
    expect(report.findings.map(({ code }) => code)).toEqual(["reasoning", "entry"]);
  });

  it("of ShareGPT's form alternate", async () => {
    const { session } = await conversationOf();
    const { records, report } = await lines(session, shareGpt);
    expect(records[0].conversations).toEqual([
      { from: "human", value: "Where is the parser?" },
      { from: "function_call", value: '{"name":"read","arguments":{"path":"a.ts"}}' },
      { from: "observation", value: "no such file" },
      { from: "gpt", value: "It is gone." },
      { from: "human", value: "Thank you." },
      { from: "gpt", value: "You are welcome." },
    ]);
    expect(report.findings.map(({ text }) => text)).toContain("the words beside a call");
  });

  it("begin anew behind a compaction, with its summary and what it keeps", async () => {
    const { session } = await conversationOf();
    const path = await session.path();
    await session.append([
      {
        type: "compaction",
        summary: "The parser is gone.",
        firstKeptEntryId: path[4]?.id as string,
        tokensBefore: 100,
      },
    ]);
    await session.append([
      { type: "message", message: assistantMessage({ provider: "p", model: "m" }, "More.") },
    ]);
    const { records } = await lines(session, openaiFinetune);
    expect(
      records.map(({ messages }) => messages.map(({ content }: { content?: string }) => content)),
    ).toEqual([
      [
        "Where is the parser?",
        "Let me look.",
        "no such file",
        "It is gone.",
        "Thank you.",
        "You are welcome.",
      ],
      ["The parser is gone.", "Thank you.", "You are welcome.", "More."],
    ]);
    const { records: spans } = await lines(session, otlp);
    expect(JSON.stringify(spans)).toContain('"name":"compaction"');
    const isCompacted = firstSpans(spans[0])
      .spans.filter(({ name }) => name.startsWith("chat"))
      .map(({ attributes }) => attributes.some(({ key }) => key === "gen_ai.conversation.compacted"));
    expect(isCompacted).toEqual([false, false, false, true]);
  });

  it("have images as data of the user's messages", async () => {
    const blobs = memoryBlobStore();
    const session = await memorySessionStore({ blobs }).create({ cwd: "/" });
    const png = Uint8Array.from(
      atob(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
      ),
      (c) => c.charCodeAt(0),
    );
    const resource = await ingest({ bytes: png, name: "a.png" }, { blobs });
    await session.append([
      { type: "message", message: userMessage("Look.", resource) },
      { type: "message", message: assistantMessage({ provider: "p", model: "m" }, "A dot.") },
    ]);
    const { records } = await lines(session, openaiFinetune, blobs);
    expect(records[0].messages[0].content[1].image_url.url).toMatch(/^data:image\/png;base64,iVBOR/);
  });

  it.each([
    ["openai-finetune", openaiFinetune, "image/gif"],
    ["pi", pi, "image/tiff"],
    ["kimi-code", kimiCode, "image/svg+xml"],
  ] as const)("of %s have the name of an image that its models refuse", async (_, to, mimeType) => {
    const session = await memorySessionStore().create({ cwd: "/" });
    const image = { type: "image" as const, data: "AAAA", mimeType };
    await session.append([
      { type: "message", message: { ...userMessage("Look."), content: [image] } },
      { type: "message", message: assistantMessage({ provider: "p", model: "m" }, "A dot.") },
    ]);
    const { files, report } = await exportSession(session, { to });
    expect(report.findings.map(({ code }) => code)).toContain("described");
    expect(Buffer.concat(files.map(({ bytes }) => bytes)).toString()).not.toContain("AAAA");
  });
});

describe("subagents", () => {
  it("have their own traces and examples, and a finding in a format without them", async () => {
    const { session } = await conversationOf();
    const child = await memorySessionStore().create({ cwd: "/srv/app" });
    await child.append([
      { type: "message", message: userMessage("Look for me.") },
      { type: "message", message: assistantMessage({ provider: "p", model: "m" }, "Found.") },
    ]);
    for (const to of [otlp, openaiFinetune, shareGpt]) {
      const { files } = await exportSession(session, { to, children: [child] });
      const text = Buffer.concat(files.map(({ bytes }) => bytes)).toString();
      expect([to.name, text.includes("You are welcome."), text.includes("Found.")]).toEqual([
        to.name,
        true,
        true,
      ]);
      if (to === otlp) traces.parse(JSON.parse(text));
    }
    const { report } = await exportSession(session, { to: pi, children: [child] });
    expect(report.findings).toContainEqual({ code: "entry", text: "1 sessions of subagents" });
  });
});

describe("any session", () => {
  it("gives what the formats' documents allow", async () => {
    await fc.assert(
      fc.asyncProperty(hazardousSession(12, makers), async ({ entries, blobs: bytes }) => {
        const blobs = bytes as BlobStore;
        const session = { header: plainHeader, entries, leafId: entries.at(-1)?.id ?? null };
        const { spans } = firstSpans((await lines(session, otlp, blobs)).records[0]);
        const ids = new Map(spans.map((each) => [each.spanId, each]));
        expect(ids.size).toBe(spans.length);
        for (const { parentSpanId, traceId, startTimeUnixNano: from, endTimeUnixNano: to } of spans) {
          expect(BigInt(to)).toBeGreaterThanOrEqual(BigInt(from));
          if (parentSpanId !== undefined) expect(ids.get(parentSpanId)?.traceId).toBe(traceId);
        }
        for (const record of (await lines(session, openaiFinetune, blobs)).records) {
          const open = new Set<string>();
          const parsed = example.parse(record);
          // Checked by the compiler: whatever the schema allows, the client's types do.
          const { messages }: TrainingExample = parsed as Json<typeof parsed>;
          // Without a reply there is nothing to learn: such a file is refused.
          expect(messages.some(({ role }) => role === "assistant")).toBe(true);
          for (const message of parsed.messages) {
            // A result follows the calls, and no other message comes before all of them.
            if (message.role === "tool") expect(open.delete(message.tool_call_id)).toBe(true);
            else expect(open.size).toBe(0);
            if (message.role === "assistant") for (const { id } of message.tool_calls ?? []) open.add(id);
          }
          expect(open.size).toBe(0);
        }
        for (const record of (await lines(session, shareGpt, blobs)).records)
          for (const [at, { from }] of conversation.parse(record).conversations.entries())
            expect(["human", "observation"].includes(from)).toBe(at % 2 === 0);
      }),
      { numRuns: rounds(40, 400) },
    );
  });
});
