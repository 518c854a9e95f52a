import {
  assistantMessage,
  memoryBlobStore,
  memorySessionStore,
  type Session,
  toolResult,
  toolStarted,
  userMessage,
} from "sessile";
import { rollingSummary } from "sessile/compaction";
import { SessileError } from "sessile/errors";
import { runTurn, steer, type TurnEvent, type TurnOptions, tool } from "sessile/turn";
import { describe, expect, test, vi } from "vitest";
import { png } from "../support/media-files.js";
import { countingTool, type Said, scriptedModel, shortHistory } from "../support/turn.js";

async function newSession() {
  const blobs = memoryBlobStore();
  const store = memorySessionStore({ blobs });
  return { blobs, store, session: await store.create({ cwd: "/work" }) };
}

/** A turn of a new session with a script, one reply after the other. */
async function turnWith(script: readonly Said[], options: Partial<TurnOptions> = {}, session?: Session) {
  const at = session ?? (await newSession()).session;
  const model = scriptedModel((_request, count) => script[count] ?? "Done.");
  const message = userMessage("Go.");
  const end = await runTurn(at, { model, ...(session === undefined ? { message } : {}), ...options });
  return { end, model, session: at, history: await shortHistory(at) };
}

describe("a turn", () => {
  test("asks, runs the calls, and ends with the reply that calls no tool", async () => {
    const read = countingTool("read");
    const script = [
      [
        ["read", "a"],
        ["read", "b"],
      ],
      "Both are read.",
    ] as const;
    const { end, history, model } = await turnWith(script, { tools: [read] });
    expect(end).toMatchObject({ reason: "done", steps: 2, reply: { role: "assistant" } });
    expect(history.slice(1)).toEqual([
      "user: Go.",
      "assistant: <a> <b>",
      "result a: ran a",
      "result b: ran b",
      "assistant: Both are read.",
    ]);
    expect(read.ran).toEqual(["a", "b"]);
    expect(model.requests[0]?.tools).toEqual([
      { name: "read", description: "The tool read.", input_schema: { type: "object" } },
    ]);
  });

  test("answers a call of an unknown tool, wrong arguments and an error of a tool by results", async () => {
    const strict = countingTool("strict", {
      parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    });
    const fails = tool({
      name: "fails",
      description: "Fails.",
      parameters: { type: "object" },
      run: () => {
        throw new Error("no such file");
      },
    });
    const calls = [
      ["strict", "a"],
      ["strict", "b", { n: "1" }],
      ["strict", "c", { n: 1 }],
      ["other", "d"],
      ["fails", "e"],
    ] as const;
    const { history, session } = await turnWith([calls], { tools: [strict, fails] });
    expect(history.slice(3, 8)).toEqual([
      "result a!: The arguments are not valid.",
      "result b!: The arguments are not valid.",
      "result c: ran c",
      "result d!: There is no tool other. The tools are: strict, fails",
      "result e!: no such file",
    ]);
    expect(strict.ran).toEqual(["c"]);
    const started = (await session.path()).flatMap((entry) => toolStarted.read(entry)?.toolCallId ?? []);
    expect(started).toEqual(["c", "e"]);
  });

  test("takes members in any order, and checks the first items by their own schemas", async () => {
    const strict = countingTool("strict", {
      parameters: {
        type: "object",
        properties: {
          of: { const: { a: 1, b: [2] } },
          pair: { prefixItems: [{ type: "string" }, { type: "integer" }], items: false },
        },
      },
    });
    const calls = [
      ["strict", "a", { of: { b: [2], a: 1 }, pair: ["x", 1] }],
      ["strict", "b", { pair: [1, "x"] }],
      ["strict", "c", { pair: ["x", 1, 2] }],
      ["strict", "d", { of: { a: 1, b: [3] } }],
    ] as const;
    await turnWith([calls], { tools: [strict] });
    expect(strict.ran).toEqual(["a"]);
  });

  test("runs calls beside each other only if their tools say so", async () => {
    const log: string[] = [];
    const slow = (name: string, parallel: boolean) =>
      tool({
        name,
        description: name,
        parameters: { type: "object" },
        parallel,
        run: async (_input, { call }) => {
          log.push(`+${call.id}`);
          for (let wait = 0; wait < 50; wait++) await undefined;
          log.push(`-${call.id}`);
          return "ok";
        },
      });
    const calls = [
      ["one", "a"],
      ["one", "b"],
      ["many", "c"],
      ["many", "d"],
    ] as const;
    await turnWith([calls], { tools: [slow("one", false), slow("many", true)] });
    expect(log).toEqual(["+a", "-a", "+b", "-b", "+c", "+d", "-c", "-d"]);
    log.length = 0;
    await turnWith([calls], { tools: [slow("one", false), slow("many", true)], maxParallel: 1 });
    expect(log.slice(4)).toEqual(["+c", "-c", "+d", "-d"]);
  });

  test("stores the bytes of results, and shows them again by the view tool", async () => {
    const { session, blobs } = await newSession();
    const bytes = png({ width: 3, height: 4 });
    const shot = tool({
      name: "shot",
      description: "Takes a picture.",
      parameters: { type: "object" },
      run: () => ["here", { bytes, name: "shot.png" }],
    });
    const model = scriptedModel(({ value }, count): Said => {
      if (count === 0) return [["shot", "a"]];
      if (count !== 2) return "Seen.";
      const id = /res_[0-9a-f]{16}/.exec(JSON.stringify(value))?.[0];
      return [["view_resource", "b", { resourceId: id }]];
    });
    await runTurn(session, { model, blobs, tools: [shot], message: userMessage("Look.") });
    await runTurn(session, { model, blobs, tools: [shot], message: userMessage("Again.") });
    const images = model.requests.map(
      ({ value }) => JSON.stringify(value).split('"type":"image"').length - 1,
    );
    expect(images).toEqual([0, 1, 0, 1]);
    expect(model.requests[0]?.tools.map((one) => (one as { name: string }).name)).toEqual([
      "shot",
      "view_resource",
    ]);
    await expect(turnWith([[["shot", "a"]]], { tools: [shot] })).resolves.toMatchObject({
      history: expect.arrayContaining([
        "result a!: blobs: expected a store for the bytes of the tool's result",
      ]),
    });
  });

  test("asks a function for the instructions of each request, once, and appends what changes", async () => {
    const { session } = await newSession();
    const steps: number[] = [];
    const read = countingTool("read");
    const script = [[["read", "a"]], { fail: new Error("fetch failed") }, [["read", "b"]], "Done."] as const;
    const instructions: TurnOptions["instructions"] = async ({ session: at, step }) => {
      expect(at).toBe(session);
      steps.push(step);
      return read.ran.length === 0 ? "Read." : `Read ${read.ran[0]}.`;
    };
    const options = { tools: [read], instructions, retry: { sleep: async () => undefined } };
    const begun = { ...options, message: userMessage("Go.") };
    const { end, model } = await turnWith(script, begun, session);
    expect(end).toMatchObject({ reason: "done", steps: 3 });
    expect(steps).toEqual([0, 1, 2]);
    const sections = async () =>
      (await session.context()).items.flatMap(({ message }) =>
        message.role === "system" ? [message.sections] : [],
      );
    const given = [{ instructions: "Read." }, { instructions: "Read a." }];
    expect(await sections()).toEqual(given);
    // The requests grow: nothing that was sent is changed.
    const texts = model.requests.map(({ value }) => JSON.stringify(value.messages).slice(0, -1));
    for (const [at, text] of texts.entries()) expect(text.startsWith(texts[at - 1] ?? "")).toBe(true);
    expect(JSON.stringify(model.requests.at(-1)?.value)).toContain("Read a.");
    // A turn that is over asks for nothing.
    await turnWith([], { ...options, instructions: () => "Other." }, session);
    await turnWith([], { ...options, instructions: "Other." }, session);
    expect(await sections()).toEqual(given);
  });

  test("ends by an error of the function, or by the signal, and goes on with the next run", async () => {
    const { session } = await newSession();
    const failing = () => Promise.reject(new Error("no instructions"));
    const begin = { message: userMessage("Go."), messageId: "m1" };
    await expect(turnWith([], { ...begin, instructions: failing }, session)).rejects.toThrow(
      "no instructions",
    );
    const stop = new AbortController();
    const instructions = () => {
      stop.abort();
      return new Promise<string>(() => undefined);
    };
    const stopped = await turnWith([], { ...begin, instructions, signal: stop.signal }, session);
    expect(stopped.end).toEqual({ reason: "aborted", steps: 0 });
    const { end, history } = await turnWith(["Yes."], { ...begin, instructions: () => "Be brief." }, session);
    expect(end.reason).toBe("done");
    expect(history.slice(0, 3).toSorted()).toEqual(["assistant: Yes.", "system: ", "user: Go."]);
  });

  test("calls a function of the caller again if its append met a steering message, and not for ever", async () => {
    const { session, store } = await newSession();
    let calls = 0;
    const add = tool({
      name: "add",
      description: "Adds an entry.",
      parameters: { type: "object" },
      repeatable: true,
      run: async ({ elsewhere }: { elsewhere?: boolean }) => {
        if (calls++ === 0) {
          await using other = await store.open(session.id, { mode: "write" });
          await steer(other, userMessage("Hurry."));
        }
        if (elsewhere === true) {
          const details = { expected: "a", actual: "b" };
          throw new SessileError("CONCURRENT_WRITER", "another session", { details });
        }
        const [entry] = await session.append([{ type: "custom", customType: "own", data: {} }]);
        return entry?.type;
      },
    });
    const script = [[["add", "a"]], [["add", "b", { elsewhere: true }]]] as const;
    const { history } = await turnWith(script, { tools: [add], message: userMessage("Go.") }, session);
    expect(history.slice(1)).toEqual([
      "user: Go.",
      "assistant: <a>",
      "result a: custom",
      "user: Hurry.",
      "assistant: <b>",
      "result b!: another session",
      "assistant: Done.",
    ]);
    expect(calls).toBe(2 + 3);
  });

  test("records instructions and tools, and appends what changes", async () => {
    const { session } = await newSession();
    const model = scriptedModel(() => "Yes.", { model: "claude-opus-5-5" });
    const turn = (instructions: string, names: readonly string[]) =>
      runTurn(session, {
        model,
        instructions,
        tools: names.map((name) => countingTool(name)),
        message: userMessage("Go."),
      });
    await turn("Be brief.", ["a"]);
    await turn("Be brief.", ["a"]);
    await turn("Be long.", ["a", "b"]);
    const systems = (await session.context()).items.flatMap(({ message }) =>
      message.role === "system" ? [message] : [],
    );
    expect(systems.map(({ sections, toolsAdded }) => [sections, toolsAdded?.length])).toEqual([
      [{ instructions: "Be brief." }, 1],
      [{ instructions: "Be long." }, 1],
    ]);
    const [first, second, third] = model.requests.map(({ value }) => value);
    expect(second?.system).toEqual(first?.system);
    // A model that binds reasoning gets the change where it was made.
    expect(third?.system).toEqual(first?.system);
    expect(third?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
      "system",
    ]);
  });

  test("ends after the most steps, by a condition, at a refusal and at a cut", async () => {
    const read = countingTool("read");
    const forever = Array.from({ length: 9 }, (_, at) => [["read", `c${at}`]] as const);
    const few = await turnWith(forever, { tools: [read], maxSteps: 2 });
    expect([few.end.reason, few.end.steps, few.history.at(-1)]).toEqual(["steps", 2, "result c1: ran c1"]);
    const until = ({ content }: { readonly content: readonly unknown[] }) =>
      JSON.stringify(content).includes("c2");
    const condition = await turnWith(forever, { tools: [read], until });
    expect([condition.end.reason, condition.end.steps]).toEqual(["condition", 3]);
    const text = [{ type: "text", text: "No", citations: null }] as const;
    const refused = await turnWith([{ reply: { content: text, stop_reason: "refusal" } }]);
    expect(refused.end.reason).toBe("refused");
    const cut = await turnWith([{ reply: { content: text, stop_reason: "max_tokens" } }]);
    expect(cut.end.reason).toBe("cut");
    const paused = await turnWith([{ reply: { content: text, stop_reason: "pause_turn" } }, "Yes"]);
    expect([paused.end.reason, paused.end.steps]).toEqual(["done", 2]);
  });

  test("tells its steps by the names of the convention", async () => {
    const events: TurnEvent[] = [];
    await turnWith([[["read", "a"]], "Done."], {
      tools: [countingTool("read")],
      onEvent: (event) => events.push(event),
    });
    expect(events.map(({ phase, name }) => `${phase} ${name}`)).toEqual([
      "start invoke_agent",
      "start chat claude-opus-5",
      "end chat claude-opus-5",
      "start execute_tool read",
      "end execute_tool read",
      "start chat claude-opus-5",
      "end chat claude-opus-5",
      "end invoke_agent",
    ]);
    expect(events[2]?.attributes).toMatchObject({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.response.finish_reasons": ["toolUse"],
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 5,
    });
    expect(events[3]?.attributes).toMatchObject({ "gen_ai.tool.name": "read", "gen_ai.tool.call.id": "a" });
    expect(new Set(events.map(({ parentId }) => parentId))).toEqual(new Set([undefined, events[0]?.spanId]));
  });
});

