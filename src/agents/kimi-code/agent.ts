/** The row of Kimi Code: its home, its sessions at a glance, the words that resume one. */

import { folderByPath, readRecords, textIn } from "../shared/records.js";
import { parseJson, readMilliseconds, readObject, readText } from "../shared/values.js";
import type { AgentRow } from "../types.js";

/** The words that resume a session. */
export const resumeWords = (sessionId: string): readonly string[] => ["kimi", "-r", sessionId];

/** The folder of a session, of the path of one of its wire files. */
export const sessionFolder = (path: string): string => folderByPath(folderByPath(folderByPath(path)));

/** Reminders that the program writes in the user's place. */
const harness = /^<system-reminder>/;

export const kimiAgent: AgentRow<"kimi-code"> = {
  name: "kimi-code",
  title: "Kimi Code",
  home: { variables: ["KIMI_CODE_HOME"], folder: ".kimi-code" },
  sessions: [{ folder: "sessions/*/*/agents/main", name: /^wire\.jsonl$/ }],
  folder: sessionFolder,
  // Beside the state of the session there are those of its parts, such as notices.
  parts: ({ folder }) => [
    { folder, depth: 1, name: /^state\.json$/ },
    { folder: `${folder}/agents`, depth: 1, name: /^wire\.jsonl$/ },
  ],
  index: {
    file: "session_index.jsonl",
    read(text) {
      const directories = new Map<string, string>();
      for (const line of text.split("\n")) {
        const { sessionId, workDir } = readObject(parseJson(line)) ?? {};
        if (typeof sessionId === "string" && typeof workDir === "string") directories.set(sessionId, workDir);
      }
      return (_path, id) => {
        const cwd = directories.get(id);
        return cwd === undefined ? {} : { cwd };
      };
    },
  },
  path: /(?:^|\/)\.kimi-code\/sessions\//,
  harness,
  resume: resumeWords,

  detect({ type, protocol_version: version, created_at: created }) {
    const isWire = type === "metadata" && typeof version === "string" && typeof created === "number";
    return isWire ? { variant: `wire ${version.slice(0, 20)}`, sure: true } : undefined;
  },

  describe(path, { head }) {
    const records = [...readRecords(head)];
    const first = records.find(({ type }) => type === "metadata");
    if (first === undefined) return undefined;
    const folder = sessionFolder(path);
    return {
      id: folder.slice(folder.lastIndexOf("/") + 1),
      created: readMilliseconds(first.created_at),
      questions: records.flatMap(({ type, input, origin }) =>
        type === "turn.prompt" && readObject(origin)?.kind === "user"
          ? (textIn(readText(input) ?? input) ?? [])
          : [],
      ),
    };
  },
};
