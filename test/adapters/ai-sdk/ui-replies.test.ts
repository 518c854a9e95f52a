import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import fc from "fast-check";
import {
  assistantMessage,
  memorySessionStore,
  type Reply,
  type ReplyDelta,
  type ReplyOptions,
  type Session,
  type StopReason,
  toolResult,
  userMessage,
} from "sessile";
import { toUIMessages, uiReplies } from "sessile/ai-sdk";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const model = { provider: "anthropic", model: "m" };
const call = (id: string) => ({ type: "toolCall", id, name: "read", arguments: { at: id } }) as const;

async function open() {
  const session = await memorySessionStore().create({ cwd: "/" });
  return { session, replies: uiReplies<UIMessageChunk>(session) };
}

async function chunksOf(stream: ReadableStream<UIMessageChunk> | undefined): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of stream ?? []) chunks.push(chunk);
  return chunks;
}

/** The message that a page builds of a stream. */
async function built(stream: ReadableStream<UIMessageChunk> | undefined): Promise<UIMessage | undefined> {
  let last: UIMessage | undefined;
  const options = { onError: () => {}, terminateOnError: false };
  if (stream !== undefined)
    for await (const message of readUIMessageStream({ stream, ...options })) last = message;
  if (last === undefined) return undefined;
  // The SDK keeps the stream's own name of reasoning, which nothing refers to later.
  const parts = last.parts.map((part) => (part.type === "reasoning" ? { ...part, id: undefined } : part));
  return JSON.parse(JSON.stringify({ ...last, parts })) as UIMessage;
}

