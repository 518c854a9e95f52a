/** Calls of OpenAI's own tools that the client answers: `shell`, `local_shell`, `apply_patch`, `computer`, and approvals of MCP. */
import type OpenAI from "openai";
import { contextFrom, project, type ToolCall, toolCalls, toolResult, userMessage } from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { replayAlways } from "sessile/attachments";
import {
  type OpenaiClientAnswer,
  type OpenaiClientCall,
  openaiResponses,
  openaiResponsesStream,
  readOpenaiResponsesReply,
} from "sessile/openai";
import { describe, expect, expectTypeOf, test } from "vitest";
import { responsesReply } from "../../support/providers/openai/replies.js";
import { eventsFrom } from "../../support/reply-streams.js";
import { blobs, shot } from "./samples.js";

const model = "gpt-5.6";
type Output = Parameters<typeof responsesReply>[0];
type Result = (call: ToolCall) => ReturnType<typeof toolResult>;

const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" };
const shell = {
  type: "shell_call",
  id: "sh_1",
  call_id: "call_1",
  status: "completed",
  action: { commands: ["ls"], max_output_length: 900, timeout_ms: null },
  environment: { type: "local" },
};
const localShell = {
  type: "local_shell_call",
  id: "lsh_1",
  call_id: "call_1",
  status: "completed",
  action: { type: "exec", command: ["ls"], env: {}, working_directory: "/root" },
};
const patch = {
  type: "apply_patch_call",
  id: "apc_1",
  call_id: "call_1",
  status: "completed",
  operation: { type: "create_file", path: "a.md", diff: "+a\n" },
};
const computer = {
  type: "computer_call",
  id: "cu_1",
  call_id: "call_1",
  status: "completed",
  action: { type: "screenshot" },
  pending_safety_checks: [{ id: "sc_1", code: "c", message: "m" }],
};
const approval = {
  type: "mcp_approval_request",
  id: "mcpr_1",
  server_label: "zip",
  name: "shorten",
  arguments: '{"url":"https://a.example"}',
};
const all = [shell, localShell, patch, computer, approval];

const read = (...output: readonly object[]) => readOpenaiResponsesReply(responsesReply(output as Output));

/** What goes back of a reply, and the items that answer its calls. */
async function sent(
  output: readonly object[],
  result: Result,
  options: { stored?: boolean; model?: string } = {},
) {
  const reply = read(...output);
  const context = contextFrom([
    userMessage("Go"),
    reply,
    ...toolCalls(reply).map(result),
    userMessage("And?"),
  ]);
  const target = openaiResponses({ model, ...options });
  const { value, losses } = await project(context, target, { blobs, replay: replayAlways });
  return { reply, input: value.input.slice(1, -1), losses };
}

const says =
  (text: string, isError = false): Result =>
  (call) => ({ ...toolResult(call, text), isError });

test("the official client's types take the items", () => {
  expectTypeOf<OpenaiClientCall>().toExtend<OpenAI.Responses.ResponseInputItem>();
  expectTypeOf<OpenaiClientAnswer>().toExtend<OpenAI.Responses.ResponseInputItem>();
});

describe("a call that the client answers", () => {
  test.each([
    [shell, "shell", { action: shell.action }],
    [localShell, "local_shell", { action: localShell.action }],
    [patch, "apply_patch", { operation: patch.operation }],
    [
      computer,
      "computer",
      { action: computer.action, pending_safety_checks: computer.pending_safety_checks },
    ],
    [approval, "mcp_approval", { server_label: "zip", name: "shorten", arguments: approval.arguments }],
  ])("is a call of the agent, and goes back as it came: $type", async (item, name, args) => {
    const result: Result = (call) => toolResult(call, shot);
    const { reply, input, losses } = await sent([reasoning, item], item === computer ? result : says("ok"));
    expect(reply.stopReason).toBe("toolUse");
    expect(toolCalls(reply)).toMatchObject([{ name, arguments: args }]);
    expect(input.slice(0, 2)).toEqual([reasoning, item]);
    expect(input).toHaveLength(3);
    expect(losses).toEqual([]);
  });

  test("of a reply that was cut off is as if it had never begun", () => {
    for (const item of all.slice(0, 4)) {
      const cut = responsesReply([{ ...item, status: "in_progress" }] as Output, { status: "incomplete" });
      expect(readOpenaiResponsesReply(cut).content).toEqual([]);
    }
  });

  test("is in the message of a stream once it is whole", async () => {
    const events = (item: object) => [
      { type: "response.output_item.added", output_index: 0, item: { ...shell, status: "in_progress" } },
      { type: "response.output_item.done", output_index: 0, item },
    ];
    const message = async (list: readonly { readonly type: string }[]) =>
      await openaiResponsesStream(eventsFrom(list), { model }).message();
    expect(toolCalls(await message(events(shell)))).toMatchObject([{ name: "shell" }]);
    expect(toolCalls(await message(events(shell).slice(0, 1)))).toEqual([]);
  });

  test("is a call of a function to another model and another provider", async () => {
    for (const item of all) {
      const { input, reply } = await sent([item], says("ok"), { model: "gpt-other" });
      const [call] = toolCalls(reply) as [ToolCall];
      expect(input).toMatchObject([
        { type: "function_call", name: call.name, arguments: JSON.stringify(call.arguments) },
        { type: "function_call_output", output: "ok" },
      ]);
      const context = contextFrom([userMessage("Go"), reply, says("ok")(call)]);
      const { value } = await project(context, anthropicMessages({ model: "claude-opus-5" }));
      expect(value.messages[1]?.content).toMatchObject([{ type: "tool_use", name: call.name }]);
    }
  });

  test("goes without its id if its reasoning is absent, and as a function's if it needs the id", async () => {
    const bare = { type: "reasoning", id: "rs_1", summary: [] };
    const types = async (item: object, result: Result) =>
      (await sent([bare, item], result)).input.map((one) => ("type" in one ? one.type : undefined));
    const { id: _, ...unnamed } = shell;
    expect((await sent([bare, shell], says("ok"))).input[0]).toEqual(unnamed);
    expect(await types(patch, says("ok"))).toEqual(["apply_patch_call", "apply_patch_call_output"]);
    const plain = ["function_call", "function_call_output"];
    expect(await types(localShell, says("ok"))).toEqual(plain);
    expect(await types(approval, says("ok"))).toEqual(plain);
    expect(await types(computer, (call) => toolResult(call, shot))).toEqual(plain);
  });

  test("is a function's if its result is none that its own answer holds", async () => {
    const plain = [{ type: "function_call" }, { type: "function_call_output" }];
    expect((await sent([computer], says("the screen is off"))).input).toMatchObject(plain);
    expect((await sent([shell], (call) => toolResult(call, shot))).input).toMatchObject(plain);
  });
});

