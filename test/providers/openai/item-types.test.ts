/** Every item type of the official client's responses goes back to its maker as it came, alone and beside reasoning. */
import type OpenAI from "openai";
import { contextFrom, messageText, project, toolCalls, toolResult, userMessage } from "sessile";
import { openaiChat, openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { describe, expect, it } from "vitest";
import { responsesReply } from "../../support/providers/openai/replies.js";

type Item = OpenAI.Responses.ResponseOutputItem;

const model = "gpt-5.6";
const direct = { type: "direct" as const };
const program = { type: "program" as const, caller_id: "prog_1" };
const local = { type: "local" as const };
const container = { type: "container_reference" as const, container_id: "cntr_1" };
const exit = { type: "exit" as const, exit_code: 0 };
const url = {
  type: "url_citation" as const,
  url: "https://a.example",
  title: "A",
  start_index: 0,
  end_index: 4,
};
const file = { type: "file_citation" as const, file_id: "file_1", filename: "a.txt", index: 2 };
const made = {
  type: "container_file_citation" as const,
  container_id: "cntr_1",
  file_id: "file_2",
  filename: "b.csv",
  start_index: 0,
  end_index: 4,
};
const path = { type: "file_path" as const, file_id: "file_3", index: 1 };
const status = "completed" as const;

/** Items of the types of openai 7.59.0 (npm, 2026-11-28), by what they show; with the answer that some need. */
const items: Readonly<Record<string, readonly Item[]>> = {
  message: [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status,
      phase: "final_answer",
      content: [
        { type: "output_text", text: "Word", annotations: [url, file] },
        { type: "output_text", text: "More", annotations: [made, path] },
        { type: "refusal", refusal: "No." },
      ],
    },
  ],
  "message, empty": [{ type: "message", id: "msg_1", role: "assistant", status, content: [] }],
  "message, blank": [
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status,
      content: [{ type: "output_text", text: "", annotations: [] }],
    },
  ],
  file_search_call: [
    {
      type: "file_search_call",
      id: "fs_1",
      queries: ["q"],
      status,
      results: [{ attributes: { a: 1 }, file_id: "file_1", filename: "a", score: 0.5, text: "t" }],
    },
  ],
  function_call: [
    {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1",
      name: "read",
      arguments: '{ "a": 1 }',
      status,
      caller: direct,
    },
  ],
  "function_call, asynchronous": [
    {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1",
      name: "read",
      arguments: "{}",
      status,
      async: true,
      namespace: "n",
    },
  ],
  function_call_output: [
    {
      type: "function_call",
      id: "fc_1",
      call_id: "call_1",
      name: "read",
      arguments: "{}",
      status,
      caller: program,
    },
    {
      type: "function_call_output",
      id: "fco_1",
      call_id: "call_1",
      output: "x",
      status,
      caller: program,
      created_by: "u",
    },
  ],
  web_search_call: [
    {
      type: "web_search_call",
      id: "ws_1",
      status,
      action: {
        type: "search",
        query: "q",
        queries: ["q"],
        sources: [{ type: "url", url: "https://a.example" }],
      },
    },
  ],
  "web_search_call, a page": [
    { type: "web_search_call", id: "ws_1", status, action: { type: "open_page", url: "https://a.example" } },
  ],
  "web_search_call, in a page": [
    {
      type: "web_search_call",
      id: "ws_1",
      status,
      action: { type: "find_in_page", pattern: "p", url: "https://a.example" },
    },
  ],
  computer_call: [
    {
      type: "computer_call",
      id: "cu_1",
      call_id: "call_1",
      status,
      pending_safety_checks: [{ id: "sc_1", code: "c", message: "m" }],
      actions: [{ type: "click", button: "left", x: 1, y: 2 }, { type: "screenshot" }],
    },
    {
      type: "computer_call_output",
      id: "cuo_1",
      call_id: "call_1",
      status,
      output: { type: "computer_screenshot", image_url: "https://a.example/a.png" },
      acknowledged_safety_checks: [{ id: "sc_1" }],
    },
  ],
  reasoning: [
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "s" }],
      content: [{ type: "reasoning_text", text: "r" }],
      encrypted_content: "gAAAA",
      status,
    },
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status,
      content: [{ type: "output_text", text: "Word", annotations: [] }],
    },
  ],
  program: [
    { type: "program", id: "prog_1", call_id: "call_1", code: "x", fingerprint: "f" },
    { type: "program_output", id: "po_1", call_id: "call_1", result: "r", status },
  ],
  "tool_search_call, by the server": [
    {
      type: "tool_search_call",
      id: "tsc_1",
      call_id: null,
      execution: "server",
      arguments: { q: 1 },
      status,
      created_by: "u",
    },
    {
      type: "tool_search_output",
      id: "tso_1",
      call_id: null,
      execution: "server",
      status,
      tools: [{ type: "function", name: "f", parameters: {}, strict: true }],
    },
  ],
  "tool_search_call, by the client": [
    {
      type: "tool_search_call",
      id: "tsc_1",
      call_id: "call_1",
      execution: "client",
      arguments: { q: 1 },
      status,
    },
  ],
  additional_tools: [
    {
      type: "additional_tools",
      id: "at_1",
      role: "developer",
      tools: [{ type: "function", name: "f", parameters: {}, strict: true }],
    },
  ],
  compaction: [{ type: "compaction", id: "cmp_1", encrypted_content: "gAAAA", created_by: "u" }],
  image_generation_call: [
    {
      type: "image_generation_call",
      id: "ig_1",
      status,
      result: "aGVsbG8=",
      action: "generate",
      background: "opaque",
      output_format: "png",
      quality: "high",
      revised_prompt: "p",
      size: "1024x1024",
    },
  ],
  "image_generation_call, failed": [
    {
      type: "image_generation_call",
      id: "ig_1",
      status: "failed",
      result: null,
      error: { code: "c", message: "m", param: null, type: "t" },
    },
  ],
  code_interpreter_call: [
    {
      type: "code_interpreter_call",
      id: "ci_1",
      code: "print(1)",
      container_id: "cntr_1",
      status,
      outputs: [
        { type: "logs", logs: "1" },
        { type: "image", url: "https://a.example/a.png" },
      ],
    },
  ],
  local_shell_call: [
    {
      type: "local_shell_call",
      id: "lsh_1",
      call_id: "call_1",
      status,
      action: {
        type: "exec",
        command: ["ls"],
        env: { A: "b" },
        timeout_ms: 5,
        user: null,
        working_directory: "/",
      },
    },
  ],
  local_shell_call_output: [
    {
      type: "local_shell_call",
      id: "call_1",
      call_id: "call_1",
      status,
      action: { type: "exec", command: [], env: {} },
    },
    { type: "local_shell_call_output", id: "call_1", output: "x", status },
  ],
  shell_call: [
    {
      type: "shell_call",
      id: "sh_1",
      call_id: "call_1",
      status,
      action: { commands: ["ls"], max_output_length: 9, timeout_ms: null },
      environment: local,
      caller: direct,
      created_by: "u",
    },
  ],
  "shell_call, in a container": [
    {
      type: "shell_call",
      id: "sh_1",
      call_id: "call_1",
      status,
      action: { commands: ["ls"], max_output_length: null, timeout_ms: null },
      environment: container,
    },
    {
      type: "shell_call_output",
      id: "sho_1",
      call_id: "call_1",
      status,
      max_output_length: null,
      output: [{ stdout: "a", stderr: "", outcome: exit, created_by: "u" }],
      caller: direct,
    },
  ],
  apply_patch_call: [
    {
      type: "apply_patch_call",
      id: "ap_1",
      call_id: "call_1",
      status,
      operation: { type: "update_file", path: "a", diff: "d" },
      caller: program,
      created_by: "u",
    },
  ],
  apply_patch_call_output: [
    {
      type: "apply_patch_call",
      id: "ap_1",
      call_id: "call_1",
      status,
      operation: { type: "delete_file", path: "a" },
    },
    { type: "apply_patch_call_output", id: "apo_1", call_id: "call_1", status, output: null },
  ],
  mcp_call: [
    {
      type: "mcp_call",
      id: "mcp_1",
      server_label: "s",
      name: "n",
      arguments: "{}",
      approval_request_id: "mcpr_1",
      output: "o",
      status,
      error: null,
    },
  ],
  mcp_list_tools: [
    {
      type: "mcp_list_tools",
      id: "mcpl_1",
      server_label: "s",
      tools: [{ name: "n", input_schema: {}, annotations: { readOnly: true }, description: null }],
      error: null,
    },
  ],
  mcp_approval_request: [
    { type: "mcp_approval_request", id: "mcpr_1", server_label: "s", name: "n", arguments: "{}" },
  ],
  mcp_approval_response: [
    { type: "mcp_approval_request", id: "mcpr_1", server_label: "s", name: "n", arguments: "{}" },
    {
      type: "mcp_approval_response",
      id: "mcpa_1",
      approval_request_id: "mcpr_1",
      approve: true,
      reason: "r",
    },
  ],
  custom_tool_call: [
    {
      type: "custom_tool_call",
      id: "ctc_1",
      call_id: "call_1",
      name: "c",
      input: "x",
      async: true,
      namespace: "n",
      caller: direct,
    },
  ],
  custom_tool_call_output: [
    { type: "custom_tool_call", id: "ctc_1", call_id: "call_1", name: "c", input: "x", caller: program },
    { type: "custom_tool_call_output", id: "cto_1", call_id: "call_1", output: "o", status, created_by: "u" },
  ],
};

