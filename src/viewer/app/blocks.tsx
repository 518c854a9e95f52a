/** The content of a message: text, thinking, tool calls with their changes or output, and attachments. */

import { type ComponentChild, type ComponentChildren, Fragment } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { isResource, messageText, type StoredResource } from "../../content/index.js";
import { isRecord } from "../../core/shape.js";
import { isShownType } from "../images.js";
import type { Reply, Row, RowCall } from "../model/rows.js";
import { bytesText, durationText, promptParts, visibleText } from "../model/text.js";
import {
  type DiffLine,
  type FileChange,
  type LookVerb,
  lookVerb,
  type Todo,
  toolView,
} from "../model/tool-views.js";
import { highlight, languageByName, toElement } from "./code.js";
import { FoldedText } from "./folded-text.js";
import { useUpdate, useViewer } from "./hooks.js";
import { StartedSubagents } from "./session-facts.js";

interface BlocksProps {
  readonly rowId: string;
  readonly content: string | readonly unknown[];
  readonly calls: readonly RowCall[];
  /** Text of a model or of a user, in Markdown; the output of a tool, as in a terminal. Default: `said`. */
  readonly shown?: "said" | "typed" | "printed";
  /** The file that a tool has read. */
  readonly path?: string | undefined;
  readonly place?: string;
}

export function Blocks(props: BlocksProps) {
  return <>{pieces(props).map(({ element }) => element)}</>;
}

/** A block as an element. */
interface Piece {
  readonly element: ComponentChild;
  /** A call that only looks. */
  readonly look?: RowCall;
}

function pieces({ rowId, content, calls, shown = "said", path, place = "" }: BlocksProps): readonly Piece[] {
  const blocks: readonly unknown[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  let call = 0;
  return blocks.flatMap((block, at): readonly Piece[] => {
    const id = `${rowId}${place}/${at}`;
    if (!isRecord(block)) return [];
    if (block.type === "toolCall") {
      const own = calls[call++];
      if (own === undefined) return [];
      const isLook = own.state === "done" && lookVerb(own.call) !== undefined;
      const element = <ToolCallView key={id} id={id} rowId={rowId} call={own} />;
      return [{ element, ...(isLook && { look: own }) }];
    }
    if (block.type === "thinking")
      return [{ element: <Thinking key={id} id={id} rowId={rowId} block={block} /> }];
    if (block.type === "image") return [{ element: <InlineImage key={id} block={block} /> }];
    if (block.type === "text" && typeof block.text === "string") {
      const { resource, text } = block;
      if (isResource(resource)) return [{ element: <Attachment key={id} resource={resource} /> }];
      if (text.trim() === "") return [];
      if (shown === "typed") return [{ element: <Typed key={id} id={id} rowId={rowId} text={text} /> }];
      const kind = shown !== "printed" ? "markdown" : path === undefined ? "terminal" : "code";
      return [
        {
          element: <FoldedText key={id} {...{ id, rowId, kind, text }} {...(path && { language: path })} />,
        },
      ];
    }
    const { resources, viewerMedia, ...own } = block;
    const text = JSON.stringify(own, null, 2);
    const element = (
      <Fragment key={id}>
        {listed(resources).map((each) => isResource(each) && <Attachment resource={each} />)}
        {listed(viewerMedia).map((each) => isRecord(each) && <InlineImage block={each} />)}
        <FoldedText id={id} rowId={rowId} text={text} kind="json" label="Provider's own block" />
      </Fragment>
    );
    return [{ element }];
  });
}

// The replies of a row. Calls that only look, one after the other, are one line.

interface RepliesProps {
  readonly row: Row & { readonly kind: "assistant" };
  /** The facts of a reply that has no head of its own. */
  readonly facts: (reply: Reply) => ComponentChildren;
}

export function Replies({ row, facts }: RepliesProps) {
  const own = pieces({ rowId: row.id, content: row.message.content, calls: row.calls });
  const more = (row.more ?? []).flatMap((reply): readonly Piece[] => {
    const { id, message, calls } = reply;
    const [first, ...others] = pieces({ rowId: id, content: message.content, calls });
    const element = (
      <Fragment key={id}>
        <div class="reply-facts">{facts(reply)}</div>
        {first?.element}
      </Fragment>
    );
    return [{ ...first, element }, ...others];
  });
  const groups: Piece[][] = [];
  // Thinking between calls of one row goes with them.
  [...own, ...more].forEach((piece, at) => {
    const isQuiet = piece.look !== undefined || (at >= own.length && groups.length > 0);
    const last = groups.at(-1);
    if (isQuiet && last?.some(({ look }) => look !== undefined)) last.push(piece);
    else groups.push([piece]);
  });
  return (
    <>
      {groups.map((group, at) => {
        const looks = group.flatMap(({ look }) => look ?? []);
        const elements = group.map(({ element }) => element);
        if (looks.length < 2) return elements;
        return (
          <Looks
            key={`looks ${at}`}
            id={`${row.id}/looks/${at}`}
            rowId={row.id}
            looks={looks}
            children={elements}
          />
        );
      })}
    </>
  );
}

const lookTexts: Readonly<Record<LookVerb, readonly [one: string, several: string]>> = {
  Read: ["Read 1 file", "Read % files"],
  Search: ["1 search", "% searches"],
  List: ["1 folder listed", "% folders listed"],
  Fetch: ["1 page fetched", "% pages fetched"],
};

function Looks(props: {
  readonly id: string;
  readonly rowId: string;
  readonly looks: readonly RowCall[];
  readonly children: ComponentChildren;
}) {
  const { id, rowId, looks } = props;
  const cwd = useCwd();
  const counts = new Map<LookVerb, number>();
  const names: string[] = [];
  for (const { call } of looks) {
    const verb = lookVerb(call) as LookVerb;
    counts.set(verb, (counts.get(verb) ?? 0) + 1);
    const { summary } = toolView(call, undefined, cwd);
    if (!names.includes(summary)) names.push(summary);
  }
  const words = Array.from(counts, ([verb, count]) =>
    lookTexts[verb][count === 1 ? 0 : 1].replace("%", String(count)),
  );
  const time = looks.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0);
  const summary = (
    <>
      <strong class="verb">{words.join(", ")}</strong> <bdi class="tool-summary">{names.join(", ")}</bdi>
      <span class="tool-time">{time > 0 && durationText(time)}</span>
    </>
  );
  const text = () => looks.map(callText).join("\n");
  return (
    <Fold id={id} rowId={rowId} text={text} class="tool looks" summary={summary} children={props.children} />
  );
}

