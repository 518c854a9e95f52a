/**
 * The facts of the session: title, agent, project, models, times, cost, problems of the file; its timeline;
 * and links to subagents.
 */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { ModelCost, SessionCost } from "../../providers/cost/index.js";
import { type Timeline, type TimelinePoint, timelineColumns } from "../model/rows.js";
import { bytesText, costText, countText, durationText, timeText, visibleText } from "../model/text.js";
import { ScrolledTable } from "./folded-text.js";
import { pause, useAfterPaint, useChanges, useViewer } from "./hooks.js";
import type { ViewerState } from "./viewer-state.js";

const maxListed = 100;

export function SessionFactsView() {
  const state = useViewer();
  const { model } = state;
  const { facts, data } = model;
  const { cost, others } = useCosts(state);
  const { first, last } = facts;
  const when =
    first === undefined || last === undefined ? "" : `${timeText(first)}, ${durationText(last - first)}`;
  const rows: readonly (readonly [string, string])[] = [
    ["Agent", state.data.agent ?? ""],
    ["Project", data.header?.cwd ?? ""],
    [facts.models.length > 1 ? "Models" : "Model", facts.models.join(", ")],
    ["When", when],
    ["Cost", cost === undefined || cost.models.length === 0 ? "" : totalText(cost)],
    ["Messages", messagesText(state)],
    ["Session", data.header?.id ?? "no header"],
    ["Fork of", data.header?.parentSession ?? ""],
  ];
  return (
    <section class="session-facts" aria-label="About the session">
      <h1>
        <bdi>{visibleText(facts.title)}</bdi>
      </h1>
      <StartedBy />
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
      {cost !== undefined && cost.models.length > 0 && <CostTable cost={cost} />}
      <SubagentList costs={others} />
      <Problems state={state} />
      <LeftOut state={state} />
    </section>
  );
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
      const cost = await model.cost(pause);
      const others = new Map<string, number>();
      if (isWanted) setCosts({ cost, others });
      if (view.session !== models.main) return;
      for (const key of models.keys.slice(1)) {
        await pause();
        if (!isWanted) return;
        others.set(key, (await models.get(key).cost(pause)).cost.total);
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
  return cost.total === 0 ? `unknown (${unpriced})` : `at least ${costText(cost.total)} (${unpriced})`;
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

// The timeline of the branch: tokens in context, costs, compactions and errors by reply.

const width = 1000;
const contextHeight = 90;
const costHeight = 26;
const gap = 14;
const height = contextHeight + gap + costHeight;
const maxColumns = 250;
/** A few replies do not fill the width. */
const maxStep = 36;

export function TimelineView() {
  const state = useViewer();
  // Its place is kept free, so that nothing moves when it comes.
  if (!useAfterPaint()) return <section class="timeline waiting" aria-label="Timeline" />;
  return <TimelineBody state={state} timeline={state.timeline} />;
}

function TimelineBody({ state, timeline }: TimelineProps) {
  const { points, compactions, maxContext, maxCost, cost } = timeline;
  if (points.length < 2) return null;
  const errors = points.filter(({ failed }) => failed).length;
  const failedCalls = points.reduce((sum, point) => sum + point.failedCalls, 0);
  const facts = [
    `${points.length} replies`,
    ...(maxContext > 0 ? [`at most ${countText(maxContext)} tokens in context`] : []),
    ...(cost > 0 ? [`${costText(cost)} on this branch`] : []),
    ...(compactions.length > 0
      ? [compactions.length === 1 ? "1 compaction" : `${compactions.length} compactions`]
      : []),
    ...(errors > 0 ? [errors === 1 ? "1 failed reply" : `${errors} failed replies`] : []),
    ...(failedCalls > 0 ? [callsText(failedCalls)] : []),
  ];
  return (
    <section class="timeline" aria-label="Timeline">
      <h2>Timeline</h2>
      <p class="small">{facts.join(", ")}</p>
      {maxContext > 0 && <Chart state={state} timeline={timeline} />}
      <p class="legend small" aria-hidden="true" hidden={maxContext === 0}>
        <span class="key context" /> tokens in context <span class="key cached" /> of them cached
        {maxCost > 0 && (
          <>
            {" "}
            <span class="key cost" /> cost (most: {costText(maxCost)})
          </>
        )}
        {compactions.length > 0 && <> ┆ compaction</>}
        {errors > 0 && <> ✕ error</>}
        {failedCalls > 0 && <> ▴ failed call</>}
      </p>
      <Events state={state} timeline={timeline} />
    </section>
  );
}

interface TimelineProps {
  readonly state: ViewerState;
  readonly timeline: Timeline;
}

function Chart({ state, timeline }: TimelineProps) {
  const columns = useMemo(() => timelineColumns(timeline.points, maxColumns), [timeline]);
  const { maxContext, maxCost, compactions, points } = timeline;
  const step = Math.min(maxStep, width / columns.length);
  const used = step * columns.length;
  const tokens = (count: number) => (count / maxContext) * contextHeight;
  const focused = points.findIndex(({ entryId }) => entryId === state.view.focusId);
  const pointX = (point: number) => (point / points.length) * used;
  const go = (event: MouseEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const at = Math.floor(((event.clientX - box.left) / box.width) * (width / used) * points.length);
    const point = points[Math.max(0, Math.min(points.length - 1, at))];
    if (point !== undefined) state.go(point.entryId);
  };
  return (
    // The list below has the same events for the keyboard, and j and k go through all replies.
    // biome-ignore lint/a11y/useKeyWithClickEvents: as said above
    <svg
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Tokens in context over ${points.length} replies, at most ${maxContext}`}
      onClick={go}
    >
      <line class="axis" x1="0" x2={width} y1={contextHeight} y2={contextHeight} />
      {columns.map(({ from, points: group }, at) => {
        const top = largest(group);
        const spent = group.reduce((sum, { cost = 0 }) => sum + cost, 0) / group.length;
        const bar = Math.max(step - 1, step * 0.7);
        return (
          <g key={from}>
            {top?.context !== undefined && (
              <>
                <rect
                  class="context"
                  x={at * step}
                  width={bar}
                  y={contextHeight - tokens(top.context)}
                  height={tokens(top.context)}
                />
                <rect
                  class="cached"
                  x={at * step}
                  width={bar}
                  y={contextHeight - tokens(top.cached)}
                  height={tokens(top.cached)}
                />
              </>
            )}
            {maxCost > 0 && spent > 0 && (
              <rect
                class="cost"
                x={at * step}
                width={bar}
                y={contextHeight + gap + costHeight * (1 - Math.min(1, spent / maxCost))}
                height={costHeight * Math.min(1, spent / maxCost)}
              />
            )}
            {group.some(({ failed }) => failed) ? (
              <path class="error" d={cross(at * step + bar / 2, contextHeight + gap / 2)} />
            ) : (
              group.some(({ failedCalls }) => failedCalls > 0) && (
                <path class="failed-call" d={triangle(at * step + bar / 2, contextHeight + gap / 2)} />
              )
            )}
          </g>
        );
      })}
      {compactions.map(({ entryId, point }) => (
        <line key={entryId} class="compaction" x1={pointX(point)} x2={pointX(point)} y1="0" y2={height} />
      ))}
      {focused >= 0 && (
        <line class="focus" x1={pointX(focused + 0.5)} x2={pointX(focused + 0.5)} y1="0" y2={height} />
      )}
    </svg>
  );
}

function largest(points: readonly TimelinePoint[]): TimelinePoint | undefined {
  return points.reduce<TimelinePoint | undefined>(
    (most, point) => ((point.context ?? 0) > (most?.context ?? -1) ? point : most),
    undefined,
  );
}

function cross(x: number, y: number): string {
  return `M${x - 4} ${y - 4}L${x + 4} ${y + 4}M${x + 4} ${y - 4}L${x - 4} ${y + 4}`;
}

function triangle(x: number, y: number): string {
  return `M${x - 4} ${y + 3}L${x} ${y - 3}L${x + 4} ${y + 3}Z`;
}

function callsText(count: number): string {
  return count === 1 ? "1 failed call" : `${count} failed calls`;
}

const maxEvents = 100;

/** The events of the chart as a list, for the keyboard and for screen readers. */
function Events({ state, timeline }: TimelineProps) {
  const { points, compactions } = timeline;
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
  if (events.length === 0) return null;
  return (
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