describe("a turn that a crash cut short", () => {
  /** A session as a process leaves it that ends in the middle of three calls. */
  async function cutShort() {
    const { session } = await newSession();
    const call = (name: string, id: string) => ({ type: "toolCall", id, name, arguments: {} }) as const;
    const maker = { provider: "anthropic", model: "claude-opus-5" };
    await session.appendMessage(userMessage("Go."));
    const calls = [call("read", "a"), call("again", "b"), call("read", "c")];
    await session.appendMessage(assistantMessage(maker, ...calls));
    for (const toolCallId of ["a", "b"]) await session.append([toolStarted.draft({ toolCallId })]);
    return session;
  }

  test("answers a call that had begun, runs the others, and asks on", async () => {
    const session = await cutShort();
    const [read, again] = [countingTool("read"), countingTool("again", { repeatable: true })];
    const { end, history } = await turnWith([], { tools: [read, again] }, session);
    expect(end.reason).toBe("done");
    expect(history.filter((line) => !line.startsWith("system")).slice(2)).toEqual([
      expect.stringMatching("^result a!: Interrupted"),
      "result b: ran b",
      "result c: ran c",
      "assistant: Done.",
    ]);
    expect([read.ran, again.ran]).toEqual([["c"], ["b"]]);
  });

  test("keeps what a reply had said, and goes on behind it", async () => {
    let now = 0;
    const store = memorySessionStore({ now: () => now });
    const session = await store.create({ cwd: "/work" });
    await session.appendMessage(userMessage("Go."));
    const left = await session.reply({ provider: "anthropic", model: "claude-opus-5" });
    left.push({ type: "text", index: 0, text: "I have read" });
    await left.flush();
    // The process ends here, and its lease.
    now += 60_000;
    await using next = await store.open(session.id, { mode: "write" });
    const { history } = await turnWith([" both."], {}, next);
    expect(history).toEqual([
      "user: Go.",
      "assistant(aborted): I have read",
      "custom: Your reply broke off. Go on where it ended, without repeating it.",
      "assistant:  both.",
    ]);
  });

  test("takes a new message behind its results", async () => {
    const session = await cutShort();
    const { history } = await turnWith([], { message: userMessage("And now?") }, session);
    expect(history.slice(-3)).toEqual([
      "result c!: There is no tool read. The tools are: ",
      "user: And now?",
      "assistant: Done.",
    ]);
  });
});