function callText({ call, result }: RowCall): string {
  return (
    JSON.stringify(call.arguments) + (result === undefined ? "" : messageText(result, { attachments: true }))
  );
}

function useCwd(): string {
  return useViewer().model.data.header?.cwd ?? "";
}

// What a user typed: words, commands of the agent's program with their output, and notes for the model.

interface TypedProps {
  readonly id: string;
  readonly rowId: string;
  readonly text: string;
}

function Typed({ id, rowId, text }: TypedProps) {
  return (
    <>
      {promptParts(text).map((part, at) => {
        const own = `${id}/part/${at}`;
        switch (part.kind) {
          case "command":
            return (
              <p key={own} class="command">
                <code class="chip">{visibleText(part.name)}</code>{" "}
                {part.args !== "" && <bdi>{visibleText(part.args)}</bdi>}
              </p>
            );
          case "note":
            return <ForModel key={own} id={own} rowId={rowId} text={part.text} />;
          case "output":
            return <FoldedText key={own} id={own} rowId={rowId} text={part.text} kind="terminal" />;
          default:
            // The first part has the id of the whole, which most texts are.
            return (
              <FoldedText key={own} id={at === 0 ? id : own} rowId={rowId} text={part.text} kind="markdown" />
            );
        }
      })}
    </>
  );
}

function ForModel({ id, rowId, text }: TypedProps) {
  return (
    <Fold id={id} rowId={rowId} text={() => text} class="quiet-part" summary="For the model only">
      <FoldedText id={`${id}/text`} rowId={rowId} text={text} kind="markdown" />
    </Fold>
  );
}

const listed = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function Thinking(props: {
  readonly id: string;
  readonly rowId: string;
  readonly block: Readonly<Record<string, unknown>>;
}) {
  const { thinking, redacted } = props.block;
  const text = typeof thinking === "string" ? thinking : "";
  if (redacted === true || text === "") {
    return <p class="small">Thinking, which the provider does not show</p>;
  }
  return (
    <Fold
      id={`${props.id}/thinking`}
      rowId={props.rowId}
      text={() => text}
      class="thinking"
      summary={`Thinking, ${bytesText(text.length)}`}
    >
      <FoldedText id={props.id} rowId={props.rowId} text={text} kind="markdown" />
    </Fold>
  );
}

// A tool call in a line: a verb, its object, the result in a word, the time. Failures and changes are open.

const stateNames: Readonly<Record<Exclude<RowCall["state"], "done">, string>> = {
  failed: "failed",
  pending: "no result yet",
  none: "no result",
  aborted: "aborted",
};

