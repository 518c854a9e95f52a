/** The row of Gemini CLI: its home, its chats at a glance, the words that resume one. */

import { textDigest } from "../shared/ids.js";
import {
  formByPath,
  lastRecords,
  parseCutJson,
  readRecords,
  recordFirst,
  textIn,
} from "../shared/records.js";
import { parseJson, readMilliseconds, readObject, readText, toArray } from "../shared/values.js";
import type { AgentRow } from "../types.js";

/** The agent's words about its environment, at the start and by hooks. */
const environment = /^<(?:session|hook)_context>/;

/** Whether a text is the agent's about its environment. */
export function isEnvironment(text: string): boolean {
  return environment.test(text.trimStart());
}

/** The words that resume a chat. The agent looks for it in the project of the working directory. */
export const resumeWords = (sessionId: string): readonly string[] => ["gemini", "--resume", sessionId];

/** The name `gemini` is older than the subpath `gemini-cli`, and stays: ids of entries are digests of it. */
export const geminiAgent: AgentRow<"gemini"> = {
  name: "gemini",
  title: "Gemini CLI",
  home: { variables: ["GEMINI_CLI_HOME"], folder: "", inner: ".gemini" },
  sessions: [{ folder: "tmp/*/chats", name: /^session-.{0,255}\.jsonl?$/ }],
  parts: ({ folder }) => [{ folder, name: /\.jsonl?$/ }],
  index: {
    file: "projects.json",
    read(text) {
      const projects = readObject(readObject(parseJson(text))?.projects) ?? {};
      const directories = new Map<string, string>();
      for (const [directory, slug] of Object.entries(projects)) {
        directories.set(textDigest(directory), directory);
        const name = readText(slug);
        if (name !== undefined) directories.set(name, directory);
      }
      return (path) => {
        const cwd = directories.get(path.split("/")[1] ?? "");
        return cwd === undefined ? {} : { cwd };
      };
    },
  },
  path: /(?:^|\/)\.gemini\/tmp\/|(?:^|\/)chats\/session-[^/]{0,255}\.json/,
  harness: environment,
  resume: resumeWords,

  detect(value) {
    const { sessionId, projectHash, startTime, lastUpdated } = value;
    if (typeof sessionId !== "string" || typeof projectHash !== "string") return undefined;
    if (typeof startTime !== "string" && typeof lastUpdated !== "string") return undefined;
    return { variant: "messages" in value ? "json" : "jsonl", sure: true };
  },

  describe(path, windows) {
    const isLog = formByPath(path, windows.head) === "lines";
    const whole = isLog ? undefined : readObject(parseCutJson(new TextDecoder().decode(windows.head)));
    const records = isLog ? [...readRecords(windows.head)] : whole === undefined ? [] : [whole];
    const start = records.find(({ sessionId }) => typeof sessionId === "string");
    const id = readText(start?.sessionId);
    if (start === undefined || id === undefined) return undefined;
    const messages = isLog ? records : toArray(start.messages).map((each) => readObject(each) ?? {});
    const latest = (key: string) =>
      isLog
        ? recordFirst(lastRecords(windows, [`"${key}"`]), ({ $set }) => readText(readObject($set)?.[key]))
        : readText(start[key]);
    return {
      id,
      created: readMilliseconds(start.startTime),
      updated: readMilliseconds(latest("lastUpdated") ?? start.lastUpdated),
      title: latest("summary"),
      questions: messages.flatMap(({ type, content }) => (type === "user" ? (textIn(content) ?? []) : [])),
    };
  },
};