test("pieces come with the id that the message of their reply will have", async () => {
  const ids = new Set<string>();
  const { session } = await turnWith(["Yes."], { onDelta: (_delta, { id }) => ids.add(id) });
  expect([...ids]).toEqual([session.leafId]);
});

describe("a message with an id", () => {
  test("is added once, however often the request is repeated, and by whichever handle", async () => {
    const { session, store } = await newSession();
    const model = scriptedModel(() => "Yes.");
    const options = { model, message: userMessage("Go."), messageId: "key" };
    expect(await runTurn(session, options)).toMatchObject({ reason: "done", steps: 1 });
    expect(await runTurn(session, options)).toMatchObject({ reason: "done", steps: 0 });
    await using other = await store.open(session.id, { mode: "write" });
    expect(await runTurn(other, options)).toMatchObject({ reason: "done", steps: 0 });
    expect((await session.entry("key"))?.type).toBe("message");
    expect(await shortHistory(other)).toEqual(["user: Go.", "assistant: Yes."]);
  });

  test("waits once behind the turn of another handle, and is answered by it or the next", async () => {
    const { session, store } = await newSession();
    const read = countingTool("read", {
      run: async () => {
        await using other = await store.open(session.id, { mode: "write" });
        for (const at of [other, other, session])
          expect(await runTurn(at, { model, message: userMessage("And?"), messageId: "key" })).toMatchObject({
            reason: "busy",
          });
        // The request of the running turn, repeated.
        await runTurn(other, { model, message: userMessage("Go."), messageId: "first" });
        return "read";
      },
    });
    const model = scriptedModel((_request, count) => (count === 0 ? [["read", "a"]] : "Done."));
    const options = { model, tools: [read], message: userMessage("Go."), messageId: "first" };
    expect((await runTurn(session, options)).reason).toBe("done");
    const history = ["user: Go.", "assistant: <a>", "result a: read", "user: And?", "assistant: Done."];
    expect((await shortHistory(session)).slice(1)).toEqual(history);
    await using other = await store.open(session.id, { mode: "write" });
    expect(await runTurn(other, { model, message: userMessage("And?"), messageId: "key" })).toMatchObject({
      steps: 0,
    });
    expect((await shortHistory(other)).slice(1)).toEqual(history);
  });

  test("waits on its branch if another one is answered, and is answered there", async () => {
    const { session, store } = await newSession();
    await runTurn(session, { model: scriptedModel(() => "Hi."), message: userMessage("Hello.") });
    const hello = session.leafId;
    await using other = await store.open(session.id, { mode: "write" });
    const read = countingTool("read", {
      run: async () => {
        await other.refresh();
        await other.branch(hello);
        const busy = { model, message: userMessage("Or so.") };
        expect(await runTurn(other, busy)).toMatchObject({ reason: "busy" });
        return "read";
      },
    });
    const model = scriptedModel((_request, count) => (count === 0 ? [["read", "a"]] : "Done."));
    await runTurn(session, { model, tools: [read], message: userMessage("Go.") });
    const history = ["user: Go.", "assistant: <a>", "result a: read", "assistant: Done."];
    expect((await shortHistory(session)).slice(-4)).toEqual(history);
    await runTurn(other, { model });
    expect((await shortHistory(other)).slice(-2)).toEqual(["user: Or so.", "assistant: Done."]);
    expect((await shortHistory(other)).join()).not.toContain("Go.");
  });

  test("on another branch is in the way of no result of calls that run beside each other", async () => {
    const { session, store } = await newSession();
    await runTurn(session, { model: scriptedModel(() => "Hi."), message: userMessage("Hello.") });
    const hello = session.leafId;
    let begun = 0;
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const read = countingTool("read", {
      parallel: true,
      run: async (_input: unknown, { call }: { readonly call: { readonly id: string } }) => {
        if (++begun < 4) await opened;
        else {
          await using other = await store.open(session.id, { mode: "write" });
          await other.branch(hello);
          await steer(other, userMessage("Or so."));
          open();
        }
        return `ran ${call.id}`;
      },
    });
    const ids = ["a", "b", "c", "d"];
    const model = scriptedModel((_request, count) =>
      count === 0 ? ids.map((id) => ["read", id] as const) : "Done.",
    );
    await runTurn(session, { model, tools: [read], message: userMessage("Go.") });
    const history = (await shortHistory(session)).filter((line) => line.startsWith("result"));
    expect(history.toSorted()).toEqual(ids.map((id) => `result ${id}: ran ${id}`));
  });

  test("enters once if it waits already as the turn begins, and not again on a branch before it", async () => {
    const { session } = await newSession();
    const model = scriptedModel(() => "Yes.");
    await steer(session, userMessage("Go."), "key");
    const waits = session.leafId as string;
    await steer(session, userMessage("Go."), "key");
    expect(session.leafId).toBe(waits);
    await runTurn(session, { model, message: userMessage("Go."), messageId: "key" });
    expect(await shortHistory(session)).toEqual(["user: Go.", "assistant: Yes."]);
    await session.branch(waits);
    await runTurn(session, { model, message: userMessage("Or so.") });
    expect(await shortHistory(session)).toEqual(["user: Or so.", "assistant: Yes."]);
  });
});