const last = async (session: Session) => (await toUIMessages<UIMessage>(await session.path())).at(-1);
const soon = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("the replies of a session", () => {
  it("are streams that a page joins at any time, and end as the session shows them", async () => {
    const { session, replies } = await open();
    expect(await replies.resume()).toBeUndefined();
    await session.appendMessage(userMessage("Look."));
    session.publish({ type: "status", status: "busy" });
    const [early, posted] = [await replies.resume(), replies.stream()];
    session.publish({ type: "thinking_delta", delta: "Hm", messageId: "r1" });
    session.publish({ type: "text_delta", delta: "Let ", messageId: "r1" });
    session.publish({ type: "text_delta", delta: "me see.", messageId: "r1" });
    await soon();
    const late = await replies.resume();
    const reply = assistantMessage(
      model,
      { type: "thinking", thinking: "Hm." },
      "Let me see.",
      call("c1"),
      call("c2"),
    );
    await session.append([{ type: "message", id: "r1", message: reply }]);
    session.publish({ type: "tool_state", toolCallId: "c1", state: "running", output: "half" });
    await session.appendMessage(toolResult(call("c1"), "one"));
    await session.appendMessage({ ...toolResult(call("c2"), "No."), isError: true });
    session.publish({ type: "text_delta", delta: "Do" });
    await soon();
    const inStepTwo = await replies.resume();
    await session.appendMessage(assistantMessage(model, "Done.", "More."));
    session.publish({ type: "status", status: "idle" });
    await soon();
    expect(await replies.resume()).toBeUndefined();
    const all = await Promise.all([early, posted, late, inStepTwo].map(chunksOf));
    for (const chunks of all) expect(chunks).toEqual(all[0]);
    expect(all[0]?.map(({ type }) => type)).toEqual([
      ..."start start-step reasoning-start reasoning-delta reasoning-end text-start".split(" "),
      ..."text-delta text-delta text-end tool-input-available tool-input-available".split(" "),
      ..."tool-output-available tool-output-available tool-output-error".split(" "),
      ..."finish-step start-step text-start text-delta text-delta text-end text-start text-delta text-end".split(
        " ",
      ),
      ..."finish-step finish".split(" "),
    ]);
    expect(all[0]?.[0]).toEqual({ type: "start", messageId: "r1" });
  });

  it("build the message that a reload shows, with nothing, a part or all of it published", async () => {
    const words = fc.array(fc.stringMatching(/^[a-z ]{1,8}$/), { minLength: 1, maxLength: 3 });
    const step = fc.record({
      text: words,
      thinking: fc.option(words),
      published: fc.nat({ max: 6 }),
      calls: fc.nat({ max: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 3 }), async (steps) => {
        const { session, replies } = await open();
        await session.appendMessage(userMessage("Go."));
        session.publish({ type: "status", status: "busy" });
        const streams = [replies.stream()];
        for (const [at, { text, thinking, published, calls }] of steps.entries()) {
          const deltas = [
            ...(thinking ?? []).map((delta) => ({ type: "thinking_delta" as const, delta })),
            ...text.map((delta) => ({ type: "text_delta" as const, delta })),
          ];
          // A loop that publishes some of a block publishes it from its start.
          for (const delta of deltas.slice(0, published))
            session.publish({ ...delta, messageId: at === 0 ? "r" : `r${at}` });
          const made = Array.from({ length: at < steps.length - 1 ? calls + 1 : 0 }, (_, n) =>
            call(`c${at}${n}`),
          );
          const blocks =
            thinking === null ? [] : [{ type: "thinking", thinking: thinking.join("") } as const];
          const message = assistantMessage(model, ...blocks, text.join(""), ...made);
          await session.append([{ type: "message", id: at === 0 ? "r" : `r${at}`, message }]);
          await soon();
          streams.push(
            (await replies.resume()) ?? new ReadableStream({ start: (controller) => controller.close() }),
          );
          for (const one of made) await session.appendMessage(toolResult(one, "ok"));
        }
        const [first, ...joined] = await Promise.all(streams.map(built));
        const shown = await last(session);
        expect(first).toEqual(shown);
        for (const message of joined.slice(0, -1)) expect(message).toEqual(shown);
      }),
      { numRuns: 60 },
    );
  });

  it("have two blocks that were published without a break as one part, with nothing twice", async () => {
    const { session, replies } = await open();
    const stream = replies.stream();
    session.publish({ type: "text_delta", delta: "One. Two" });
    await session.appendMessage(assistantMessage(model, "One. ", "Two.", "Three."));
    const parts = (await built(stream))?.parts.flatMap((part) => ("text" in part ? [part.text] : []));
    expect(parts).toEqual(["One. Two.", "Three."]);
  });

  it.each<[StopReason, string]>([
    ["aborted", "abort"],
    ["error", "error"],
    ["length", "finish"],
  ])("end after a message that ended with %s", async (stopReason, type) => {
    const { session, replies } = await open();
    const stream = replies.stream();
    const message = assistantMessage({ ...model, stopReason, errorMessage: "why" }, "Half");
    await session.appendMessage(message);
    const chunks = await chunksOf(stream);
    expect(chunks.at(-1)).toMatchObject({ type });
    if (type === "error") expect(chunks.at(-1)).toEqual({ type: "error", errorText: "why" });
    expect(await replies.resume()).toBeUndefined();
  });

  it("build the same message of every kind of block that a reply of the AI SDK has", async () => {
    const { session, replies } = await open();
    const meta = { anthropic: { mark: "m" } };
    const data = "iVBORw0KGgoAAAANSUhEUgAA";
    const opaque = (part: object) => ({ type: "opaque", data: part }) as const;
    const own = { ...model, api: "ai-sdk/anthropic.messages" };
    const citations = [{ type: "text", source: { type: "url", url: "https://a.b" } }];
    const search = { toolCallId: "s1", toolName: "web_search" };
    const reply = assistantMessage(
      own,
      { type: "thinking", thinking: "Hm.", thinkingSignature: JSON.stringify(meta) },
      opaque({ type: "reasoning-file", mediaType: "image/png", data, providerOptions: meta }),
      opaque({
        type: "tool-call",
        ...search,
        input: { q: 1 },
        providerExecuted: true,
        providerOptions: meta,
      }),
      opaque({ type: "tool-result", ...search, output: { type: "json", value: [1] }, providerOptions: meta }),
      opaque({ type: "source-url", sourceId: "u1", url: "https://a.b", title: "A" }),
      opaque({ type: "custom", kind: "anthropic.compaction", providerOptions: meta }),
      opaque({ type: "file", mediaType: "image/png", data }),
      { type: "text", text: "Blue.", textSignature: JSON.stringify(meta), providerFields: { citations } },
    );
    await session.appendMessage(userMessage("Why?"));
    const stream = replies.stream();
    await session.append([{ type: "message", id: "r1", message: reply }]);
    expect(await built(stream)).toEqual(await last(session));
  });

  it("are over with their last message: what is published for it later begins no other", async () => {
    const { session, replies } = await open();
    await session.append([{ type: "message", id: "r1", message: assistantMessage(model, call("c1")) }]);
    await session.appendMessage(toolResult(call("c1"), "one"));
    await session.append([{ type: "message", id: "r2", message: assistantMessage(model, "Done.") }]);
    await soon();
    for (const messageId of ["r1", "r2"]) session.publish({ type: "text_delta", delta: "late", messageId });
    await soon();
    expect(await replies.resume()).toBeUndefined();
    session.publish({ type: "text_delta", delta: "new", messageId: "r3" });
    await soon();
    const stream = await replies.resume();
    await session.append([{ type: "message", id: "r3", message: assistantMessage(model, "new") }]);
    expect(await built(stream)).toMatchObject({ id: "r3", parts: [{}, { text: "new" }] });
  });

  it("end with the status idle, with an error if it has a message", async () => {
    const { session, replies } = await open();
    const nothing = replies.stream();
    session.publish({ type: "status", status: "idle" });
    expect(await chunksOf(nothing)).toEqual([]);
    const failed = replies.stream();
    session.publish({ type: "status", status: "idle", message: "no key" });
    expect((await chunksOf(failed)).at(-1)).toEqual({ type: "error", errorText: "no key" });
    const cut = replies.stream();
    session.publish({ type: "text_delta", delta: "Half" });
    session.publish({ type: "status", status: "idle" });
    expect((await chunksOf(cut)).map(({ type }) => type).slice(-3)).toEqual([
      "text-end",
      "finish-step",
      "finish",
    ]);
  });

  it("end when the session or the listener is closed", async () => {
    const one = await open();
    const stream = one.replies.stream();
    one.replies.close();
    expect(await chunksOf(stream)).toEqual([]);
    const other = await open();
    const second = other.replies.stream();
    await other.session.close();
    expect(await chunksOf(second)).toEqual([]);
  });

  it("end with an error if an address cannot be made", async () => {
    const session = await memorySessionStore().create({ cwd: "/" });
    const fileUrl = () => {
      throw new Error("no address");
    };
    const replies = uiReplies<UIMessageChunk>(session, { fileUrl });
    const stream = replies.stream();
    const block = {
      type: "text" as const,
      text: "[image]",
      resource: {
        resourceId: "res_0123456789abcdef",
        kind: "image" as const,
        source: "tool" as const,
        mediaType: "image/png",
        size: 1,
        blob: `sha256:${"a".repeat(64)}` as const,
        contentSha256: "a".repeat(64),
      },
    };
    await session.appendMessage(assistantMessage(model, block));
    expect((await chunksOf(stream)).at(-1)).toEqual({ type: "error", errorText: "no address" });
  });
});

