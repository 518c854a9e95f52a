import fc from "fast-check";
import { type AssistantMessage, type Context, contextFrom, project, userMessage } from "sessile";
import {
  type OpenaiChatDialect,
  type OpenaiChatMessage,
  openaiChat,
  openaiChatDialects,
} from "sessile/openai";
import { describe, expect, test } from "vitest";
import { contextAt, type HazardousSession, hazardousSession } from "../../arbitraries/hazards.js";
import {
  type ChatTemplate,
  chatTemplate,
  openModels,
  promptOf,
  type TemplateForm,
  textsOf,
} from "../../support/chat-templates.js";
import { foreign } from "../../support/checked-target.js";
import { silentlyAbsent } from "../../support/projection-oracle.js";

const { vllm, mistral } = openaiChatDialects;
const own = { provider: "vllm", model: "m", api: "openai-completions", signed: () => "reasoning" };
const tools = [
  {
    type: "function",
    function: {
      name: "read",
      description: "Reads a file.",
      parameters: { type: "object", properties: { path: { type: "string", description: "Where." } } },
    },
  },
];

/** A model whose template has a form for calls and results. Old reasoning is dropped by all of them, as their makers say. */
interface AgentModel extends TemplateForm {
  readonly model: string;
  readonly dialect: OpenaiChatDialect;
  /** What the template leaves out besides, and why. */
  readonly drops?: "text beside calls";
  /** The template has the reasoning since the last message of the user. */
  readonly keepsLatestReasoning?: true;
}

const llama3 = { ...vllm, singleCalls: true };
const agents: readonly AgentModel[] = [
  { model: "qwen2.5:0.5b", dialect: vllm },
  { model: "qwen3:0.6b", dialect: vllm, keepsLatestReasoning: true },
  { model: "qwen3-next:80b", dialect: vllm, keepsLatestReasoning: true },
  { model: "qwq:32b", dialect: vllm },
  { model: "llama3.1:8b", dialect: llama3 },
  { model: "llama3.2:3b", dialect: llama3 },
  { model: "nemotron:70b", dialect: llama3 },
  { model: "llama4:latest", dialect: vllm },
  { model: "deepseek-v3.1:latest", dialect: vllm, takesTextArguments: true },
  { model: "deepseek-r1:latest", dialect: vllm, takesTextArguments: true },
  { model: "granite4:latest", dialect: vllm },
  { model: "cogito:14b", dialect: vllm },
  { model: "rnj-1:latest", dialect: vllm },
  // `[TOOL_CALLS]` takes the place of the content.
  {
    model: "mistral with tools",
    dialect: { ...vllm, callId: mistral.callId, bridgesTools: true },
    drops: "text beside calls",
  },
];

const projected = (context: Context, dialect: OpenaiChatDialect, blobs?: HazardousSession["blobs"]) =>
  project(
    context,
    openaiChat({ model: "m", dialect, provider: own.provider }),
    blobs === undefined ? {} : { blobs },
  );
const sent = async (...args: Parameters<typeof projected>) => (await projected(...args)).value.messages;

/** What a prompt has to show of a request, in this order: texts, calls by name and arguments, results. */
function shownBy(messages: readonly OpenaiChatMessage[], agent: Partial<AgentModel>): readonly string[] {
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  return messages.flatMap((message, at) => {
    if (message.role !== "assistant") return textsOf(message);
    const { tool_calls: calls = [], reasoning } = message as typeof message & { reasoning?: string };
    const isDropped = calls.length > 0 && agent.drops === "text beside calls";
    const thought = agent.keepsLatestReasoning === true && at > lastUser && reasoning !== undefined;
    return [
      ...(thought ? [reasoning] : []),
      ...(isDropped ? [] : textsOf(message)),
      ...calls.flatMap((call) =>
        call.type !== "function"
          ? [call.custom.name, call.custom.input]
          : [call.function.name, ...leavesOf(JSON.parse(call.function.arguments) as unknown)],
      ),
    ];
  });
}

/** What of a message no prompt has as text: images, reasoning, and what the template drops. */
function unwrittenOf(message: OpenaiChatMessage, { drops }: Partial<AgentModel>): readonly unknown[] {
  if (message.role !== "assistant")
    return typeof message.content === "string"
      ? []
      : message.content.filter(({ type }) => type === "image_url");
  const isDropped = drops === "text beside calls" && message.tool_calls !== undefined;
  return [(message as { readonly reasoning?: unknown }).reasoning, isDropped ? message.content : undefined];
}

function leavesOf(value: unknown): readonly string[] {
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(leavesOf);
  return [typeof value === "string" ? JSON.stringify(value).slice(1, -1) : String(value)];
}

/** What is not in a prompt behind what stands before it, and what stands for an absent value. */
function faultsOf(prompt: string, shown: readonly string[]): readonly string[] {
  const faults = (prompt.match(/\[object \w+\]|undefined|\bNone\b/g) ?? []).map((word) => `has ${word}`);
  let at = 0;
  for (const text of shown) {
    // Templates trim, and some write a result as JSON.
    const trimmed = text.trim();
    const forms = [trimmed, JSON.stringify(trimmed).slice(1, -1), JSON.stringify(text).slice(1, -1)];
    const found = forms.map((form) => [prompt.indexOf(form, at), form.length] as const);
    const [place, length] = found.find(([start]) => start !== -1) ?? [-1, 0];
    if (place === -1) faults.push(`lacks ${text}`);
    else at = place + length;
  }
  return faults;
}

