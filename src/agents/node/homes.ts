/** Where agents keep their sessions: homes, and the files below them that may be a session. */

import { homedir } from "node:os";
import { join } from "node:path";
import type { ForeignFormatName } from "../types.js";
import { type Candidate, foldersOf, walk } from "./walk.js";

/** An agent with sessions on this machine. */
interface AgentHome {
  /** Its home. `env` has the variables that move it. */
  home(env: Readonly<Record<string, string | undefined>>): string | undefined;
  /** The files that may be sessions. A folder that cannot be read has none. */
  sessions(home: string): Promise<readonly Candidate[]>;
}

const inHome = (...names: readonly string[]) => join(homedir(), ...names);
const isJson = /\.jsonl?$/;

/**
 * The agents. Sessions of this library have no common place: their store is named by `homes`.
 *
 * @see docs/reference/interop.md for the sources of these places
 */
export const agentHomes: Readonly<Record<ForeignFormatName, AgentHome>> = {
  "claude-code": {
    home: (env) => env.CLAUDE_CONFIG_DIR ?? inHome(".claude"),
    async sessions(home) {
      const folders = await foldersOf(join(home, "projects"));
      const found = await Promise.all(
        folders.map((folder) => walk(home, folder, { depth: 0, name: /\.jsonl$/ })),
      );
      return found.flat();
    },
  },
  codex: {
    home: (env) => env.CODEX_HOME ?? inHome(".codex"),
    async sessions(home) {
      const name = /^rollout-.{0,255}\.jsonl?(?:\.zst)?$/;
      const folders = ["sessions", "archived_sessions"].map((folder) => join(home, folder));
      return (await Promise.all(folders.map((folder) => walk(home, folder, { depth: 3, name })))).flat();
    },
  },
  gemini: {
    home: (env) => join(env.GEMINI_CLI_HOME ?? homedir(), ".gemini"),
    async sessions(home) {
      const folders = await foldersOf(join(home, "tmp"));
      const name = /^session-.{0,255}\.jsonl?$/;
      const found = folders.map((folder) => walk(home, join(folder, "chats"), { depth: 0, name }));
      return (await Promise.all(found)).flat();
    },
  },
  opencode: {
    home: (env) => join(env.XDG_DATA_HOME ?? inHome(".local", "share"), "opencode"),
    async sessions(home) {
      const stored = await walk(home, join(home, "storage", "session"), { depth: 1, name: /\.json$/ });
      return [...stored, ...(await walk(home, home, { depth: 0, name: /^opencode\.db$/ }))];
    },
  },
  pi: {
    home: (env) => env.PI_CODING_AGENT_DIR ?? inHome(".pi", "agent"),
    sessions: (home) => walk(home, join(home, "sessions"), { depth: 1, name: /\.jsonl$/ }),
  },
  sessile: {
    home: () => undefined,
    sessions: (home) => walk(home, home, { depth: 3, name: isJson }),
  },
};
