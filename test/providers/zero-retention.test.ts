import { type AssistantMessage, memorySessionStore, project, type Target, userMessage } from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { geminiInteractions } from "sessile/gemini";
import { openaiChat, openaiResponses } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { checkedTargets } from "../support/checked-targets.js";

/** Names of members by which a provider holds a conversation, or refers to one that it holds. */
const holding = /"(?:thread|previous_[a-z_]*id|conversation|item_reference|store)"/;

async function asked<V>(target: Target<V>) {
  const { provider, model, api, account } = target.model;
  const session = await memorySessionStore().create({ cwd: "/work" });
  await session.appendMessage(userMessage("Go."));
  await project(await session.context(), target);
  const reply: AssistantMessage = {
    role: "assistant",
    ...{ provider, model, stopReason: "stop", timestamp: Date.now() },
    ...(api === undefined ? {} : { api }),
    ...(account === undefined ? {} : { account }),
    ...{ content: [{ type: "text", text: "Done." }], providerFields: { id: "reply_1" } },
    ...{ usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 } },
  };
  await session.appendMessage(reply);
  await session.appendMessage(userMessage("And then?"));
  const context = await session.context();
  const [usual, kept] = [
    await project(context, target),
    await project(context, target, { zeroRetention: true }),
  ];
  return { usual, kept };
}

describe("zeroRetention", () => {
  const continuing: readonly [string, Target<object>, object][] = [
    ["anthropic", anthropicMessages({ model: "claude-opus-5-5", continue: true }), {}],
    ["responses", openaiResponses({ model: "gpt-6.2-sol", continue: true }), { store: false }],
    ["interactions", geminiInteractions({ model: "gemini-3.5-flash", continue: true }), { store: false }],
  ];

  test.each(continuing)("sends all to %s, though the target continues", async (_, target, store) => {
    const { usual, kept } = await asked(target);
    expect(usual.continues).toBeDefined();
    expect(kept.continues).toBeUndefined();
    const { store: sent, ...value } = kept.value as { readonly store?: false };
    expect(sent === undefined ? {} : { store: sent }).toEqual(store);
    expect(JSON.stringify(value)).not.toMatch(holding);
    expect(kept.prefix.state).toBe("unchanged");
  });

  test("asks OpenAI alone to store no completion", async () => {
    const { kept } = await asked(openaiChat({ model: "gpt-5.4" }));
    expect(kept.value.store).toBe(false);
    const { kept: other } = await asked(openaiChat({ model: "deepseek-chat", dialect: "deepseek" }));
    expect(other.value).not.toHaveProperty("store");
  });

  test.each(checkedTargets)("has $name hold nothing, and changes nothing else", async ({ target }) => {
    const { usual, kept } = await asked(target as Target<object>);
    const { store: _, ...value } = kept.value as { readonly store?: false };
    expect(JSON.stringify(value)).not.toMatch(holding);
    if (!Array.isArray(kept.value)) expect(value).toEqual(usual.whole());
    expect(kept.prefix).toEqual(usual.prefix);
  });
});
