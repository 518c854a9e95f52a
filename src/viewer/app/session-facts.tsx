/**
 * The facts of the session in a line: agent, model, project, time, cost, tokens; its timeline, which scrolls the
 * conversation; and links to subagents.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ModelCost, SessionCost } from "../../providers/cost/index.js";
import { type Timeline, type TimelinePoint, timelineColumns } from "../model/rows.js";
import { modelCost } from "../model/session-model.js";
import {
  agoText,
  bytesText,
  costText,
  countText,
  durationText,
  timeText,
  visibleText,
} from "../model/text.js";
import { ScrolledTable } from "./folded-text.js";
import { memo, pause, rowsId, useAfterPaint, useChanges, useViewer } from "./hooks.js";
import type { ViewerState } from "./viewer-state.js";

const maxListed = 100;

/** One line, which unfolds. Its height is the same before and after costs are known. */
export function SessionFactsView() {
  const state = useViewer();
  return (
    <section class="session-facts" aria-label="About the session">
      {state.model.data.isPart === true ? (
        <p class="small facts-line" role="status">
          The earlier part of the session is being loaded.
        </p>
      ) : (
        <Facts state={state} />
      )}
    </section>
  );
}

function Facts({ state }: { readonly state: ViewerState }) {
  const { model, view, models } = state;
  const { facts, data } = model;
  const { cost, others } = useCosts(state);
  const { first, last } = facts;
  const cwd = data.header?.cwd ?? "";
  const total = cost === undefined || cost.models.length === 0 ? "" : totalText(cost);
  const tokens = cost?.models.reduce((sum, each) => sum + each.tokens, 0) ?? 0;
  const when =
    first === undefined || last === undefined ? "" : `${timeText(first)}, ${durationText(last - first)}`;
  const problems = data.diagnostics.total;
  const subagents = view.session === models.main ? models.keys.length - 1 : 0;
  const { agent = "" } = state.data;
  const line: readonly (readonly [text: string, exact?: string])[] = [
    [agent],
    [shortList(facts.models), facts.models.join(", ")],
    [cwd.split(/[/\\]/).findLast((part) => part !== "") ?? "", cwd],
    [first === undefined ? "" : agoText(first, Date.now()), when],
    [total],
    [tokens === 0 ? "" : `${countText(tokens)} tokens`],
    [subagents === 0 ? "" : subagents === 1 ? "1 subagent" : `${subagents} subagents`],
    [problems === 0 ? "" : problems === 1 ? "1 problem" : `${problems} problems`],
  ];
  const rows: readonly (readonly [string, string])[] = [
    ["Agent", agent],
    ["Project", cwd],
    [facts.models.length > 1 ? "Models" : "Model", facts.models.join(", ")],
    ["When", when],
    ["Cost", total],
    ["Messages", messagesText(state)],
    ["Session", data.header?.id ?? "no header"],
    ["Fork of", data.header?.parentSession ?? ""],
  ];
  return (
    <>
      <div class="facts-line">
        <StartedBy />
        <button
          type="button"
          class="facts-button"
          aria-expanded={view.factsOpen}
          onClick={() => state.set({ factsOpen: !view.factsOpen })}
        >
          <span aria-hidden="true" class="arrow">
            {view.factsOpen ? "▾" : "▸"}
          </span>
          <span class="hidden">Facts of the session:</span>
          {line.map(([text, exact]) =>
            text === "" ? null : (
              <bdi key={text} {...(exact !== undefined && { title: visibleText(exact) })}>
                {visibleText(text)}
              </bdi>
            ),
          )}
        </button>
      </div>
      {view.factsOpen && (
        <div class="facts-body">
          <dl>
            {rows.map(([name, value]) =>
              value === "" ? null : (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <bdi>{visibleText(value)}</bdi>
                  </dd>
                </div>
              ),
            )}
          </dl>
          <TimelineFacts state={state} timeline={state.timeline} />
          {cost !== undefined && cost.models.length > 0 && <CostTable cost={cost} />}
          <SubagentList costs={others} />
          <Problems state={state} />
          <LeftOut state={state} />
        </div>
      )}
    </>
  );
}