/** The result in a word. */
function resultText({ state, result }: RowCall): string {
  if (state !== "done" || result === undefined) return stateNames[state === "done" ? "none" : state];
  const texts = result.content.flatMap((block) =>
    block.type === "text" && block.resource === undefined ? [block.text.trim()] : [],
  );
  const text = texts.join("\n").trim();
  if (text === "") return result.content.length > texts.length ? "attachment" : "no output";
  let lines = 1;
  for (let at = text.indexOf("\n"); at >= 0 && lines < 100_000; at = text.indexOf("\n", at + 1)) lines++;
  return lines === 1 ? "1 line" : `${lines.toLocaleString("en")} lines`;
}

function ToolCallView(props: { readonly id: string; readonly rowId: string; readonly call: RowCall }) {
  const { id, rowId } = props;
  const { call, result, state, durationMs } = props.call;
  const cwd = useCwd();
  const view = useMemo(() => toolView(call, result, cwd), [call, result, cwd]);
  const { body } = view;
  const isChange = body.kind === "changes" || body.kind === "file" || body.kind === "todos";
  const summary = (
    <>
      <strong class="verb" title={visibleText(call.name)}>
        {view.verb}
      </strong>{" "}
      <bdi class="tool-summary">{view.summary}</bdi>
      {body.kind === "changes" && <Counts files={body.files} />}
      {!(isChange && state === "done") && <span class={`tool-state ${state}`}>{resultText(props.call)}</span>}
      <span class="tool-time">{durationMs !== undefined && durationText(durationMs)}</span>
    </>
  );
  const output = result !== undefined && result.content.length > 0 && (
    <div class="result">
      <Blocks
        rowId={rowId}
        place={`/${id}/result`}
        content={result.content}
        calls={[]}
        shown={body.kind === "prose" ? "said" : "printed"}
        path={result.isError ? undefined : view.resultPath}
      />
    </div>
  );
  return (
    <>
      <Fold
        id={`${id}/call`}
        rowId={rowId}
        text={() => callText(props.call)}
        class={`tool ${state}`}
        summary={summary}
        isOpenAtFirst={isChange || state === "failed"}
      >
        <CallBody id={id} rowId={rowId} body={body} summary={view.summary} />
        {isChange && state === "done" && output ? (
          <Fold
            id={`${id}/output`}
            rowId={rowId}
            text={() => callText(props.call)}
            class="quiet-part"
            summary={`Result, ${resultText(props.call)}`}
          >
            {output}
          </Fold>
        ) : (
          output
        )}
      </Fold>
      <StartedSubagents toolCallId={call.id} />
    </>
  );
}

interface CallBodyProps {
  readonly id: string;
  readonly rowId: string;
  readonly body: ReturnType<typeof toolView>["body"];
  readonly summary: string;
}

function CallBody({ id, rowId, body, summary }: CallBodyProps) {
  switch (body.kind) {
    case "changes":
      return <DiffView id={id} rowId={rowId} files={body.files} />;
    case "todos":
      return <Todos items={body.items} />;
    case "prose":
      return <FoldedText id={`${id}/prompt`} rowId={rowId} text={body.text} kind="markdown" />;
    case "command":
      if (body.command === summary) return null;
      return (
        <FoldedText
          id={`${id}/command`}
          rowId={rowId}
          text={body.command}
          kind="code"
          language="bash"
          label="Command"
        />
      );
    case "arguments":
      return (
        <FoldedText id={`${id}/arguments`} rowId={rowId} text={body.json} kind="json" label="Arguments" />
      );
    case "file":
      return (
        <FoldedText
          id={`${id}/file`}
          rowId={rowId}
          text={body.text}
          kind="code"
          language={body.path}
          label="Content"
        />
      );
    case "none":
      return null;
  }
}

const todoSigns: Readonly<Record<Todo["state"], readonly [sign: string, name: string]>> = {
  done: ["✓", "done"],
  active: ["▸", "in progress"],
  open: ["○", "open"],
};

function Todos({ items }: { readonly items: readonly Todo[] }) {
  return (
    <ul class="todos">
      {items.map(({ text, state }, at) => (
        <li key={at} class={state}>
          <span aria-hidden="true">{todoSigns[state][0]}</span>
          <span class="hidden">{todoSigns[state][1]}: </span>
          <bdi>{text}</bdi>
        </li>
      ))}
    </ul>
  );
}

function Counts({
  files,
}: {
  readonly files: readonly { readonly added: number; readonly removed: number }[];
}) {
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  return (
    <span class="counts">
      <span class="added">+{added}</span> <span class="removed">−{removed}</span>
    </span>
  );
}

