import Anthropic from "@anthropic-ai/sdk";
import {
  cacheConversation,
  memoryBlobStore,
  memorySessionStore,
  project,
  type Session,
  type StoredResource,
  toBody,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { replayAlways } from "sessile/attachments";
import { expect, test } from "vitest";
import { bytesOf, png } from "../../support/media-files.js";
import { callingReply, searchingReply } from "../../support/providers/anthropic/replies.js";
import { startAnthropic } from "../../support/providers/anthropic/server.js";

const model = "claude-opus-5";
const blobs = memoryBlobStore();

async function stored(bytes: Uint8Array, fields: Partial<StoredResource>): Promise<StoredResource> {
  const { ref, size } = await blobs.put(bytes);
  return {
    resourceId: "res_0123456789abcdef",
    kind: "file",
    source: "upload",
    mediaType: "application/pdf",
    size,
    blob: ref,
    contentSha256: ref.slice("sha256:".length),
    ...fields,
  };
}

const size = { width: 4, height: 4 };
const shot = await stored(png(size), { kind: "image", mediaType: "image/png", name: "a.png", ...size });
const report = await stored(bytesOf("%PDF-1.7"), { name: "b.pdf", resourceId: "res_1123456789abcdef" });

/** A session with what makes requests fail: another model's turns, an orphan call, blank text, an image, a failed result with one. */
async function hazardous(): Promise<Session> {
  const session = await memorySessionStore().create({ cwd: "/" });
  const foreign = { role: "assistant", provider: "openai", model: "gpt-5", timestamp: 2 } as const;
  const call = { type: "toolCall", id: "call_1|fc_2", name: "shot", arguments: "now" } as const;
  const orphan = { ...call, id: "call_2" };
  await session.appendMessage({ role: "system", content: "Be brief.", timestamp: 1 });
  await session.appendMessage(userMessage("What is this?", " ", shot, report, "a\ud83d"));
  await session.appendMessage({
    ...foreign,
    content: [{ type: "thinking", thinking: "Hm.", thinkingSignature: "rs_1" }, call, orphan],
  });
  await session.appendMessage({ ...toolResult(call, "no", shot), isError: true });
  await session.appendMessage(userMessage("Look again.", shot));
  return session;
}

function clientOf({ url }: { readonly url: string }): Anthropic {
  return new Anthropic({ apiKey: "test", authToken: null, baseURL: url, maxRetries: 0 });
}

test("a session goes out by the official client, and each reply comes back as the API made it", async () => {
  await using server = await startAnthropic([callingReply, searchingReply]);
  const client = clientOf(server);
  const session = await hazardous();
  const ask = async () => {
    const target = anthropicMessages({ model });
    const options = { blobs, replay: replayAlways, cache: cacheConversation };
    const { value } = await project(await session.context(), target, options);
    return { model, max_tokens: 256, ...value };
  };

  const first = await client.messages.create(await ask());
  await session.appendMessage(readAnthropicReply(first));
  const [a, b] = first.content.filter((block) => block.type === "tool_use");
  await session.appendMessage(toolResult({ id: a?.id ?? "", name: "read" }, "the text"));
  await session.appendMessage(toolResult({ id: b?.id ?? "", name: "screenshot" }, "a picture", shot));

  const second = await client.messages.stream(await ask()).finalMessage();
  await session.appendMessage(readAnthropicReply(second));
  await session.appendMessage(userMessage("Thanks."));
  await client.messages.create(await ask());

  const sent = server.requests.map(({ body }) => body as Anthropic.MessageCreateParams);
  const said = sent[2]?.messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
  expect(unmarked(said?.slice(-2))).toEqual(unmarked([first.content, second.content]));
  expect(said?.slice(-2)).not.toEqual([]);
  expect(unmarked(sent[2]?.messages.slice(0, sent[1]?.messages.length))).toEqual(unmarked(sent[1]?.messages));
});

test("the body in pieces is one that the API takes", async () => {
  await using server = await startAnthropic();
  const session = await hazardous();
  const projection = await project(await session.context(), anthropicMessages({ model }), { blobs });
  const body = toBody(projection, { model, max_tokens: 256 });
  const headers = {
    "x-api-key": "test",
    "anthropic-version": "2023-06-01",
    "content-type": "application/json",
  };
  const request = { method: "POST", headers, body: body.stream(), duplex: "half" } as RequestInit;
  const answer = await fetch(`${server.url}/v1/messages`, request);
  expect(answer.status).toBe(200);
  expect(server.requests[0]?.body).toEqual(
    JSON.parse(JSON.stringify({ model, max_tokens: 256, ...projection.value })),
  );
});

test("a refusal is traced to its entry, and the next projection goes without what was refused", async () => {
  await using server = await startAnthropic();
  const session = await memorySessionStore().create({ cwd: "/" });
  const call = { type: "toolCall", id: "toolu_1", name: "shot", arguments: {} } as const;
  // The descriptor does not tell its size, and nobody looks.
  const huge = { width: 9000, height: 2 };
  const wide = await stored(png(huge), {
    kind: "image",
    mediaType: "image/png",
    resourceId: "res_9123456789abcdef",
  });
  await session.appendMessage(userMessage("Look.", shot));
  await session.appendMessage({
    role: "assistant",
    provider: "anthropic",
    model,
    content: [call],
    timestamp: 2,
  });
  const result = await session.appendMessage(toolResult(call, "both", wide, report));
  const limitless = { name: "none", transports: ["api"], rows: [] } as const;
  const target = anthropicMessages({ model, profile: limitless });
  const attempt = async () => await project(await session.context(), target, { blobs });
  const send = async (value: Awaited<ReturnType<typeof attempt>>["value"]) =>
    await clientOf(server).messages.create({ model, max_tokens: 1, ...value });

  const poisoned = await attempt();
  const error = await send(poisoned.value).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ status: 400, message: expect.stringContaining("8000 pixels") });
  const explained = poisoned.explain(error);
  expect(explained).toMatchObject({
    certainty: "path",
    entryId: result.id,
    block: 1,
    resourceId: wide.resourceId,
  });
  await session.append(explained?.drafts ?? []);
  await expect(send((await attempt()).value)).resolves.toMatchObject({ type: "message" });
});

/** Without cache markers, which move. */
function unmarked(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, each) => (key === "cache_control" ? undefined : each)));
}