describe("a session that is closed while its turn runs", () => {
  test("stops the turn as a crash does: another handle goes on behind what was said", async () => {
    const { session, store } = await newSession();
    let said = 0;
    let closed: Promise<void> | undefined;
    const model = scriptedModel(
      () => "A long reply.",
      {},
      () => {
        if (said++ === 4) closed = session.close();
      },
    );
    const end = runTurn(session, { model, message: userMessage("Go.") });
    await expect(end).rejects.toMatchObject({ code: "SESSION_CLOSED" });
    await closed;
    await using next = await store.open(session.id, { mode: "write" });
    expect((await next.turnState()).state).toBe("interruptedReply");
    const { history } = await turnWith([" to the end."], {}, next);
    expect(history).toEqual([
      "user: Go.",
      expect.stringMatching(/^assistant\(aborted\): A long/),
      "custom: Your reply broke off. Go on where it ended, without repeating it.",
      "assistant:  to the end.",
    ]);
  });

  test("stops its tools and its requests", async () => {
    const { session } = await newSession();
    const stopped = new Promise((resolve) => {
      const waits = tool({
        name: "waits",
        description: "Waits.",
        parameters: { type: "object" },
        run: async (_input, { signal }) => {
          signal.addEventListener("abort", () => resolve(signal.reason));
          void session.close();
          return new Promise<never>(() => undefined);
        },
      });
      const model = scriptedModel(() => [["waits", "a"]]);
      const end = runTurn(session, { model, tools: [waits], message: userMessage("Go.") });
      end.catch(() => undefined);
    });
    expect(await stopped).toMatchObject({ code: "SESSION_CLOSED" });
  });
});