const raisedBy = (template: ChatTemplate, messages: readonly OpenaiChatMessage[], form?: TemplateForm) => {
  try {
    promptOf(template, messages, form);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

/** A session, and the same after a compaction at its end and another word of the user. */
const sessions = fc
  .tuple(hazardousSession(30, [own, foreign]), fc.option(fc.nat()), fc.boolean())
  .map(([session, kept, goesOn]): HazardousSession => {
    const { entries, blobs } = session;
    const last = entries.at(-1);
    if (kept === null || last === undefined) return session;
    const timestamp = last.timestamp;
    const firstKeptEntryId = entries[kept % entries.length]?.id ?? last.id;
    const more = [
      { type: "compaction", summary: "Before w9000w.", firstKeptEntryId, tokensBefore: 1, id: "ffffff00" },
      ...(goesOn
        ? [{ type: "message", message: { ...userMessage("Go on w9001w."), timestamp: 1 }, id: "ffffff01" }]
        : []),
    ].map((entry, at) => ({ ...entry, parentId: at === 0 ? last.id : "ffffff00", timestamp }));
    return { entries: [...entries, ...(more as unknown as typeof entries)], blobs };
  });

/** A context without calls and results, for models that have no form for them. */
function talkOf(context: Context): Context {
  const items = context.items.flatMap((item) => {
    const { message } = item;
    if (message.role === "toolResult") return [];
    if (message.role !== "assistant") return [item];
    const content = message.content.filter(({ type }) => type !== "toolCall");
    return [{ ...item, message: { ...message, content } }];
  });
  return { ...context, items };
}

const said = (text: string): AssistantMessage => ({
  role: "assistant",
  content: [{ type: "text", text }],
  provider: "elsewhere",
  model: "other-1",
  timestamp: 1,
});

describe.each(agents)("the chat template of $model", ({ model, dialect, ...agent }) => {
  const template = chatTemplate(model);

  test("takes what any session becomes and shows all of it in order", async () => {
    await fc.assert(
      fc.asyncProperty(sessions, async (session) => {
        const context = contextAt(session);
        const projection = await projected(context, dialect, session.blobs);
        const { messages } = projection.value;
        fc.pre(messages.length > 0);
        const prompt = promptOf(template, messages, { ...agent, tools });
        expect(faultsOf(prompt, shownBy(messages, agent))).toEqual([]);
        const value = [prompt, messages.map((message) => unwrittenOf(message, agent))];
        expect(silentlyAbsent(context, { ...projection, value }, () => undefined)).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });
});

/** Models that judge a text by a risk or guideline that the request has to name; they are not for chats. */
const judges: ReadonlySet<string> = new Set(["granite3-guardian:2b", "shieldgemma:27b"]);
const listed: ReadonlySet<string> = new Set([
  "llama-guard3:1b",
  "llama3.2-vision:90b",
  "llama3.2-vision:latest",
]);
const talkers = openModels.filter(({ model }) => !judges.has(model));
const formOf = (model: string): TemplateForm => (listed.has(model) ? { takesLists: true } : {});
/** Some of these templates raise for a message of the system, and others move it. */
const talk: OpenaiChatDialect = { ...vllm, systemRole: "user" };

/** That every template takes what is said in a session, and shows all of it in order. */
const allTake = (dialect: OpenaiChatDialect) =>
  fc.asyncProperty(sessions, async (session) => {
    const messages = await sent(talkOf(contextAt(session)), dialect, session.blobs);
    fc.pre(messages.length > 0);
    const shown = shownBy(messages, {});
    const faults = talkers.flatMap(({ model, template }) => {
      const raised = raisedBy(template, messages, formOf(model));
      if (raised !== undefined) return [`${model} raises ${raised}`];
      const prompt = promptOf(template, messages, formOf(model));
      return faultsOf(prompt, shown).map((fault) => `${model} ${fault}`);
    });
    if (faults.length > 0) throw new Error(faults.join("\n"));
  });

describe("the chat templates of all open models that the package carries", () => {
  test("take what is said in any session and show all of it in order", async () => {
    expect(talkers.length).toBeGreaterThan(90);
    await fc.assert(allTake(talk), { numRuns: 20 });
  });

  test("raise, many of them, if messages are not merged or do not begin with the user", async () => {
    const summary = { role: "compactionSummary", summary: "Before.", tokensBefore: 1, timestamp: 1 } as const;
    const compacted = contextFrom([summary, userMessage("Go on.")]);
    const begun = contextFrom([said("Hello."), userMessage("Hi.")]);
    const refusing = (messages: readonly OpenaiChatMessage[]) =>
      talkers.filter(({ model, template }) =>
        raisedBy(template, messages, formOf(model))?.includes("roles must alternate"),
      );
    const apart = { ...talk, merges: false };
    for (const context of [compacted, begun]) {
      expect(refusing(await sent(context, talk))).toEqual([]);
      expect(refusing(await sent(context, apart)).length).toBeGreaterThan(10);
    }
    const { failed, errorInstance } = await fc.check(allTake(apart), { numRuns: 20, endOnFailure: true });
    expect([failed, String(errorInstance)]).toEqual([true, expect.stringContaining("roles must alternate")]);
  });

  test("raise, those of Llama 3, if calls are not sent one by one", async () => {
    const calls = ["a", "b"].map((path) => ({
      type: "toolCall" as const,
      id: path,
      name: "read",
      arguments: { path },
    }));
    const context = contextFrom([userMessage("Go."), { ...said("Both."), content: calls }]);
    for (const { model, dialect } of agents.filter(({ dialect }) => dialect === llama3)) {
      const raised = async (singleCalls: boolean) =>
        raisedBy(chatTemplate(model), await sent(context, { ...dialect, singleCalls }));
      expect(await raised(true)).toBeUndefined();
      expect(await raised(false)).toMatch(/only supports single tool-calls/);
    }
  });
});
