/** The timeline of the branch: tokens in context, costs, compactions and errors by reply. */

import { useMemo } from "preact/hooks";
import { costText, countText } from "../model/text.js";
import { type Timeline, type TimelinePoint, timelineColumns } from "../model/timeline.js";
import { useAfterPaint, useViewer } from "./hooks.js";
import type { ViewerState } from "./viewer-state.js";

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