// Changed lines side by side; below each other in narrow windows.

interface DiffViewProps {
  readonly id: string;
  readonly rowId: string;
  readonly files: readonly FileChange[];
}

const foldedLines = 24;
const pieceLines = 400;
/** A longer line is cut: it would be as long as a file. */
const maxLineLength = 2000;

function DiffView({ id, rowId, files }: DiffViewProps) {
  return (
    <>
      {files.map((file, at) => (
        <FileDiffView key={at} id={`${id}/diff/${at}`} rowId={rowId} file={file} isNamed={files.length > 1} />
      ))}
    </>
  );
}

interface FileDiffProps {
  readonly id: string;
  readonly rowId: string;
  readonly file: FileChange;
  readonly isNamed: boolean;
}

function FileDiffView({ id, rowId, file, isNamed }: FileDiffProps) {
  const state = useViewer();
  const update = useUpdate();
  const open = (id: string, pieces: number) => {
    state.open(id, pieces);
    update();
  };
  const { lines, path } = file;
  const pattern = state.patternFor(rowId);
  const match = pattern === undefined ? -1 : lines.findIndex((line) => pattern.test(lineText(line)));
  const needed = match < foldedLines ? 0 : Math.ceil((match - foldedLines + 1) / pieceLines);
  const pieces = Math.max(state.opened(id), needed, state.view.printing ? 1 : 0);
  const end = foldedLines + pieces * pieceLines;
  const language = languageByName(path);
  return (
    <div class="diff-file">
      {isNamed && <p class="diff-path">{visibleText(path)}</p>}
      <table class="diff">
        <caption class="hidden">Changes of {visibleText(path)}</caption>
        <thead class="hidden">
          <tr>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {lines.slice(0, end).map((line, at) => (
            <Line key={at} line={line} language={language} />
          ))}
        </tbody>
      </table>
      {lines.length > end && (
        <p class="fold">
          <button type="button" data-fold="closed" aria-expanded="false" onClick={() => open(id, pieces + 1)}>
            Show {pieces === 0 ? "all" : "more"} ({lines.length} lines)
          </button>
        </p>
      )}
    </div>
  );
}

function Line({ line, language }: { readonly line: DiffLine; readonly language: string | undefined }) {
  if (line.kind === "gap") {
    return (
      <tr class="gap">
        <td colSpan={2}>⋯</td>
      </tr>
    );
  }
  if (line.kind === "same") {
    return (
      <tr class="same">
        <Side text={line.text} language={language} class="old" />
        <Side text={line.text} language={language} class="new" />
      </tr>
    );
  }
  return (
    <tr class="change">
      {line.kind === "added" ? (
        <td class="none" />
      ) : (
        <Side text={line.before} language={language} class="old removed" sign="−" />
      )}
      {line.kind === "removed" ? (
        <td class="none" />
      ) : (
        <Side text={line.after} language={language} class="new added" sign="+" />
      )}
    </tr>
  );
}

interface SideProps {
  readonly text: string;
  readonly language: string | undefined;
  readonly class: string;
  readonly sign?: "+" | "−";
}

function Side({ text, language, sign, class: name }: SideProps) {
  const line = visibleText(text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text);
  return (
    <td class={name}>
      <span class="sign">{sign ?? " "}</span>
      <code>{language === undefined ? line : highlight(line, language).map(toElement)}</code>
    </td>
  );
}

function lineText(line: DiffLine): string {
  switch (line.kind) {
    case "same":
      return line.text;
    case "added":
      return line.after;
    case "removed":
      return line.before;
    case "changed":
      return `${line.before}\n${line.after}`;
    case "gap":
      return "";
  }
}

// Images and other attachments of a message.

function InlineImage({ block }: { readonly block: Readonly<Record<string, unknown>> }) {
  const type = typeof block.mimeType === "string" ? block.mimeType : "unknown type";
  const key = typeof block.viewerKey === "string" ? block.viewerKey : undefined;
  const isHere = typeof block.data === "string" && block.data !== "" && isShownType(type);
  return (
    <Picture
      imageKey={key}
      name={`image, ${type}`}
      {...(isHere && { data: `data:${type};base64,${block.data}` })}
    />
  );
}

