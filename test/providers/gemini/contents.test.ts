import type { Content, GenerateContentParameters } from "@google/genai";
import fc from "fast-check";
import {
  type AssistantMessage,
  assistantMessage,
  type ContextMessage,
  contextFrom,
  type ImageBlock,
  memoryBlobStore,
  memoryReferenceCache,
  type Projection,
  project,
  type ToolCall,
  toolResult,
  userMessage,
} from "sessile";
import { ingest } from "sessile/attachments";
import { type GeminiRequest, geminiContents } from "sessile/gemini";
import { describe, expect, test } from "vitest";
import { isSigning, ownPart } from "../../../src/providers/gemini/shapes.js";
import { generatedCallId, isGeneratedCallId } from "../../../src/providers/gemini/target.js";
import { base64, bytesOf, gif, pdf, png } from "../../attachments/samples.js";

const gemini3 = "gemini-3-pro-preview";
const gemini25 = "gemini-2.5-pro";
const dummy = "skip_thought_signature_validator";
const sound = btoa("signature");

const call = (id: string, more: Partial<ToolCall> = {}): ToolCall => ({
  type: "toolCall",
  id,
  name: "read",
  arguments: { path: "a.png" },
  ...more,
});

type Said = readonly (string | AssistantMessage["content"][number])[];

function said(model: string, ...content: Said): AssistantMessage {
  return assistantMessage({ provider: "google", model }, ...content);
}
const foreign = (...content: Said) =>
  assistantMessage({ provider: "anthropic", model: "claude-sonnet-4-5" }, ...content);

const picture: ImageBlock = { type: "image", data: base64(png()), mimeType: "image/png" };
const pictureResult = (id: string): ContextMessage => ({
  ...toolResult({ id, name: "read" }, "here it is"),
  content: [{ type: "text", text: "here it is" }, picture],
});

function projected(
  messages: readonly ContextMessage[],
  model = gemini3,
  options: Parameters<typeof project>[2] = {},
): Promise<Projection<GeminiRequest>> {
  return project(contextFrom(messages), geminiContents({ model }), options);
}

async function contentsOf(messages: readonly ContextMessage[], model = gemini3): Promise<Content[]> {
  const { value, losses } = await projected(messages, model);
  expect(losses.filter(({ code }) => code !== "moved")).toEqual([]);
  return value.contents;
}