describe("a stop", () => {
  test("keeps what was shown, and ends", async () => {
    const stop = new AbortController();
    const shown: string[] = [];
    const { end, history } = await turnWith(["A long reply."], {
      signal: stop.signal,
      onDelta: (delta) => {
        if (delta.type === "text") shown.push(delta.text);
        stop.abort();
      },
    });
    expect(end.reason).toBe("aborted");
    expect(history.at(-1)).toBe(`assistant(aborted): ${shown.join("")}`);
  });

  test("answers open calls, so that none runs behind the next message", async () => {
    const { session } = await newSession();
    const stop = new AbortController();
    const slow = tool({
      name: "slow",
      description: "Never ends.",
      parameters: { type: "object" },
      run: () => new Promise<never>(() => stop.abort()),
    });
    const read = countingTool("read");
    const script = [
      [
        ["slow", "a"],
        ["read", "b"],
      ],
      "Done.",
    ] as const;
    const model = scriptedModel((_request, count) => script[count] ?? "Done.");
    const options = { model, tools: [slow, read] };
    const end = await runTurn(session, { ...options, message: userMessage("Go."), signal: stop.signal });
    expect(end.reason).toBe("aborted");
    expect((await shortHistory(session)).slice(-2)).toEqual([
      "result a!: Stopped by the user while it ran. Its effects are unknown.",
      "result b!: Not run: the user stopped the turn.",
    ]);
    await runTurn(session, { ...options, message: userMessage("Not that.") });
    expect((await shortHistory(session)).slice(-2)).toEqual(["user: Not that.", "assistant: Done."]);
    expect(read.ran).toEqual([]);
  });
});

