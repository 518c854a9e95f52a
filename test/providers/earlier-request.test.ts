import fc from "fast-check";
import {
  type AssistantMessage,
  type Context,
  cacheConversation,
  contextFrom,
  type Message,
  memorySessionStore,
  type Projection,
  type ProjectOptions,
  project,
  type Session,
  type Target,
  toBody,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { geminiInteractions } from "sessile/gemini";
import { openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { contextAt, hazardousSession } from "../arbitraries/hazards.js";
import { checkedTargets } from "../support/checked-targets.js";
import { anyStep, growingStep, Wire } from "../support/providers/one-wire.js";
import { rounds } from "../support/rounds.js";

/** All that a projection says. */
function told(projection: Projection<object>) {
  const { losses, byPolicy, warnings, attachments, usage, prefix, continues, request } = projection;
  const body = Buffer.concat([...toBody(projection, {})]).toString();
  const said = { losses, byPolicy, warnings, attachments, usage, prefix, continues };
  return { ...said, body, value: projection.value, whole: projection.whole(), turns: request.turns };
}

/** The same context without anything that a projection could know again. */
function unknown({ items }: Pick<Context, "items">): Context {
  return { ...contextFrom([]), items: structuredClone(items) };
}

const keyed = checkedTargets.filter(({ target }) => target.renderKey !== undefined);

describe("a projection behind an earlier one", () => {
  test.each(keyed)("to $name is that of the whole context, whatever is in it", async ({ target, makers }) => {
    const growth = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 12, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(hazardousSession(30, makers), growth, async ({ entries, blobs }, steps) => {
        const { items } = contextAt({ entries, blobs });
        let end = 0;
        for (const step of steps) {
          end += step;
          const grown = { ...contextFrom([]), items: items.slice(0, end) };
          const options = { blobs, tools: [], cache: cacheConversation };
          const again = await project(grown, target, options);
          expect(told(again)).toEqual(told(await project(unknown(grown), target, options)));
        }
      }),
      { numRuns: rounds(4, 60) },
    );
  });

  test.each([
    ["that grows", growingStep],
    ["with any change", anyStep],
  ])("in a session %s is that of the whole context", async (_, step) => {
    const steps = fc.array(step, { minLength: 5, maxLength: 40 });
    const compare = async (context: Context, target: Target<object>, options: ProjectOptions) => {
      const again = told(await project(context, target, options));
      expect(again).toEqual(
        told(await project({ ...unknown(context), ...position(context) }, target, options)),
      );
    };
    await fc.assert(
      fc.asyncProperty(steps, async (all) => {
        await Wire.run(all, false, compare);
      }),
      { numRuns: rounds(10, 200) },
    );
  });

  const targets: readonly [string, Target<object>][] = [
    ["anthropic", anthropicMessages({ model: "claude-opus-5-5", continue: true })],
    ["openai", openaiResponses({ model: "gpt-6.2-sol", continue: true })],
    ["gemini", geminiInteractions({ model: "gemini-3.5-flash", continue: true })],
  ];

  test.each(targets)("of %s renders what is new, however long the session is", async (_, target) => {
    const [short, long] = [await renderedTurns(target, 40), await renderedTurns(target, 400)];
    expect(long.slice(1)).toEqual(short.slice(1));
    expect(Math.max(...long.slice(1))).toBeLessThanOrEqual(20);
    expect(long[0]).toBeGreaterThan(400);
  });
});

function position({ usageSince, views, observations = [] }: Context) {
  return { usageSince, views, observations };
}

/** The turns that a target renders for each of three requests of a session with so many questions before. */
async function renderedTurns(target: Target<object>, questions: number): Promise<readonly number[]> {
  const session = await memorySessionStore().create({ cwd: "/work" });
  const said: Message[] = [];
  for (let at = 0; at < questions; at++) said.push(...turnOf(target, at));
  await session.append(said.map((message) => ({ type: "message", message })));
  await session.appendMessage(userMessage("Next?"));
  const counts: number[] = [];
  for (let ask = 0; ask < 4; ask++) {
    let turns = 0;
    const counting: Target<object> = {
      ...target,
      render: (request, ...others) => {
        turns += request.turns.length;
        return target.render(request, ...others);
      },
    };
    const { value } = await project(await session.context(), counting, { tools: [] });
    expect(value).toBeDefined();
    counts.push(turns);
    await answer(session, target, questions + ask);
  }
  return counts;
}

async function answer(session: Session, target: Target<object>, at: number): Promise<void> {
  const [, ...said] = turnOf(target, at);
  for (const message of said) {
    if (message.role === "assistant") await project(await session.context(), target, { tools: [] });
    await session.appendMessage(message);
  }
  await session.appendMessage(userMessage("And next?"));
}

function turnOf({ model: { provider, model, api = "" } }: Target<object>, at: number): readonly Message[] {
  const call = { type: "toolCall", id: `call_${at}`, name: "read", arguments: { at } } as const;
  const reply = (content: AssistantMessage["content"], stopReason: string): AssistantMessage => ({
    ...{ role: "assistant", provider, model, api, stopReason, content, timestamp: Date.now() },
    ...{ usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 } },
    ...{ providerFields: { id: `reply_${at}_${stopReason}` } },
  });
  return [
    userMessage(`Question ${at}`),
    reply([{ type: "text", text: `I look ${at}` }, call], "toolUse"),
    toolResult(call, "Found."),
    reply([{ type: "text", text: `Done ${at}` }], "stop"),
  ];
}
