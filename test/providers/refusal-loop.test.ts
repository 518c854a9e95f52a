import fc from "fast-check";
import {
  assistantMessage,
  memorySessionStore,
  project,
  type RefusalSearch,
  refusalSearch,
  type Session,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { replayAlways } from "sessile/attachments";
import { geminiContents, geminiInteractions } from "sessile/gemini";
import { openaiChat, openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { base64 } from "../attachments/samples.js";
import { rounds } from "../support/rounds.js";
import { pngOf, stored, storeOf } from "./samples.js";

const files = Array.from({ length: 12 }, (_, at) => pngOf({ width: 2, height: 2 }, at, 10 * at));
const images = files.map((bytes, at) =>
  stored(bytes, { resourceId: `res_${String(at).padStart(16, "0")}`, name: `${at}.png` }),
);
const options = { blobs: storeOf(...files), replay: replayAlways };
const model = "claude-opus-5-5";
const targets: Readonly<Record<string, Target<object>>> = {
  anthropic: anthropicMessages({ model }),
  chat: openaiChat({ model: "gpt-5.4" }),
  responses: openaiResponses({ model: "gpt-5.4" }),
  gemini: geminiContents({ model: "gemini-3-pro" }),
  interactions: geminiInteractions({ model: "gemini-3-pro" }),
};

/** A session in which each of `count` images is in a user's message or in the result of a call. */
async function sessionWith(count: number, turns: readonly ("user" | "result")[]): Promise<Session> {
  const session = await memorySessionStore().create({ cwd: "/" });
  await session.appendMessage({ role: "system", content: "be kind", timestamp: 0 });
  for (let at = 0; at < count; at += 2) {
    const shown = images.slice(at, Math.min(at + 2, count));
    const isResult = turns[at % turns.length] === "result";
    await session.appendMessage(isResult ? userMessage("look") : userMessage(`${at}`, ...shown));
    const call = { type: "toolCall", id: `call_${at}abc`, name: "shot", arguments: {} } as const;
    const maker = { provider: "anthropic", model };
    if (!isResult) await session.appendMessage(assistantMessage(maker, "ok"));
    else {
      await session.appendMessage(assistantMessage(maker, "let me", call));
      await session.appendMessage(toolResult(call, "here", ...shown));
    }
  }
  await session.appendMessage(userMessage("and now?"));
  return session;
}

type Sent = object;
/** A provider: its refusal of a request, or undefined if it accepts it. */
type Provider = (sent: Sent) => unknown;

interface Outcome {
  readonly requests: number;
  readonly accepted: boolean;
  readonly codes: readonly string[];
}

/** The loop of docs/guide/images.md. */
async function converse(
  session: Session,
  target: Target<object>,
  provider: Provider,
  search: RefusalSearch | undefined,
): Promise<Outcome> {
  const codes: string[] = [];
  for (let requests = 1; requests <= 60; requests++) {
    const request = await project(await session.context(), target, options);
    const error = provider(request.value);
    if (error !== undefined) {
      const fault = request.explain(error, search);
      codes.push(fault?.code ?? "none");
      if (fault !== undefined) await session.append(fault.drafts);
      if (fault?.code !== "excluded") return { requests, accepted: false, codes };
      continue;
    }
    const innocent = search?.accepted(await session.context()) ?? [];
    if (innocent.length === 0) return { requests, accepted: true, codes };
    await session.append(innocent);
  }
  throw new Error("no end");
}

const messagesOf = async (session: Session): Promise<readonly unknown[]> =>
  JSON.parse(JSON.stringify((await session.context()).items.map(({ message }) => message)));

const blocksOf = (message: unknown): readonly unknown[] => {
  const { content } = message as { content: unknown };
  return Array.isArray(content) ? content : [];
};

/** The path of a string in a value, as providers write it. */
function pathOf(value: unknown, part: string, path = ""): string | undefined {
  if (typeof value === "string") return value.includes(part) ? path : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, below] of Object.entries(value)) {
    const found = pathOf(below, part, path === "" ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const refusal = (message: string) => Object.assign(new Error(message), { status: 400 });
const bytesOf = (at: number) => base64(files[at] as Uint8Array);
/** The first guilty image that a request has. */
const firstIn = (sent: Sent, guilty: readonly number[]) =>
  guilty.find((at) => pathOf(sent, bytesOf(at)) !== undefined);

const openRouter = (message: string) => ({
  status: 400,
  error: {
    message: "Provider returned error",
    code: 400,
    metadata: { raw: JSON.stringify({ error: { message } }) },
  },
});
const aiSdk = (message: string) =>
  Object.assign(new Error("Bad Request"), {
    statusCode: 400,
    responseBody: JSON.stringify({ error: { message } }),
  });

/** Ways to say that one image is bad. Another's numbering names any place of the request. */
const sayings: Readonly<Record<string, (path: string, other: string) => unknown>> = {
  path: (path) => refusal(`${path}: Could not process image`),
  words: () => refusal("Invalid PNG image."),
  "OpenRouter with another's numbering": (_, other) => openRouter(`${other}: Could not process image`),
  "LiteLLM with another's numbering": (_, other) =>
    refusal(
      `litellm.BadRequestError: AnthropicException - {"error":{"message":"${other}: image is not valid"}}`,
    ),
  "the AI SDK with another's numbering": (_, other) => aiSdk(`${other}: Unable to process input image`),
};

const placesIn = (sent: Sent): readonly string[] =>
  [
    "1.content.0",
    "2.content.1",
    "2",
    "0.content.2.image.source",
    "3.content.2",
    "1.parts.0",
    "4.parts.1",
  ].map(
    (place) =>
      `${Object.keys(sent).find((key) => /messages|input|contents/.test(key)) ?? "messages"}.${place}`,
  );

const histories = fc.record({
  count: fc.integer({ min: 1, max: 12 }),
  turns: fc.array(fc.constantFrom("user", "result"), { minLength: 1, maxLength: 4 }),
  target: fc.constantFrom(...Object.keys(targets)),
  pick: fc.nat(),
});

describe("the loop of the guide ends, and cuts the guilty parts alone", () => {
  test("if some images are refused, however it is said", async () => {
    await fc.assert(
      fc.asyncProperty(
        histories,
        fc.nat(),
        fc.constantFrom(...Object.keys(sayings)),
        fc.boolean(),
        async ({ count, turns, target, pick }, second, saying, isTwo) => {
          const guilty = [...new Set([pick % count, ...(isTwo ? [second % count] : [])])];
          const session = await sessionWith(count, turns);
          const before = await messagesOf(session);
          const provider: Provider = (sent) => {
            const at = firstIn(sent, guilty);
            if (at === undefined) return undefined;
            const places = placesIn(sent);
            const other = places[second % places.length] as string;
            return sayings[saying]?.(pathOf(sent, bytesOf(at)) as string, other);
          };
          const { accepted, requests } = await converse(
            session,
            targets[target] as Target<object>,
            provider,
            refusalSearch(),
          );
          expect(accepted).toBe(true);
          expect(requests).toBeLessThanOrEqual(guilty.length * (2 + Math.ceil(Math.log2(count))) + 4);
          const after = await messagesOf(session);
          const kept = images.map(({ resourceId }) =>
            JSON.stringify(after).includes(`"resourceId":"${resourceId}"`),
          );
          expect(kept).toEqual(images.map((_, at) => at < count && !guilty.includes(at)));
          // Everything but the guilty blocks is as it was.
          const isGuilty = (block: unknown) =>
            guilty.some((at) => JSON.stringify(block).includes(`"resourceId":"${images[at]?.resourceId}"`));
          for (const [at, message] of before.entries()) {
            const blocks = blocksOf(message);
            const rest = blocks.map((block, index) => (isGuilty(block) ? blocksOf(after[at])[index] : block));
            expect(after[at]).toEqual(
              Array.isArray((message as { content: unknown }).content)
                ? { ...(message as object), content: rest }
                : message,
            );
          }
        },
      ),
      { numRuns: rounds(25, 400) },
    );
  });

  // What no message causes, with a place where the provider names one.
  const forms: readonly ((place: string) => unknown)[] = [
    (place) => refusal(`${place}.cache_control.scope: Extra inputs are not permitted`),
    (place) =>
      refusal(`${place}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'`),
    (place) => refusal(`${place}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`text\`.`),
    (place) => refusal(`Unknown parameter: '${place}.phase'.`),
    (place) => refusal(`Invalid JSON payload received. Unknown name "id" at '${place}': Cannot find field.`),
    (place) => refusal(`${place}.role: Input should be 'user' or 'assistant'`),
    (place) => refusal(`${place}: roles must alternate between "user" and "assistant"`),
    () => refusal("This model does not support assistant message prefill."),
    (place) => refusal(`${place}: temperature may only be set to 1 when thinking is enabled`),
    () => Object.assign(new Error("model not found: image-model"), { status: 404 }),
    () => Object.assign(new Error("You exceeded your current quota"), { status: 400 }),
    (place) => openRouter(`${place}.cache_control: Extra inputs are not permitted`),
    (place) => refusal(`${place}: something new is wrong here`),
  ];

  test("if the form of the request is refused: nothing is cut, with a search or without", async () => {
    await fc.assert(
      fc.asyncProperty(
        histories,
        fc.constantFrom(...forms),
        fc.boolean(),
        async ({ count, turns, target, pick }, form, searches) => {
          const session = await sessionWith(count, turns);
          const before = await messagesOf(session);
          // A place that is no single image: the provider names a text, a call, a result or a turn.
          const { value } = await project(
            await session.context(),
            targets[target] as Target<object>,
            options,
          );
          const list = Object.values(value).find(
            (each) => Array.isArray(each) && each.length > 1,
          ) as object[];
          const root = Object.keys(value).find(
            (key) => (value as Record<string, unknown>)[key] === list,
          ) as string;
          const place = `${root}.${pick % list.length}`;
          const error = form(place);
          const search = searches ? refusalSearch() : undefined;
          const outcome = await converse(session, targets[target] as Target<object>, () => error, search);
          expect(outcome).toEqual({ requests: 1, accepted: false, codes: ["none"] });
          expect(await messagesOf(session)).toEqual(before);
        },
      ),
      { numRuns: rounds(25, 400) },
    );
  });

  test("if the images are not the cause: all are back, and the answer is unsolved", async () => {
    await fc.assert(
      fc.asyncProperty(
        histories,
        fc.constantFrom(...Object.keys(sayings)),
        fc.constantFrom("always", "then a form"),
        async ({ count, turns, target, pick }, saying, how) => {
          const session = await sessionWith(count, turns);
          const before = await messagesOf(session);
          let requests = 0;
          const provider: Provider = (sent) => {
            const places = placesIn(sent);
            const other = places[pick % places.length] as string;
            return how === "then a form" && requests++ > pick % 3
              ? refusal(`${other}.cache_control: Extra inputs are not permitted`)
              : sayings[saying]?.(other, other);
          };
          const search = refusalSearch();
          const chosen = targets[target] as Target<object>;
          const { accepted, codes } = await converse(session, chosen, provider, search);
          expect([accepted, codes.at(-1)]).toEqual([false, "unsolved"]);
          expect(await messagesOf(session)).toEqual(before);
          // It does not begin again before another message.
          const again = await converse(session, chosen, provider, search);
          expect(again).toMatchObject({ requests: 1, codes: ["none"] });
          expect(await messagesOf(session)).toEqual(before);
        },
      ),
      { numRuns: rounds(20, 300) },
    );
  });

  test("if the model reads no images, in one round, and if it reads a few, with the newest", async () => {
    for (const name of Object.keys(targets)) {
      const target = targets[name] as Target<object>;
      const session = await sessionWith(6, ["user", "result"]);
      const count = (sent: Sent) => files.filter((_, at) => pathOf(sent, bytesOf(at)) !== undefined).length;
      const few: Provider = (sent) =>
        count(sent) > 4 ? refusal("At most 4 image(s) may be provided in one request.") : undefined;
      expect(await converse(session, target, few, refusalSearch())).toMatchObject({
        requests: 2,
        accepted: true,
      });
      const sent = await project(await session.context(), target, options);
      expect(files.map((_, at) => pathOf(sent.value, bytesOf(at)) !== undefined).slice(0, 6)).toEqual([
        false,
        false,
        true,
        true,
        true,
        true,
      ]);
      const blind: Provider = (value) =>
        count(value) > 0 ? refusal("this model does not support image input") : undefined;
      expect(await converse(session, target, blind, refusalSearch())).toMatchObject({
        requests: 2,
        accepted: true,
      });
    }
  });

  test("if a signature is refused without its place: the newest is cut, or found by a search", async () => {
    const maker = { provider: "google", model: "gemini-3-pro", api: "google-generative-ai" };
    const signed = async (count: number) => {
      const session = await memorySessionStore().create({ cwd: "/" });
      for (let at = 0; at < count; at++) {
        await session.appendMessage(userMessage(`${at}`));
        const thoughtSignature = btoa(`signature ${at}`);
        const call = {
          type: "toolCall",
          id: `call_${at}`,
          name: "shot",
          arguments: {},
          thoughtSignature,
        } as const;
        await session.appendMessage(assistantMessage(maker, call));
        await session.appendMessage(toolResult(call, "here"));
        await session.appendMessage(assistantMessage(maker, `answer ${at}`));
      }
      await session.appendMessage(userMessage("and now?"));
      return session;
    };
    const gemini = targets.gemini as Target<object>;
    const says = refusal("Thought signature is not valid.");
    const provider =
      (bad: number): Provider =>
      (sent) =>
        pathOf(sent, btoa(`signature ${bad}`)) === undefined ? undefined : says;
    for (const [bad, search] of [
      [6, undefined],
      [6, refusalSearch()],
      [2, refusalSearch()],
    ] as const) {
      const session = await signed(7);
      expect(await converse(session, gemini, provider(bad), search)).toMatchObject({ accepted: true });
      const after = JSON.stringify(await messagesOf(session));
      const kept = Array.from({ length: 7 }, (_, at) => after.includes(btoa(`signature ${at}`)));
      expect(kept).toEqual(kept.map((_, at) => at !== bad));
      expect(after.match(/"answer \d"/g)).toHaveLength(7);
    }
    const session = await signed(5);
    const before = await messagesOf(session);
    expect((await converse(session, gemini, () => says, refusalSearch())).codes.at(-1)).toBe("unsolved");
    expect(await messagesOf(session)).toEqual(before);
  });

  test("if a call is refused by its id: it is cut, and back if that did not help", async () => {
    const session = await sessionWith(2, ["result"]);
    const before = await messagesOf(session);
    const target = targets.responses as Target<object>;
    const says = refusal("No tool output found for function call call_0abc.");
    const whole: Provider = (sent) => (JSON.stringify(sent).includes("call_0abc") ? says : undefined);
    expect(await converse(session, target, whole, refusalSearch())).toMatchObject({ accepted: true });
    expect(await messagesOf(session)).not.toEqual(before);

    const other = await sessionWith(2, ["result"]);
    const unchanged = await messagesOf(other);
    expect(await converse(other, target, () => says, refusalSearch())).toMatchObject({
      accepted: false,
      codes: ["excluded", "excluded", "unsolved"],
    });
    expect(await messagesOf(other)).toEqual(unchanged);
  });
});
