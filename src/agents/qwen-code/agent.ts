/** The row of Qwen Code: its home, its chats at a glance, the words that resume one. */

import {
  folderByPath,
  lastRecords,
  nameByPath,
  readRecords,
  readVersion,
  recordFirst,
  textIn,
} from "../shared/records.js";
import { readMilliseconds, readObject, readText } from "../shared/values.js";
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
  const project = folderByPath(path).replace(/(?:^|\/)chats(?:\/archive)?$/, "");
  return `${project}/subagents/${nameByPath(path).replace(/[^\w-]/g, "_")}`;
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
    const isOwn = Array.isArray(readObject(value.message)?.parts) || "systemPayload" in value;
    return isOwn || typeof provenance === "string"
      ? { ...readVersion(value.version), sure: true }
      : undefined;
  },

  describe(path, windows) {
    const records = [...readRecords(windows.head)];
    const first = records.find(
      ({ uuid, sessionId }) => typeof uuid === "string" && typeof sessionId === "string",
    );
    if (first === undefined) return undefined;
    const titleIn = ({ systemPayload }: (typeof records)[number]) =>
      readText(readObject(systemPayload)?.customTitle);
    const parent = recordFirst(records, ({ systemPayload }) =>
      readText(readObject(systemPayload)?.parentSessionId),
    );
    return {
      id: nameByPath(path),
      cwd: readText(first.cwd),
      created: readMilliseconds(first.timestamp),
      title: recordFirst(lastRecords(windows, ['"customTitle"']), titleIn) ?? recordFirst(records, titleIn),
      questions: records.flatMap(({ type, message }) =>
        type === "user" ? (textIn(readObject(message)?.parts) ?? []) : [],
      ),
      parent,
    };
  },
};
