import type { ReplyDelta } from "sessile";
import { describe, expect, it } from "vitest";
import { type ReplyAccumulator, replyFailed, replyStream } from "../../src/providers/internal.js";

interface Word {
  readonly word?: string;
  readonly end?: true;
  readonly fails?: string;
}

function words(): ReplyAccumulator<Word> {
  const said: string[] = [];
  let isComplete = false;
  return {
    push({ word, end, fails }) {
      if (fails !== undefined) throw replyFailed(fails, { type: "overloaded_error" });
      if (end === true) isComplete = true;
      if (word === undefined) return [];
      said.push(word);
      return [{ type: "text", index: 0, text: word }];
    },
    get isComplete() {
      return isComplete;
    },
    message: (end) => ({
      role: "assistant",
      content: said.length === 0 ? [] : [{ type: "text", text: said.join("") }],
      provider: "p",
      model: "m",
      timestamp: 0,
      stopReason: end.type === "complete" ? "stop" : end.type,
      ...(end.type === "complete" ? {} : { errorMessage: end.reason }),
    }),
  };
}

async function* events(...all: readonly Word[]): AsyncGenerator<Word> {
  yield* all;
}

async function* failing(error: Error, ...all: readonly Word[]): AsyncGenerator<Word> {
  yield* all;
  throw error;
}

const hello: readonly Word[] = [{ word: "hel" }, { word: "lo" }, { end: true }];
const text = "hello";
const whole = { stopReason: "stop", content: [{ type: "text", text }] };
const sse = hello.map((one) => `event: x\ndata: ${JSON.stringify(one)}\n\n`).join("");

async function all(stream: AsyncIterable<ReplyDelta>): Promise<readonly ReplyDelta[]> {
  const deltas: ReplyDelta[] = [];
  for await (const delta of stream) deltas.push(delta);
  return deltas;
}