describe("steering", () => {
  test("enters at the next request, in order, from this handle and from another", async () => {
    const { session, store } = await newSession();
    const model = scriptedModel((_request, count) => (count === 0 ? [["read", "a"]] : "Done."));
    const read = countingTool("read", {
      run: async () => {
        await steer(session, userMessage("first"));
        await using other = await store.open(session.id, { mode: "write" });
        await steer(other, userMessage("second"));
        return "read";
      },
    });
    const end = await runTurn(session, { model, tools: [read], message: userMessage("Go.") });
    expect(end.reason).toBe("done");
    expect((await shortHistory(session)).slice(2)).toEqual([
      "assistant: <a>",
      "result a: read",
      "user: first",
      "user: second",
      "assistant: Done.",
    ]);
  });

  test("enters if the handle of the turn has read it before the turn looks", async () => {
    const { session, store } = await newSession();
    const model = scriptedModel((_request, count) => (count === 0 ? [["read", "a"]] : "Done."));
    const read = countingTool("read", {
      run: async () => {
        await using other = await store.open(session.id, { mode: "write" });
        await steer(other, userMessage("first"));
        expect(await session.refresh()).toHaveLength(1);
        return "read";
      },
    });
    await runTurn(session, { model, tools: [read], message: userMessage("Go.") });
    expect((await shortHistory(session)).slice(2)).toEqual([
      "assistant: <a>",
      "result a: read",
      "user: first",
      "assistant: Done.",
    ]);
  });

  test("waits for the next turn if this one ended, and enters once", async () => {
    const { session, store } = await newSession();
    const model = scriptedModel(() => "Yes.");
    await runTurn(session, { model, message: userMessage("Go.") });
    await steer(session, userMessage("one"));
    await steer(session, userMessage("two"));
    await using other = await store.open(session.id, { mode: "write" });
    await runTurn(other, { model, message: userMessage("three") });
    await runTurn(other, { model });
    expect(await shortHistory(other)).toEqual([
      "user: Go.",
      "assistant: Yes.",
      "user: one",
      "user: two",
      "user: three",
      "assistant: Yes.",
    ]);
  });

  test("during a reply starts another request", async () => {
    const { session } = await newSession();
    const model = scriptedModel((_request, count) => ["First.", "Second."][count] ?? "Third.");
    const steered: Promise<string>[] = [];
    const onDelta = () => {
      if (steered.length === 0) steered.push(steer(session, userMessage("wait")));
    };
    const { steps } = await runTurn(session, { model, message: userMessage("Go."), onDelta });
    expect(steps).toBe(2);
    expect((await shortHistory(session)).slice(1)).toEqual([
      "assistant: First.",
      "user: wait",
      "assistant: Second.",
    ]);
  });

  test("enters behind a reply that broke off twice", async () => {
    const { session } = await newSession();
    const script: readonly Said[] = [{ cut: "One, " }, { cut: "two, " }, "three.", "Four."];
    const model = scriptedModel((_request, count) => script[count] ?? "Done.");
    const steered: Promise<string>[] = [];
    const onDelta = () => {
      if (steered.length === 0) steered.push(steer(session, userMessage("wait")));
    };
    const retry = { sleep: async () => undefined };
    const { reason } = await runTurn(session, { model, message: userMessage("Go."), onDelta, retry });
    expect(reason).toBe("done");
    expect((await shortHistory(session)).slice(-3)).toEqual([
      "assistant: three.",
      "user: wait",
      "assistant: Four.",
    ]);
  });

  test("that comes between the last look and the release is answered by this turn", async () => {
    const { session, store } = await newSession();
    const model = scriptedModel((_request, count) => ["First.", "Second."][count] ?? "Third.");
    const ends: unknown[] = [];
    const claimTurn = session.claimTurn.bind(session);
    session.claimTurn = async (options) => {
      const claim = await claimTurn(options);
      const release = claim.release.bind(claim);
      claim.release = async () => {
        if (ends.length === 0) {
          await using other = await store.open(session.id, { mode: "write" });
          ends.push((await runTurn(other, { model, message: userMessage("wait") })).reason);
        }
        await release();
      };
      return claim;
    };
    await runTurn(session, { model, message: userMessage("Go.") });
    expect(ends).toEqual(["busy"]);
    expect((await shortHistory(session)).slice(1)).toEqual([
      "assistant: First.",
      "user: wait",
      "assistant: Second.",
    ]);
  });

  test("is what a message becomes whose turn finds another at work", async () => {
    const { session, store } = await newSession();
    const model = scriptedModel((_request, count) => (count === 0 ? [["read", "a"]] : "Done."));
    const ends: unknown[] = [];
    const read = countingTool("read", {
      run: async () => {
        await using other = await store.open(session.id, { mode: "write" });
        ends.push(await runTurn(other, { model }));
        ends.push(await runTurn(other, { model, message: userMessage("Me too.") }));
        return "read";
      },
    });
    await runTurn(session, { model, tools: [read], message: userMessage("Go.") });
    expect(ends).toEqual([
      { reason: "busy", steps: 0 },
      { reason: "busy", steps: 0 },
    ]);
    expect((await shortHistory(session)).slice(-2)).toEqual(["user: Me too.", "assistant: Done."]);
  });

  test("is no other entry: a conversation that another handle took on is a conflict", async () => {
    const { session, store } = await newSession();
    const model = scriptedModel((_request, count) => (count === 0 ? [["read", "a"]] : "Done."));
    const read = countingTool("read", {
      run: async (_input, { call }) => {
        await using other = await store.open(session.id, { mode: "write" });
        await other.appendMessage(toolResult(call, "mine"));
        return "read";
      },
    });
    const turn = runTurn(session, { model, tools: [read], message: userMessage("Go.") });
    await expect(turn).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
  });

  test("is followed only if it is the last: what another process did behind it stays the conversation", async () => {
    const { session, store } = await newSession();
    const model = scriptedModel(() => [["read", "a"]]);
    const read = countingTool("read", {
      run: async (_input, { call }) => {
        await using other = await store.open(session.id, { mode: "write" });
        await steer(other, userMessage("and this"));
        await other.appendMessage(toolResult(call, "mine"));
        return "read";
      },
    });
    const turn = runTurn(session, { model, tools: [read], message: userMessage("Go.") });
    await expect(turn).rejects.toMatchObject({ code: "CONCURRENT_WRITER" });
    await session.close();
    await using now = await store.open(session.id);
    expect((await shortHistory(now)).at(-1)).toBe("result a: mine");
  });
});