/** What a page shows of a stream: each state of its message. */
function shown(stream: ReadableStream<UIMessageChunk>) {
  const states: UIMessage[] = [];
  let error: unknown;
  const ended = (async () => {
    const onError = (one: unknown) => {
      error = one;
    };
    for await (const message of readUIMessageStream({ stream, onError, terminateOnError: false }))
      states.push(structuredClone(message));
  })();
  return { states, ended, error: () => error };
}

const wholeText = (message: UIMessage | undefined) =>
  (message?.parts ?? []).flatMap((part) => ("text" in part ? [`${part.type}:${part.text}`] : [])).join("\n");

describe("the turn of another process", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  /** Two looks of a follower. */
  const looks = () => vi.advanceTimersByTimeAsync(1100);

  interface Process {
    readonly session: Session;
    reply: Reply | undefined;
  }

  const store = () => memorySessionStore();

  async function start(of: ReturnType<typeof store>, id: string): Promise<Process> {
    const session = await of.open(id, { mode: "write" });
    await session.claimTurn();
    return { session, reply: undefined };
  }

  async function push(process: Process, delta: ReplyDelta, options: Partial<ReplyOptions> = {}) {
    process.reply ??= await process.session.reply({ ...model, batchMs: 600_000, ...options });
    process.reply.push(delta);
    await process.reply.flush();
  }

  it("is shown from its first step on, across a kill, with nothing twice and nothing missing", async () => {
    const words = fc.array(fc.stringMatching(/^[a-z ]{1,4}$/), { minLength: 1, maxLength: 3 });
    const step = fc.record({ thinking: fc.option(words), text: words, calls: fc.nat({ max: 2 }) });
    const policy = fc.constantFrom("keep" as const, "discard" as const, "continue" as const);
    // After how many deltas a process is killed, and what the next one does with its reply.
    const kill = fc.record({ after: fc.nat({ max: 12 }), policy });
    const programs = fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 3 }),
      kills: fc.array(kill, { maxLength: 2 }),
      joins: fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(programs, async ({ steps, kills, joins }) => {
        const of = store();
        const first = await of.create({ cwd: "/", id: "s" });
        await first.appendMessage(userMessage("Go."));
        await first.close();
        let process = await start(of, "s");
        const pages: ReturnType<typeof shown>[] = [];
        let [events, deltas] = [0, 0];
        const left = [...kills];
        let isWhole = false;
        const happened = async () => {
          await looks();
          for (const _ of joins.filter((at) => at === events)) {
            const reader = await of.open("s");
            const stream = await uiReplies<UIMessageChunk>(reader).resume();
            const { state } = await reader.turnState();
            expect(stream !== undefined).toBe(["busyElsewhere", "interruptedReply"].includes(state));
            // Of a turn that is whole the page has loaded everything.
            if (stream !== undefined && !isWhole) pages.push(shown(stream));
          }
          events++;
          await looks();
        };
        await happened();
        for (const [at, { thinking, text, calls }] of steps.entries()) {
          const made = Array.from({ length: at < steps.length - 1 ? calls + 1 : 0 }, (_, n) =>
            call(`c${at}${n}`),
          );
          const pieces: ReplyDelta[] = [
            ...(thinking ?? []).map((piece) => ({ type: "thinking" as const, index: 0, text: piece })),
            ...text.map((piece) => ({ type: "text" as const, index: 0, text: piece })),
          ];
          let options: Partial<ReplyOptions> = {};
          let said: ReplyDelta[] = [];
          for (const piece of pieces) {
            if (left[0]?.after === deltas++) {
              const [killed] = left.splice(0, 1);
              await process.session.close();
              await happened();
              process = await start(of, "s");
              await happened();
              options = { interrupted: killed?.policy ?? "keep" };
              said = [];
            }
            // The blocks of a request count from 0.
            const isFirst = piece.type === (said[0]?.type ?? piece.type);
            await push(process, { ...piece, index: isFirst ? 0 : 1 }, options);
            said.push(piece);
            await happened();
          }
          const textOf = (type: string) =>
            said.flatMap((piece) => (piece.type === type && "text" in piece ? [piece.text] : [])).join("");
          const thought = textOf("thinking");
          const blocks = thought === "" ? [] : [{ type: "thinking", thinking: thought } as const];
          await process.reply?.end(assistantMessage(model, ...blocks, textOf("text"), ...made));
          process.reply = undefined;
          isWhole = made.length === 0;
          await happened();
          if (isWhole) break;
          for (const one of made) await process.session.appendMessage(toolResult(one, "ok"));
          if (made.length > 0) await happened();
        }
        await process.session.close();
        await looks();
        await Promise.all(pages.map(({ ended }) => ended));
        const reader = await of.open("s");
        const stored = await last(reader);
        const isDiscarded = kills.some((one) => one.policy === "discard");
        for (const { states } of pages) {
          if (!isDiscarded)
            for (const state of states) expect(wholeText(stored).startsWith(wholeText(state))).toBe(true);
          const end = JSON.parse(JSON.stringify(states.at(-1))) as UIMessage;
          const parts = end.parts.map((part) =>
            part.type === "reasoning" ? { ...part, id: undefined } : part,
          );
          // The id of a reply that was discarded stays until the page is loaded again.
          const id = isDiscarded ? stored?.id : end.id;
          expect(JSON.parse(JSON.stringify({ ...end, id, parts }))).toEqual(stored);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("ends with an error if no process takes the turn over in 10 seconds", async () => {
    const of = store();
    const session = await of.create({ cwd: "/", id: "s" });
    await session.appendMessage(userMessage("Go."));
    const process: Process = { session, reply: undefined };
    await push(process, { type: "text", index: 0, text: "Half" });
    await session.close();
    const replies = uiReplies<UIMessageChunk>(await of.open("s"));
    const page = shown((await replies.resume()) as ReadableStream<UIMessageChunk>);
    await vi.advanceTimersByTimeAsync(9000);
    expect([wholeText(page.states.at(-1)), page.error()]).toEqual(["text:Half", undefined]);
    await vi.advanceTimersByTimeAsync(2000);
    await page.ended;
    expect(page.error()).toMatchObject({ message: "the process that received the reply has ended" });
    expect(await uiReplies(await of.open("s")).resume()).toBeDefined();
  });

  it("is followed by a handle that says it is idle because another one was faster", async () => {
    const of = store();
    const session = await of.create({ cwd: "/", id: "s" });
    await session.appendMessage(userMessage("Go."));
    const slower = await of.open("s", { mode: "write" });
    const page = shown(uiReplies<UIMessageChunk>(slower).stream());
    slower.publish({ type: "status", status: "busy" });
    const process: Process = { session, reply: undefined };
    await push(process, { type: "text", index: 0, text: "Mine" });
    slower.publish({ type: "status", status: "idle" });
    await looks();
    expect(wholeText(page.states.at(-1))).toBe("text:Mine");
    await process.reply?.end(assistantMessage(model, "Mine, all of it."));
    await looks();
    await page.ended;
    expect(wholeText(page.states.at(-1))).toBe("text:Mine, all of it.");
  });
});

describe("a turn that goes on", () => {
  it.each(["aborted", "error", "pause"] as const)(
    "has one reply: the message that ended with %s is not its end while the session is busy",
    async (stopReason) => {
      const { session, replies } = await open();
      await session.appendMessage(userMessage("Go."));
      session.publish({ type: "status", status: "busy" });
      const stream = replies.stream();
      await session.appendMessage(assistantMessage({ ...model, stopReason }, "Half"));
      await session.appendMessage(assistantMessage(model, "More."));
      expect(await built(stream)).toEqual(await last(session));
      const failed = replies.stream();
      session.publish({ type: "status", status: "busy" });
      await session.appendMessage(assistantMessage({ ...model, stopReason }, "Half"));
      session.publish({ type: "status", status: "idle" });
      const end = { aborted: "abort", error: "error", pause: "finish" }[stopReason];
      expect((await chunksOf(failed)).at(-1)).toMatchObject({ type: end });
    },
  );

  it("is shown from its first step on after a reload, and from the next one to the page that posted", async () => {
    const { session, replies } = await open();
    await session.appendMessage(userMessage("Go."));
    await session.append([{ type: "message", id: "r1", message: assistantMessage(model, call("c1")) }]);
    replies.close();
    const later = uiReplies<UIMessageChunk>(session);
    await session.appendMessage(toolResult(call("c1"), "one"));
    session.publish({ type: "status", status: "busy" });
    const posted = later.stream();
    const resumed = later.resume();
    await session.append([{ type: "message", id: "r2", message: assistantMessage(model, "Done.") }]);
    expect(await built(await resumed)).toEqual(await last(session));
    const types = (await chunksOf(posted)).map(({ type }) => type);
    expect(types).toEqual(
      "start finish-step start-step text-start text-delta text-end finish-step finish".split(" "),
    );
  });

  it("begins with a message of the user, before which a result was added", async () => {
    const { session, replies } = await open();
    await session.append([{ type: "message", id: "r1", message: assistantMessage(model, call("c1")) }]);
    replies.close();
    const later = uiReplies<UIMessageChunk>(session);
    await session.appendMessage(toolResult(call("c1"), "one"));
    await session.appendMessage(userMessage("And now?"));
    session.publish({ type: "status", status: "busy" });
    const stream = later.stream();
    await session.append([{ type: "message", id: "r2", message: assistantMessage(model, "Done.") }]);
    expect(await built(stream)).toMatchObject({ id: "r2", parts: [{}, { text: "Done." }] });
  });
});
