import Anthropic from "@anthropic-ai/sdk";
import { contextFrom, memoryBlobStore, userMessage } from "sessile";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LocalProvider, startLocalProvider } from "../../../../examples/apps/support/local-provider.js";
import { claude, type Model } from "../../../../examples/apps/turn-endpoint/claude.js";

let provider: LocalProvider;
let model: Model;
beforeAll(async () => {
  const call = { name: "look", input: { at: "the “left”\n" } };
  provider = await startLocalProvider({ script: () => ["  Two  words,\n\nthen a call. ", call, "Done."] });
  const client = new Anthropic({ apiKey: "none", baseURL: provider.url, maxRetries: 0 });
  model = claude({ client, model: "claude-opus-5-5", blobs: memoryBlobStore(), tools: [] });
});
afterAll(() => provider[Symbol.asyncDispose]());

describe("a reply that is streamed", () => {
  it("is the same message as one that comes whole, and its pieces are its text", async () => {
    const context = contextFrom([userMessage("Look.")]);
    const { signal } = new AbortController();
    const pieces: string[] = [];
    const whole = await model.generate(context, { signal });
    const streamed = await model.generate(context, { signal, onText: (text) => pieces.push(text) });
    const providerFields = { ...whole.providerFields, id: "msg_2" };
    expect({ ...streamed, timestamp: 0 }).toEqual({ ...whole, timestamp: 0, providerFields });
    expect(pieces.length).toBeGreaterThan(4);
    expect(pieces.join("")).toBe("  Two  words,\n\nthen a call. Done.");
    expect(provider.requests.map(({ stream }) => stream)).toEqual([undefined, true]);
  });

  it("ends with the signal, in the middle too", async () => {
    const abort = new AbortController();
    const onText = () => abort.abort();
    const reply = model.generate(contextFrom([userMessage("Look.")]), { signal: abort.signal, onText });
    await expect(reply).rejects.toThrow(/abort/i);
  });
});