describe("permissions", () => {
  const bash = () => countingTool("bash", { subject: ({ command }) => String(command) });
  const calls = [
    ["bash", "a", { command: "ls" }],
    ["bash", "b", { command: "rm x" }],
  ] as const;

  test("are those of the session, and the rest is asked", async () => {
    const asked: string[] = [];
    const tool = bash();
    const { session } = await newSession();
    const model = scriptedModel((_request, count) => (count % 2 === 0 ? calls : "Done."));
    const options: TurnOptions = {
      model,
      tools: [tool],
      permissions: [{ permission: "bash", pattern: "rm *", action: "deny" }],
      approve: ({ subject }) => {
        asked.push(subject);
        return { always: "ls" };
      },
    };
    await runTurn(session, { ...options, message: userMessage("Go.") });
    await runTurn(session, { ...options, message: userMessage("Again.") });
    expect([asked, tool.ran]).toEqual([["ls"], ["a", "a"]]);
    expect(await shortHistory(session)).toContain("result b!: The user does not allow this call.");
  });

  test("leave a call open if nobody answers, and the next turn goes on", async () => {
    const tool = bash();
    const { end, session, model } = await turnWith([calls], { tools: [tool] });
    expect([end.reason, tool.ran]).toEqual(["permission", []]);
    const approved = await runTurn(session, { model, tools: [tool], approve: () => "allow" });
    expect([approved.reason, tool.ran]).toEqual(["done", ["a", "b"]]);
  });
});

