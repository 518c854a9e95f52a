import fc from "fast-check";
import type { ContextMessage, StoredResource } from "sessile/content";
import { imageCharacters } from "sessile/tether";
import { describe, expect, test } from "vitest";
import { messageCharacters } from "../../src/tether/message-characters.js";
import { message } from "../arbitraries/messages.js";

const stored = (kind: "image" | "file"): StoredResource => ({
  resourceId: "res_0123456789abcdef",
  kind,
  source: "upload",
  mediaType: kind === "image" ? "image/png" : "application/pdf",
  size: 5_000_000,
  blob: `sha256:${"0".repeat(64)}`,
  contentSha256: "0".repeat(64),
});
const time = { timestamp: 0 };
const of = { ...time, provider: "p", model: "m" };

const examples: readonly (readonly [what: string, characters: number, message: ContextMessage])[] = [
  ["a text", 3, { role: "user", content: "one", ...time }],
  ["a name, which is not in the text", 3, { role: "user", content: "one", name: "Ann", ...time }],
  [
    "an inline image and a stored one, whatever their text",
    3 + 2 * imageCharacters,
    {
      role: "user",
      content: [
        { type: "text", text: "one" },
        { type: "image", data: "A".repeat(10_000), mimeType: "image/png" },
        { type: "text", text: "[image, image/png]", resource: stored("image") },
      ],
      ...time,
    },
  ],
  [
    "a file, of which the description is sent",
    6,
    {
      role: "toolResult",
      toolCallId: "c",
      toolName: "read",
      isError: false,
      details: "for programs",
      content: [{ type: "text", text: "[file]", resource: stored("file") }],
      ...time,
    },
  ],
  [
    "what a model said, thought and called, and a block of its provider's",
    3 + 5 + 4 + '{"a":"\\n"}'.length + '{"b":1}'.length,
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "think", thinkingSignature: "signature" },
        { type: "text", text: "one", textSignature: "signature" },
        {
          type: "toolCall",
          id: "long id",
          name: "read",
          arguments: { a: "\n" },
          thoughtSignature: "signature",
        },
        { type: "opaque", data: { b: 1 } },
      ],
      ...of,
    },
  ],
  [
    "a command",
    2 + 4,
    { role: "bashExecution", command: "ls", output: "file", cancelled: false, truncated: false, ...time },
  ],
  [
    "a command that no model sees",
    0,
    {
      role: "bashExecution",
      command: "ls",
      output: "file",
      cancelled: false,
      truncated: false,
      excludeFromContext: true,
      ...time,
    },
  ],
  [
    "a note",
    3,
    { role: "custom", customType: "note", content: "one", display: false, details: "more", ...time },
  ],
  [
    "instructions, sections and tools",
    3 + 5 + 2 + '[{"name":"read"}]'.length,
    {
      role: "system",
      content: [{ type: "text", text: "one" }],
      sections: { tools: "words", old: null, other: "ab" },
      toolsAdded: [{ name: "read" }],
      toolsRemoved: ["write"],
      ...time,
    },
  ],
  ["a summary", 3, { role: "compactionSummary", summary: "one", tokensBefore: 9, details: "more", ...time }],
  [
    "a branch's summary",
    3,
    { role: "branchSummary", summary: "one", fromId: "root", details: "more", ...time },
  ],
];

describe("messageCharacters", () => {
  test.each(examples)("counts %s as %d", (_, characters, given) => {
    expect(messageCharacters(given)).toBe(characters);
  });

  test("is a whole number for any message, and no more than its JSON but for images", () => {
    fc.assert(
      fc.property(message, (any) => {
        const json = JSON.stringify(any);
        const images = json.split('"type":"image"').length + json.split('"kind":"image"').length - 2;
        const characters = messageCharacters(any);
        expect(Number.isSafeInteger(characters)).toBe(true);
        expect(characters).toBeLessThanOrEqual(json.length + images * imageCharacters);
      }),
    );
  });
});