describe("geminiContents", () => {
  test("writes what fits the client's own parameters, in fresh objects", async () => {
    const message = said(gemini3, "Hm.", call("c1", { arguments: { deep: { list: [1] } } }));
    const { value } = await projected([
      { role: "system", content: "Be brief.", timestamp: 1 },
      userMessage("Hello."),
      message,
      toolResult({ id: "c1", name: "read" }, "done"),
    ]);
    const { contents, systemInstruction } = value;
    const parameters: GenerateContentParameters = {
      model: gemini3,
      contents,
      config: systemInstruction === undefined ? {} : { systemInstruction },
    };
    expect(parameters).toEqual({
      model: gemini3,
      contents: [
        { role: "user", parts: [{ text: "Hello." }] },
        {
          role: "model",
          parts: [
            { text: "Hm." },
            {
              functionCall: { id: "c1", name: "read", args: { deep: { list: [1] } } },
              thoughtSignature: dummy,
            },
          ],
        },
        {
          role: "user",
          parts: [{ functionResponse: { id: "c1", name: "read", response: { output: "done" } } }],
        },
      ],
      config: { systemInstruction: { parts: [{ text: "Be brief." }] } },
    });
    const args = contents[1]?.parts[1]?.functionCall?.args ?? {};
    args.deep = Object.assign(args.deep as object, { list: [2] });
    expect((message.content[1] as ToolCall).arguments).toEqual({ deep: { list: [1] } });
  });

  test("keeps the responses of a turn together, alone, and in the order of the calls", async () => {
    const contents = await contentsOf([
      userMessage("Read both."),
      foreign(call("a"), call("b")),
      { ...toolResult({ id: "b", name: "read" }, "no such file"), isError: true },
      toolResult({ id: "a", name: "read" }, "one", "two"),
      userMessage("Go on."),
    ]);
    expect(contents.slice(2)).toEqual([
      {
        role: "user",
        parts: [
          { functionResponse: { name: "read", response: { output: "one\ntwo" } } },
          { functionResponse: { name: "read", response: { error: "no such file" } } },
        ],
      },
      { role: "user", parts: [{ text: "Go on." }] },
    ]);
  });

  test("has names of functions as Google takes them: with dots and colons, and a letter first", async () => {
    const calls = [call("a", { name: "files.read:all" }), call("b", { name: "1st" })];
    const { value, losses } = await projected([userMessage("?"), said(gemini3, ...calls)]);
    const names = value.contents.flatMap(({ parts }) =>
      parts.flatMap(
        ({ functionCall, functionResponse }) => functionCall?.name ?? functionResponse?.name ?? [],
      ),
    );
    expect(names).toEqual(["files.read:all", "_1st", "files.read:all", "_1st"]);
    expect(losses.filter(({ code }) => code === "toolName")).toMatchObject([{ block: 1, instead: "_1st" }]);
  });

  describe("ids", () => {
    const idsIn = async (message: AssistantMessage, ...ids: string[]) => {
      const results = ids.map((id) => toolResult({ id, name: "read" }, "done"));
      const contents = await contentsOf([userMessage("x"), message, ...results]);
      return contents
        .slice(1)
        .map(({ parts }) =>
          parts?.map(({ functionCall, functionResponse }) => (functionCall ?? functionResponse)?.id),
        );
    };

    test("go back where Gemini gave them", async () => {
      const odd = "gemini:id/with everything in it";
      expect(await idsIn(said(gemini3, call(odd), call("2")), odd, "2")).toEqual([
        [odd, "2"],
        [odd, "2"],
      ]);
    });

    test("are left out where another model did, whatever they look like", async () => {
      const long = `call_x|${"y".repeat(100)}`;
      expect(await idsIn(foreign(call(long)), long)).toEqual([[undefined], [undefined]]);
      const tooLong = "y".repeat(2000);
      const messages = [
        userMessage("x"),
        foreign(call(tooLong)),
        toolResult({ id: tooLong, name: "read" }, ""),
      ];
      expect((await projected(messages)).losses).toEqual([]);
    });

    test("are left out where another protocol's client made them, for the same model", async () => {
      const message = { ...said(gemini3, call("aitxt-1")), api: "ai-sdk/google.generative-ai" };
      const [, { parts } = {}] = await contentsOf([
        userMessage("?"),
        message,
        toolResult(call("aitxt-1"), "ok"),
      ]);
      expect(parts?.[0]?.functionCall).toEqual({ name: "read", args: { path: "a.png" } });
    });

    test("are left out where the reader made them, ours or pi's", async () => {
      const pis = "read_1730000000000_12";
      expect(await idsIn(said(gemini3, call(pis), call("gemini_noid_x_1")), pis, "gemini_noid_x_1")).toEqual([
        [undefined, undefined],
        [undefined, undefined],
      ]);
    });
  });

  describe("signatures", () => {
    const signaturesIn = (contents: readonly Content[]) =>
      contents.flatMap(({ parts = [] }) => parts.map(({ thoughtSignature }) => thoughtSignature));

    test("of its own go back where they were", async () => {
      const contents = await contentsOf([
        userMessage("x"),
        said(
          gemini3,
          { type: "thinking", thinking: "Hm.", thinkingSignature: sound },
          { type: "text", text: "Yes.", textSignature: sound },
          call("a", { thoughtSignature: sound }),
          call("b"),
        ),
        toolResult({ id: "a", name: "read" }, "done"),
        toolResult({ id: "b", name: "read" }, "done"),
      ]);
      expect(contents[1]?.parts).toEqual([
        { text: "Hm.", thought: true, thoughtSignature: sound },
        { text: "Yes.", thoughtSignature: sound },
        { functionCall: { id: "a", name: "read", args: { path: "a.png" } }, thoughtSignature: sound },
        { functionCall: { id: "b", name: "read", args: { path: "a.png" } } },
      ]);
    });

    test("are made up for the first of another model's calls, from version 3 on", async () => {
      const messages = [
        userMessage("x"),
        foreign("Hm.", call("a"), call("b")),
        toolResult({ id: "a", name: "read" }, "done"),
        toolResult({ id: "b", name: "read" }, "done"),
      ];
      const ofCalls = [undefined, undefined, dummy, undefined, undefined, undefined];
      expect(signaturesIn(await contentsOf(messages))).toEqual(ofCalls);
      expect(signaturesIn(await contentsOf(messages, "gemini-flash-latest"))).toEqual(ofCalls);
      expect(signaturesIn(await contentsOf(messages, gemini25)).filter(Boolean)).toEqual([]);
    });

    test("that are no base64 are left out, and missed", async () => {
      const cut = "CiQB…";
      const { value, losses } = await projected([
        userMessage("x"),
        said(
          gemini3,
          { type: "thinking", thinking: "Hm.", thinkingSignature: cut },
          { type: "text", text: "Yes.", textSignature: "abcde" },
          call("a", { thoughtSignature: "" }),
        ),
        toolResult({ id: "a", name: "read" }, "done"),
      ]);
      expect(value.contents[1]?.parts).toEqual([
        { text: "Yes." },
        { functionCall: { id: "a", name: "read", args: { path: "a.png" } }, thoughtSignature: dummy },
      ]);
      expect(losses.map(({ code, block }) => [code, block])).toEqual([
        ["reasoning", 0],
        ["reasoning", 1],
      ]);
    });
  });

  test("gives parts of its own that nobody else reads back, and not what Google would refuse", async () => {
    const code = { executableCode: { language: "PYTHON", code: "1" }, thoughtSignature: sound };
    const { value, losses } = await projected([
      userMessage("x"),
      said(
        gemini3,
        { type: "opaque", data: code },
        { type: "opaque", data: { text: "", thoughtSignature: sound } },
        { type: "opaque", data: { type: "mystery" } },
        { type: "opaque", data: { text: "" } },
        { type: "opaque", data: { functionCall: { name: "read", args: {} } } },
      ),
    ]);
    const instead = { text: "[a part that cannot be sent again]" };
    expect(value.contents[1]?.parts).toEqual([
      code,
      { text: "", thoughtSignature: sound },
      instead,
      instead,
      instead,
    ]);
    expect(losses.map(({ code, block }) => [code, block])).toEqual([
      ["opaque", 2],
      ["opaque", 3],
      ["opaque", 4],
    ]);
  });

  test("explains a refusal by the path that Google names", async () => {
    const { explain } = await projected([
      userMessage("x"),
      said(
        gemini3,
        { type: "opaque", data: { executableCode: { language: "PYTHON", code: "1" } } },
        call("a"),
      ),
      pictureResult("a"),
      { role: "user", content: [{ type: "text", text: "And?" }, picture], timestamp: 1 },
    ]);
    const error = (field: string) => ({
      status: 400,
      message: JSON.stringify({
        error: {
          code: 400,
          message: `Invalid value at '${field}' (TYPE_BYTES), Base64 decoding failed`,
          details: [{ fieldViolations: [{ field, description: "x" }] }],
        },
      }),
    });
    expect(explain(error("contents[3].parts[1].inline_data.data"))).toMatchObject({
      entryId: "m3",
      block: 1,
      certainty: "path",
    });
    expect(explain(error("contents[2].parts[0].function_response.parts[0].inline_data.data"))).toMatchObject({
      entryId: "m2",
    });
  });

  test("wants a model, and takes another provider, account and profile", async () => {
    expect(() => geminiContents({ model: "" })).toThrow(
      new TypeError("model: expected a non-empty string, got an empty string"),
    );
    const target = geminiContents({
      model: gemini3,
      provider: "google-vertex",
      account: "work",
      profile: { name: "mine", transports: ["inline"], rows: [] },
    });
    expect(target.model).toEqual({
      provider: "google-vertex",
      model: gemini3,
      api: "google-vertex",
      account: "work",
    });
    expect(target.limits?.profile.name).toBe("mine");
  });
});

