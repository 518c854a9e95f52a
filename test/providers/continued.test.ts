import fc from "fast-check";
import {
  type AssistantMessage,
  contextFrom,
  memoryBlobStore,
  memorySessionStore,
  type Projection,
  project,
  type Session,
  type Target,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages, readAnthropicReply } from "sessile/anthropic";
import { ingest } from "sessile/attachments";
import { compact, rollingSummary } from "sessile/compaction";
import { geminiInteractions, readGeminiInteraction } from "sessile/gemini";
import { openaiResponses, readOpenaiResponsesReply } from "sessile/openai";
import { describe, expect, test } from "vitest";
import { png } from "../support/media-files.js";
import { messageOf } from "../support/providers/anthropic/replies.js";
import { responsesReply } from "../support/providers/openai/replies.js";
import { rounds } from "../support/rounds.js";

const claude = "claude-opus-5-5";
const gpt = "gpt-6.2-sol";
const gemini = "gemini-3.5-flash";
const minute = 60_000;

type Json = Record<string, unknown>;

/** As it is on the wire, without cache markers and members without a value, which are no part of a conversation. */
function onWire<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value, (key, member) => (key === "cache_control" || member === null ? undefined : member)),
  ) as T;
}

/** What a server holds of a conversation under the id of a reply. */
interface Held {
  readonly request: Json;
  readonly items: readonly unknown[];
  readonly at: number;
}

/** A server that holds conversations for a time, and gives back what it rebuilt from a continued request. */
class HoldingServer {
  readonly #held = new Map<string, Held>();
  readonly #heldMs: number;
  /** The bytes of each request that came. */
  readonly sizes: number[] = [];

  constructor(heldMs: number) {
    this.#heldMs = heldMs;
  }

  forget(): void {
    this.#held.clear();
  }

  /** The whole conversation of a request; undefined for a 404. */
  rebuilt(request: Json, now: number): Json | undefined {
    const sent = onWire(request);
    this.sizes.push(JSON.stringify(sent).length);
    const { thread, previous_response_id: response, previous_interaction_id: interaction, ...rest } = sent;
    const { type, previous_message_id: message } = (thread ?? {}) as Json;
    const name = message ?? response ?? interaction;
    if (name === undefined) return rest;
    if (type === "continue" && ("system" in rest || "tools" in rest))
      throw new Error("thread_unsupported_request");
    const held = this.#held.get(String(name));
    if (held === undefined || now - held.at >= this.#heldMs) return undefined;
    const list = "messages" in rest ? "messages" : "input";
    return { ...held.request, ...rest, [list]: [...held.items, ...(rest[list] as unknown[])] };
  }

  /** Holds a conversation with its reply. */
  hold(id: string, conversation: Json, reply: readonly unknown[], at: number): void {
    const { messages, input, ...request } = conversation;
    this.#held.set(id, { request, items: onWire([...((messages ?? input) as unknown[]), ...reply]), at });
  }
}

type Step =
  | { readonly do: "ask"; readonly model: number; readonly calls: number; readonly isCut: boolean }
  | { readonly do: "user"; readonly hasImage: boolean }
  | { readonly do: "later"; readonly ms: number }
  | { readonly do: "branch" | "edit"; readonly pick: number }
  | { readonly do: "compact" | "crash" | "forget" | "tools" | "instructions" };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant("ask" as const),
      model: fc.constantFrom(0, 0, 0, 1, 1, 2, 2),
      calls: fc.nat({ max: 2 }),
      isCut: fc.constantFrom(false, false, false, false, true),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("user" as const), hasImage: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("later" as const), ms: fc.nat({ max: 6 * minute }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("branch" as const, "edit" as const),
      pick: fc.nat({ max: 20 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom(...(["compact", "crash", "forget", "tools", "instructions"] as const)),
    }),
  },
);

/** One session, and the two servers that it talks to. */
class Talk {
  readonly anthropic = new HoldingServer(5 * minute);
  readonly openai = new HoldingServer(30 * 24 * 60 * minute);
  readonly gemini = new HoldingServer(24 * 60 * minute);
  readonly #blobs = memoryBlobStore();
  readonly #store = memorySessionStore();
  readonly counts = { continued: 0, lost: 0, whole: 0 };
  now = 1_790_000_000_000;
  #tools = 1;
  #serial = 0;
  session!: Session;

  static async start(): Promise<Talk> {
    const talk = new Talk();
    talk.session = await talk.#store.create({ cwd: "/work" });
    await talk.session.appendMessage({ role: "system", content: "Be brief.", timestamp: 1 });
    return talk;
  }

