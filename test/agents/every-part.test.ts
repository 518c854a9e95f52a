/**
 * Every part type of the formats that are imported, with a word and a picture in it: another model is sent the word and the
 * picture of a user's part and of a result; of a reply's part too, or there is a loss. The types are those of the clients.
 */
import type { BetaContentBlockParam } from "@anthropic-ai/sdk/resources/beta/messages";
import type { Part } from "@google/genai";
import type { ResponseInputContent } from "openai/resources/responses/responses";
import { memoryBlobStore, memorySessionStore, project } from "sessile";
import { replayAlways } from "sessile/attachments";
import { claudeCode } from "sessile/claude-code";
import { codex } from "sessile/codex";
import { gemini } from "sessile/gemini-cli";
import { type ForeignFile, type ForeignFormat, importSession } from "sessile/interop";
import { openaiResponses } from "sessile/openai";
import { opencode } from "sessile/opencode";
import { qwenCode } from "sessile/qwen-code";
import { describe, expect, expectTypeOf, test } from "vitest";
import { pngOf } from "../providers/samples.js";
import * as claudeLines from "./claude-code/transcript.js";
import * as codexLines from "./codex/samples.js";
import * as geminiLines from "./gemini-cli/chat-log.js";

type Fields = Readonly<Record<string, unknown>>;

const data = Buffer.from(pngOf({ width: 9, height: 7 })).toString("base64");
const url = `data:image/png;base64,${data}`;
const base64 = { type: "base64", media_type: "image/png", data };
const text = { type: "text", text: "zebra" };
const tool = { type: "tool_reference", tool_name: "zebra" };

/** One part a type, or several. A picture is in those that have `data`. */
const anthropicParts = {
  text: [text],
  image: [{ type: "image", source: base64 }],
  document: [
    { type: "document", source: { type: "text", media_type: "text/plain", data: "zebra" } },
    { type: "document", source: base64, title: "zebra" },
    { type: "document", source: base64, context: "zebra" },
    { type: "document", source: { type: "content", content: "zebra" } },
    { type: "document", source: { type: "content", content: [text, { type: "image", source: base64 }] } },
    { type: "document", source: { type: "file", file_id: "zebra" } },
    { type: "document", source: { type: "url", url: "https://example.com/zebra" } },
  ],
  search_result: [{ type: "search_result", source: "https://a.b", title: "t", content: [text] }],
  thinking: [{ type: "thinking", thinking: "zebra", signature: "c2ln" }],
  redacted_thinking: [{ type: "redacted_thinking", data: "zebra" }],
  tool_use: [{ type: "tool_use", id: "c1", name: "read", input: { path: "zebra" } }],
  tool_result: [
    { type: "tool_result", tool_use_id: "c0", content: [text, { type: "image", source: base64 }] },
  ],
  server_tool_use: [{ type: "server_tool_use", id: "s1", name: "web_search", input: { query: "zebra" } }],
  web_search_tool_result: [
    { type: "web_search_tool_result", tool_use_id: "s1", content: [{ title: "zebra" }] },
  ],
  web_fetch_tool_result: [{ type: "web_fetch_tool_result", tool_use_id: "s1", content: { url: "zebra" } }],
  advisor_tool_result: [{ type: "advisor_tool_result", tool_use_id: "s1", content: { text: "zebra" } }],
  code_execution_tool_result: [
    { type: "code_execution_tool_result", tool_use_id: "s1", content: { stdout: "zebra" } },
  ],
  bash_code_execution_tool_result: [
    { type: "bash_code_execution_tool_result", tool_use_id: "s1", content: { stdout: "zebra" } },
  ],
  text_editor_code_execution_tool_result: [
    { type: "text_editor_code_execution_tool_result", tool_use_id: "s1", content: { content: "zebra" } },
  ],
  tool_search_tool_result: [
    { type: "tool_search_tool_result", tool_use_id: "s1", content: { tool_references: [tool] } },
  ],
  mcp_tool_use: [
    { type: "mcp_tool_use", id: "m1", name: "read", server_name: "s", input: { path: "zebra" } },
  ],
  mcp_tool_result: [{ type: "mcp_tool_result", tool_use_id: "m1", content: [text] }],
  mcp_tool_listing: [{ type: "mcp_tool_listing", mcp_server_name: "zebra", tools: [] }],
  container_upload: [{ type: "container_upload", file_id: "zebra" }],
  compaction: [{ type: "compaction", content: "zebra", encrypted_content: "RU5D" }],
  tool_addition: [{ type: "tool_addition", tool }],
  tool_removal: [{ type: "tool_removal", tool }],
  fallback: [{ type: "fallback", from: { model: "zebra" }, to: { model: "b" } }],
  audio: [{ type: "audio", source: { type: "base64", media_type: "image/png", data }, caption: "zebra" }],
  unheard_of: [{ type: "unheard_of", words: "zebra", inner: { deep: [{ source: base64 }] } }],
};