function Attachment({ resource }: { readonly resource: NonNullable<Parameters<typeof isResource>[0]> }) {
  const state = useViewer();
  const stored = resource as StoredResource;
  if (stored.kind === "image") {
    const size = stored.width === undefined ? "" : `, ${stored.width} × ${stored.height}`;
    return (
      <Picture imageKey={stored.blob} name={`${stored.name ?? "image"}, ${bytesText(stored.size)}${size}`} />
    );
  }
  const { kind, name, uri, mediaType, size } = resource as {
    readonly kind: string;
    readonly name?: string;
    readonly uri?: string;
    readonly mediaType?: string;
    readonly size?: number;
  };
  const facts = [kind, name ?? uri ?? "", mediaType ?? "", size === undefined ? "" : bytesText(size)];
  const text = visibleText(facts.filter((fact) => fact !== "").join(", "));
  const { file } = state.images;
  if (file === undefined || stored.blob === undefined) return <p class="attachment">{text}</p>;
  return <SavedFile text={text} name={name ?? "file"} address={() => file(stored.blob)} />;
}

interface SavedFileProps {
  readonly text: string;
  readonly name: string;
  readonly address: () => Promise<string>;
}

/** A file that a click saves. */
function SavedFile({ text, name, address }: SavedFileProps) {
  const [failure, setFailure] = useState<string>();
  const save = async () => {
    try {
      const link = document.createElement("a");
      link.href = await address();
      link.download = name;
      link.click();
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <button type="button" class="attachment" title={`Save ${visibleText(name)}`} onClick={save}>
      {text}
      {failure !== undefined && ` (not saved: ${visibleText(failure)})`}
    </button>
  );
}

interface PictureProps {
  readonly imageKey: string | undefined;
  readonly name: string;
  /** Its address, if its data is in the message. */
  readonly data?: string;
}

/** An image of the page, small; a click shows it large. An absent one is named. */
function Picture({ imageKey, name, data }: PictureProps) {
  const state = useViewer();
  const src = useAddress(
    imageKey,
    (key) => data ?? (key === undefined ? undefined : state.images.address(key)),
  );
  const shownName = visibleText(name);
  if (src === undefined) {
    const leftOut = state.images.leftOut.find(({ key }) => key === imageKey);
    const reason =
      leftOut === undefined || leftOut.reason === "budget"
        ? "not in this page"
        : `${leftOut.reason} in the store`;
    return (
      <p class="attachment">
        {shownName} ({reason})
      </p>
    );
  }
  return (
    <button
      type="button"
      class="thumbnail"
      aria-label={`Show ${shownName}`}
      disabled={src === ""}
      onClick={() => state.set({ image: { src, name: shownName } })}
    >
      <img {...(src !== "" && { src })} alt={shownName} />
    </button>
  );
}

/** An address; empty while it is on its way, undefined if it does not come. */
function useAddress(
  key: string | undefined,
  find: (key: string | undefined) => string | Promise<string> | undefined,
): string | undefined {
  const [later, setLater] = useState<{ readonly key?: string; readonly address?: string }>();
  const found = later !== undefined && later.key === key ? later.address : find(key);
  const isLater = typeof found === "object";
  useEffect(() => {
    if (!isLater) return;
    let isWanted = true;
    const set = (address?: string) => {
      if (!isWanted) return;
      setLater({ ...(key !== undefined && { key }), ...(address !== undefined && { address }) });
    };
    found.then(set, () => set());
    return () => {
      isWanted = false;
    };
  }, [key, isLater]);
  return isLater ? "" : found;
}

// A part of a message that is folded until it is asked for, or contains the words of a search.

interface FoldProps {
  readonly id: string;
  readonly rowId: string;
  /** The text inside, for the search. */
  readonly text: () => string;
  readonly class: string;
  readonly summary: ComponentChildren;
  readonly children: ComponentChildren;
  readonly isOpenAtFirst?: boolean;
}

export function Fold(props: FoldProps) {
  const state = useViewer();
  const update = useUpdate();
  const open = (id: string, pieces: number) => {
    state.open(id, pieces);
    update();
  };
  const chosen = state.opened(props.id);
  // 1 is open, 2 is closed by hand, 0 is the default.
  const isOpen =
    chosen === 1 ||
    (chosen === 0 && props.isOpenAtFirst === true) ||
    state.view.printing ||
    state.patternFor(props.rowId)?.test(props.text()) === true;
  return (
    <div class={`fold-part ${props.class}`}>
      <button
        type="button"
        class="fold-summary"
        data-fold={isOpen ? "open" : "closed"}
        aria-expanded={isOpen}
        onClick={() => open(props.id, isOpen ? 2 : 1)}
      >
        <span aria-hidden="true" class="arrow">
          {isOpen ? "▾" : "▸"}
        </span>{" "}
        {props.summary}
      </button>
      {isOpen && <div class="fold-body">{props.children}</div>}
    </div>
  );
}
