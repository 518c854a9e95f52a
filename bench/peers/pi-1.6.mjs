// What pi 1.6.0 says of sessions, for tests that run on another Node: an answer for each message.
import { piModules } from "../support/load-pi.mjs";

const modules = piModules("1.6.0");
const { SessionManager, buildSessionContext } = await modules.sessions();
const { DEFAULT_COMPACTION_SETTINGS, computeFileLists, estimateTokens, prepareCompaction } =
  await modules.compaction();

/** @type {Record<string, (question: any) => unknown>} */
const answers = {
  /** @param {{ path: string, every: number }} question */
  open({ path, every }) {
    const manager = SessionManager.open(path);
    const entries = manager.getEntries();
    const ids = entries.map((/** @type {{ id: string }} */ { id }) => id);
    const asked = ids.filter(
      (/** @type {string} */ _id, /** @type {number} */ at) => at % every === 0 || at === ids.length - 1,
    );
    return {
      id: manager.getSessionId(),
      leafId: manager.getLeafId(),
      name: manager.getSessionName(),
      entries: ids,
      labels: ids.map((/** @type {string} */ id) => manager.getLabel(id) ?? null),
      contexts: asked.map((/** @type {string} */ id) => [id, buildSessionContext(entries, id)]),
    };
  },

  /** @param {{ path: string, messages: readonly any[] }} question */
  append({ path, messages }) {
    const manager = SessionManager.open(path);
    return messages.map((message) => manager.appendMessage(message));
  },

  /** @param {{ path: string }} question */
  compact({ path }) {
    const manager = SessionManager.open(path);
    return manager.appendCompaction("what was", manager.getLeafId() ?? "", 1);
  },

  /** @param {{ messages: readonly any[] }} question */
  tokens: ({ messages }) => messages.map(estimateTokens),

  /** @param {{ path: readonly any[], keepRecentTokens: number }} question */
  plan({ path, keepRecentTokens }) {
    const plan = prepareCompaction(path, { ...DEFAULT_COMPACTION_SETTINGS, keepRecentTokens });
    return plan === undefined ? null : { ...plan, fileOps: computeFileLists(plan.fileOps) };
  },
};

process.on("message", (/** @type {{ kind: string }} */ { kind, ...question }) => {
  process.send?.({ answer: answers[kind]?.(question) });
});
