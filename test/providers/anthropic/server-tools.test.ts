import type { AssistantPart, Turn, UserTurn } from "sessile";
import { describe, expect, test } from "vitest";
import { readIds } from "../../../src/providers/anthropic/render.js";
import { serverCalls } from "../../../src/providers/server-calls.js";

const origin = { entryId: "e", item: 0 };
const text = { type: "text", text: "a", origin } as const;
const call = (id: string, type = "server_tool_use"): AssistantPart => ({
  type: "opaque",
  data: { type, id, name: "web_search", input: {} },
  origin,
});
const result = (id: string, type = "web_search_tool_result"): AssistantPart => ({
  type: "opaque",
  data: { type, tool_use_id: id, content: [] },
  origin,
});
const said = (...parts: readonly AssistantPart[]): Turn => ({ role: "assistant", parts });
const words: Turn = { role: "user", results: [], parts: [text] };
const results: UserTurn = {
  role: "user",
  results: [
    { type: "result", callId: "c", storedCallId: "c", name: "n", isError: false, parts: [text], origin },
  ],
  parts: [],
};
const picture = {
  type: "reference",
  kind: "image",
  mediaType: "image/png",
  reference: { kind: "file", id: "file_1" },
  resource: {
    resourceId: "res_0123456789abcdef",
    kind: "image",
    source: "tool",
    mediaType: "image/png",
    size: 1,
    blob: "sha256:",
    contentSha256: "",
  },
  origin,
} as const;
const withPicture = (isError: boolean): Turn => ({
  ...results,
  results: results.results.map((one) => ({ ...one, isError, parts: [text, picture] })),
});
const depicted = withPicture(false);
const pictured = withPicture(true);
const stray = (...turns: readonly Turn[]) => serverCalls(turns, readIds).stray.map(({ id }) => id);

describe("serverCalls", () => {
  test.each([
    ["a call and its result", [said(call("s"), result("s"), text)]],
    ["a paused turn at the end", [said(text, call("s"))]],
    ["an open call, and results of the client's tools", [said(call("s")), results]],
    ["an open call, and a result with a picture", [said(call("s")), depicted]],
    ["a result in the reply after them", [said(call("s")), results, said(result("s"), text), words]],
    ["a call by way of MCP", [said(call("s", "mcp_tool_use"), result("s", "mcp_tool_result")), words]],
    ["blocks of other kinds", [said({ type: "opaque", data: { type: "container_upload" }, origin }), words]],
  ])("lets be: %s", (_, turns) => {
    expect(stray(words, ...turns)).toEqual([]);
  });

  test.each([
    ["a call that the user's words cut off", [said(call("s")), words], ["s"]],
    ["a call that words behind the results cut off", [said(call("s")), { ...results, parts: [text] }], ["s"]],
    ["a call behind whose failed result a picture stands", [said(call("s")), pictured], ["s"]],
    ["a call that the next reply does not answer", [said(call("s")), results, said(text)], ["s"]],
    ["a result of nothing", [said(result("s"), text)], ["s"]],
    ["a second result", [said(call("s"), result("s"), result("s"))], ["s"]],
    ["a result after the cut", [said(call("s")), words, said(result("s"), text)], ["s", "s"]],
    ["one of two", [said(call("s"), call("t"), result("t"), text), words], ["s"]],
  ] satisfies [string, Turn[], string[]][])("finds %s", (_, turns, expected) => {
    expect(stray(words, ...turns)).toEqual(expected);
  });
});
