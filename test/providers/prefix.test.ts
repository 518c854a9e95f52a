import {
  type AssistantMessage,
  assistantMessage,
  type ContextMessage,
  cacheConversation,
  contextFrom,
  eraseEntries,
  memoryBlobStore,
  memorySessionStore,
  type ProjectOptions,
  project,
  type RequestPrefix,
  type Session,
  type Target,
  type TextBlock,
  type ThinkingBlock,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { replayAlways, replayCurrentTurn } from "sessile/attachments";
import { openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { png } from "../attachments/samples.js";
import { responsesReply } from "../support/providers/openai/replies.js";
import { stored, storeOf } from "./samples.js";

const model = "claude-opus-5-5";
const target = anthropicMessages({ model });
const picture = png();
const blobs = storeOf(picture);
let signatures = 0;

/** A reply of the target's model, whose signature is a new one. */
function thinks(text: string, to: Target<unknown> = target, ...calls: AssistantMessage["content"]) {
  const item = { type: "reasoning", id: `rs_${++signatures}`, encrypted_content: "e" };
  const summary = [{ type: "summary_text", text: `why ${text}` }];
  const thinkingSignature =
    to.model.provider === "openai" ? JSON.stringify({ ...item, summary }) : `sig${signatures}`;
  const thinking = { type: "thinking", thinking: `why ${text}`, thinkingSignature } as const;
  return assistantMessage(to.model as never, thinking, { type: "text", text }, ...calls);
}

const sentThoughts = (value: unknown) =>
  [...JSON.stringify(value).matchAll(/why (\w+)/g)].map(([, word]) => word);

/** A step of an agent: projects, and appends the reply. */
async function step(
  session: Session,
  reply: string,
  options: ProjectOptions = {},
  to: Target<unknown> = target,
) {
  const projection = await project(await session.context(), to, { blobs, ...options });
  const sent = sentThoughts(projection.value);
  await session.appendMessage(thinks(reply, to));
  return { sent, ...projection.prefix, losses: projection.losses, byPolicy: projection.byPolicy };
}

const store = memorySessionStore();
const system = (content: string): ContextMessage => ({ role: "system", content, timestamp: 0 });

async function opened(...messages: readonly ContextMessage[]): Promise<Session> {
  const session = await store.create({ cwd: "/work" });
  for (const message of messages) await session.appendMessage(message as never);
  return session;
}

describe("a reply", () => {
  test("records the request that it answered, in at most 100 bytes, and no model sees it", async () => {
    const session = await opened(userMessage("a"));
    const { prefix } = await project(await session.context(), target);
    const { id } = await session.appendMessage(thinks("one"));
    const line = new TextDecoder().decode(await session.raw(id));
    const [member = ""] = line.match(/"prefix":"[0-9a-f]+"/) ?? [];
    expect(member).toContain(prefix.digest);
    expect(member.length).toBeLessThanOrEqual(100);
    await session.appendMessage(userMessage("b"));
    const { value } = await project(await session.context(), target);
    expect(JSON.stringify(value)).not.toContain(prefix.digest);
  });

  test("records nothing that is not certain", async () => {
    const session = await opened(userMessage("a"));
    await project(await session.context(), target);
    await project(await session.context(), target, { tools: [{ name: "t" }] });
    const two = await session.appendMessage(thinks("of two requests"));
    expect(two.message).not.toHaveProperty("prefix");
    await project(await session.context(), target);
    const other = await session.appendMessage(
      thinks("of another", openaiResponses({ model: "gpt-6.2-sol" })),
    );
    expect(other.message).not.toHaveProperty("prefix");
    const same = await session.appendMessage(thinks("of this"));
    expect(same.message).toHaveProperty("prefix");
    const given = await session.appendMessage({ ...thinks("by hand"), prefix: "as given" });
    expect(given.message).toHaveProperty("prefix", "as given");
  });

  test("records the request of a context that a caller made of the session's", async () => {
    const session = await opened(userMessage("a"));
    const context = await session.context();
    await project(context, target);
    const own = { ...context, items: [...contextFrom([userMessage("memory")]).items, ...context.items] };
    await project(own, target);
    expect((await session.appendMessage(thinks("of two"))).message).not.toHaveProperty("prefix");
    const next = await session.context();
    const { prefix } = await project({ ...next, items: [...own.items, ...next.items.slice(1)] }, target);
    const { message } = await session.appendMessage(thinks("of one"));
    expect((message as AssistantMessage).prefix).toMatch(new RegExp(`^${prefix.digest}`));
  });

  test("records a request that was made many times, also beside those of other models", async () => {
    const session = await opened(userMessage("a"));
    const others = openaiResponses({ model: "gpt-6.2-sol" });
    for (let at = 0; at < 40; at++)
      await project(await session.context(), (at % 2 === 0 ? target : others) as Target<unknown>);
    const { prefix } = await project(await session.context(), target);
    const { message } = await session.appendMessage(thinks("one"));
    expect((message as AssistantMessage).prefix).toMatch(new RegExp(`^${prefix.digest}`));
    for (let at = 0; at < 40; at++) await project(await session.context(), target, { tools: [at] });
    expect((await session.appendMessage(thinks("two"))).message).not.toHaveProperty("prefix");
  });

  test("is not made of tools that are no JSON if the model binds reasoning", async () => {
    const tools: unknown[] = [];
    tools.push(tools);
    const projecting = project(
      contextFrom([userMessage("a")]),
      anthropicMessages({ model: "claude-opus-5-5" }),
      { tools },
    );
    await expect(projecting).rejects.toThrow(
      new TypeError("tools: expected JSON values, as the provider gets them"),
    );
  });

  test("is recorded without a digest if the tools are no JSON, and an invalid one is refused as ever", async () => {
    const session = await opened(userMessage("a"));
    const to = openaiResponses({ model: "gpt-5.4" });
    const tools: unknown[] = [];
    tools.push(tools);
    await project(await session.context(), to, { tools });
    expect((await session.appendMessage(thinks("one", to))).message).not.toHaveProperty("prefix");
    await project(await session.context(), to);
    for (const content of [[null], [{ type: "toolCall", id: "c", name: "t", arguments: { n: 1n } }]])
      await expect(session.appendMessage({ ...thinks("two", to), content } as never)).rejects.toThrow();
    await expect(session.append([null] as never)).rejects.toThrow();
  });

  test("keeps its digest if it is appended again after a failure", async () => {
    const session = await opened(userMessage("a"));
    await project(await session.context(), target);
    const reply = thinks("one");
    await expect(session.appendMessage(reply, { after: "missing" })).rejects.toThrow();
    expect((await session.appendMessage(reply)).message).toHaveProperty("prefix");
  });
});

describe("the next request", () => {
  test("is unchanged since the newest reply if it only grew", async () => {
    const session = await opened(system("be brief"), userMessage("a"));
    expect(await step(session, "one")).toMatchObject({ state: "new", lost: [], cacheTokens: 0 });
    await session.appendMessage(userMessage("b", stored(picture)));
    const second = await step(session, "two");
    expect(second).toMatchObject({ state: "unchanged", sent: ["one"], lost: [] });
    expect(second.since).toBe((await session.context()).items[2]?.entryId);
  });

  test("after a resumption has the reasoning of before", async () => {
    const session = await opened(userMessage("a"));
    await step(session, "one");
    await session.appendMessage(userMessage("b"));
    await session.close();
    const again = await store.open(session.id, { mode: "write" });
    expect(await step(again, "two")).toMatchObject({ state: "unchanged", sent: ["one"] });
  });

  test("has the reasoning of before if the API is to hold the conversation from now on", async () => {
    const session = await opened(userMessage("a"));
    await step(session, "one");
    await session.appendMessage(userMessage("b"));
    const held = anthropicMessages({ model, continue: true });
    expect(await step(session, "two", {}, held)).toMatchObject({ state: "unchanged", lost: [] });
    await session.appendMessage(userMessage("c"));
    expect(await step(session, "three")).toMatchObject({ state: "unchanged", sent: ["one", "two"] });
  });

  test("has the reasoning of before after an update of a reply without its digest", async () => {
    const session = await opened(userMessage("a"));
    await step(session, "one");
    const [, one] = (await session.context()).items;
    const { prefix: _, ...message } = (one?.message ?? {}) as AssistantMessage;
    const targetId = one?.entryId as string;
    await session.append([{ type: "message_update", targetId, message: { ...message, mode: "plan" } }]);
    await session.appendMessage(userMessage("b"));
    expect(await step(session, "two")).toMatchObject({ state: "unchanged", sent: ["one"] });
  });

  test("is unchanged behind a reply of OpenAI's without reasoning, whose text has an id", async () => {
    const to = openaiResponses({ model: "gpt-6.2-sol" });
    const session = await opened(userMessage("a"));
    await project(await session.context(), to);
    const content = [{ type: "output_text", text: "one", annotations: [] }];
    const said = { type: "message", id: "msg_1", role: "assistant", status: "completed", content };
    const reply = responsesReply([said] as never, { model: "gpt-6.2-sol" });
    await session.appendMessage(readOpenaiResponsesReply(reply as never, { model: "gpt-6.2-sol" }));
    await session.appendMessage(userMessage("b"));
    expect((await project(await session.context(), to)).prefix.state).toBe("unchanged");
  });

  test.each([
    ["whole messages", "message_update"],
    ["single blocks", "part_update"],
  ] as const)("has the reasoning of a reply that came by updates of %s", async (_, type) => {
    const session = await opened(userMessage("a"));
    await project(await session.context(), target, { blobs });
    const whole = thinks("one");
    const [thinking, text] = whole.content as [ThinkingBlock, TextBlock];
    const begun = { ...thinking, thinking: "why", thinkingSignature: "" };
    const { id: targetId } = await session.appendMessage({ ...whole, content: [begun] });
    const half = [thinking, { ...text, text: "o" }];
    if (type === "message_update")
      for (const content of [half, whole.content])
        await session.append([{ type, targetId, message: { ...whole, content } }]);
    else
      for (const [index, part] of [...half.entries(), [1, text] as const])
        await session.append([{ type, targetId, index, part }]);
    await session.appendMessage(userMessage("b"));
    expect(await step(session, "two")).toMatchObject({ state: "unchanged", sent: ["one"] });
  });

  test("of a history with digests that are no text is unknown", async () => {
    const one = { ...thinks("one"), prefix: 5 } as never;
    const context = contextFrom([userMessage("a"), one, userMessage("b")]);
    expect((await project(context, target)).prefix).toMatchObject({ state: "unknown", lost: ["m1"] });
  });

  test("of a history without digests is unknown, and has no reasoning", async () => {
    const context = contextFrom([userMessage("a"), thinks("one"), userMessage("b")]);
    const { prefix, value, byPolicy } = await project(context, target);
    expect(prefix).toMatchObject({ state: "unknown", lost: ["m1"] });
    expect(sentThoughts(value)).toEqual([]);
    expect(byPolicy).toMatchObject([{ code: "reasoning", entryId: "m1" }]);
    expect(
      sentThoughts((await project(context, anthropicMessages({ model, reasoning: "all" }))).value),
    ).toEqual(["one"]);
  });

  test("of a history that a caller keeps has it by the digest of the projection", async () => {
    const before = [userMessage("a")];
    const { prefix } = await project(contextFrom(before), target);
    const after = [...before, { ...thinks("one"), prefix: prefix.digest }, userMessage("b")];
    expect((await project(contextFrom(after), target)).prefix.state).toBe("unchanged");
  });

  /** Two replies, a change, and the request after it. */
  async function changed(
    change: (session: Session, ids: readonly string[]) => Promise<ProjectOptions | undefined>,
    options: ProjectOptions = {},
  ): Promise<RequestPrefix & { readonly sent: readonly (string | undefined)[] }> {
    const session = await opened(system("be brief"), userMessage("a"));
    await step(session, "one", options);
    await session.appendMessage(userMessage("look", stored(picture)));
    await step(session, "two", options);
    const ids = (await session.context()).items.map(({ entryId }) => entryId);
    await session.appendMessage(userMessage("c"));
    const then = (await change(session, ids)) ?? options;
    const found = await step(session, "three", then);
    await session.appendMessage(userMessage("d"));
    // What the model says after a change counts again.
    const next = await step(session, "four", then);
    expect(next).toMatchObject({ state: "unchanged" });
    expect(next.sent).toEqual([...found.sent, "three"]);
    return found;
  }

  test.each<[string, Parameters<typeof changed>, object, readonly string[], number]>([
    [
      "tools",
      [
        async () => ({ tools: [{ name: "u" }], replay: replayAlways }),
        { tools: [{ name: "t" }], replay: replayAlways },
      ],
      { by: "tools" },
      [],
      0,
    ],
    [
      "instructions",
      [
        async (session, [first = ""]) => {
          const message = { role: "system", content: "be long", timestamp: 1 } as const;
          await session.append([{ type: "message_update", targetId: first, message }]);
          return undefined;
        },
        { replay: replayAlways },
      ],
      { by: "instructions" },
      [],
      4,
    ],
    [
      "policy",
      [async () => ({ replay: replayCurrentTurn }), { replay: replayAlways }],
      { by: "policy" },
      ["one"],
      3,
    ],
    [
      "edit",
      [
        async (session, [, first = ""]) => {
          const replacement = { content: "other" };
          await session.append([{ type: "context_edit", targetId: first, replacement }]);
          return undefined;
        },
        { replay: replayAlways },
      ],
      { by: "edit" },
      [],
      1,
    ],
    [
      "removal",
      [
        async (session, ids) => {
          await session.append([{ type: "context_edit", targetId: ids[3] ?? "", replacement: null }]);
          return undefined;
        },
        { replay: replayAlways },
      ],
      { by: "edit" },
      ["one"],
      3,
    ],
  ])("tells of a change of %s, and leaves out what no longer counts", async (name, change, by, sent) => {
    const found = await changed(...change);
    expect(found).toMatchObject({ state: "changed", change: by, sent });
    expect(found.lost).toHaveLength(2 - sent.length);
    expect(found.reasoningTokens).toBeGreaterThan(0);
    // Of what a removal left nothing is written again but the newest reply.
    expect(found.cacheTokens > 0).toBe(name !== "removal");
    expect(found.since === undefined).toBe(sent.length === 0);
    expect(JSON.parse(JSON.stringify(found))).toEqual(found);
  });

  test("has instructions of mid-conversation at their place, in the role that the provider has for them", async () => {
    const session = await opened(system("be brief"), userMessage("a"));
    await step(session, "one");
    await session.appendMessage({ ...system("be long"), sections: { tone: "kind", old: null } } as never);
    await session.appendMessage(userMessage("b"));
    const { value, losses } = await project(await session.context(), target);
    expect(value.system).toEqual([{ type: "text", text: "be brief" }]);
    expect(value.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "system"]);
    const texts = ["be long", 'The section "tone" of the instructions is now:\n\nkind'];
    expect(value.messages[3]?.content).toMatchObject([
      ...texts.map((text) => ({ type: "text", text })),
      { text: 'The section "old" of the instructions no longer applies.' },
    ]);
    expect(losses).toEqual([]);
    expect(await step(session, "two")).toMatchObject({ state: "unchanged", sent: ["one"] });
    const { value: gpt } = await project(await session.context(), openaiResponses({ model: "gpt-6.2-sol" }));
    const roles = gpt.input.map((item) => ("role" in item ? item.role : item.type));
    expect(roles).toEqual(["developer", "user", "assistant", "developer", "user", "assistant"]);
  });

  test("has no reasoning of a reply whose own content changed", async () => {
    const session = await opened(userMessage("a"));
    await step(session, "one");
    await session.appendMessage(userMessage("b"));
    const { items } = await session.context();
    const content = items[1]?.message as AssistantMessage;
    const edited = content.content.map((block) =>
      block.type === "text" ? { ...block, text: "another" } : block,
    );
    const targetId = items[1]?.entryId ?? "";
    await session.append([{ type: "message_update", targetId, message: { ...content, content: edited } }]);
    expect((await step(session, "two")).sent).toEqual([]);
  });

  const found = (content: string) =>
    [
      { type: "opaque", data: { type: "server_tool_use", id: "s1", name: "web_fetch", input: {} } },
      { type: "opaque", data: { type: "web_fetch_tool_result", tool_use_id: "s1", content } },
      { type: "thinking", thinking: "why then", thinkingSignature: "then" },
      { type: "text", text: "so" },
    ] as const;

  test("has no reasoning of a reply whose provider's block changed, also with the conversation held", async () => {
    const held = anthropicMessages({ model, continue: true });
    const session = await opened(userMessage("a"));
    await project(await session.context(), held);
    const reply = { ...thinks("one", held, ...found("a secret")), providerFields: { id: "msg_1" } };
    const one = await session.appendMessage(reply);
    await session.appendMessage(userMessage("b"));
    const before = await project(await session.context(), held);
    expect([before.continues, before.prefix.lost]).toEqual([one.id, []]);
    expect(sentThoughts(before.whole())).toEqual(["one", "then"]);
    const message = { ...reply, content: [...reply.content.slice(0, 2), ...found("nothing")] };
    await session.append([{ type: "message_update", targetId: one.id, message }]);
    const { continues, value, prefix } = await project(await session.context(), held);
    expect([continues, prefix.lost, sentThoughts(value)]).toEqual([undefined, [one.id], []]);
  });

  test("has reasoning beside media that the append moved to the blob store, and none beside lost media", async () => {
    const kept = memoryBlobStore();
    const session = await memorySessionStore({ blobs: kept }).create({ cwd: "/work" });
    await session.appendMessage(userMessage("a"));
    await project(await session.context(), target, { blobs: kept });
    const data = Buffer.from(picture).toString("base64");
    const block = {
      type: "code_execution_tool_result",
      tool_use_id: "s1",
      content: { data, media_type: "image/png" },
    };
    const [call, , ...rest] = found("");
    const one = await session.appendMessage(
      thinks("one", target, call, { type: "opaque", data: block }, ...rest),
    );
    expect(JSON.stringify(one)).not.toContain(data);
    await session.appendMessage(userMessage("b"));
    const whole = await project(await session.context(), target, { blobs: kept });
    expect([whole.prefix.state, sentThoughts(whole.value)]).toEqual(["unchanged", ["one", "then"]]);
    const without = await project(await session.context(), target, { blobs: memoryBlobStore() });
    expect(sentThoughts(without.value)).toEqual([]);
  });

  test("is not continued after a change of an item that OpenAI takes back beside reasoning only", async () => {
    const to = openaiResponses({ model: "gpt-6.2-sol", continue: true });
    const session = await opened(userMessage("a"));
    const signature = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "e" };
    const searched = (query: string) => {
      const data = {
        type: "web_search_call",
        id: "ws_1",
        status: "completed",
        action: { type: "search", query },
      };
      const thinking = {
        type: "thinking",
        thinking: "",
        thinkingSignature: JSON.stringify(signature),
      } as const;
      const reply = assistantMessage(
        to.model as never,
        thinking,
        { type: "opaque", data },
        { type: "text", text: "one" },
      );
      return { ...reply, providerFields: { id: "resp_1" } };
    };
    await project(await session.context(), to);
    const one = await session.appendMessage(searched("a secret"));
    await session.appendMessage(userMessage("b"));
    expect((await project(await session.context(), to)).continues).toBe(one.id);
    const two = assistantMessage(to.model as never, { type: "text", text: "two" });
    await session.appendMessage({ ...two, providerFields: { id: "resp_2" } });
    await session.append([{ type: "message_update", targetId: one.id, message: searched("nothing") }]);
    await session.appendMessage(userMessage("c"));
    const { continues, prefix } = await project(await session.context(), to);
    expect([continues, prefix.change?.by]).toEqual([undefined, "edit"]);
  });

  test("has the instructions of mid-conversation after a summary that the API signed", async () => {
    const session = await opened(
      system("be brief"),
      userMessage("a"),
      thinks("one"),
      system("delete nothing"),
    );
    await session.appendMessage(userMessage("b"));
    const data = { type: "compaction", content: "what was said", signature: "s" };
    await session.appendMessage(
      assistantMessage(target.model as never, { type: "opaque", data }, { type: "text", text: "two" }),
    );
    await session.appendMessage(userMessage("c"));
    const { value, byPolicy } = await project(await session.context(), target);
    expect(value.messages.slice(1)).toEqual([
      { role: "user", content: [{ type: "text", text: "c" }] },
      { role: "system", content: [{ type: "text", text: "delete nothing" }] },
    ]);
    expect(byPolicy).toHaveLength(3);
  });

  // Requests to Anthropic begin at the summary; those to OpenAI have it where it came.
  test.each([
    ["anthropic", target, { type: "compaction", content: "what was said", signature: "s" }, []],
    [
      "openai",
      openaiResponses({ model: "gpt-6.2-sol" }),
      { type: "compaction", encrypted_content: "s" },
      ["one"],
    ],
  ] as const)(
    "after a summary by the API of %s has all reasoning that followed it",
    async (_, to, data, kept) => {
      const session = await opened(system("be brief"), userMessage("a"));
      await step(session, "one", {}, to);
      await session.appendMessage(userMessage("b"));
      await project<unknown>(await session.context(), to);
      await session.appendMessage(assistantMessage(to.model as never, { type: "opaque", data }));
      const replies = ["two", "three", "four"];
      for (const [at, reply] of replies.entries()) {
        await session.appendMessage(userMessage(`before ${reply}`));
        const asked = await step(session, reply, {}, to);
        expect(asked).toMatchObject({ sent: [...kept, ...replies.slice(0, at)], lost: [] });
        if (at > 0) expect(asked.state).toBe("unchanged");
      }
    },
  );

  test("tells of a result that came after a signed summary, and its call before", async () => {
    const data = { type: "compaction", content: "what was said", signature: "s" };
    const call = { type: "toolCall", id: "c1", name: "t", arguments: {} } as const;
    const context = contextFrom([
      userMessage("a"),
      assistantMessage(target.model as never, call),
      assistantMessage(target.model as never, { type: "opaque", data }, { type: "text", text: "two" }),
      toolResult(call, "late"),
      userMessage("b"),
    ]);
    const reason = 'a result for "c1", which a message called that is left out';
    expect((await project(context, target)).losses).toMatchObject([{ code: "orphanResult", reason }]);
  });

  test("of one handle whose reply another one appends is unknown, except by the digest of the projection", async () => {
    const session = await opened(userMessage("a"));
    const reader = await store.open(session.id, { mode: "read" });
    const asked = await project(await reader.context(), target);
    await session.appendMessage(thinks("one"));
    await session.appendMessage(userMessage("b"));
    const unknown = await project(await session.context(), target);
    expect([unknown.prefix.state, sentThoughts(unknown.value)]).toEqual(["unknown", []]);
    expect(unknown.byPolicy).toHaveLength(1);

    const other = await opened(userMessage("a"));
    await other.appendMessage({ ...thinks("one"), prefix: asked.prefix.digest });
    await other.appendMessage(userMessage("b"));
    const later = await store.open(other.id, { mode: "read" });
    for (const handle of [other, later]) {
      const known = await project(await handle.context(), target);
      expect([known.prefix.state, sentThoughts(known.value)]).toEqual(["unchanged", ["one"]]);
    }
  });

  test("after an erasure has the reasoning before it, and is sent whole", async () => {
    const to = anthropicMessages({ model, continue: true });
    const session = await opened(userMessage("a"));
    await step(session, "one", {}, to);
    const told = await session.appendMessage(userMessage("a secret"));
    await step(session, "two", {}, to);
    await session.appendMessage(userMessage("c"));
    await eraseEntries(store, session, [told.id], { reason: "asked" });
    const later = await store.open(session.id, { mode: "read" });
    const { value, prefix, continues } = await project(await later.context(), to);
    expect([continues, prefix.state, prefix.change?.by]).toEqual([undefined, "changed", "other"]);
    expect(sentThoughts(value)).toEqual(["one"]);
    expect(JSON.stringify(value)).not.toContain("secret");
  });

  test("after another model's reply still has the model's own reasoning", async () => {
    const gpt = openaiResponses({ model: "gpt-6.2-sol" });
    const session = await opened(userMessage("a"));
    await step(session, "one");
    await session.appendMessage(userMessage("b"));
    expect(await step(session, "two", {}, gpt)).toMatchObject({ state: "changed", change: { by: "model" } });
    await session.appendMessage(userMessage("c"));
    expect(await step(session, "three")).toMatchObject({ state: "unchanged", sent: ["one"] });
  });

  test("keeps the form of a result when the breakpoint at it moves on", async () => {
    const gpt = openaiResponses({ model: "gpt-6.2-sol", cacheBreakpoints: true });
    const call = { type: "toolCall", id: "call_1", name: "read", arguments: {} } as const;
    const asked = [userMessage("a"), thinks("one", gpt, call), toolResult(call, "done")];
    const outputs = await Promise.all(
      [asked, [...asked, thinks("two", gpt), userMessage("b"), thinks("three", gpt), userMessage("c")]].map(
        async (messages) => {
          const { value } = await project(contextFrom(messages), gpt, { cache: cacheConversation });
          const item = value.input.find((one) => "output" in one);
          return JSON.stringify(item).replace(/,"prompt_cache_breakpoint":\{[^}]*\}/, "");
        },
      ),
    );
    expect(outputs[1]).toBe(outputs[0]);
    expect(outputs[0]).toContain('"output":[');
  });

  test("has no reasoning whose request had other reasoning before it", async () => {
    const current = anthropicMessages({ model, reasoning: "current" });
    const session = await opened(userMessage("a"));
    await step(session, "one", {}, current);
    await session.appendMessage(userMessage("b"));
    expect((await step(session, "two", {}, current)).sent).toEqual([]);
    await session.appendMessage(userMessage("c"));
    expect((await step(session, "three")).sent).toEqual(["one"]);
  });

  test("of parallel calls has the reasoning before them", async () => {
    const calls = ["a", "b"].map((id) => ({ type: "toolCall", id, name: "read", arguments: {} }) as const);
    const session = await opened(userMessage("a"));
    await project(await session.context(), target);
    await session.appendMessage(thinks("one", target, ...calls));
    for (const call of calls.toReversed()) await session.appendMessage(toolResult(call, "done"));
    expect(await step(session, "two")).toMatchObject({ state: "unchanged", sent: ["one"] });
  });
});