const responsesParts = {
  input_text: [{ type: "input_text", text: "zebra" }],
  input_image: [
    { type: "input_image", detail: "auto", image_url: url },
    { type: "input_image", detail: "auto", image_url: "https://example.com/zebra.png" },
    { type: "input_image", detail: "auto", file_id: "zebra" },
  ],
  input_file: [
    { type: "input_file", filename: "zebra.png", file_data: url },
    { type: "input_file", file_url: "https://example.com/zebra" },
    { type: "input_file", file_id: "zebra" },
  ],
  input_audio: [{ type: "input_audio", input_audio: { data, format: "wav" } }],
  unheard_of: [{ type: "unheard_of", words: "zebra", inner: [{ image_url: { url } }] }],
  // Of an MCP tool, in a result.
  image: [{ type: "image", data, mimeType: "image/png" }],
  resource: [{ type: "resource", resource: { uri: "x://zebra", mimeType: "image/png", blob: data } }],
};

const blob = { mimeType: "image/png", data };
const geminiParts = {
  text: [{ text: "zebra" }],
  inlineData: [{ inlineData: blob }],
  fileData: [{ fileData: { mimeType: "image/png", fileUri: "https://example.com/zebra" } }],
  functionCall: [{ functionCall: { name: "zebra", args: {} } }],
  functionResponse: [{ functionResponse: { name: "read", response: { output: "a", note: "zebra" } } }],
  executableCode: [{ executableCode: { language: "PYTHON", code: "zebra" } }],
  codeExecutionResult: [{ codeExecutionResult: { outcome: "OUTCOME_OK", output: "zebra" } }],
  toolCall: [{ toolCall: { id: "t1", args: { q: "zebra" } } }],
  toolResponse: [{ toolResponse: { id: "t1", response: { q: "zebra" } } }],
  audioTranscription: [{ audioTranscription: { text: "zebra" } }],
  unheardOf: [{ unheardOf: { words: "zebra", inlineData: blob } }],
};
/** Members of a part beside the one that names it. */
type Beside =
  | "thought"
  | "thoughtSignature"
  | "videoMetadata"
  | "mediaResolution"
  | "partMetadata"
  | "mediaProcessing"
  | "speechMetadata";

const opencodeParts = {
  text: [text],
  file: [
    { type: "file", mime: "image/png", url, filename: "a.png" },
    { type: "file", mime: "image/png", url: "file:///zebra.png", filename: "b.png" },
  ],
  unheard_of: [{ type: "unheard_of", text: "zebra", attachments: [{ mime: "image/png", url }] }],
};

test("the types are all those of the clients", () => {
  expectTypeOf<Exclude<BetaContentBlockParam["type"], keyof typeof anthropicParts>>().toBeNever();
  expectTypeOf<Exclude<ResponseInputContent["type"], keyof typeof responsesParts>>().toBeNever();
  expectTypeOf<Exclude<keyof Part, keyof typeof geminiParts | Beside>>().toBeNever();
});

/** What another model is sent of an import, and the losses. */
async function sentOf(from: ForeignFormat, files: readonly ForeignFile[]) {
  const blobs = memoryBlobStore();
  const imported = await importSession(files, { from, blobs });
  const session = await memorySessionStore({ blobs }).adopt(imported);
  const target = openaiResponses({ model: "another-1", provider: "elsewhere" });
  const projection = await project(await session.context(), target, { blobs, replay: replayAlways });
  const findings = imported.report.findings.map(({ code }) => code);
  return { sent: JSON.stringify(projection.value), losses: projection.losses, findings };
}

const hasWord = (part: Fields) => JSON.stringify(part).includes("zebra");
const hasPicture = (part: Fields) => JSON.stringify(part).includes(data);

async function check(part: Fields, from: ForeignFormat, file: ForeignFile, isReply: boolean): Promise<void> {
  const { sent, losses, findings } = await sentOf(from, [file]);
  const told =
    isReply &&
    (losses.some(({ code }) => /opaque|reasoning|asText|unsupported/.test(code)) || findings.length > 0);
  const missing = [
    ...(hasWord(part) && !sent.includes("zebra") ? ["the word"] : []),
    ...(hasPicture(part) && !sent.includes(data) ? ["the picture"] : []),
  ];
  if (!told) expect(missing).toEqual([]);
  // The picture is no text.
  expect(sent.split(data).length - 1).toBe(sent.split(`image/png;base64,${data}`).length - 1);
}

const flat = (parts: Readonly<Record<string, readonly Fields[]>>) =>
  Object.entries(parts).flatMap(([type, list]) => list.map((part, at) => ({ name: `${type} ${at}`, part })));

const claudeFile = (lines: readonly claudeLines.Fields[]): ForeignFile => ({
  path: claudeLines.mainPath,
  bytes: claudeLines.bytesOf(lines),
});
const chatFile = (records: readonly unknown[]): ForeignFile => ({
  path: geminiLines.chatPath,
  bytes: geminiLines.lines([geminiLines.header(), ...records]),
});
const { user, reply, call, result } = claudeLines;

