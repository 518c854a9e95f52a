import { ingest } from "sessile/attachments";
import { memoryBlobStore } from "sessile/blobs";
import {
  assistantMessage,
  type ContextMessage,
  contextOf,
  type ImageBlock,
  toolResult,
  userMessage,
} from "sessile/content";
import { memoryReferenceCache, type Projection, project } from "sessile/projections";
import { type GeminiRequest, geminiContents } from "sessile/projections/gemini";
import { describe, expect, test } from "vitest";
import { base64, bytesOf, gif, pdf, png } from "../../attachments/samples.js";

const gemini3 = "gemini-3-pro-preview";
const gemini25 = "gemini-2.5-pro";

const picture: ImageBlock = { type: "image", data: base64(png()), mimeType: "image/png" };
const called = assistantMessage(
  { provider: "anthropic", model: "claude-sonnet-4-5" },
  { type: "toolCall", id: "a", name: "read", arguments: {} },
);
const pictureResult: ContextMessage = {
  ...toolResult({ id: "a", name: "read" }),
  content: [{ type: "text", text: "here it is" }, picture],
};

function projected(
  messages: readonly ContextMessage[],
  model = gemini3,
  options: Parameters<typeof project>[2] = {},
): Promise<Projection<GeminiRequest>> {
  return project(contextOf(messages), geminiContents({ model }), options);
}

describe("media", () => {
  test("of a tool's result are in the response from version 3 on, and behind it before", async () => {
    const messages = [userMessage("x"), called, pictureResult, userMessage("So?")];
    const inlineData = { mimeType: "image/png", data: picture.data };
    expect((await projected(messages)).value.contents.slice(2)).toEqual([
      {
        role: "user",
        parts: [
          {
            functionResponse: {
              name: "read",
              response: { output: "here it is" },
              parts: [{ inlineData }],
            },
          },
        ],
      },
      { role: "user", parts: [{ text: "So?" }] },
    ]);
    const before = (await projected(messages, gemini25)).value.contents.slice(2);
    expect(before[0]?.parts?.[0]?.functionResponse).not.toHaveProperty("parts");
    expect(before[1]?.parts).toEqual([{ text: expect.any(String) }, { inlineData }, { text: "So?" }]);
  });

  test("are documents too, all text as one type, and no GIF", async () => {
    const blobs = memoryBlobStore();
    const files = await Promise.all([
      ingest({ bytes: pdf, name: "a.pdf" }, { blobs }),
      ingest({ bytes: bytesOf("a,b\n"), name: "a.csv" }, { blobs }),
      ingest({ bytes: gif, name: "a.gif" }, { blobs }),
      // What kind of text it is bytes do not tell, so that another writer's word for it is needed.
      ingest({ bytes: bytesOf("# a\n"), name: "a.md" }, { blobs }).then((resource) => ({
        ...resource,
        mediaType: "text/markdown",
      })),
    ]);
    const { value, losses } = await projected([userMessage("Look.", ...files)], gemini3, { blobs });
    expect(value.contents[0]?.parts.flatMap(({ inlineData }) => inlineData ?? [])).toEqual([
      { mimeType: "application/pdf", data: base64(pdf) },
      { mimeType: "text/plain", data: base64(bytesOf("a,b\n")) },
      { mimeType: "text/plain", data: base64(bytesOf("# a\n")) },
    ]);
    expect(losses.map(({ code, block }) => [code, block])).toEqual([["unsupported", 3]]);
  });

  test("of no bytes are left out, and missed", async () => {
    const blobs = memoryBlobStore();
    const empty = await ingest({ bytes: new Uint8Array(), name: "a.txt" }, { blobs });
    const { value, losses } = await projected([userMessage("Look.", empty)], gemini3, { blobs });
    expect(value.contents[0]?.parts.map((part) => Object.keys(part))).toEqual([["text"], ["text"]]);
    expect(losses).toMatchObject([{ code: "unsupported", by: "target", block: 1 }]);
  });

  test("that Google has already are files, those of a result behind it", async () => {
    const blobs = memoryBlobStore();
    const [uploaded, published] = await Promise.all([
      ingest({ bytes: png(4, 4), name: "a.png" }, { blobs }),
      ingest({ bytes: bytesOf("# x\n"), name: "x.md" }, { blobs }),
    ]);
    const references = memoryReferenceCache();
    const api = "https://generativelanguage.googleapis.com/v1beta/files/abc";
    references.set({ blob: uploaded.blob, provider: "google" }, { kind: "file", id: api });
    references.set(
      { blob: published.blob, provider: "google" },
      { kind: "url", url: "https://example.com/x.md" },
    );
    const { value } = await projected(
      [userMessage("x", published), called, toolResult({ id: "a", name: "read" }, uploaded)],
      gemini3,
      { blobs, references },
    );
    const [first, , response, behind] = value.contents;
    expect(first?.parts.at(-1)).toEqual({
      fileData: { fileUri: "https://example.com/x.md", mimeType: "text/plain" },
    });
    expect(response?.parts[0]?.functionResponse).not.toHaveProperty("parts");
    expect(behind?.parts).toEqual([
      { text: "[from the result of read]" },
      { fileData: { fileUri: api, mimeType: "image/png" } },
    ]);
  });
});
