/** The row of Qwen Code: its home, its chats at a glance, the words that resume one. */

import { firstOf, folderOf, lastRecords, nameOf, recordsOf, textIn, versionOf } from "../shared/describe.js";
import { millisecondsOf, objectOf, textOf } from "../shared/values.js";
import type { AgentRow } from "../types.js";

const chatName = /^[0-9a-fA-F-]{32,36}\.jsonl$/;

/** Texts of hooks, background tasks and the program itself, in 0.24.4 (2026-11-28). */
const harness = /^<(?:qwen:user-prompt-submit-context|task-notification|system-reminder)[\s>]/;

/** Whether a text is the agent's, in the user's place. */
export const isHarness = (text: string): boolean => harness.test(text.trimStart());

/** The words that resume a session. */
export const resumeWords = (sessionId: string): readonly string[] => ["qwen", "--resume", sessionId];

/** The folder of the chats of a session's subagents, beside the folder of chats. */
export const subagentFolder = (path: string): string => {
  const project = folderOf(path).replace(/(?:^|\/)chats(?:\/archive)?$/, "");
  return `${project}/subagents/${nameOf(path).replace(/[^\w-]/g, "_")}`;
};

export const qwenAgent: AgentRow<"qwen-code"> = {
  name: "qwen-code",
  title: "Qwen Code",
  home: { variables: ["QWEN_RUNTIME_DIR", "QWEN_HOME"], folder: ".qwen" },
  sessions: ["projects/*/chats", "projects/*/chats/archive"].map((folder) => ({ folder, name: chatName })),
  folder: subagentFolder,
  parts: ({ folder }) => [{ folder, name: /^agent-.{0,255}\.(?:jsonl|meta\.json)$/ }],
  path: /(?:^|\/)\.qwen\/projects\//,
  harness,
  resume: resumeWords,

  detect(value) {
    const { uuid, sessionId, type, provenance } = value;
    if (typeof uuid !== "string" || typeof sessionId !== "string" || typeof type !== "string")
      return undefined;
    const isOwn = Array.isArray(objectOf(value.message)?.parts) || "systemPayload" in value;
    return isOwn || typeof provenance === "string" ? { ...versionOf(value.version), sure: true } : undefined;
  },

  describe(path, windows) {
    const records = [...recordsOf(windows.head)];
    const first = records.find(
      ({ uuid, sessionId }) => typeof uuid === "string" && typeof sessionId === "string",
    );
    if (first === undefined) return undefined;
    const titleIn = ({ systemPayload }: (typeof records)[number]) =>
      textOf(objectOf(systemPayload)?.customTitle);
    const parent = firstOf(records, ({ systemPayload }) => textOf(objectOf(systemPayload)?.parentSessionId));
    return {
      id: nameOf(path),
      cwd: textOf(first.cwd),
      created: millisecondsOf(first.timestamp),
      title: firstOf(lastRecords(windows, ['"customTitle"']), titleIn) ?? firstOf(records, titleIn),
      questions: records.flatMap(({ type, message }) =>
        type === "user" ? (textIn(objectOf(message)?.parts) ?? []) : [],
      ),
      parent,
    };
  },
};
