/** The row of Codex: its home, its rollouts at a glance, the words that resume one. */

import { readRecords, readVersion } from "../shared/records.js";
import { type ForeignObject, parseJson, readMilliseconds, readObject, readText } from "../shared/values.js";
import type { AgentRow } from "../types.js";

const rolloutId = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\.jsonl?(?:\.zst)?$)/;
const rolloutName = /^rollout-.{0,255}\.jsonl?(?:\.zst)?$/;

/** Openings of initial context, from rollouts of 0.29 to 0.169 (2026-11-23). */
export const openings =
  /^(?:<environment_context>|<user_instructions>|# AGENTS\.md instructions|<INSTRUCTIONS>)/;

/** The words of the command that resumes a session. */
export const resumeWords = (sessionId: string): readonly string[] => ["codex", "resume", sessionId];

const types = ["response_item", "event_msg", "turn_context", "compacted"];

export const codexAgent: AgentRow<"codex"> = {
  name: "codex",
  title: "Codex",
  home: { variables: ["CODEX_HOME"], folder: ".codex" },
  sessions: [
    { folder: "sessions", depth: 3, name: rolloutName },
    { folder: "archived_sessions", depth: 3, name: rolloutName },
  ],
  // The name of a later page of a thread ends with the id of the page.
  nameId: (path) =>
    /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(path.slice(path.lastIndexOf("/")))?.[0],
  isScattered: true,
  baseMembers: ["forked_from_id", "history_base"],
  parentMembers: ["parent_thread_id"],
  index: {
    file: "session_index.jsonl",
    read(text) {
      const names = new Map<string, string>();
      // The last name of a thread counts.
      for (const line of text.split("\n")) {
        const { id, thread_name: name } = readObject(parseJson(line)) ?? {};
        if (typeof id === "string" && typeof name === "string" && name !== "")
          names.set(id, name.slice(0, 200));
      }
      return (_path, id) => {
        const title = names.get(id);
        return title === undefined ? {} : { title };
      };
    },
  },
  path: /(?:^|\/)rollout-[^/]{0,255}\.jsonl?(?:\.zst)?$/,
  harness: openings,
  hasProviders: true,
  resume: resumeWords,

  detect(value) {
    const payload = readObject(value.payload);
    if (value.type === "session_meta" && payload !== undefined) {
      const variant = "ordinal" in value || "history_mode" in payload ? "paginated" : "legacy";
      return { variant, ...readVersion(payload.cli_version), sure: true };
    }
    if (payload !== undefined && types.includes(value.type as string))
      return { variant: "legacy", sure: true };
    if (value.record_type === "state") return { variant: "bare", sure: true };
    const { session, items } = value;
    if (Array.isArray(items) && typeof readObject(session)?.id === "string")
      return { variant: "json", sure: true };
    const isBare =
      "instructions" in value && typeof value.id === "string" && typeof value.timestamp === "string";
    return isBare ? { variant: "bare", sure: true } : undefined;
  },

  describe(path, { head }) {
    const named = rolloutId.exec(path)?.[0];
    // A compressed file has its name alone.
    if (path.endsWith(".zst")) return named === undefined ? undefined : { id: named };
    let meta: ForeignObject | undefined;
    let title: string | undefined;
    for (const record of readRecords(head)) {
      const payload = readObject(record.payload);
      if (record.type === "session_meta") meta ??= payload;
      else if (meta === undefined && typeof record.id === "string" && "timestamp" in record) meta = record;
      else if (meta === undefined && readObject(record.session) !== undefined)
        meta = readObject(record.session);
      if (payload?.type === "user_message") title ??= readText(payload.message);
      if (meta !== undefined && title !== undefined) break;
    }
    const id = readText(meta?.id) ?? named;
    if (id === undefined) return undefined;
    const spawn = readObject(readObject(readObject(meta?.source)?.subagent)?.thread_spawn);
    return {
      id,
      cwd: readText(meta?.cwd),
      created: readMilliseconds(meta?.timestamp),
      title,
      parent: readText(spawn?.parent_thread_id) ?? readText(meta?.forked_from_id),
      base: readText(meta?.forked_from_id) ?? readText(readObject(meta?.history_base)?.thread_id),
    };
  },
};
