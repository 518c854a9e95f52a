/** The row of opencode: its home with folders or a database, its sessions at a glance, the words that resume one. */

import { nameByPath, parseCutJson, readVersion } from "../shared/records.js";
import { readMilliseconds, readObject, readText } from "../shared/values.js";
import type { AgentDatabaseRow, AgentPlace, AgentRow } from "../types.js";

const json = /\.json$/;

/** Messages of a session of version 1.1, and the parts of each. */
const storedPlace = (id: string): AgentPlace => ({
  folder: `storage/message/${id}`,
  name: json,
  parts: (path) => [{ folder: `storage/part/${nameByPath(path)}`, name: json }],
});

const isId = (value: unknown, prefix: string) => typeof value === "string" && value.startsWith(prefix);

export const opencodeAgent: AgentRow<"opencode"> = {
  name: "opencode",
  title: "opencode",
  home: { variables: ["XDG_DATA_HOME"], folder: ".local/share", inner: "opencode" },
  sessions: [
    { folder: "storage/session", depth: 1, name: json },
    { folder: "", name: /^opencode\.db$/ },
  ],
  parts: ({ paths }) =>
    paths[0]?.endsWith(".db") === true
      ? [{ folder: "", name: /^opencode\.db-wal$/ }]
      : paths.map((path) => storedPlace(nameByPath(path))),
  isScattered: true,
  path: /(?:^|\/)opencode\.db$|(?:^|\/)storage\/(?:session|message|part)\//,
  hasProviders: true,
  resume(sessionId, [file, ...others]) {
    const isExchange = others.length === 0 && file !== undefined && json.test(file.path);
    return isExchange ? ["opencode", "import", file.path] : ["opencode", "--session", sessionId];
  },

  rows(database) {
    const text = <K extends string>(name: K, value: unknown) =>
      typeof value === "string" && value !== "" ? ({ [name]: value } as { readonly [N in K]: string }) : {};
    const sizes = new Map<unknown, number>();
    for (const table of ["message", "part"]) {
      const sql = `SELECT session_id AS id, sum(octet_length(data)) AS bytes FROM ${table} GROUP BY session_id`;
      for (const { id, bytes } of database.all(sql)) sizes.set(id, (sizes.get(id) ?? 0) + Number(bytes));
    }
    return database.all("SELECT * FROM session").map(
      (row): AgentDatabaseRow => ({
        id: String(row.id),
        ...text("cwd", row.directory),
        ...text("title", row.title),
        ...text("parent", row.parent_id),
        created: Number(row.time_created),
        modified: Number(row.time_updated),
        bytes: sizes.get(row.id) ?? 0,
      }),
    );
  },

  detect(value) {
    const info = readObject(value.info);
    if (info !== undefined && isId(info.id, "ses_"))
      return { variant: "export", ...readVersion(info.version), sure: Array.isArray(value.messages) };
    if (isId(value.id, "ses_")) return { variant: "storage", ...readVersion(value.version), sure: true };
    const isPart = isId(value.sessionID, "ses_") && /^(?:msg|prt)_/.test(String(value.id));
    return isPart ? { variant: "storage", sure: true } : undefined;
  },

  describe(_path, { head }) {
    const info = readObject(parseCutJson(new TextDecoder().decode(head)));
    const id = readText(info?.id);
    if (info === undefined || id === undefined) return undefined;
    const time = readObject(info.time);
    return {
      id,
      cwd: readText(info.directory),
      title: readText(info.title),
      created: readMilliseconds(time?.created),
      updated: readMilliseconds(time?.updated),
      parent: readText(info.parentID),
    };
  },
};
