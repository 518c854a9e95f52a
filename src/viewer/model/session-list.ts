/** The list of all sessions: those that a reader asks for, in groups, as the lines of a virtual list. */

import type { ListedSession, ListUpdate } from "../page-data.js";

/** What a reader asks for. All of it is in the address of the page. */
export interface ListQuery {
  readonly words: string;
  readonly agent: string;
  readonly project: string;
  readonly by: "day" | "project";
  readonly costs: boolean;
}

export type ListLine =
  | { readonly kind: "heading"; readonly key: string; readonly text: string; readonly count: number }
  | { readonly kind: "session"; readonly key: string; readonly session: ListedSession };

/** The sessions that the server told of, newest first. */
export class SessionList {
  readonly #byKey = new Map<string, ListedSession>();
  #sorted: readonly ListedSession[] | undefined;
  version = 0;
  isWhole = false;
  /** The time of the server's last answer. */
  now = 0;

  /** Returns whether a session came, changed or went. */
  update({ version, isWhole, now, sessions, gone }: ListUpdate): boolean {
    Object.assign(this, { version, isWhole, now });
    for (const session of sessions) this.#byKey.set(session.key, session);
    for (const key of gone) this.#byKey.delete(key);
    const isChanged = sessions.length + gone.length > 0;
    if (isChanged) this.#sorted = undefined;
    return isChanged;
  }

  get(key: string): ListedSession | undefined {
    return this.#byKey.get(key);
  }

  get sessions(): readonly ListedSession[] {
    this.#sorted ??= [...this.#byKey.values()].sort((a, b) =>
      a.modified < b.modified ? 1 : a.modified > b.modified ? -1 : a.key < b.key ? 1 : -1,
    );
    return this.#sorted;
  }
}

/** Files that were written within this time are of sessions at work. */
const liveMs = 90_000;

export function isLive({ modified }: ListedSession, now: number): boolean {
  return now - Date.parse(modified) < liveMs;
}

/** The last part of a directory. */
export function projectName(cwd = ""): string {
  return cwd.split(/[/\\]/).findLast((part) => part !== "") ?? "";
}

/** The lines for a query. Subagents are found by words and by their parents, and listed only with words. */
export function listLines(
  sessions: readonly ListedSession[],
  { words, agent, project, by }: ListQuery,
): readonly ListLine[] {
  const wanted = words.trim().toLowerCase();
  const ids = new Set(sessions.map(({ agent, id }) => `${agent} ${id}`));
  const groups = new Map<string, ListedSession[]>();
  for (const session of sessions) {
    const { title = "", cwd = "", id, parent } = session;
    if (agent !== "" && session.agent !== agent) continue;
    if (project !== "" && cwd !== project) continue;
    if (wanted === "" && parent !== undefined && ids.has(`${session.agent} ${parent}`)) continue;
    if (wanted !== "" && !`${title}\n${cwd}\n${id}`.toLowerCase().includes(wanted)) continue;
    const name = by === "day" ? localDay(session.modified) : cwd;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [session]);
    else group.push(session);
  }
  return [...groups].flatMap(([name, group]): readonly ListLine[] => [
    { kind: "heading", key: `heading ${name}`, text: name, count: group.length },
    ...group.map((session) => ({ kind: "session", key: session.key, session }) as const),
  ]);
}

/** The sessions found by their titles that come before the hits in messages. */
const firstTitles = 5;

/**
 * The lines of a search with hits in messages: a few sessions by their titles, the hits, then the other titles.
 * A reader of one screen sees both kinds with their counts.
 */
export function searchLines<Hit extends { readonly kind: string }>(
  found: readonly ListLine[],
  hits: readonly Hit[],
): readonly (ListLine | Hit)[] {
  if (hits.length === 0) return found;
  const titles = found.filter(({ kind }) => kind === "session");
  const part = (text: string, count: number) =>
    count === 0 ? [] : [{ kind: "heading", key: `heading ${text}`, text, count } as const];
  return [
    ...part("In titles", titles.length),
    ...titles.slice(0, firstTitles),
    ...part("In messages", hits.length),
    ...hits,
    ...part("More titles", Math.max(0, titles.length - firstTitles)),
    ...titles.slice(firstTitles),
  ];
}

/** `2026-11-29`, in the reader's time zone. */
export function localDay(time: string): string {
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Sums by one member of the groups, the last days first and the largest models first. */
export function sumsBy<
  G extends { readonly cost: number; readonly tokens: number; readonly unpriced: number },
>(
  groups: readonly G[],
  name: (group: G) => string,
): ReadonlyMap<string, { cost: number; tokens: number; unpriced: number }> {
  const sums = new Map<string, { cost: number; tokens: number; unpriced: number }>();
  for (const group of groups) {
    const key = name(group);
    const sum = sums.get(key) ?? { cost: 0, tokens: 0, unpriced: 0 };
    sums.set(key, sum);
    sum.cost += group.cost;
    sum.tokens += group.tokens;
    sum.unpriced += group.unpriced;
  }
  return sums;
}

/** The query in an address. */
export function readQuery(hash: string): ListQuery {
  const named = new URLSearchParams(hash.replace(/^#/, ""));
  const text = (name: string) => named.get(name) ?? "";
  return {
    ...{ words: text("words"), agent: text("agent"), project: text("project") },
    ...{ by: text("by") === "project" ? "project" : "day", costs: named.has("costs") },
  };
}

export function toQueryAddress({ words, agent, project, by, costs }: ListQuery): string {
  const named = new URLSearchParams({
    ...(words !== "" && { words }),
    ...(agent !== "" && { agent }),
    ...(project !== "" && { project }),
    ...(by !== "day" && { by }),
    ...(costs && { costs: "" }),
  });
  return `#${named}`;
}