const reasoning: Item = { type: "reasoning", id: "rs_0", summary: [], encrypted_content: "gAAAA" };
/** What a version of the API that this library does not know may add. */
const newer = (item: Item): Item => ({ ...item, ...{ new_member: { a: [1] } } });
const unknown = { type: "new_call", id: "new_1", status, payload: { a: 1 } } as unknown as Item;

/** Each type that the official client has; a new one fails to compile. */
const known: Readonly<Record<Item["type"], true>> = {
  additional_tools: true,
  apply_patch_call: true,
  apply_patch_call_output: true,
  code_interpreter_call: true,
  compaction: true,
  computer_call: true,
  computer_call_output: true,
  custom_tool_call: true,
  custom_tool_call_output: true,
  file_search_call: true,
  function_call: true,
  function_call_output: true,
  image_generation_call: true,
  local_shell_call: true,
  local_shell_call_output: true,
  mcp_approval_request: true,
  mcp_approval_response: true,
  mcp_call: true,
  mcp_list_tools: true,
  message: true,
  program: true,
  program_output: true,
  reasoning: true,
  shell_call: true,
  shell_call_output: true,
  tool_search_call: true,
  tool_search_output: true,
  web_search_call: true,
};

async function sentBack(output: readonly Item[], provider = "openai") {
  const read = readOpenaiResponsesReply(responsesReply([...output]), { model, provider });
  const message = JSON.parse(JSON.stringify(read)) as typeof read;
  const results = toolCalls(message).map((call) => toolResult(call, "[]"));
  const context = contextFrom([userMessage("Go"), message, ...results, userMessage("And?")]);
  const { value, losses } = await project(context, openaiResponses({ model, provider }));
  return { message, context, sent: value.input.slice(1, 1 + output.length), losses };
}