  async step(step: Step): Promise<void> {
    const { session } = this;
    const { items } = await session.context();
    const entryId = "pick" in step ? (items[step.pick % Math.max(1, items.length)]?.entryId ?? "") : "";
    switch (step.do) {
      case "ask":
        return this.ask(step.model, step.calls, step.isCut);
      case "user":
        await session.appendMessage(
          userMessage(this.#word("asks"), ...(step.hasImage ? [await this.#image()] : [])),
        );
        return;
      case "later":
        this.now += step.ms;
        return;
      case "branch":
        if (entryId !== "") await session.branch(entryId);
        return;
      case "edit":
        if (entryId !== "")
          await session.append([
            { type: "context_edit", targetId: entryId, replacement: { content: this.#word("edited") } },
          ]);
        return;
      case "compact": {
        const strategy = rollingSummary({ reserveTokens: 10, keepRecentTokens: 1 });
        const generate = async () => ({ text: this.#word("Summary") });
        await compact(session, { strategy, window: 100_000, generate, trigger: "manual" }).catch(
          () => undefined,
        );
        return;
      }
      case "crash":
        await session.flush();
        this.session = await this.#store.open(session.id, { mode: "write" });
        return;
      case "forget":
        return this.anthropic.forget();
      case "tools":
        this.#tools++;
        return;
      case "instructions":
        await session.appendMessage({ role: "system", content: this.#word("Be"), timestamp: 2 });
    }
  }

  async ask(model: number, calls: number, isCut: boolean): Promise<void> {
    for (const { call } of (await this.session.toolStates()).filter(({ state }) => state === "pending"))
      await this.session.appendMessage(toolResult(call, this.#word("result")));
    const { items } = await this.session.context();
    if (items.at(-1)?.message.role !== "user" && items.at(-1)?.message.role !== "toolResult")
      await this.session.appendMessage(userMessage(this.#word("asks")));
    const asks = [this.#askAnthropic, this.#askOpenai, this.#askGemini];
    const message = await (asks[model] ?? this.#askAnthropic).call(this, calls);
    await this.session.appendMessage(isCut ? { ...message, stopReason: "aborted" } : message);
  }

  async #askAnthropic(calls: number): Promise<AssistantMessage> {
    const tools = this.#names().map((name) => ({ name, input_schema: { type: "object" } }));
    const projection = await this.project(anthropicMessages({ model: claude, continue: true }), tools);
    const conversation = this.#send(this.anthropic, projection, tools);
    const id = `msg_${this.#serial++}`;
    const content = [
      { type: "thinking", thinking: this.#word("Hm"), signature: "c2ln" },
      { type: "text", text: this.#word("Says") },
      ...Array.from({ length: calls }, () => {
        return { type: "tool_use", id: `toolu_${this.#serial++}`, name: "t0", input: { at: 1 } };
      }),
    ];
    this.anthropic.hold(id, conversation, [{ role: "assistant", content }], this.now);
    const reply = {
      ...messageOf({ content: content as never }, claude, 0),
      id,
      stop_reason: calls > 0 ? "tool_use" : "end_turn",
    };
    return readAnthropicReply(reply, { model: claude, timestamp: this.now });
  }

  async #askOpenai(calls: number): Promise<AssistantMessage> {
    const tools = this.#names().map((name) => ({ type: "function", name, parameters: {}, strict: false }));
    const projection = await this.project(openaiResponses({ model: gpt, continue: true }), tools);
    const conversation = this.#send(this.openai, projection, tools);
    const id = `resp_${this.#serial++}`;
    const output = [
      { type: "reasoning", id: `rs_${this.#serial++}`, summary: [], encrypted_content: "gAAA" },
      {
        ...{ type: "message", id: `msg_${this.#serial++}`, role: "assistant", status: "completed" },
        content: [{ type: "output_text", text: this.#word("Says"), annotations: [] }],
      },
      ...Array.from({ length: calls }, () => {
        const serial = this.#serial++;
        const names = { id: `fc_${serial}`, call_id: `call_${serial}`, name: "t0" };
        return { type: "function_call", ...names, arguments: "{}", status: "completed" };
      }),
    ];
    this.openai.hold(id, conversation, output, this.now);
    const reply = { ...responsesReply(output as never, { model: gpt }), id, created_at: this.now / 1000 };
    return readOpenaiResponsesReply(reply as never, { model: gpt });
  }

  async #askGemini(calls: number): Promise<AssistantMessage> {
    const tools = this.#names().map((name) => ({ type: "function", name, parameters: {} }));
    const projection = await this.project(geminiInteractions({ model: gemini, continue: true }), tools);
    const conversation = this.#send(this.gemini, projection, tools);
    const id = `int_${this.#serial++}`;
    const steps = [
      { type: "thought", signature: "c2ln" },
      { type: "model_output", content: [{ type: "text", text: this.#word("Says") }] },
      ...Array.from({ length: calls }, () => {
        return { type: "function_call", id: `fc_${this.#serial++}`, name: "t0", arguments: { at: 1 } };
      }),
    ];
    this.gemini.hold(id, conversation, steps, this.now);
    const status = calls > 0 ? "requires_action" : "completed";
    const created = new Date(this.now).toISOString();
    return readGeminiInteraction({ id, model: gemini, status, steps, created } as never, { model: gemini });
  }

  /** Sends a value, and the whole if it is refused. Gives the conversation that the model saw. */
  #send(server: HoldingServer, projection: Projection<object>, tools: unknown): Json {
    const { continues } = projection;
    const isThread = continues !== undefined && "thread" in projection.value;
    const request = { ...projection.value, ...(isThread ? {} : { tools }) };
    const whole = onWire({ ...projection.whole(), tools }) as Json;
    const { thread: _, ...expected } = whole;
    const rebuilt = server.rebuilt(request, this.now);
    if (continues === undefined) this.counts.whole++;
    else if (rebuilt === undefined) this.counts.lost++;
    else this.counts.continued++;
    if (rebuilt !== undefined) expect({ tools, ...rebuilt }).toEqual(expected);
    return rebuilt ?? (server.rebuilt(whole, this.now) as Json);
  }

  async project<V extends object>(target: Target<V>, tools: unknown): Promise<Projection<V>> {
    return project(await this.session.context(), target, { blobs: this.#blobs, tools, now: () => this.now });
  }

  #names(): readonly string[] {
    return Array.from({ length: this.#tools }, (_, at) => `t${at}`);
  }

  async #image() {
    const bytes = png({ width: 3 + (this.#serial++ % 8), height: 4 });
    return ingest({ bytes }, { blobs: this.#blobs, source: "tool" });
  }

  #word(text: string): string {
    return `${text} ${this.#serial++}.`;
  }
}

describe("a request that continues a conversation that its provider holds", () => {
  test("makes the same conversation as the whole request, whatever happened before it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 30 }), async (steps) => {
        const talk = await Talk.start();
        for (const one of steps) await talk.step(one);
      }),
      { numRuns: rounds(30, 500) },
    );
    for (const model of [0, 1, 2]) {
      const talk = await Talk.start();
      for (const calls of [1, 0, 2]) await talk.ask(model, calls, false);
      expect([model, talk.counts]).toEqual([model, { continued: 2, lost: 0, whole: 1 }]);
    }
  });

  test.each([
    ["anthropic", 0],
    ["openai", 1],
    ["gemini", 2],
  ] as const)(
    "to %s has only what is new, however long the session: at most 1.2 times its bytes",
    async (server, model) => {
      const talk = await Talk.start();
      for (let turn = 100; turn < 160; turn++) {
        await talk.session.appendMessage(userMessage(`${turn} ${"question ".repeat(400)}`));
        await talk.ask(model, 1, false);
        await talk.ask(model, 0, false);
      }
      expect(talk.counts).toEqual({ continued: 119, lost: 0, whole: 1 });
      const { items } = await talk.session.context();
      const news = items.reduce(
        (sum, { message: { role, ...rest } }) =>
          sum + (role === "assistant" || !("content" in rest) ? 0 : JSON.stringify(rest.content).length),
        0,
      );
      const { sizes } = talk[server];
      expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(1.2 * news);
      // Numbers in texts and ids have more digits later.
      expect(Math.max(...sizes.slice(-20))).toBeLessThanOrEqual(Math.max(...sizes.slice(1, 21)) + 20);
    },
  );

  test("is a new one after the time, an edit, a branch, a compaction, a cut reply, and of another model", async () => {
    const changes: readonly (readonly Step[])[] = [
      [{ do: "later", ms: 5 * minute }],
      [{ do: "edit", pick: 1 }],
      [{ do: "branch", pick: 1 }],
      [{ do: "tools" }],
      [{ do: "ask", model: 0, calls: 0, isCut: true }],
      [{ do: "ask", model: 1, calls: 0, isCut: false }],
    ];
    for (const change of changes) {
      const talk = await Talk.start();
      await talk.ask(0, 0, false);
      await talk.ask(0, 0, false);
      expect(talk.counts.continued).toBe(1);
      for (const one of change) await talk.step(one);
      const before = talk.counts.whole;
      await talk.ask(0, 0, false);
      expect([change, talk.counts.whole - before]).toEqual([change, 1]);
    }
  });

  test("is traced by the paths of what was sent", async () => {
    const talk = await Talk.start();
    await talk.ask(0, 0, false);
    await talk.step({ do: "user", hasImage: true });
    const tools = [{ name: "t0", input_schema: { type: "object" } }];
    const projection = await talk.project(anthropicMessages({ model: claude, continue: true }), tools);
    const [turn, ...others] = projection.value.messages;
    expect(others).toEqual([]);
    const at = ((turn?.content ?? []) as { type: string }[]).findIndex(({ type }) => type === "image");
    const message = `messages.0.content.${at}.image.source.base64.data: Could not process image`;
    const explanation = projection.explain({ status: 400, error: { error: { message } } });
    const { items } = await talk.session.context();
    expect(explanation).toMatchObject({ entryId: items.at(-1)?.entryId, certainty: "path" });
  });

  test("is of a target that asks for it, and none of a context without a session", async () => {
    const context = contextFrom([userMessage("hi")]);
    const { value, continues } = await project(context, anthropicMessages({ model: claude, continue: true }));
    expect([value.thread, continues]).toEqual([{ type: "create" }, undefined]);
    const plain = await project(context, anthropicMessages({ model: claude }));
    expect(plain.value).not.toHaveProperty("thread");
    expect(plain.whole()).toEqual(plain.value);
  });
});
