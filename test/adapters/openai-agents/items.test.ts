/** Items of OpenAI Agents as messages of a session, and other messages as items. */

import {
  assistantMessage,
  memoryBlobStore,
  memorySessionStore,
  project,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { openaiAgentsSession } from "sessile/openai-agents";
import { expect, it } from "vitest";
import { makePng } from "../../../examples/apps/support/make-media.js";

const image = `data:image/png;base64,${Buffer.from(makePng(20, 10)).toString("base64")}`;
const call = (callId: string) => ({
  type: "function_call",
  callId,
  name: "look",
  status: "completed",
  arguments: '{"at":1}',
});
const result = (callId: string, output: object) => {
  return { type: "function_call_result", name: "look", callId, status: "completed", output };
};
const items = [
  {
    type: "message",
    role: "user",
    content: [
      { type: "input_text", text: "What is it?" },
      { type: "input_image", image },
    ],
  },
  {
    type: "reasoning",
    content: [{ type: "input_text", text: "I look twice." }],
    providerData: { encrypted: "x" },
  },
  call("c1"),
  call("c2"),
  result("c1", { type: "text", text: "red" }),
  result("c2", { type: "image", image }),
  { type: "hosted_tool_call", name: "web_search", id: "ws_1", status: "completed", output: "found" },
  {
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: "A red square.", annotations: [] }],
    id: "msg_1",
  },
];

function open() {
  const stores = { sessions: memorySessionStore(), blobs: memoryBlobStore() };
  return { ...stores, agent: openaiAgentsSession<object>({ ...stores, sessionId: "s" }) };
}

const partition = "openai-agents";

it("items are messages, which every provider takes, and come back as they were", async () => {
  const { sessions, blobs, agent } = open();
  await agent.addItems(items);
  expect(await agent.getItems()).toEqual(items);
  const session = await sessions.open("s", { partition });
  const context = await session.context();
  const roles = context.items.map(({ message }) => message.role);
  expect(roles).toEqual([
    "user",
    "assistant",
    "assistant",
    "assistant",
    "toolResult",
    "toolResult",
    "assistant",
    "assistant",
  ]);
  const { value, losses } = await project(context, anthropicMessages({ model: "claude-opus-5-5" }), {
    blobs,
  });
  expect(losses.map(({ code }) => code).sort()).toEqual(["opaque", "reasoning"]);
  const sent = value.messages.map(({ role, content }) => [
    role,
    typeof content === "string" ? "text" : content.map(({ type }) => type).join(),
  ]);
  expect(sent).toEqual([
    ["user", "text,text,image"],
    // An item is a message: calls that ran together are one after the other.
    ["assistant", "tool_use"],
    ["user", "tool_result"],
    ["assistant", "tool_use"],
    ["user", "tool_result"],
    ["assistant", "text"],
  ]);
  let stored = 0;
  for await (const { size } of blobs.list()) stored += size;
  expect(stored).toBe(makePng(20, 10).length);
});

it("messages of other writers are items, which can be popped one by one", async () => {
  const { sessions, agent } = open();
  await agent.addItems([{ type: "message", role: "user", content: "Hi" }]);
  const session = await sessions.open("s", { partition, mode: "write" });
  const find = { type: "toolCall", id: "c1", name: "find", arguments: { q: 1 } } as const;
  await session.appendMessage(assistantMessage({ provider: "anthropic", model: "m" }, "I look.", find));
  await session.appendMessage(toolResult(find, "none"));
  await session.appendMessage(userMessage("Then stop."));
  await session.close();
  const all = [
    { type: "message", role: "user", content: "Hi" },
    {
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "I look." }],
    },
    { type: "function_call", callId: "c1", name: "find", status: "completed", arguments: '{"q":1}' },
    {
      type: "function_call_result",
      name: "find",
      callId: "c1",
      status: "completed",
      output: { type: "text", text: "none" },
    },
    { type: "message", role: "user", content: "Then stop." },
  ];
  expect(await agent.getItems()).toEqual(all);
  expect(await agent.getItems(3)).toEqual(all.slice(2));
  for (let left = all.length; left > 0; left--) {
    expect(await agent.popItem()).toEqual(all[left - 1]);
    expect(await agent.getItems()).toEqual(all.slice(0, left - 1));
  }
});

it("stores an item of the SDK's model for Responses as a message and an id, without a difference", async () => {
  const { sessions, agent } = open();
  const reasoning = { type: "summary_text" };
  const output = { annotations: [], logprobs: [] };
  const made = [
    {
      type: "reasoning",
      id: "rs_1",
      content: [{ type: "input_text", text: "I look.", providerData: reasoning }],
      providerData: { id: "rs_1", type: "reasoning" },
    },
    {
      type: "function_call",
      id: "fc_1",
      callId: "c1",
      name: "look",
      status: "completed",
      arguments: '{"at":1}',
      providerData: { id: "fc_1", type: "function_call" },
    },
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Red.", providerData: output }],
      status: "completed",
      providerData: {},
    },
  ];
  await agent.addItems(made);
  expect(JSON.stringify(await agent.getItems())).toBe(JSON.stringify(made));
  await agent.close();
  const session = await sessions.open("s", { partition });
  const messages = (await session.path()).filter(({ type }) => type === "message");
  const details = messages.map((entry) => "details" in entry && entry.details);
  expect(details).toEqual(["rs_1", "fc_1", "msg_1"].map((id) => ({ of: "openai-agents", id })));
});
