/** The page of all sessions: a list by day or project, a search over all of them, and costs by day and model. */

import { type ComponentChildren, render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  isLive,
  type ListLine,
  type ListQuery,
  listLines,
  projectName,
  readQuery,
  SessionList,
  searchLines,
  sumsBy,
  toQueryAddress,
} from "../model/session-list.js";
import { agoText, bytesText, costText, countText, timeText, visibleText } from "../model/text.js";
import {
  type CostsOfSessions,
  type FoundText,
  type ListedSession,
  type ListUpdate,
  maxHits,
} from "../page-data.js";
import { useUpdate, useVirtualList } from "./hooks.js";

const firstPollMs = 150;
const pollMs = 5000;
const answerMs = 15_000;
const costsPollMs = 700;
const typingMs = 300;
/** A shorter word is looked for in titles alone. */
const minWords = 2;
const heights = { heading: 40, session: 32, hit: 48 } as const;

type Hit = Exclude<FoundText, { readonly problem: string }>;
type Line = ListLine | { readonly kind: "hit"; readonly key: string; readonly hit: Hit };

/**
 * Asks the page's own server. A request without an answer fails, and the next one may have it. Errors have a text
 * for the reader.
 */
async function ask<T>(path: string): Promise<T> {
  const signal = AbortSignal.timeout(answerMs);
  const response = await fetch(new URL(path, location.href), { signal }).catch(() => {
    throw new Error("the server does not answer");
  });
  if (!response.ok) throw new Error((await response.text()) || `the server answers ${response.status}`);
  return response.json();
}

function House() {
  const update = useUpdate();
  const [query, setQuery] = useState(() => readQuery(location.hash));
  const list = useRef(new SessionList()).current;
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const read = () => setQuery(readQuery(location.hash));
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const poll = async () => {
      let failure: string | undefined;
      try {
        list.update(await ask<ListUpdate>(`sessions?after=${list.version}`));
      } catch (error) {
        failure = visibleText((error as Error).message);
      }
      setProblem(failure);
      // Times and live sessions change too.
      update();
      timer = setTimeout(poll, list.isWhole || failure !== undefined ? pollMs : firstPollMs);
    };
    void poll();
    return () => clearTimeout(timer);
  }, []);
  const change = (part: Partial<ListQuery>) => {
    const changed = { ...query, ...part };
    history.replaceState(null, "", toQueryAddress(changed));
    setQuery(changed);
  };
  const { sessions } = list;
  const texts = useSearch(query.words);
  const lines = useMemo((): readonly Line[] => {
    const found = listLines(sessions, query);
    const isShown = ({ agent, cwd = "" }: ListedSession) =>
      (query.agent === "" || agent === query.agent) && (query.project === "" || cwd === query.project);
    const hits = texts.hits.filter(({ key }) => {
      const session = list.get(key);
      return session !== undefined && isShown(session);
    });
    return searchLines(
      found,
      hits.map((hit, at) => ({ kind: "hit", key: `hit ${at}`, hit }) as const),
    );
  }, [sessions, query, texts.hits]);
  return (
    <div class="house">
      <Bar list={list} query={query} change={change} status={problem ?? status(list, texts)} />
      {query.costs ? <Costs /> : <div />}
      <Lines list={list} lines={lines} now={list.now} />
    </div>
  );
}

function status(list: SessionList, texts: Texts): string {
  if (texts.problem !== undefined) return texts.problem;
  const count = list.sessions.length;
  const sessions = count === 1 ? "1 session" : `${count.toLocaleString("en")} sessions`;
  if (!list.isWhole) return `${sessions}, looking for more…`;
  if (texts.state === "searching") return `${texts.hits.length} hits, searching…`;
  if (texts.state !== "done") return sessions;
  const hits = texts.hits.length;
  return hits === 1 ? "1 hit" : `${hits >= maxHits ? "the first " : ""}${hits} hits`;
}

// The search over the text of all sessions: hits come one after the other.

interface Texts {
  readonly state: "off" | "searching" | "done";
  readonly hits: readonly Hit[];
  readonly problem?: string;
}

const noTexts: Texts = { state: "off", hits: [] };

function useSearch(words: string): Texts {
  const [texts, setTexts] = useState(noTexts);
  useEffect(() => {
    setTexts(noTexts);
    if (words.trim().length < minWords) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      search(words, abort.signal, setTexts).catch(() => {
        if (!abort.signal.aborted) setTexts({ ...noTexts, problem: "the search failed" });
      });
    }, typingMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [words]);
  return texts;
}

