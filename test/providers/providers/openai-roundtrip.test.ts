import OpenAI from "openai";
import {
  type AssistantMessage,
  assistantMessage,
  cacheConversation,
  contextFrom,
  memorySessionStore,
  project,
  type Session,
  type Target,
  toBody,
  toolCalls,
  toolResult,
  userMessage,
} from "sessile";
import { replayAlways } from "sessile/attachments";
import { openaiChat, openaiResponses, readOpenaiChatReply, readOpenaiResponsesReply } from "sessile/openai";
import { describe, expect, test } from "vitest";
import {
  chatCallsReply,
  chatReply,
  responsesCallsReply,
  responsesReply,
} from "../../support/providers/openai/replies.js";
import { startOpenai } from "../../support/providers/openai/server.js";
import { bitmap, blobs, notes, otherShot, report, shot, thirdShot } from "../openai/samples.js";

const model = "gpt-5.6";
const options = { blobs, replay: replayAlways };

/** A session with what makes requests fail: another model's turns, ids that are too long, an orphan call, blank text, half a pair. */
async function hazardous(): Promise<Session> {
  const session = await memorySessionStore().create({ cwd: "/" });
  const call = { type: "toolCall", id: `toolu_${"x".repeat(70)}`, name: "a shot", arguments: "now" } as const;
  const orphan = { ...call, id: "call_2" };
  await session.appendMessage({ role: "system", content: "Be brief.", timestamp: 1 });
  await session.appendMessage(userMessage("What is this?", " ", shot, report, notes, "a\ud83d"));
  const content = [{ type: "thinking", thinking: "Hm.", thinkingSignature: "sig" } as const, call, orphan];
  await session.appendMessage({
    role: "assistant",
    provider: "anthropic",
    model: "c",
    content,
    timestamp: 2,
  });
  await session.appendMessage({ ...toolResult(call, "no", shot), isError: true });
  await session.appendMessage(userMessage("Look again.", otherShot));
  return session;
}

const clientOf = ({ url }: { readonly url: string }) =>
  new OpenAI({ apiKey: "none", baseURL: `${url}/v1`, maxRetries: 0 });

async function answer(session: Session, reply: AssistantMessage): Promise<void> {
  await session.appendMessage(reply);
  for (const call of toolCalls(reply)) await session.appendMessage(toolResult(call, "ok", thirdShot));
}

