/** The tree of the session: a click changes the branch and the address. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import { type OutlineLine, outlineLines } from "../model/rows.js";
import { useAfterPaint, useViewer, useVirtualList } from "./hooks.js";
import { toAddress, type ViewerState } from "./viewer-state.js";

/** Deeper branches are not indented further. */
const maxIndent = 8;
const lineHeight = 28;

const kindNames: Readonly<Record<OutlineLine["kind"], string>> = {
  user: "prompt",
  assistant: "reply",
  compaction: "compaction",
  branchSummary: "branch summary",
  error: "error",
  subagent: "subagent",
  other: "entry",
};
/** Letters, so that kinds differ not by colour alone. */
const kindSigns: Readonly<Record<OutlineLine["kind"], string>> = {
  user: "›",
  assistant: "·",
  compaction: "≡",
  branchSummary: "↩",
  error: "!",
  subagent: "⤷",
  other: " ",
};

export function Outline() {
  const state = useViewer();
  const { model, view } = state;
  const { outlineDetail } = view;
  const scroller = useRef<HTMLDivElement>(null);
  const isReady = useAfterPaint();
  const lines = useMemo(
    () => (isReady ? outlineLines(model, outlineDetail) : []),
    [model.version, outlineDetail, isReady],
  );
  const onPath = state.path;
  const list = useVirtualList({
    count: lines.length,
    scroller,
    overscan: 12,
    estimate: () => lineHeight,
    readKey: (index) => lines[index]?.id ?? String(index),
  });
  const places = useMemo(() => new Map(lines.map(({ id }, index) => [id, index])), [lines]);
  const current = currentLine(places, onPath, state);
  useEffect(() => {
    if (current >= 0) list.scrollTo(current, "auto");
  }, [current, view.outlineOpen]);
  return (
    <nav class="outline" aria-label="Tree">
      <div class="outline-head">
        <h2>Tree</h2>
        <label>
          <input
            type="checkbox"
            checked={outlineDetail === "long"}
            onChange={(event) => state.set({ outlineDetail: event.currentTarget.checked ? "long" : "short" })}
          />{" "}
          every entry
        </label>
        <button type="button" class="outline-close" onClick={() => state.set({ outlineOpen: false })}>
          Close
        </button>
      </div>
      <div class="outline-lines" ref={scroller}>
        <div style={{ height: `${list.before}px` }} />
        <ul>
          {list.items.map(({ index, key }) => (
            <Line
              key={key}
              line={lines[index] as OutlineLine}
              isCurrent={index === current}
              isOnPath={onPath.has(lines[index]?.id ?? "")}
              state={state}
            />
          ))}
        </ul>
        <div style={{ height: `${list.after}px` }} />
      </div>
    </nav>
  );
}

interface LineProps {
  readonly line: OutlineLine;
  readonly isCurrent: boolean;
  readonly isOnPath: boolean;
  readonly state: ViewerState;
}

function Line({ line, isCurrent, isOnPath, state }: LineProps) {
  const { id, depth, kind, label, startsBranch, isLeaf } = line;
  const { models } = state;
  // Only the sessions of visible lines are read.
  const isHere = line.session !== undefined && models.has(line.session);
  const text = isHere ? models.get(line.session ?? "").facts.title : line.text;
  const { session } = state.view;
  const classes = ["line", `kind-${kind}`];
  if (isOnPath) classes.push("on-path");
  const indent = Math.min(depth, maxIndent);
  const go = (event: MouseEvent) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    state.go(id);
  };
  return (
    <li>
      <a
        href={toAddress({ entryId: id, session: session === models.main ? undefined : session })}
        class={classes.join(" ")}
        style={{ paddingLeft: `${8 + indent * 12}px` }}
        {...(isCurrent && { "aria-current": "true", "data-current": "" })}
        onClick={go}
        title={text}
      >
        <span aria-hidden="true" class="sign">
          {startsBranch ? "├" : kindSigns[kind]}
        </span>
        <span class="hidden">
          {kindNames[kind]}
          {startsBranch && `, a branch at depth ${depth}`}
          {isOnPath ? ", shown: " : ": "}
        </span>
        {depth > maxIndent && <span class="depth">{depth}</span>}
        <bdi class="line-text">{text === "" ? "(empty)" : text}</bdi>
        {label !== undefined && <span class="tag label">{label}</span>}
        {isLeaf && <span class="tag leaf">leaf</span>}
      </a>
    </li>
  );
}

/** The line of the focused row, or the nearest one above it on the branch. */
function currentLine(
  places: ReadonlyMap<string, number>,
  onPath: ReadonlySet<string>,
  { model, view: { focusId } }: ViewerState,
): number {
  if (focusId === undefined) return -1;
  let id: string | null = focusId;
  while (id !== null && onPath.has(id)) {
    const index = places.get(id);
    if (index !== undefined) return index;
    id = model.parentId(id);
  }
  return -1;
}