test("a made id is short, of plain characters, and known again whatever the call's name", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(999), fc.string(), (tag, index, name) => {
      const id = generatedCallId(tag, index);
      expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      expect(isGeneratedCallId(id, name)).toBe(true);
      expect(generatedCallId(tag, index)).toBe(id);
      expect(generatedCallId(tag, index + 1)).not.toBe(id);
    }),
  );
});

test.each([
  ["read_1763760000000_1", "read", true],
  ["read_file_1763760000000_12", "read_file", true],
  ["read_1763760000000_1", "list", false],
  ["read_1763760000000", "read", false],
  ["read_176376_1", "read", false],
  ["read_1763760000000_1x", "read", false],
  ["call_1", "call", false],
  ["", "", false],
])("pi makes ids of the name, the time and a count: %j of %j", (id, name, made) => {
  expect(isGeneratedCallId(id, name)).toBe(made);
});

test.each([
  ["gemini-2.5-pro", false],
  ["models/gemini-2.0-flash-001", false],
  ["gemini-3-pro-preview", true],
  ["publishers/google/models/gemini-3.1-flash", true],
  ["gemini-flash-latest", true],
  ["tunedModels/mine-7", true],
])("%s signs its calls: %s", (model, signs) => {
  expect(isSigning(model)).toBe(signs);
});

describe("ownPart", () => {
  test.each([
    [{ executableCode: { language: "PYTHON", code: "1" } }],
    [{ codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" }, thoughtSignature: "YQ==" }],
    [{ inlineData: { mimeType: "image/png", data: "AAAA" }, thought: true }],
    [{ text: "", thoughtSignature: "YQ==" }],
    [{ functionResponse: { name: "read", response: {} } }],
    [{ executableCode: {}, added: 1 }],
  ])("copies %j", (data) => {
    const part = ownPart(data);
    expect(part).toEqual(data);
    expect(part).not.toBe(data);
  });

  test.each([
    [{ text: "" }],
    [{ thoughtSignature: "YQ==" }],
    [{ text: "a", executableCode: {} }],
    [{ functionCall: { name: "read" } }],
    [{ type: "server_tool_use", id: "1" }],
    [{}],
    [[]],
    ["text"],
    [null],
  ])("has nothing of %j", (data) => {
    expect(ownPart(data)).toBeUndefined();
  });
});

const called = assistantMessage(
  { provider: "anthropic", model: "claude-sonnet-4-5" },
  { type: "toolCall", id: "a", name: "read", arguments: {} },
);
const imageResult: ContextMessage = {
  ...toolResult({ id: "a", name: "read" }),
  content: [{ type: "text", text: "here it is" }, picture],
};

describe("media", () => {
  test("of a tool's result are in the response from version 3 on, and behind it before", async () => {
    const messages = [userMessage("x"), called, imageResult, userMessage("So?")];
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