describe("a reply stream", () => {
  it("reads a client's events, an iterable of bytes or text, a body, and a Response", async () => {
    const bytes = new TextEncoder().encode(sse);
    async function* pieces(): AsyncGenerator<Uint8Array | string> {
      yield bytes.subarray(0, 7);
      yield bytes.subarray(7, 30);
      yield new TextDecoder().decode(bytes.subarray(30));
    }
    const body = () => new Response(`${sse}data: [DONE]\n\n`).body as ReadableStream<Uint8Array>;
    const plain = body();
    // As in Safari, whose streams cannot be iterated.
    const notIterable = { getReader: () => plain.getReader() } as unknown as ReadableStream<Uint8Array>;
    for (const source of [events(...hello), pieces(), body(), notIterable, new Response(sse)]) {
      const stream = replyStream(source, words());
      expect((await all(stream)).map((delta) => delta.type === "text" && delta.text)).toEqual(["hel", "lo"]);
      expect(await stream.message()).toMatchObject(whole);
      expect(stream.error).toBeUndefined();
    }
  });

  it("is read by message() if nobody iterates it, and cannot be iterated twice", async () => {
    const stream = replyStream(events(...hello), words());
    expect(await Promise.all([stream.message(), stream.message()])).toMatchObject([whole, whole]);
    expect(() => stream[Symbol.asyncIterator]()).toThrow(TypeError);
  });

  it("is aborted if its source ends early, its reader stops, or its signal aborts", async () => {
    const cut = replyStream(events({ word: "hel" }), words());
    expect(await cut.message()).toMatchObject({ stopReason: "aborted", content: [{ text: "hel" }] });

    let closed = false;
    async function* source(): AsyncGenerator<Word> {
      try {
        yield* hello;
      } finally {
        closed = true;
      }
    }
    const left = replyStream(source(), words());
    for await (const _ of left) break;
    expect(await left.message()).toMatchObject({ stopReason: "aborted", content: [{ text: "hel" }] });
    expect(closed).toBe(true);

    const never = replyStream(events(...hello), words());
    await never[Symbol.asyncIterator]().return?.();
    expect(await never.message()).toMatchObject({ stopReason: "aborted", content: [] });
  });

  it("does not wait for a source that hangs when its signal aborts", async () => {
    const { signal, abort } = (() => {
      const controller = new AbortController();
      return { signal: controller.signal, abort: () => controller.abort(new Error("stop")) };
    })();
    async function* hangs(): AsyncGenerator<Word> {
      yield { word: "hel" };
      await new Promise(() => undefined);
    }
    const stream = replyStream(hangs(), words(), { signal });
    setTimeout(abort, 20);
    expect(await stream.message()).toMatchObject({ stopReason: "aborted", content: [{ text: "hel" }] });
  });

  it("takes an error of the official client's abort for an abort", async () => {
    class APIUserAbortError extends Error {}
    async function* source(): AsyncGenerator<Word> {
      yield { word: "hel" };
      throw new APIUserAbortError("Request was aborted.");
    }
    expect(await replyStream(source(), words()).message()).toMatchObject({ stopReason: "aborted" });
  });

  it("ends as an error if the connection or the provider fails, and keeps the error for explain", async () => {
    async function* reset(): AsyncGenerator<Word> {
      yield { word: "hel" };
      throw new TypeError("terminated");
    }
    const broken = replyStream(reset(), words());
    expect(await broken.message()).toMatchObject({ stopReason: "error", errorMessage: "terminated" });
    expect(broken.error).toBeInstanceOf(TypeError);

    const refused = replyStream(events({ word: "hel" }, { fails: "Overloaded" }), words());
    expect(await refused.message()).toMatchObject({ stopReason: "error", errorMessage: "Overloaded" });
    expect(refused.error).toMatchObject({
      code: "REPLY_FAILED",
      cause: { error: { type: "overloaded_error" } },
    });

    const body = JSON.stringify({ error: { message: "messages.1.content.0: too large" } });
    const answered = replyStream(new Response(body, { status: 400 }), words());
    expect(await answered.message()).toMatchObject({ stopReason: "error", content: [] });
    expect(answered.error).toMatchObject({
      code: "REPLY_FAILED",
      message: "400: messages.1.content.0: too large",
      details: { status: 400 },
      cause: { status: 400 },
    });

    for (const source of [new Response("data: {\n\n"), failing(new SyntaxError("Unexpected token"))]) {
      const garbage = replyStream<Word>(source, words());
      expect(await garbage.message()).toMatchObject({ stopReason: "error", content: [] });
      expect(garbage.error).toMatchObject({
        code: "REPLY_FAILED",
        message: "the stream has an event that is not valid JSON",
      });
    }
  });

  it("finds the error that a proxy wrote behind a damaged event", async () => {
    const said = 'data: {"word":"hel"}\n\ndata: {"wo\nevent: error\n';
    const failed = replyStream<Word>(
      new Response(`${said}data: {"error":{},"fails":"Overloaded"}\n\n`),
      words(),
    );
    expect(await failed.message()).toMatchObject({ stopReason: "error", errorMessage: "Overloaded" });
  });

  it("is whole whatever follows the provider's end: a failure, an abort, or a reader that leaves", async () => {
    const failed = replyStream(failing(new Error("terminated"), ...hello), words());
    expect(await failed.message()).toMatchObject(whole);
    expect(failed.error).toBeUndefined();
    const last: readonly Word[] = [{ word: "hel" }, { word: "lo", end: true }, { fails: "late" }];
    const left = replyStream(events(...last), words());
    for await (const delta of left) if (delta.type === "text" && delta.text === "lo") break;
    expect(await left.message()).toMatchObject(whole);
  });

  it("reads on over data that is no event, and an event without its blank line", async () => {
    const idle = ["", " ", "ping", "[PING]", '"keep-alive"', ": keepalive", "[DONE]"];
    const lines = hello.map(
      (one) => `data: ${JSON.stringify(one)}\n\n${idle.map((text) => `data:${text}\n\n`).join("")}`,
    );
    const text = lines.join("");
    expect(await replyStream(new Response(text) as never, words()).message()).toMatchObject(whole);
    const cut = `${sse.trimEnd()}\n`;
    for (const source of [cut, cut.trimEnd()])
      expect(await replyStream(new Response(source) as never, words()).message()).toMatchObject(whole);
  });

  it("refuses what is no source", () => {
    for (const source of [null, "text", {}, 7]) {
      expect(() => replyStream(source as never, words())).toThrow(TypeError);
    }
  });
});