describe("items of Responses", () => {
  it.each(Object.entries(items))("go back as they came: %s", async (name, output) => {
    for (const [way, list] of Object.entries({
      alone: output,
      "with members that are new": output.map(newer),
      "behind reasoning": name === "reasoning" ? output : [reasoning, ...output],
      "beside an item that is new": [...output, unknown],
    })) {
      const { sent, losses } = await sentBack(list);
      expect([way, sent, losses]).toEqual([way, list, []]);
    }
  });

  it("are all that the official client types", () => {
    const types = new Set(Object.values(items).flatMap((list) => list.map(({ type }) => type)));
    expect([...types].sort()).toEqual(Object.keys(known).sort());
  });

  it("go to another model as words, with a stated loss of the rest", async () => {
    for (const [name, output] of Object.entries(items)) {
      const { context, message } = await sentBack(output);
      const { value, losses } = await project(context, openaiChat({ model: "other", dialect: "deepseek" }));
      const text = JSON.stringify(value);
      for (const word of messageText(message).split("\n")) expect(text).toContain(word);
      const isKept = message.content.every(
        ({ type }) => type === "toolCall" || type === "text" || type === "thinking",
      );
      const hasFields = message.content.some((block) => "providerFields" in block && block.type === "text");
      if (!isKept || hasFields) expect([name, losses.length]).not.toEqual([name, 0]);
    }
  });

  it("keep parts of a message that are new, and citations that another server shortens", async () => {
    const content = [
      {
        type: "output_text",
        text: "Word",
        annotations: [{ type: "url_citation", url: "https://a.example" }],
      },
      { type: "output_sound", sound: "moo" },
      { type: "output_text", text: " and more", annotations: [{ type: "new_citation", of: 1 }] },
    ];
    const item = { type: "message", id: "msg_1", role: "assistant", status, content } as unknown as Item;
    for (const provider of ["openai", "xai"]) {
      const { sent, losses, message } = await sentBack([item], provider);
      expect(sent).toEqual([item]);
      expect(losses).toEqual([]);
      expect(message.content).toMatchObject([{ type: "text", text: "Word and more" }]);
    }
  });

  it("state the loss of tools that the API lists for another role, which it does not take back", async () => {
    const { sent, losses } = await sentBack([
      { type: "additional_tools", id: "at_1", role: "unknown", tools: [] },
    ]);
    expect(sent).toHaveLength(1);
    expect(losses).toMatchObject([{ code: "opaque" }]);
  });

  it("of a reply leave its own members in the message, but none of the request", () => {
    const more = { service_tier: "priority", instructions: "Be brief.", incomplete_details: null } as const;
    const { providerFields } = readOpenaiResponsesReply(responsesReply([], more));
    expect(providerFields).toEqual({
      id: "resp_1",
      status: "completed",
      service_tier: "priority",
      usage: { output_tokens_details: { reasoning_tokens: 5 } },
    });
  });
});
