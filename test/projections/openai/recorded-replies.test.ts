/** Replies of Responses that were recorded elsewhere go back to their maker as they came. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { contextOf, toolCalls, toolResult, userMessage } from "sessile/content";
import { project } from "sessile/projections";
import {
  type OpenaiResponsesReply,
  openaiResponses,
  readOpenaiResponsesReply,
} from "sessile/projections/openai";
import { describe, expect, test } from "vitest";
import { root } from "../../../scripts/entries.mjs";

const replies = resolve(root, process.env.SESSILE_FIXTURES ?? "../shared/fixtures", "replies");
const providers = ["openai", "azure", "xai", "open-responses"];

type Item = Record<string, unknown>;

/** Items that the client has to answer with an item of their own type, which a session has no entry for. */
const unanswered = new Set(["shell_call", "local_shell_call", "apply_patch_call", "mcp_approval_request"]);

/** Why a reply does not go back as it came. */
const exceptions: Readonly<Record<string, string>> = {
  "openai-image-generation-tool.1.json": "it ends with an empty message, which is refused in a request",
  "openai-custom-tool.1.json": "the id is made up: OpenAI's own begin with ctc",
};

/** An item without what is for people or null, and reasoning of a stored response as a reference to it. */
function asSent(item: Item, provider: string): Item {
  const isOpen = provider !== "openai" && provider !== "azure" && Array.isArray(item.content);
  if (item.type === "reasoning" && typeof item.encrypted_content !== "string" && !isOpen) {
    return { type: "item_reference", id: item.id };
  }
  // xAI's citations have no title, which a citation that goes back must have.
  const content = (part: Item) => ({
    type: part.type,
    text: part.text,
    annotations: (part.annotations as Item[]).filter(
      ({ type, title }) => type !== "url_citation" || title !== undefined,
    ),
  });
  if (item.type === "message") return { ...item, content: (item.content as Item[]).map(content) };
  if (item.type === "web_search_call") {
    const action = item.action as Item | undefined;
    if (action?.type === "search")
      return { ...item, action: { query: (action.queries as string[])?.[0], ...action } };
  }
  if (item.type === "reasoning") {
    return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null));
  }
  // Not an input member of a custom call.
  if (item.type === "custom_tool_call") return { ...item, status: undefined };
  return item;
}

const files = providers.flatMap((provider) => {
  const directory = join(replies, provider);
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => name.endsWith(".json"))
    .map((name) => ({ provider, name, reply: JSON.parse(readFileSync(join(directory, name), "utf8")) }))
    .filter(({ reply }) => Array.isArray(reply.output));
});

describe.skipIf(files.length === 0)("recorded replies (skipped where SESSILE_FIXTURES has none)", () => {
  test.each(files)("$provider/$name", async ({ provider, name, reply }) => {
    const { model } = reply as OpenaiResponsesReply;
    const read = readOpenaiResponsesReply(reply, { provider, model });
    const message = JSON.parse(JSON.stringify(read));
    const results = toolCalls(message).map((call) => toolResult(call, "[]"));
    const context = contextOf([userMessage("Go"), message, ...results, userMessage("And?")]);
    const { value, losses } = await project(context, openaiResponses({ model, provider, stored: true }));
    const output = reply.output as Item[];
    const isWhole = !output.some(({ type }) => unanswered.has(String(type)));
    const sent = value.input.slice(1, 1 + output.length);
    const expected = output.map((item) => asSent(item, provider));
    if (isWhole && !(name in exceptions)) {
      expect(sent).toEqual(expected);
      expect(losses).toEqual([]);
    } else {
      expect(sent).not.toEqual(expected);
    }
  });
});