describe("a failure", () => {
  test("in a reply that the provider continued sends all again, and the next request is short again", async () => {
    const { session } = await newSession();
    const script: readonly Said[] = [
      [["read", "a"]],
      { cut: "It says" },
      " that all is well.",
      "You are welcome.",
    ];
    const model = scriptedModel((_request, count) => script[count] ?? "Done.", { continue: true });
    const options = { model, tools: [countingTool("read")], retry: { sleep: async () => undefined } };
    expect(await runTurn(session, { ...options, message: userMessage("Go.") })).toMatchObject({ steps: 2 });
    await runTurn(session, { ...options, message: userMessage("Thanks.") });
    expect((await shortHistory(session)).slice(1)).toEqual([
      "user: Go.",
      "assistant: <a>",
      "result a: ran a",
      "assistant(error): It says",
      "custom: Your reply broke off. Go on where it ended, without repeating it.",
      "assistant:  that all is well.",
      "user: Thanks.",
      "assistant: You are welcome.",
    ]);
    const sent = model.requests.map(({ isContinued, value }) => [isContinued, value.messages.length]);
    expect(sent).toEqual([
      [false, 1],
      [true, 1],
      [false, 5],
      [true, 1],
    ]);
    const resent = JSON.stringify(model.requests[2]?.value.messages);
    for (const said of ["Go.", "ran a", "It says", "Go on where it ended"]) expect(resent).toContain(said);
  });

  test("to open a reply ends the request", async () => {
    const { session } = await newSession();
    vi.spyOn(session, "reply").mockRejectedValue(new Error("the disk is full"));
    let signal: AbortSignal | undefined;
    const model = scriptedModel((request) => {
      signal = request.signal;
      return "Yes.";
    });
    const end = runTurn(session, { model, message: userMessage("Go.") });
    await expect(end).rejects.toThrow("the disk is full");
    expect(signal?.reason).toMatchObject({ message: "the disk is full" });
  });

  const overloaded = Object.assign(new Error("Overloaded"), { status: 529 });

  test("that may pass is tried again, as long as the provider asks for, within bounds", async () => {
    const waits: number[] = [];
    const retry = { random: () => 0.5, now: () => 0, sleep: async (ms: number) => void waits.push(ms) };
    const askedFor = (headers: Record<string, string>) => ({
      fail: Object.assign(new Error("slow down"), { status: 429, headers: new Headers(headers) }),
    });
    const date = new Date(7000).toUTCString();
    const script = [
      { fail: overloaded },
      askedFor({ "retry-after": "3" }),
      askedFor({ "retry-after": date }),
    ];
    const { end } = await turnWith([...script, askedFor({ "retry-after-ms": "20" })], { retry });
    expect([end.reason, waits]).toEqual(["done", [500, 3000, 7000, 4000]]);
    const late = turnWith([askedFor({ "retry-after": "3600" })], { retry });
    await expect(late).rejects.toMatchObject({ status: 429 });
    await expect(turnWith(Array(9).fill({ fail: overloaded }), { retry })).rejects.toBe(overloaded);
    const wrong = Object.assign(new Error("invalid key"), { status: 401 });
    await expect(turnWith([{ fail: wrong }], { retry })).rejects.toBe(wrong);
  });

  test("in the middle of a reply keeps its words, and the next request goes on behind them", async () => {
    const retry = { sleep: async () => undefined };
    const error = { type: "overloaded_error", message: "Overloaded" };
    const { end, history } = await turnWith([{ cut: "One, ", error }, { cut: "two, " }, "three."], { retry });
    expect(end.reason).toBe("done");
    expect(history).toEqual(
      [
        "user: Go.",
        "assistant(error): One,",
        "custom: Your reply broke off. Go on where it ended, without repeating it.",
        "assistant(error): two,",
        "custom: Your reply broke off. Go on where it ended, without repeating it.",
        "assistant: three.",
      ].map((line) => expect.stringContaining(line)),
    );
  });

  test("of a request that is too long compacts", async () => {
    const { session } = await newSession();
    let isLong = true;
    const model = scriptedModel(({ value }): Said => {
      const text = JSON.stringify(value);
      if (text.includes("<conversation>")) {
        isLong = false;
        return "## Summary\nAll of it.";
      }
      const fail = Object.assign(new Error("prompt is too long: 300000 tokens > 200000 maximum"), {
        status: 400,
      });
      return isLong ? { fail } : "Done.";
    });
    for (let at = 0; at < 6; at++) {
      await session.appendMessage(userMessage(`${at} ${"words ".repeat(400)}`));
      await session.appendMessage({
        role: "assistant",
        content: [{ type: "text", text: "ok ".repeat(400) }],
        provider: "anthropic",
        model: "claude-opus-5",
        stopReason: "stop",
        timestamp: 1,
      });
    }
    const strategy = rollingSummary({ reserveTokens: 100, keepRecentTokens: 500 });
    const compaction = { strategy, window: 100_000 };
    const end = await runTurn(session, { model, compaction, message: userMessage("Go.") });
    expect(end.reason).toBe("done");
    expect((await shortHistory(session))[0]).toBe("summary");
    isLong = true;
    await expect(runTurn(session, { model, message: userMessage("Go.") })).rejects.toMatchObject({
      status: 400,
    });
  });

  test("of a refused image leaves it out, and nothing of the search is shown", async () => {
    const { session, blobs } = await newSession();
    const shown: string[] = [];
    const bytes = [1, 2, 3, 4].map((width) => png({ width, height: 9 }));
    const base64 = Buffer.from(bytes[2] ?? []).toString("base64");
    const model = scriptedModel(({ value }): Said => {
      const fail = Object.assign(new Error("Could not process image"), { status: 400 });
      return JSON.stringify(value).includes(base64) ? { fail } : "Seen.";
    });
    const { ingest } = await import("sessile/attachments");
    const images = await ingest(
      bytes.map((one) => ({ bytes: one })),
      { blobs },
    );
    const message = userMessage("Look.", ...images);
    const onDelta = (delta: { type: string; text?: string }) => shown.push(delta.text ?? "");
    const end = await runTurn(session, { model, blobs, message, onDelta });
    expect(end.reason).toBe("done");
    expect(shown).toEqual(["Seen."]);
    const last = JSON.stringify(model.requests.at(-1)?.value);
    expect(last.split('"type":"image"').length - 1).toBe(3);
  });
});
