import {
  assistantMessage,
  type ContextMessage,
  contextFrom,
  memorySessionStore,
  type NeutralRequest,
  type Part,
  type ProjectOptions,
  project,
  type RenderTools,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { replayAlways } from "sessile/attachments";
import { limitProfiles } from "sessile/limits";
import { describe, expect, test } from "vitest";
import { base64, contextWith, pdf, png } from "../attachments/samples.js";
import { pngOf, stored, storeOf } from "./samples.js";

const maker = { provider: "p", model: "m" };
const call = { type: "toolCall", id: "call_one", name: "look", arguments: { a: ["x"] } } as const;
const [small, large] = [png(), pngOf({ width: 30, height: 30 }, 1, 5000)];
const shot = stored(small, { resourceId: "res_0000000000000001" });
const big = stored(large, { resourceId: "res_0000000000000002" });
const paper = stored(pdf, { resourceId: "res_0000000000000003", mediaType: "application/pdf", kind: "file" });
const options: ProjectOptions = { blobs: storeOf(small, large, pdf), replay: replayAlways };

interface Written {
  readonly system: readonly object[];
  readonly messages: readonly { readonly role: string; content: object[] }[];
}

/** A target that marks its blocks, with results as blocks of their own. */
const target: Target<Written> = {
  name: "marks",
  model: maker,
  accepts: { user: ["image/*", "application/pdf"], toolResult: ["image/*"] },
  limits: { profile: limitProfiles.anthropic },
  render: ({ system, turns }: NeutralRequest, tools: RenderTools) => {
    const block = (part: Part): object => {
      if (part.type === "result") {
        const content = part.parts.map(block);
        return tools.trace({ type: "tool_result", tool_use_id: part.callId, content }, part);
      }
      if (part.type === "call")
        return tools.trace({ type: "tool_use", id: part.id, input: part.arguments }, part);
      if (part.type !== "media") return tools.trace({ type: part.type }, part);
      return tools.trace({ type: part.kind, source: { data: part.base64 }, detail: "low" }, part);
    };
    return {
      system: system.map(block),
      messages: turns.map((turn) => {
        const content = [...(turn.role === "user" ? turn.results : []), ...turn.parts];
        return tools.trace({ role: turn.role, content: content.map(block) }, content[0] as Part);
      }),
    };
  },
};

const history: readonly ContextMessage[] = [
  { role: "system", content: "be brief", timestamp: 0 },
  userMessage("look", shot, big),
  assistantMessage(maker, "let me", call),
  toolResult(call, "here", paper),
  userMessage("and?", stored(small, { resourceId: "res_0000000000000004" })),
];

async function explained(error: unknown, messages = history) {
  const { explain } = await project(contextFrom(messages), target, options);
  return explain(error);
}

const refusal = (message: string, status = 400) => Object.assign(new Error(message), { status });
const place = (entryId: string, block?: number) => ({ entryId, ...(block === undefined ? {} : { block }) });

describe("explain, by path", () => {
  test.each<[string, string, object]>([
    // The descriptor stands before the image, and is of its place.
    [
      "an image",
      "messages.0.content.2.source: Could not process image",
      { ...place("m1", 1), resourceId: shot.resourceId },
    ],
    [
      "a block that a message names by its type",
      "messages.0.content.2.image.source.data: not an image",
      place("m1", 1),
    ],
    ["an image, in words that the table has not", "messages.0.content.2: too blurry", place("m1", 1)],
    ["the media of a block, in such words", "messages.0.content.2.source.data: nope", place("m1", 1)],
    [
      "a type, which is a fault of the media",
      "messages.0.content.2.source.media_type: Input should be 'image/gif'",
      place("m1", 1),
    ],
    [
      "the newest image of a turn, where it speaks of images",
      "messages.0: images must be smaller",
      place("m1", 2),
    ],
    ["a result", "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks", place("m3")],
    ["a call", "messages.1: `tool_use` blocks without `tool_result` blocks after them", place("m2", 1)],
    ["a text that is too long", "messages.0.content.0: string too long", place("m1", 0)],
  ])("%s", async (_, message, expected) => {
    const found = await explained(refusal(message));
    expect(found).toMatchObject({ ...expected, code: "excluded", certainty: "path", message });
    expect(found?.path).toBe(message.split(": ")[0]);
    if (!("block" in expected)) expect(found).not.toHaveProperty("block");
  });

  test("the first of several that leads to the kind that is named", async () => {
    const found = await explained(
      refusal("messages.99.content.0, messages.0.content.0 and messages.0.content.2 are invalid images"),
    );
    expect(found).toMatchObject({ path: "messages.0.content.2", ...place("m1", 1) });
  });

  test.each([
    ["to nothing", "messages.99.content.0: Could not process image"],
    ["to more than there is", "messages.0.content.99: Could not process image"],
    ["to another kind of content", "messages.0.content.0: Could not process image"],
    [
      "to a member that only another grammar has",
      "messages.0.content.2.image_url.url: Could not process image",
    ],
  ])("that leads %s is no place, and leaves a guess", async (_, message) => {
    const found = await explained(refusal(message));
    expect(found).toMatchObject({ certainty: "guess", entryId: "m4" });
    expect(found).not.toHaveProperty("path");
  });

  const upstream = "messages.0.content.2.image.source: Could not process image";
  test.each<[string, unknown]>([
    [
      "OpenRouter",
      {
        error: {
          message: "Provider returned error",
          code: 400,
          metadata: { raw: `{"error":{"message":"${upstream}"}}` },
        },
      },
    ],
    ["LiteLLM", refusal(`litellm.BadRequestError: AnthropicException - {"error":{"message":"${upstream}"}}`)],
    [
      "the AI SDK",
      { statusCode: 400, message: upstream, responseBody: `{"error":{"message":"${upstream}"}}` },
    ],
  ])("of another request is no place, though it leads to an image: %s", async (_, error) => {
    const found = await explained(error);
    expect(found).toMatchObject({ certainty: "guess", entryId: "m4", message: upstream });
  });

  test.each([
    "messages.0.content.2: ",
    "messages.0.content.2.image.cache_control.scope: ",
    "messages.0.content.2.detail: ",
    "messages.0.content.2.image.title: ",
    "messages.1.content.1.tool_use.caller: ",
    "messages.2.content.0.tool_result.content.0.text.citations: ",
    "messages.3.role: ",
    "messages.0: ",
    "system.0: ",
  ])("no form at %s is a fault of the content", async (path) => {
    for (const words of [
      "Extra inputs are not permitted",
      "Unknown parameter",
      "roles must alternate",
      "Field required",
    ])
      expect(await explained(refusal(`${path}${words}`))).toBe(undefined);
  });

  test.each([
    "messages.0.content.0: bad",
    "messages.1.content.1.input: odd",
    "messages.1: bad",
    "system.0: odd",
  ])("no text and no call is cut for words that the table has not: %s", async (message) => {
    expect(await explained(refusal(message))).toBe(undefined);
  });
});

describe("explain, by id", () => {
  test("a call, or its result where both are there: what comes later was not there before", async () => {
    expect(await explained(refusal("No tool output found for function call call_one."))).toMatchObject({
      certainty: "path",
      path: "call_one",
      ...place("m3"),
    });
    const alone = await explained(refusal("`call_one` is bad"), [
      userMessage("go"),
      assistantMessage(maker, call),
    ]);
    expect(alone).toMatchObject({ path: "call_one", ...place("m1", 0) });
  });

  test("also where the provider says that it does not find it", async () => {
    expect(await explained(refusal("Item with id 'call_one' not found.", 404))).toMatchObject(place("m3"));
    expect(await explained(refusal("model not found: image-model", 404))).toBe(undefined);
    expect(await explained(refusal("Unknown parameter: 'phase' of item call_one"))).toBe(undefined);
  });

  test("not by a part of a word, nor by words that are no id", async () => {
    expect(await explained(refusal("call_one_more"))).toBe(undefined);
    const short = [userMessage("go"), assistantMessage(maker, { ...call, id: "tool" })];
    expect(await explained(refusal("tool is bad"), short)).toBe(undefined);
  });
});

describe("explain, by guess", () => {
  test.each<[string, unknown, object]>([
    ["the newest image", refusal("Could not process image"), { entryId: "m4", block: 1 }],
    ["the newest document", refusal("The PDF is encrypted"), { entryId: "m3", block: 1 }],
    ["the newest of all", "invalid base64", { entryId: "m4", block: 1 }],
    ["the largest image", refusal("image exceeds 5 MB maximum"), { entryId: "m1", block: 2 }],
    ["the largest of all", refusal("", 413), { entryId: "m1", block: 2 }],
  ])("%s", async (_, error, expected) => {
    expect(await explained(error)).toMatchObject({ ...expected, certainty: "guess" });
  });

  test.each<[string, unknown]>([
    ["too many tokens", refusal("prompt is too long: 205000 tokens > 200000 maximum")],
    [
      "too many tokens, in Google's words",
      refusal("The input token count exceeds the maximum number of tokens allowed"),
    ],
    ["too many requests", refusal("image rate limit", 429)],
    ["a key", refusal("invalid x-api-key", 401)],
    ["the provider's own trouble", refusal("image service down", 500)],
    ["nothing in particular", refusal("bad request")],
    ["nothing", undefined],
  ])("none for %s", async (_, error) => {
    expect(await explained(error)).toBe(undefined);
  });

  test("none where nothing is attached", async () => {
    expect(await explained(refusal("", 413), [userMessage("hi")])).toBe(undefined);
  });

  test("none where nothing of the kind is attached", async () => {
    expect(await explained(refusal("The PDF is encrypted"), [userMessage("hi", shot)])).toBe(undefined);
  });

  test("none for what the projection itself put in", async () => {
    expect(
      await explained(refusal("messages.0.content.0: string too long"), [assistantMessage(maker, "hi")]),
    ).toBe(undefined);
  });

  test("none of a message whose content no edit can restore", async () => {
    expect(await explained(refusal("system.0: string too long"))).toBe(undefined);
  });
});

describe("explain, its drafts", () => {
  test("take out every place of the resource, so that no other place sends it instead", async () => {
    const view = { item: 4, resourceId: shot.resourceId };
    const messages = [
      userMessage("a", shot),
      assistantMessage(maker, "b"),
      userMessage("c", shot),
      assistantMessage(maker, "d"),
    ];
    const projection = await project(contextWith(messages, [view]), target, options);
    const found = projection.explain(refusal("Could not process image"));
    expect(found?.drafts).toMatchObject([{ targetId: "m0" }, { targetId: "m2" }]);
  });

  test("appended, the next projection goes without, and the one after too", async () => {
    const session = await memorySessionStore().create({ cwd: "/" });
    for (const message of history.slice(1))
      if (message.role !== "compactionSummary" && message.role !== "branchSummary")
        await session.appendMessage(message);
    const sent = async () => JSON.stringify((await project(await session.context(), target, options)).value);
    expect(await sent()).toContain(base64(large));
    for (const message of [
      "messages.0.content.4.source: image exceeds 5 MB maximum",
      "messages.2.content.0: unexpected `tool_use_id`",
    ]) {
      const projection = await project(await session.context(), target, options);
      await session.append(projection.explain(refusal(message))?.drafts ?? []);
    }
    expect(await sent()).not.toContain(base64(large));
    const { losses, request } = await project(await session.context(), target, options);
    // The call whose result is gone has a made-up one.
    expect(losses.map(({ code }) => code)).toEqual(["interrupted"]);
    expect(JSON.stringify(request.turns)).toContain("left out: the provider refused it");
  });

  test("hold for values of many members, and for arguments of very many", async () => {
    const wide = { ...call, arguments: { list: Array.from({ length: 200_000 }, (_, at) => at) } };
    const messages = [userMessage("go"), assistantMessage(maker, wide), toolResult(wide, shot)];
    expect(await explained(refusal("messages: bad image"), messages)).toMatchObject({ certainty: "guess" });
    expect(await explained(refusal("messages.1: bad tool_use ids"), messages)).toMatchObject(place("m1", 0));
  });
});

describe("explain", () => {
  test("looks at what was projected, whatever became of the value since", async () => {
    const { explain, value } = await project(contextFrom(history), target, options);
    value.messages[0]?.content.splice(0);
    expect(explain(refusal("messages.0.content.2: bad image"))).toMatchObject(place("m1", 1));
  });

  test("names a resource that is stored, and none for what is inline", async () => {
    const inline = {
      ...userMessage(""),
      content: [{ type: "image", data: base64(small), mimeType: "image/png" } as const],
    };
    const found = await explained(refusal("messages.0.content.0: bad image"), [inline]);
    expect(found).toMatchObject(place("m0", 0));
    expect(found).not.toHaveProperty("resourceId");
  });
});
