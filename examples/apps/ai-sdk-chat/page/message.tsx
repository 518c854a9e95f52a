/** @jsxImportSource react */
// A message: its text in Markdown, its files, the states of its tools in words, and what a person can do with it.
import { type FileUIPart, getToolName, isFileUIPart, isToolUIPart, type UIMessage } from "ai";
import Markdown from "markdown-to-jsx/react";
import { useState } from "react";

/** A version of a message, as `/versions` has it. */
export interface Version {
  readonly leafId: string;
  readonly current: boolean;
}

interface MessageProps {
  readonly message: UIMessage;
  readonly versions: readonly Version[];
  readonly isIdle: boolean;
  readonly isWritten: boolean;
  readonly isLast: boolean;
  readonly onShow: (leafId: string) => unknown;
  readonly onEdit: (text: string, files: FileUIPart[]) => unknown;
  readonly onRegenerate: () => unknown;
}

export function Message(props: MessageProps) {
  const { message, versions, isIdle, isWritten, isLast } = props;
  const [isEdited, setEdited] = useState(false);
  const isUser = message.role === "user";
  if (isEdited) return <Edit {...props} onEnd={() => setEdited(false)} />;
  return (
    <article data-role={message.role} data-id={message.id} aria-label={isUser ? "You" : "Assistant"}>
      <h2>{isUser ? "You" : "Assistant"}</h2>
      {message.parts.map((part, at) => (
        <Part key={at} part={part} isUser={isUser} />
      ))}
      {isWritten && <span className="caret" aria-hidden="true" />}
      {isIdle && (
        <footer>
          <Versions versions={versions} onShow={props.onShow} />
          {isUser && (
            <button type="button" onClick={() => setEdited(true)}>
              Edit
            </button>
          )}
          {!isUser && isLast && (
            <button type="button" onClick={props.onRegenerate}>
              Regenerate
            </button>
          )}
        </footer>
      )}
    </article>
  );
}

type UIPart = UIMessage["parts"][number];

function Part({ part, isUser }: { readonly part: UIPart; readonly isUser: boolean }) {
  if (part.type === "text") return isUser ? <p className="text">{part.text}</p> : <Prose text={part.text} />;
  if (part.type === "reasoning") {
    return (
      <details className="line">
        <summary>Thinking</summary>
        <Prose text={part.text} />
      </details>
    );
  }
  if (isFileUIPart(part)) return <Attachment file={part} />;
  if (isToolUIPart(part)) return <Tool part={part} />;
  return null;
}

/** HTML in a reply is text, and its images are links, which load nothing by themselves. */
const markdown = {
  disableParsingRawHTML: true,
  overrides: {
    img: ({ src, alt }: { readonly src?: string; readonly alt?: string }) => <a href={src}>{alt || src}</a>,
  },
};

function Prose({ text }: { readonly text: string }) {
  return (
    <div className="text">
      <Markdown options={markdown}>{text}</Markdown>
    </div>
  );
}

export function Attachment({ file }: { readonly file: FileUIPart }) {
  const name = file.filename ?? "file";
  if (file.mediaType.startsWith("image/")) return <img src={file.url} alt={name} title={name} />;
  return <span className="chip">{name}</span>;
}

const states: Readonly<Record<string, string>> = {
  "input-streaming": "is being called",
  "input-available": "is running",
  "approval-requested": "waits for an answer",
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "refused",
};

function Tool({ part }: { readonly part: Extract<UIPart, { readonly toolCallId: string }> }) {
  const output = part.errorText ?? part.output;
  return (
    <details className="line" open={part.state === "output-error"}>
      <summary>
        <strong>{getToolName(part)}</strong>{" "}
        <span className={part.state === "output-error" ? "bad" : ""}>{states[part.state] ?? part.state}</span>
      </summary>
      <pre>{JSON.stringify(part.input, null, 2)}</pre>
      {output !== undefined && (
        <pre>{typeof output === "string" ? output : JSON.stringify(output, null, 2)}</pre>
      )}
    </details>
  );
}

function Versions({ versions, onShow }: Pick<MessageProps, "versions" | "onShow">) {
  const at = versions.findIndex(({ current }) => current);
  if (versions.length < 2) return null;
  const step = (name: string, sign: string, to: Version | undefined) => (
    <button
      type="button"
      aria-label={name}
      disabled={to === undefined}
      onClick={() => to && onShow(to.leafId)}
    >
      {sign}
    </button>
  );
  return (
    <span className="versions">
      {step("Earlier version", "‹", versions[at - 1])}
      <span>
        {at + 1}/{versions.length}
      </span>
      {step("Later version", "›", versions[at + 1])}
    </span>
  );
}

function Edit({ message, onEdit, onEnd }: MessageProps & { readonly onEnd: () => void }) {
  const texts = message.parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const [text, setText] = useState(texts.join(""));
  const save = () => {
    onEnd();
    onEdit(text, message.parts.filter(isFileUIPart));
  };
  return (
    <article data-role="user" data-id={message.id} aria-label="You">
      <h2>You</h2>
      <textarea
        aria-label="The message anew"
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <footer>
        <button type="button" onClick={save}>
          Send anew
        </button>
        <button type="button" onClick={onEnd}>
          Cancel
        </button>
      </footer>
    </article>
  );
}