describe("Claude Code", () => {
  /** Results answer calls, which are not the user's. */
  const isUsers = ({ name }: { readonly name: string }) =>
    !/^(?:thinking|redacted|tool_use|tool_result)/.test(name);

  test.each(flat(anthropicParts).filter(isUsers))("a user's $name", async ({ part }) => {
    await check(
      part,
      claudeCode,
      claudeFile([user("u1", null, [{ type: "text", text: "Look." }, part])]),
      false,
    );
  });
  test.each(flat(anthropicParts).filter(isUsers))("a result's $name", async ({ part }) => {
    const lines = [
      user("u1", null, "Go."),
      reply("a1", "u1", "m1", call("c9")),
      user("u2", "a1", [result("c9", [part])]),
    ];
    await check(part, claudeCode, claudeFile(lines), false);
  });
  test.each(flat(anthropicParts))("a reply's $name", async ({ part }) => {
    await check(part, claudeCode, claudeFile([user("u1", null, "Go."), reply("a1", "u1", "m1", part)]), true);
  });
});

describe("Codex", () => {
  const { item, rollout, said, turn } = codexLines;
  test.each(flat(responsesParts))("a user's $name", async ({ part }) => {
    await check(
      part,
      codex,
      rollout([turn(), item({ type: "message", role: "user", content: [part] })]),
      false,
    );
  });
  test.each(flat(responsesParts))("a result's $name", async ({ part }) => {
    const called = item({ type: "function_call", name: "shell", arguments: "{}", call_id: "c1" });
    const answered = item({ type: "function_call_output", call_id: "c1", output: [part] });
    await check(part, codex, rollout([turn(), said("Go."), called, answered]), false);
  });
});

describe("Qwen Code", () => {
  const chat = (records: readonly Fields[]): ForeignFile => ({
    path: "projects/-w/chats/0f8fad5b-d9cb-469f-a165-70867728950e.jsonl",
    bytes: geminiLines.lines(
      records.map((record, at) => ({
        uuid: `r${at}`,
        parentUuid: at === 0 ? null : `r${at - 1}`,
        sessionId: "0f8fad5b-d9cb-469f-a165-70867728950e",
        ...record,
      })),
    ),
  });
  const user = (...parts: readonly object[]) => ({ type: "user", message: { role: "user", parts } });
  const model = (...parts: readonly object[]) => ({ type: "assistant", message: { role: "model", parts } });
  test.each(flat(geminiParts).filter(({ name }) => !/^function/.test(name)))(
    "a user's $name",
    async ({ part }) => {
      await check(part, qwenCode, chat([user({ text: "Look." }, part)]), false);
    },
  );
  test.each(flat(geminiParts))("a reply's $name", async ({ part }) => {
    await check(part, qwenCode, chat([user({ text: "Go." }), model(part)]), true);
  });
});

describe("Gemini CLI", () => {
  test.each(flat(geminiParts).filter(({ name }) => !/^function/.test(name)))(
    "a user's $name",
    async ({ part }) => {
      await check(part, gemini, chatFile([geminiLines.user("u1", [{ text: "Look." }, part])]), false);
    },
  );
  test("a result with members beside its output", async () => {
    const [part] = geminiParts.functionResponse;
    const named = { functionResponse: { id: "c1", ...part?.functionResponse } };
    const lines = [
      geminiLines.user("u1", "Go."),
      geminiLines.reply("g1", "", { toolCalls: [geminiLines.call("c1", [named])] }),
    ];
    await check(named, gemini, chatFile(lines), false);
  });
  test.each(flat(geminiParts))("a reply's $name", async ({ part }) => {
    await check(
      part,
      gemini,
      chatFile([geminiLines.user("u1", "Go."), geminiLines.reply("g1", [part])]),
      true,
    );
  });
});

describe("opencode", () => {
  const chat = (...messages: readonly object[]): ForeignFile => {
    const info = { id: "ses_1", directory: "/w", time: { created: 900 } };
    return { path: "export.json", bytes: new TextEncoder().encode(JSON.stringify({ info, messages })) };
  };
  const asked = (part: object) => ({
    info: { id: "msg_1", role: "user", time: { created: 1000 }, model: { providerID: "p", modelID: "m" } },
    parts: [{ id: "prt_1", ...part }],
  });
  const answered = (part: object) => ({
    info: {
      id: "msg_2",
      role: "assistant",
      time: { created: 1001, completed: 1002 },
      providerID: "p",
      modelID: "m",
      finish: "stop",
    },
    parts: [{ id: "prt_2", ...part }],
  });
  test.each(flat(opencodeParts))("a user's $name", async ({ part }) => {
    await check(part, opencode, chat(asked(part)), false);
  });
  test.each(flat(opencodeParts).filter(({ name }) => !/^file/.test(name)))(
    "a reply's $name",
    async ({ part }) => {
      await check(part, opencode, chat(asked(text), answered(part)), true);
    },
  );
});