function shortList(names: readonly string[]): string {
  const [first = "", ...others] = names;
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

interface Costs {
  readonly cost: SessionCost | undefined;
  /** US dollars by session, of the subagents. */
  readonly others: ReadonlyMap<string, number>;
}

/** The costs of the session and of its subagents, some time after the first paint. */
function useCosts({ model, models, view }: ViewerState): Costs {
  const [costs, setCosts] = useState<Costs>({ cost: undefined, others: new Map() });
  useEffect(() => {
    let isWanted = true;
    const sum = async () => {
      await pause();
      const cost = await modelCost(model, pause);
      const others = new Map<string, number>();
      if (isWanted) setCosts({ cost, others });
      if (view.session !== models.main) return;
      for (const key of models.keys.slice(1)) {
        await pause();
        if (!isWanted) return;
        others.set(key, (await modelCost(models.get(key), pause)).cost.total);
      }
      if (isWanted && others.size > 0) setCosts({ cost, others });
    };
    void sum();
    return () => {
      isWanted = false;
    };
  }, [models.version]);
  return costs;
}

function messagesText({ model }: ViewerState): string {
  const { messages, toolCalls, failures } = model.facts;
  const calls = toolCalls === 0 ? "" : `, ${toolCalls.toLocaleString("en")} tool calls`;
  const failed = failures === 0 ? "" : `, ${failures.toLocaleString("en")} failed`;
  return `${messages.toLocaleString("en")}${calls}${failed}`;
}

function totalText({ cost, unknown }: SessionCost): string {
  const calls = unknown.reduce((sum, { unpriced }) => sum + unpriced, 0);
  if (calls === 0) return costText(cost.total);
  const unpriced = calls === 1 ? "1 call without a price" : `${calls} calls without a price`;
  return cost.total === 0 ? `cost unknown (${unpriced})` : `at least ${costText(cost.total)} (${unpriced})`;
}

function CostTable({ cost }: { readonly cost: SessionCost }) {
  const { summaries, tools } = cost;
  return (
    <details>
      <summary>Cost by model</summary>
      <ScrolledTable label="Cost by model">
        <table>
          <thead>
            <tr>
              {["Model", "Calls", "Tokens", "Cost"].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {cost.models.map((model) => (
              <ModelLine key={`${model.provider}/${model.model}`} model={model} />
            ))}
          </tbody>
        </table>
      </ScrolledTable>
      <p class="small">
        All branches.
        {summaries.total > 0 && ` ${costText(summaries.total)} of it for summaries.`}
        {tools.total > 0 && ` ${costText(tools.total)} of it for models that tools called.`}
      </p>
    </details>
  );
}

function ModelLine({ model }: { readonly model: ModelCost }) {
  const { provider, model: name, calls, tokens, cost, unpriced } = model;
  return (
    <tr>
      <td>
        <bdi>{visibleText(`${provider}/${name}`)}</bdi>
      </td>
      <td class="right">{calls}</td>
      <td class="right">{countText(tokens)}</td>
      <td class="right">{unpriced === calls ? "no price" : costText(cost.total)}</td>
    </tr>
  );
}

function Problems({ state }: { readonly state: ViewerState }) {
  const { total, listed } = state.model.data.diagnostics;
  if (total === 0) return null;
  return (
    <details class="problems">
      <summary>{total === 1 ? "1 problem" : `${total} problems`} of the stored session</summary>
      <ul>
        {listed.slice(0, maxListed).map(({ code, line, offset, message, entryId }) => (
          <li key={`${code}/${line}/${offset}`}>
            <code>{code}</code> line {line}, offset {offset}: {visibleText(message)}{" "}
            {entryId !== undefined && state.model.tree.has(entryId) && (
              <button type="button" class="link" onClick={() => state.go(entryId)}>
                entry {visibleText(entryId)}
              </button>
            )}
          </li>
        ))}
      </ul>
      {total > Math.min(listed.length, maxListed) && (
        <p class="small">and {total - Math.min(listed.length, maxListed)} more</p>
      )}
    </details>
  );
}

function LeftOut({ state }: { readonly state: ViewerState }) {
  const { leftOut } = state.images;
  if (leftOut.length === 0) return null;
  const bytes = leftOut.reduce((sum, { size }) => sum + size, 0);
  return (
    <details>
      <summary>
        {leftOut.length === 1 ? "1 image is" : `${leftOut.length} images are`} not in this page (
        {bytesText(bytes)})
      </summary>
      <ul>
        {leftOut.slice(0, maxListed).map(({ key, session, name, mediaType, size, reason, entryId }) => (
          <li key={key}>
            {visibleText(name ?? mediaType)}, {bytesText(size)}:{" "}
            {reason === "budget" ? "over the budget of the page" : `${reason} in the store`},{" "}
            <button type="button" class="link" onClick={() => state.go(entryId, { session })}>
              entry {visibleText(entryId)}
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

// The timeline of the branch: tokens in context, costs, compactions and errors, at the places of their rows. It
// is the scroll bar of the conversation too.

const width = 1000;
const contextHeight = 28;
const costHeight = 8;
const height = 40;
const maxColumns = 250;

/** The link of the strip with the rows. */
export interface RowsInView {
  /** Called with the places of the first and the last visible row, in rows and parts of a row. */
  show?: (from: number, to: number) => void;
  scrollTo?: (row: number) => void;
}

interface TimelineProps {
  readonly state: ViewerState;
  readonly timeline: Timeline;
}

export function TimelineStrip({ inView }: { readonly inView: RowsInView }) {
  const state = useViewer();
  const isReady = useAfterPaint();
  const strip = useRef<HTMLDivElement>(null);
  const thumb = useRef<HTMLDivElement>(null);
  const { length } = state.rows;
  const timeline = isReady ? state.timeline : undefined;
  useLayoutEffect(() => {
    inView.show = (from, to) => {
      const [start, end] = [from / Math.max(1, length), to / Math.max(1, length)];
      if (thumb.current !== null) {
        thumb.current.style.insetInlineStart = `${start * 100}%`;
        thumb.current.style.width = `${(end - start) * 100}%`;
      }
      strip.current?.setAttribute("aria-valuenow", String(Math.round(from) + 1));
    };
    return () => {
      inView.show = () => {};
    };
  }, [inView, length]);
  const toRow = (row: number) => inView.scrollTo?.(Math.max(0, Math.min(length - 1, Math.floor(row))));
  const follow = ({ clientX }: PointerEvent) => {
    const box = strip.current?.getBoundingClientRect();
    if (box !== undefined) toRow(((clientX - box.left) / box.width) * length);
  };
  const drag = (event: PointerEvent) => {
    if (event.button !== 0) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    follow(event);
  };
  const key = (event: KeyboardEvent) => {
    const now = Number(strip.current?.getAttribute("aria-valuenow")) - 1;
    const page = Math.max(1, length / 20);
    const steps: Readonly<Record<string, number>> = {
      ...{ ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: length },
      ...{ PageUp: now - page, PageDown: now + page },
    };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    toRow(to);
  };
  const facts = timeline === undefined ? "" : timelineTexts(timeline).join(", ");
  return (
    <div
      ref={strip}
      class="timeline"
      role="scrollbar"
      tabIndex={0}
      aria-label={facts === "" ? "Timeline" : `Timeline: ${facts}`}
      aria-controls={rowsId}
      aria-orientation="horizontal"
      aria-valuemin={1}
      aria-valuemax={Math.max(1, length)}
      aria-valuenow={1}
      title={facts}
      onPointerDown={drag}
      onPointerMove={(event) => {
        if ((event.currentTarget as Element).hasPointerCapture(event.pointerId)) follow(event);
      }}
      onKeyDown={key}
    >
      {timeline !== undefined && <Chart state={state} timeline={timeline} />}
      <div ref={thumb} class="in-view" />
    </div>
  );
}

function timelineTexts({ points, compactions, maxContext, cost }: Timeline): readonly string[] {
  const errors = points.filter(({ failed }) => failed).length;
  const failedCalls = points.reduce((sum, point) => sum + point.failedCalls, 0);
  return [
    points.length === 1 ? "1 reply" : `${points.length} replies`,
    ...(maxContext > 0 ? [`at most ${countText(maxContext)} tokens in context`] : []),
    ...(cost > 0 ? [`${costText(cost)} on this branch`] : []),
    ...(compactions.length > 0
      ? [compactions.length === 1 ? "1 compaction" : `${compactions.length} compactions`]
      : []),
    ...(errors > 0 ? [errors === 1 ? "1 failed reply" : `${errors} failed replies`] : []),
    ...(failedCalls > 0 ? [callsText(failedCalls)] : []),
  ];
}

// The pure call leaves it out of the rows in other pages.
const Chart = /* @__PURE__ */ memo(
  ({ state, timeline }: TimelineProps) => {
    const { length } = state.rows;
    const { maxContext, maxCost, compactions, points } = timeline;
    const columns = timelineColumns(points, length, maxColumns);
    const tall = (count: number) => (maxContext === 0 ? 0 : (count / maxContext) * contextHeight);
    return (
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
        {columns.map(({ from, to, points: group }) => {
          const top = largest(group);
          const spent = group.reduce((sum, { cost = 0 }) => sum + cost, 0) / group.length;
          const place = { x: from * width, width: (to - from) * width };
          const bar = (name: string, bottom: number, tall: number) => (
            <rect class={name} {...place} y={bottom - tall} height={tall} />
          );
          const line = group.some(({ failed }) => failed)
            ? "error"
            : group.some(({ failedCalls }) => failedCalls > 0) && "failed-call";
          return (
            <g key={from}>
              {top?.context !== undefined && bar("context", contextHeight, tall(top.context))}
              {top?.context !== undefined && bar("cached", contextHeight, tall(top.cached))}
              {spent > 0 && bar("cost", height, costHeight * Math.min(1, spent / maxCost))}
              {line && <line class={line} x1={place.x} x2={place.x} y1={0} y2={contextHeight} />}
            </g>
          );
        })}
        {compactions.map(({ entryId, row }) => {
          const x = (row / length) * width;
          return <line key={entryId} class="compaction" x1={x} x2={x} y1="0" y2={height} />;
        })}
      </svg>
    );
  },
  (before, after) => before.timeline === after.timeline,
);

function largest(points: readonly TimelinePoint[]): TimelinePoint | undefined {
  return points.reduce<TimelinePoint | undefined>(
    (most, point) => ((point.context ?? 0) > (most?.context ?? -1) ? point : most),
    undefined,
  );
}

function callsText(count: number): string {
  return count === 1 ? "1 failed call" : `${count} failed calls`;
}

const maxEvents = 100;

/** The sums of the timeline, its legend, and its events as a list: for the keyboard and for screen readers. */
function TimelineFacts({ state, timeline }: TimelineProps) {
  const { points, compactions, maxContext, maxCost } = timeline;
  const events = [
    ...compactions.map(({ entryId, point, tokensBefore }) => ({
      ...{ entryId, at: point },
      text: `Compaction at ${countText(tokensBefore)} tokens, before reply ${point + 1}`,
    })),
    ...points.flatMap(({ entryId, failed, failedCalls }, at) => [
      ...(failed ? [{ entryId, at, text: `Failed reply ${at + 1}` }] : []),
      ...(failedCalls > 0 ? [{ entryId, at, text: `${callsText(failedCalls)} of reply ${at + 1}` }] : []),
    ]),
  ].sort((a, b) => a.at - b.at);
  return (
    <>
      <p class="small">{timelineTexts(timeline).join(", ")}</p>
      <p class="legend small" aria-hidden="true" hidden={maxContext === 0}>
        <span class="key context" /> tokens in context <span class="key cached" /> of them cached
        {maxCost > 0 && (
          <>
            {" "}
            <span class="key cost" /> cost (most: {costText(maxCost)})
          </>
        )}{" "}
        ┆ compaction, error or failed call
      </p>
      {events.length > 0 && (
        <details>
          <summary>Compactions and errors ({events.length})</summary>
          <ul>
            {events.slice(0, maxEvents).map(({ entryId, text }) => (
              <li key={`${entryId} ${text}`}>
                <button type="button" class="link" onClick={() => state.go(entryId)}>
                  {text}
                </button>
              </li>
            ))}
          </ul>
          {events.length > maxEvents && <p class="small">and {events.length - maxEvents} more</p>}
        </details>
      )}
    </>
  );
}

// Links between a session and those of its subagents: at the call, in the list of all, and back.

/** The subagents that a tool call started, each with a link to its conversation. */
export function StartedSubagents({ toolCallId }: { readonly toolCallId: string }) {
  const state = useViewer();
  // The session of a subagent may come later than the call.
  useChanges(state);
  return (
    <>
      {state.models.startedBy(state.model, toolCallId).map(({ id, key }) =>
        key === undefined ? (
          <p key={id} class="small">
            It started the subagent {visibleText(id)}, whose session is not in this page.
          </p>
        ) : (
          <p key={id} class="subagent">
            <SubagentLink session={key} />
          </p>
        ),
      )}
    </>
  );
}

/** The way to the conversation of a subagent. Its entries are read after the first paint. */
function SubagentLink({ session }: { readonly session: string }) {
  const state = useViewer();
  const isReady = useAfterPaint();
  useChanges(state);
  return (
    <button type="button" class="link" onClick={() => state.goSession(session)}>
      Subagent: <bdi>{isReady ? state.models.get(session).facts.title : visibleText(session)}</bdi>
      {isReady && messageCount(state.models.get(session).facts.messages)}
    </button>
  );
}

function messageCount(messages: number): string {
  return messages === 1 ? " (1 message)" : ` (${messages.toLocaleString("en")} messages)`;
}

interface SubagentListProps {
  /** US dollars by session; those without a price are missing. */
  readonly costs: ReadonlyMap<string, number>;
}

/** All subagents of the page. */
function SubagentList({ costs }: SubagentListProps) {
  const state = useViewer();
  const { models, view } = state;
  const [main, ...keys] = models.keys;
  if (view.session !== main || keys.length === 0) return null;
  const spent = keys.reduce((sum, key) => sum + (costs.get(key) ?? 0), 0);
  return (
    <details>
      <summary>
        {keys.length === 1 ? "1 subagent" : `${keys.length} subagents`}
        {spent > 0 && `, ${costText(spent)} beside the cost above`}
      </summary>
      <ul>
        {keys.map((key) => (
          <li key={key}>
            <SubagentLink session={key} />
            {(costs.get(key) ?? 0) > 0 && <span class="small"> {costText(costs.get(key) ?? 0)}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The way back from a subagent's conversation. */
function StartedBy() {
  const state = useViewer();
  const start = state.models.startByKey(state.view.session);
  if (start === undefined) return null;
  return (
    <p class="subagent">
      Subagent of{" "}
      <button type="button" class="link" onClick={() => state.goStart()}>
        <bdi>{state.models.get(start.session).facts.title}</bdi>
      </button>
    </p>
  );
}
