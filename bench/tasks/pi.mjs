// What pi does in the benchmarks, in a process of its own: node tasks/pi.mjs TASK INPUT
import { piModules } from "../support/load-pi.mjs";
import { converse, maxTokens, model, system } from "./answered.mjs";
import { task } from "./task.mjs";

const [, , name, input = "{}"] = process.argv;
const modules = piModules(JSON.parse(input).version);
const { SessionManager } = name === "load" ? /** @type {any} */ ({}) : await modules.sessions();

await task({
  /** Imports what keeps sessions. */
  async load(_input, timed) {
    return typeof (await timed(modules.sessions)).SessionManager;
  },

  /** @param {{ path: string }} input */
  async open({ path }, timed) {
    const context = await timed(() => SessionManager.open(path).buildSessionContext());
    return context.messages.length;
  },

  /** @param {{ dir: string, messages: readonly any[], count: number, warm: number }} input */
  async append({ dir, messages, count, warm }, timed) {
    const manager = SessionManager.create("/work/project", dir);
    for (const message of messages) manager.appendMessage(message);
    /** @param {number} most */
    const append = (most) => {
      for (let i = 0; i < most; i++) manager.appendMessage(messages[i % messages.length]);
    };
    append(warm);
    await timed(() => append(count));
    return manager.getEntries().length;
  },

  /** @param {{ path: string, messages: readonly any[], count: number }} input */
  async appendContext({ path, messages, count }, timed) {
    const manager = SessionManager.open(path);
    let items = manager.buildSessionContext().messages.length;
    await timed(() => {
      for (let i = 0; i < count; i++) {
        manager.appendMessage(messages[i % messages.length]);
        items += manager.buildSessionContext().messages.length;
      }
    });
    return items;
  },

  /** @param {{ path: string, dir: string, isContinued: boolean, counts?: boolean }} input */
  async requests({ path, dir, isContinued, counts = false }, timed) {
    const { stream } = await modules.anthropic();
    const manager = SessionManager.create("/work/project", dir);
    manager.appendMessage({ role: "system", content: system, timestamp: 1 });
    const cost = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1 };
    const asked = {
      ...{ id: model, name: model, api: "anthropic-messages", provider: "anthropic", reasoning: true, cost },
      ...{ baseUrl: "https://api.anthropic.com", input: ["text"], contextWindow: 1_000_000, maxTokens },
    };
    const sent = await timed(() =>
      converse(
        path,
        (text) => manager.appendMessage({ role: "user", content: text, timestamp: Date.now() }),
        ({ id, name }, text) =>
          manager.appendMessage({
            ...{ role: "toolResult", toolCallId: id, toolName: name, isError: false, timestamp: Date.now() },
            content: [{ type: "text", text }],
          }),
        async (reply) => {
          const sent = { body: Buffer.alloc(0), isContinued: false };
          const create = (/** @type {any} */ { betas: _, ...params }) => {
            sent.body = Buffer.from(JSON.stringify(params));
            sent.isContinued = params.thread?.type === "continue";
            return { asResponse: async () => reply() };
          };
          const { messages } = manager.buildSessionContext();
          // It writes no cache markers without a session, so the whole requests have one too.
          const options = { sessionId: "s", env: {}, disableContinuation: !isContinued };
          const client = { beta: { messages: { create } } };
          const message = await stream(asked, { messages }, { ...options, client }).result();
          if (message.errorMessage !== undefined) throw new Error(message.errorMessage);
          manager.appendMessage(message);
          return sent;
        },
      ),
    );
    return counts ? sent : [sent.requests, sent.continued];
  },

  /** @param {{ path: string, messages: readonly any[], warm: number }} input */
  async plan({ path, messages, warm }, timed) {
    // Here and not above, since it loads clients of providers.
    const { DEFAULT_COMPACTION_SETTINGS, prepareCompaction } = await modules.compaction();
    const manager = SessionManager.open(path);
    manager.buildSessionContext();
    // As its agent session does before it asks a model.
    const plan = () => prepareCompaction(manager.getBranch(), DEFAULT_COMPACTION_SETTINGS);
    for (let i = 0; i < warm; i++) {
      manager.appendMessage(messages[i % messages.length]);
      plan();
    }
    manager.appendMessage(messages[warm % messages.length]);
    const { tokensBefore, fileOps, previousSummary = "" } = await timed(plan);
    const modified = new Set([...fileOps.edited, ...fileOps.written]);
    const files = new Set([...fileOps.read, ...modified]);
    return [tokensBefore, files.size, modified.size, previousSummary.length];
  },

  /** @param {{ project: string, cwd: string, limit: number }} input */
  async list({ project, cwd, limit }, timed) {
    const page = await timed(async () => (await SessionManager.list(cwd, project)).slice(0, limit));
    return page.map((/** @type {{ firstMessage: string }} */ { firstMessage }) => firstMessage).length;
  },
});