describe("the answer", () => {
  const answer = async (item: object, result: Result) => (await sent([item], result)).input[1];

  test("of a shell is its output, as the agent gave it or as text", async () => {
    const base = { type: "shell_call_output", call_id: "call_1", max_output_length: 900 };
    const output = [{ stdout: "a", stderr: "b", outcome: { type: "timeout" } }];
    for (const given of [output, { output }]) {
      expect(await answer(shell, says(JSON.stringify(given)))).toEqual({ ...base, output });
    }
    for (const [isError, exit_code] of [
      [false, 0],
      [true, 1],
    ] as const) {
      const outcome = { type: "exit", exit_code };
      expect(await answer(shell, says("[1]", isError))).toEqual({
        ...base,
        output: [{ stdout: "[1]", stderr: "", outcome }],
      });
    }
  });

  test("of the older shell and of a patch has the text, and of a patch whether it failed", async () => {
    const local = { type: "local_shell_call_output", id: "call_1", call_id: "call_1", output: "a" };
    expect(await answer(localShell, says("a"))).toEqual(local);
    const done = { type: "apply_patch_call_output", call_id: "call_1", output: "a" };
    expect(await answer(patch, says("a"))).toEqual({ ...done, status: "completed" });
    expect(await answer(patch, says("a", true))).toEqual({ ...done, status: "failed" });
  });

  test("of an approval is a no, unless the result is a clear yes", async () => {
    const base = { type: "mcp_approval_response", approval_request_id: "mcpr_1" };
    for (const yes of ["true", '{"approve":true}']) {
      expect(await answer(approval, says(yes))).toEqual({ ...base, approve: true });
      expect(await answer(approval, says(yes, true))).toMatchObject({ ...base, approve: false });
    }
    for (const no of ["yes", "1", '"true"', '{"approve":"true"}', "[true]", "No such tool: mcp_approval"]) {
      expect(await answer(approval, says(no))).toMatchObject({ ...base, approve: false });
    }
    expect(await answer(approval, says('{"approve":false,"reason":"cost"}'))).toEqual({
      ...base,
      approve: false,
      reason: "cost",
    });
    // A call without a result was interrupted.
    const context = contextFrom([userMessage("Go"), read(approval), userMessage("And?")]);
    const { value } = await project(context, openaiResponses({ model }));
    expect(value.input[2]).toMatchObject({ ...base, approve: false });
  });

  test("of a computer is the last screenshot, with the checks that the agent acknowledges", async () => {
    const acknowledged_safety_checks = [{ id: "sc_1" }];
    const { input, losses } = await sent([computer], (call) =>
      toolResult(call, JSON.stringify({ acknowledged_safety_checks }), shot),
    );
    expect(input[1]).toEqual({
      type: "computer_call_output",
      call_id: "call_1",
      output: { type: "computer_screenshot", image_url: expect.stringMatching(/^data:image\/png;base64,/) },
      acknowledged_safety_checks,
    });
    expect(losses).toEqual([]);
    const told = await sent([computer], (call) => toolResult(call, "a window", shot));
    expect(told.losses).toMatchObject([{ code: "unsupported", by: "target", block: 0 }]);
  });
});

describe("a call that the API answered", () => {
  const hosted = { ...shell, environment: { type: "container_reference", container_id: "cntr_1" } };
  const output = {
    type: "shell_call_output",
    id: "sho_1",
    call_id: "call_1",
    status: "completed",
    output: [],
  };
  const called = { type: "function_call", id: "fc_1", call_id: "call_2", name: "a", arguments: "{}" };
  const given = { type: "function_call_output", id: "fco_1", call_id: "call_2", output: "b" };

  test("is none of the agent's, and goes back with its answer", async () => {
    for (const pair of [
      [hosted, output],
      [shell, output],
      [called, given],
    ]) {
      const { reply, input, losses } = await sent([reasoning, ...pair], says("x"));
      expect(toolCalls(reply)).toEqual([]);
      expect(input).toEqual([reasoning, ...pair]);
      expect(losses).toEqual([]);
    }
  });

  test("does not go back without its answer, nor an answer without its call", async () => {
    for (const half of [[hosted], [output], [given], [output, hosted]]) {
      const { reply, input, losses } = await sent(half, says("x"));
      expect(toolCalls(reply)).toEqual([]);
      expect(input).toEqual([]);
      expect(losses.map(({ code }) => code)).toEqual(half.map(() => "opaque"));
    }
  });
});
