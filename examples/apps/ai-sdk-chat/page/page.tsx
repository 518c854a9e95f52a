/** @jsxImportSource react */
// The page: the chat of the address `#id`, by `useChat` of React. Chats, versions and branches are fetches of their own.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, type FileUIPart, generateId, type UIMessage } from "ai";
import { useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { Composer } from "./composer.js";
import { Message, type Version } from "./message.js";

interface Listed {
  readonly id: string;
  readonly title: string;
}

async function read<T>(path: string): Promise<T> {
  const response = await fetch(path);
  if (!response.ok) throw new Error((await response.text()) || `the server answers ${response.status}`);
  return response.json();
}

const idOfAddress = () => location.hash.slice(1) || generateId();

function App() {
  const [id, setId] = useState(idOfAddress);
  const [stored, setStored] = useState<{ readonly id: string; readonly messages: UIMessage[] }>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const follow = () => setId(idOfAddress());
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => {
    history.replaceState(null, "", `#${id}`);
    let isWanted = true;
    read<UIMessage[]>(`/api/chat/${id}`).then(
      (messages) => isWanted && setStored({ id, messages }),
      (error: Error) => isWanted && setProblem(error.message),
    );
    return () => {
      isWanted = false;
    };
  }, [id]);
  if (stored?.id !== id) return <p role={problem === "" ? "status" : "alert"}>{problem || "Loading…"}</p>;
  return <Chat key={id} id={id} stored={stored.messages} />;
}

function Chat({ id, stored }: { readonly id: string; readonly stored: UIMessage[] }) {
  const api = `/api/chat/${id}`;
  const [transport] = useState(() => new DefaultChatTransport({ api: "/api/chat" }));
  const chat = useChat({ id, messages: stored, transport, throttle: 50 });
  const { messages, status, error } = chat;
  const [chats, setChats] = useState<readonly Listed[]>([]);
  const [versions, setVersions] = useState<Readonly<Record<string, readonly Version[]>>>({});
  // Until a running reply is resumed, a message would meet that reply.
  const [isOpen, setOpen] = useState(false);
  const [acting, setActing] = useState(1);
  const [problem, setProblem] = useState("");
  const newest = useRef(messages);
  newest.current = messages;

  /** Shows all that an action changed: the list of chats, and the versions of each message. */
  async function during(action: Promise<unknown>): Promise<void> {
    setActing((count) => count + 1);
    setProblem("");
    try {
      await action;
      setChats(await read("/api/chat"));
      const ids = newest.current.map((message) => message.id);
      const found = ids.map((each) =>
        read<readonly Version[]>(`${api}/versions/${encodeURIComponent(each)}`),
      );
      const lists = await Promise.all(found);
      setVersions(Object.fromEntries(ids.map((each, at) => [each, lists[at] ?? []])));
    } catch (failure) {
      setProblem((failure as Error).message);
    } finally {
      setActing((count) => count - 1);
    }
  }

  useEffect(() => {
    void during(Promise.resolve());
    void during(chat.resumeStream().finally(() => setOpen(true))).finally(() =>
      setActing((count) => count - 1),
    );
  }, []);

  async function show(leafId: string): Promise<void> {
    const headers = { "content-type": "application/json" };
    await fetch(`${api}/leaf`, { method: "POST", headers, body: JSON.stringify({ leafId }) });
    chat.setMessages(await read<UIMessage[]>(api));
  }

  async function remove(which: string): Promise<void> {
    await fetch(`/api/chat/${which}`, { method: "DELETE" });
    if (which === id) location.hash = generateId();
  }

  const isIdle = isOpen && (status === "ready" || status === "error");
  const send = (text: string, files: FileUIPart[], messageId?: string) =>
    during(chat.sendMessage({ text, files, ...(messageId !== undefined && { messageId }) }));
  return (
    <>
      <nav aria-label="Chats">
        <button type="button" className="new" onClick={() => (location.hash = generateId())}>
          New chat
        </button>
        <ul>
          {chats.map((one) => (
            <li key={one.id} aria-current={one.id === id ? "page" : undefined}>
              <a href={`#${one.id}`}>{one.title || "Untitled"}</a>
              <button type="button" aria-label={`Delete ${one.title}`} onClick={() => during(remove(one.id))}>
                ✕
              </button>
            </li>
          ))}
        </ul>
      </nav>
      <main data-status={status} aria-busy={acting > 0}>
        {/* Its content is drawn from below, so that the end of the chat stays in view. */}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
        <section aria-label="Messages" className="scroller" tabIndex={0}>
          <div>
            {messages.length === 0 && <p className="empty">Ask something, or drop a file here.</p>}
            {messages.map((message, at) => (
              <Message
                key={message.id}
                message={message}
                versions={versions[message.id] ?? []}
                isIdle={isIdle}
                isWritten={status === "streaming" && at === messages.length - 1}
                isLast={at === messages.length - 1}
                onShow={(leafId) => during(show(leafId))}
                onEdit={(text, files) => send(text, files, message.id)}
                onRegenerate={() => during(chat.regenerate())}
              />
            ))}
            {status === "submitted" && <p role="status">Waiting for the reply…</p>}
          </div>
        </section>
        <p role="alert">{error?.message ?? problem}</p>
        <Composer isIdle={isIdle} onSend={send} onStop={() => fetch(`${api}/stream`, { method: "DELETE" })} />
      </main>
    </>
  );
}

createRoot(document.getElementById("app") as HTMLElement).render(<App />);