describe("a session goes out by the official client, and each reply comes back as the API made it", () => {
  test("by Chat Completions", async () => {
    const refusal = chatReply({ refusal: "No." });
    await using server = await startOpenai({
      chat: [chatCallsReply(), refusal, chatReply({ content: "Bye." })],
    });
    const client = clientOf(server);
    const session = await hazardous();
    const target = openaiChat({ model, cacheBreakpoints: true });
    const ask = async () => {
      const context = await session.context();
      return { model, ...(await project(context, target, { ...options, cache: cacheConversation })).value };
    };

    const first = await client.chat.completions.create(await ask());
    await answer(session, readOpenaiChatReply(first));
    const second = await client.chat.completions.stream(await ask()).finalChatCompletion();
    await session.appendMessage(readOpenaiChatReply(second));
    await session.appendMessage(userMessage("Thanks."));
    await client.chat.completions.create(await ask());

    const sent = server.requests.map(({ body }) => body as OpenAI.Chat.ChatCompletionCreateParams);
    const said = sent[2]?.messages.filter(({ role }) => role === "assistant").slice(-2);
    const { content, tool_calls } = chatCallsReply().choices[0]?.message ?? {};
    expect(said).toEqual([
      { role: "assistant", content, tool_calls },
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
    ]);
    expect(unmarked(sent[2]?.messages.slice(0, sent[1]?.messages.length))).toEqual(
      unmarked(sent[1]?.messages),
    );
  });

  test("by Responses, with its reasoning, its ids and what it did on its own", async () => {
    const done = responsesReply([
      { type: "reasoning", id: "rs_b", summary: [], encrypted_content: "gAAAb" },
      {
        type: "message",
        id: "msg_b",
        role: "assistant",
        status: "completed",
        phase: "final_answer",
        content: [
          {
            type: "output_text",
            text: "Done.",
            annotations: [
              { type: "url_citation", url: "https://a.example", title: "A", start_index: 0, end_index: 4 },
            ],
          },
          { type: "refusal", refusal: "But no more." },
        ],
      },
    ]);
    await using server = await startOpenai({ responses: [responsesCallsReply(), done, responsesReply([])] });
    const client = clientOf(server);
    const session = await hazardous();
    const target = openaiResponses({ model, cacheBreakpoints: true });
    const ask = async () => {
      const context = await session.context();
      const { value } = await project(context, target, { ...options, cache: cacheConversation });
      return { model, store: false, ...value };
    };

    const first = await client.responses.create(await ask());
    await answer(session, readOpenaiResponsesReply(first));
    const second = await client.responses.stream(await ask()).finalResponse();
    await session.appendMessage(readOpenaiResponsesReply(second));
    await session.appendMessage(userMessage("Thanks."));
    await client.responses.create(await ask());

    const sent = server.requests.map(({ body }) => inputOf(body));
    expect(sent[2]).toEqual(expect.arrayContaining([...responsesCallsReply().output, ...done.output]));
    expect(unmarked(sent[2]?.slice(0, sent[1]?.length))).toEqual(unmarked(sent[1]));
  });

  test("by Responses that are stored, with references to its reasoning", async () => {
    const [reasoning, ...rest] = responsesCallsReply().output;
    if (reasoning?.type !== "reasoning") throw new TypeError("the reply does not begin with reasoning");
    const plain = { type: "reasoning" as const, id: reasoning.id, summary: reasoning.summary };
    await using server = await startOpenai({
      responses: [responsesReply([plain, ...rest]), responsesReply([])],
    });
    const client = clientOf(server);
    const session = await hazardous();
    const ask = async () => {
      const { value } = await project(
        await session.context(),
        openaiResponses({ model, stored: true }),
        options,
      );
      return { model, ...value };
    };
    await answer(session, readOpenaiResponsesReply(await client.responses.create(await ask())));
    await client.responses.create(await ask());
    expect(inputOf(server.requests[1]?.body)).toEqual(
      expect.arrayContaining([{ type: "item_reference", id: reasoning.id }, ...rest]),
    );
  });
});

describe("what happens to one session in two protocols", () => {
  test("a switch of the protocol leaves out what only the other has, and is taken", async () => {
    const script = { responses: [responsesCallsReply(), responsesReply([])], chat: [chatCallsReply()] };
    await using server = await startOpenai(script);
    const client = clientOf(server);
    const session = await hazardous();
    const responses = async () =>
      (await project(await session.context(), openaiResponses({ model }), options)).value;
    await answer(
      session,
      readOpenaiResponsesReply(
        await client.responses.create({ model, store: false, ...(await responses()) }),
      ),
    );
    const { value, losses } = await project(await session.context(), openaiChat({ model }), options);
    await answer(session, readOpenaiChatReply(await client.chat.completions.create({ model, ...value })));
    expect(losses.map(({ code }) => code)).toEqual(expect.arrayContaining(["reasoning", "opaque", "moved"]));
    await client.responses.create({ model, store: false, ...(await responses()) });
    expect(server.requests).toHaveLength(3);
  });
});

test("the bodies in pieces are ones that the API takes", async () => {
  await using server = await startOpenai({
    chat: [chatReply({ content: "x" })],
    responses: [responsesReply([])],
  });
  const context = await (await hazardous()).context();
  const projections = {
    "chat/completions": await project(context, openaiChat({ model }), options),
    responses: await project(context, openaiResponses({ model }), options),
  };
  for (const [path, projection] of Object.entries(projections)) {
    const body = toBody(projection, { model });
    const headers = { authorization: "Bearer none", "content-type": "application/json" };
    const request = { method: "POST", headers, body: body.stream(), duplex: "half" } as RequestInit;
    expect((await fetch(`${server.url}/v1/${path}`, request)).status).toBe(200);
    expect(server.requests.at(-1)?.body).toEqual(JSON.parse(JSON.stringify({ model, ...projection.value })));
  }
});