async function search(words: string, signal: AbortSignal, show: (texts: Texts) => void): Promise<void> {
  show({ state: "searching", hits: [] });
  const response = await fetch(new URL(`search?${new URLSearchParams({ words })}`, location.href), {
    signal,
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const hits: Hit[] = [];
  let rest = "";
  for (;;) {
    const { done, value = "" } = (await reader?.read()) ?? { done: true };
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const found: FoundText = JSON.parse(line);
      if ("problem" in found) return show({ ...noTexts, problem: found.problem });
      hits.push(found);
    }
    if (signal.aborted) return;
    show({ state: done ? "done" : "searching", hits: [...hits] });
    if (done) return;
  }
}

// The bar: words, filters, costs.

interface BarProps {
  readonly list: SessionList;
  readonly query: ListQuery;
  readonly change: (part: Partial<ListQuery>) => void;
  readonly status: string;
}

function Bar({ list, query, change, status }: BarProps) {
  const field = useRef<HTMLInputElement>(null);
  const { sessions } = list;
  const agents = useMemo(() => [...new Set(sessions.map(({ agent }) => agent))].sort(), [sessions]);
  const projects = useMemo(
    () =>
      [...new Set(sessions.map(({ cwd = "" }) => cwd))]
        .filter((cwd) => cwd !== "")
        .sort((a, b) => (projectName(a) < projectName(b) ? -1 : 1)),
    [sessions],
  );
  useLayoutEffect(() => {
    const key = (event: KeyboardEvent) => {
      const { target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const isField = target instanceof Element && target.closest("input, select") !== null;
      if (event.key === "Escape" && isField) (target as HTMLElement).blur();
      if (isField) return;
      if (event.key === "/") {
        event.preventDefault();
        field.current?.focus();
      }
      if (event.key === "j" || event.key === "k") stepLink(event.key === "j" ? 1 : -1);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
  const options = (names: readonly string[], text: (name: string) => string) =>
    names.map((name) => (
      <option key={name} value={name}>
        {visibleText(text(name))}
      </option>
    ));
  return (
    <header class="bar">
      <h1>Sessions</h1>
      <input
        ref={field}
        type="search"
        aria-label="Search in all sessions"
        placeholder="Search in all sessions"
        value={query.words}
        onInput={(event) => change({ words: event.currentTarget.value })}
      />
      <select
        aria-label="Agent"
        value={query.agent}
        onChange={(event) => change({ agent: event.currentTarget.value })}
      >
        <option value="">all agents</option>
        {options(agents, (name) => name)}
      </select>
      <select
        aria-label="Project"
        value={query.project}
        onChange={(event) => change({ project: event.currentTarget.value })}
      >
        <option value="">all projects</option>
        {options(projects, projectName)}
      </select>
      <button
        type="button"
        aria-pressed={query.by === "project"}
        onClick={() => change({ by: query.by === "day" ? "project" : "day" })}
      >
        By project
      </button>
      <button type="button" aria-pressed={query.costs} onClick={() => change({ costs: !query.costs })}>
        Costs
      </button>
      <span class="small" role="status">
        {status}
      </span>
    </header>
  );
}

/** Moves the focus from one session of the list to another one. */
function stepLink(by: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>(".entry > a")];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[at < 0 ? 0 : at + by]?.focus();
}

// The list itself: only the visible lines are in the document.

interface LinesProps {
  readonly list: SessionList;
  readonly lines: readonly Line[];
  readonly now: number;
}

function Lines({ list, lines, now }: LinesProps) {
  const scroller = useRef<HTMLElement>(null);
  const shown = useVirtualList({
    count: lines.length,
    scroller,
    overscan: 8,
    estimate: (index) => heights[lines[index]?.kind ?? "session"],
    readKey: (index) => lines[index]?.key ?? String(index),
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <main ref={scroller} class="sessions" aria-label="Sessions" tabIndex={0}>
      <div style={{ height: `${shown.before}px` }} />
      <ul>
        {shown.items.map(({ index, key }) => {
          const line = lines[index];
          if (line === undefined) return null;
          return (
            <li key={key} data-index={index} ref={shown.measure}>
              <LineView list={list} line={line} now={now} />
            </li>
          );
        })}
      </ul>
      <div style={{ height: `${shown.after}px` }} />
      {lines.length === 0 && list.isWhole && <p class="empty">No session is found.</p>}
    </main>
  );
}

interface LineProps {
  readonly list: SessionList;
  readonly line: Line;
  readonly now: number;
}

function LineView({ list, line, now }: LineProps) {
  switch (line.kind) {
    case "heading":
      return (
        <h2 title={visibleText(line.text)}>
          <bdi>{visibleText(line.text === "" ? "no project" : line.text)}</bdi>
          <span class="small">{line.count.toLocaleString("en")}</span>
        </h2>
      );
    case "session": {
      const { session } = line;
      return (
        <div class="entry">
          <a href={`s/${session.key}/`} title={visibleText(session.id)}>
            <bdi>{visibleText(session.title || session.id)}</bdi>
          </a>
          <Facts session={session} time={session.modified} now={now} />
          <Resume session={session} />
        </div>
      );
    }
    case "hit": {
      const { key, session: child, entryId, role, at, snippet } = line.hit;
      const session = list.get(key);
      if (session === undefined) return null;
      const place = new URLSearchParams({ ...(child !== undefined && { session: child }), entry: entryId });
      return (
        <div class="entry hit">
          <a href={`s/${key}/#${place}`}>
            <bdi>{visibleText(session.title || session.id)}</bdi>
            <bdi class="snippet">
              {visibleText(role)}: {visibleText(snippet)}
            </bdi>
          </a>
          <Facts session={session} time={at} now={now} />
        </div>
      );
    }
  }
}

interface FactsProps {
  readonly session: ListedSession;
  readonly time: string;
  readonly now: number;
}

function Facts({ session, time, now }: FactsProps) {
  const { agent, cwd = "", size } = session;
  const exact = timeText(Date.parse(time));
  return (
    <>
      <span class="agent">{agent}</span>
      <bdi class="project" title={visibleText(cwd)}>
        {visibleText(projectName(cwd))}
      </bdi>
      <span class="when" title={`${exact}, ${bytesText(size)}`}>
        {isLive(session, now) ? <span class="live">● live</span> : agoText(Date.parse(time), now)}
      </span>
    </>
  );
}

const copiedMs = 1500;

/** Copies the command that continues a session. */
function Resume({ session: { resume } }: { readonly session: ListedSession }) {
  const [isCopied, setCopied] = useState(false);
  if (resume === undefined) return <span class="no-command" />;
  const copy = async () => {
    await navigator.clipboard.writeText(resume);
    setCopied(true);
    setTimeout(() => setCopied(false), copiedMs);
  };
  return (
    <button type="button" title={`Copy: ${visibleText(resume)}`} onClick={() => void copy()}>
      {isCopied ? "copied" : "resume"}
    </button>
  );
}

// Costs by day and model, as far as the server has read the sessions.

const shownDays = 31;
const shownModels = 20;

function Costs() {
  const [costs, setCosts] = useState<CostsOfSessions>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const poll = async () => {
      const now = await ask<CostsOfSessions>("costs").catch(() => undefined);
      if (now !== undefined) setCosts(now);
      if (now === undefined || now.done < now.total) timer = setTimeout(poll, costsPollMs);
    };
    void poll();
    return () => clearTimeout(timer);
  }, []);
  const { done = 0, total = 0, groups = [] } = costs ?? {};
  const days = [...sumsBy(groups, ({ day }) => day)].sort(([a], [b]) => (a < b ? 1 : -1));
  const models = [...sumsBy(groups, ({ model }) => model)].sort(([, a], [, b]) => b.cost - a.cost);
  const sum = groups.reduce((sum, { cost }) => sum + cost, 0);
  return (
    <section class="costs" aria-label="Costs">
      <p class="small" role="status">
        {costText(sum)}
        {done < total && `, ${done.toLocaleString("en")} of ${total.toLocaleString("en")} sessions read`}
      </p>
      <div>
        <CostTable title="By day" rows={days.slice(0, shownDays)} />
        <CostTable title="By model" rows={models.slice(0, shownModels)} />
      </div>
    </section>
  );
}

interface CostTableProps {
  readonly title: string;
  readonly rows: readonly (readonly [
    string,
    { readonly cost: number; readonly tokens: number; readonly unpriced: number },
  ])[];
}

function CostTable({ title, rows }: CostTableProps) {
  const most = rows.reduce((most, [, { cost }]) => Math.max(most, cost), 0);
  const head = (name: string): ComponentChildren => <th scope="col">{name}</th>;
  return (
    <table>
      <caption>{title}</caption>
      <thead class="hidden">
        <tr>
          {head(title)}
          {head("Share")}
          {head("Tokens")}
          {head("Cost")}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, { cost, tokens, unpriced }]) => (
          <tr key={name}>
            <td>{visibleText(name)}</td>
            <td class="share">
              <div style={{ width: `${most === 0 ? 0 : (cost / most) * 100}%` }} />
            </td>
            <td class="right">{countText(tokens)}</td>
            <td class="right" title={unpriced > 0 ? `${unpriced} calls without a price` : ""}>
              {unpriced > 0 && cost === 0 ? "no price" : `${costText(cost)}${unpriced > 0 ? "+" : ""}`}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const place = document.getElementById("app") ?? document.body;
place.replaceChildren();
render(<House />, place);
