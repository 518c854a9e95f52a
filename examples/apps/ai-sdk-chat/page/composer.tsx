/** @jsxImportSource react */
// The next message: words, and files that are picked, dropped or pasted.
import type { FileUIPart } from "ai";
import { useEffect, useRef, useState } from "react";
import { Attachment } from "./message.js";

interface ComposerProps {
  readonly isIdle: boolean;
  readonly onSend: (text: string, files: FileUIPart[]) => unknown;
  readonly onStop: () => unknown;
}

export function Composer({ isIdle, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<readonly FileUIPart[]>([]);
  const picker = useRef<HTMLInputElement>(null);
  const add = async (list: Iterable<File> | null | undefined) => {
    const added = await Promise.all(Array.from(list ?? [], readFile));
    setFiles((known) => [...known, ...added]);
  };
  const isDropped = useDroppedAndPasted(add);
  const canSend = isIdle && (text.trim() !== "" || files.length > 0);
  const send = () => {
    if (!canSend) return;
    onSend(text, [...files]);
    setText("");
    setFiles([]);
  };
  return (
    <form
      className={isDropped ? "dropped" : ""}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {files.length > 0 && (
        <ul aria-label="Files of the message">
          {files.map((file, at) => (
            <li key={at}>
              <Attachment file={file} />
              <button
                type="button"
                aria-label={`Remove ${file.filename}`}
                onClick={() => setFiles(files.filter((_, other) => other !== at))}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        rows={1}
        aria-label="Message"
        placeholder="Write a message"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          // While an input method composes, Enter accepts its word.
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div className="controls">
        <button type="button" onClick={() => picker.current?.click()}>
          Attach
        </button>
        <input
          ref={picker}
          type="file"
          aria-label="Files"
          multiple
          hidden
          onChange={(event) => {
            const { files: picked } = event.target;
            void add(picked).then(() => {
              if (picker.current) picker.current.value = "";
            });
          }}
        />
        {isIdle ? (
          <button type="submit" className="send" disabled={!canSend}>
            Send
          </button>
        ) : (
          <button type="button" className="send" onClick={onStop}>
            Stop
          </button>
        )}
      </div>
    </form>
  );
}

/** A file as a data URL, which is how it is shown and sent. */
function readFile(file: File): Promise<FileUIPart> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error);
    reader.onload = () => {
      const mediaType = file.type || "application/octet-stream";
      resolve({ type: "file", mediaType, filename: file.name, url: String(reader.result) });
    };
    reader.readAsDataURL(file);
  });
}

/** Takes files that are dropped or pasted anywhere in the page. Returns whether some are held over it. */
function useDroppedAndPasted(add: (files: Iterable<File>) => unknown): boolean {
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const listeners = new AbortController();
    const { signal } = listeners;
    const isFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
    document.addEventListener("paste", ({ clipboardData }) => add(clipboardData?.files ?? []), { signal });
    document.addEventListener(
      "dragover",
      (event) => {
        if (!isFiles(event)) return;
        event.preventDefault();
        setOver(true);
      },
      { signal },
    );
    document.addEventListener("dragleave", ({ relatedTarget }) => relatedTarget ?? setOver(false), {
      signal,
    });
    document.addEventListener(
      "drop",
      (event) => {
        setOver(false);
        if (!isFiles(event)) return;
        event.preventDefault();
        add(event.dataTransfer?.files ?? []);
      },
      { signal },
    );
    return () => listeners.abort();
  }, []);
  return isOver;
}