test.each([
  ["/chat/completions", openaiChat],
  ["/responses", openaiResponses],
] as const)(
  "a refusal at %s is traced to its entry, and the next projection passes",
  async (path, targetOf) => {
    const script = { chat: [chatReply({ content: "x" })], responses: [responsesReply([])] };
    await using server = await startOpenai(script);
    const client = clientOf(server);
    const session = await memorySessionStore().create({ cwd: "/" });
    await session.appendMessage(userMessage("Look.", shot));
    const bad = await session.appendMessage(userMessage("And here.", bitmap));
    // One that does not know what is refused.
    const target: Target<object> = {
      ...targetOf({ model, profile: { name: "none", transports: ["api"], rows: [] } }),
      accepts: { user: ["image/*"], toolResult: [] },
    };
    const send = async () => {
      const projection = await project(await session.context(), target, options);
      const sent: Promise<unknown> = client.post(path, { body: { model, ...projection.value } });
      return {
        projection,
        error: await sent.then(
          () => undefined,
          (error: unknown) => error,
        ),
      };
    };
    const { projection, error } = await send();
    expect(error).toMatchObject({ status: 400 });
    const explained = projection.explain(error);
    const { resourceId } = bitmap;
    expect(explained).toMatchObject({ certainty: "path", entryId: bad.id, block: 1, resourceId });
    await session.append(explained?.drafts ?? []);
    expect((await send()).error).toBeUndefined();
  },
);

test.each([
  ["encrypted by another account", { encrypted_content: "sealed elsewhere" }, false, 400],
  ["not stored after all", {}, true, 404],
])(
  "reasoning that is %s is traced by its id, and the next projection passes",
  async (_, more, stored, status) => {
    await using server = await startOpenai({ responses: [responsesReply([])] });
    const client = clientOf(server);
    const session = await memorySessionStore().create({ cwd: "/" });
    const reasoning = { type: "reasoning" as const, id: "rs_1", summary: [], ...more };
    const message = {
      type: "message" as const,
      id: "msg_1",
      role: "assistant" as const,
      status: "completed" as const,
      content: [{ type: "output_text" as const, text: "So.", annotations: [] }],
    };
    await session.appendMessage(userMessage("Go"));
    const said = await session.appendMessage(readOpenaiResponsesReply(responsesReply([reasoning, message])));
    await session.appendMessage(userMessage("Thanks."));
    const attempt = async () => await project(await session.context(), openaiResponses({ model, stored }));
    const send = async ({ value }: Awaited<ReturnType<typeof attempt>>) =>
      await client.responses.create({ model, store: stored, ...value });

    const poisoned = await attempt();
    const error = await send(poisoned).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ status });
    const explained = poisoned.explain(error);
    expect(explained).toMatchObject({ certainty: "path", path: "rs_1", entryId: said.id, block: 0 });
    await session.append(explained?.drafts ?? []);
    await expect(send(await attempt())).resolves.toMatchObject({ object: "response" });
  },
);

test("a refusal of a pair, whose path has a dot before its bracket, is traced to its entry", async () => {
  const call = { type: "toolCall", id: "call_1", name: "look", arguments: {} } as const;
  const asked = assistantMessage({ provider: "openai", model }, call);
  const context = contextFrom([userMessage("one"), asked, toolResult(call, "two")]);
  const projection = await project(context, openaiChat({ model }));
  const message =
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
  const error = Object.assign(new Error(message), { status: 400, param: "messages.[2].role" });
  expect(projection.explain(error)).toMatchObject({ entryId: "m2", path: "messages.[2].role" });
  expect(projection.explain(Object.assign(new Error("no such model"), { status: 404 }))).toBeUndefined();
});

const inputOf = (body: unknown) => (body as { readonly input: OpenAI.Responses.ResponseInput }).input;

/** Without cache markers, which move. */
function unmarked(value: unknown): unknown {
  const json = JSON.stringify(value, (key, each) => (key === "prompt_cache_breakpoint" ? undefined : each));
  return JSON.parse(json, (_, each: unknown) => {
    // A text behind which a marker stood is a list of one.
    if (!Array.isArray(each) || each.length !== 1) return each;
    const only: unknown = each[0];
    return typeof only === "object" && only !== null && "text" in only ? only.text : each;
  });
}
