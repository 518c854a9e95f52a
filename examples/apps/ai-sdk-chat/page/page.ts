// The page: the chat of the address `#id`, with the class that `useChat` is made of. Everything else is fetches.
import { generateId, type UIMessage } from "ai";
import { openChat, type PlainChat, textOf } from "../client.js";

interface Listed {
  readonly id: string;
  readonly title: string;
}
interface Version {
  readonly leafId: string;
  readonly current: boolean;
}

const find = <T extends Element>(selector: string) => document.querySelector(selector) as T;
const [nav, section, alert] = [find("nav"), find("section"), find('[role="alert"]')];
const form = find<HTMLFormElement>("form");
const field = <T extends Element>(name: string) => form.elements.namedItem(name) as unknown as T;

const id = location.hash.slice(1) || generateId();
if (location.hash === "") history.replaceState(null, "", `#${id}`);
const api = `/api/chat/${id}`;
let chat: PlainChat;
/** Until the chat is loaded, and its running reply is resumed, a message would meet that reply. */
let isOpen = false;
/** Actions whose outcome is not wholly shown. The page draws its buttons anew at the end of each. */
let acting = 1;
const versions = new Map<string, readonly Version[]>();

function element(name: string, text: string, attributes: Readonly<Record<string, string>> = {}): HTMLElement {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function button(text: string, act: () => unknown, label = text): HTMLElement {
  const made = element("button", text, { type: "button", "aria-label": label });
  made.addEventListener("click", () => void act());
  return made;
}

function render(): void {
  const isIdle = isOpen && (chat.status === "ready" || chat.status === "error");
  section.replaceChildren(...chat.messages.map((message, at) => shown(message, at, isIdle)));
  document.body.dataset.status = chat.status;
  document.body.setAttribute("aria-busy", String(acting > 0));
  alert.textContent = chat.error?.message ?? "";
  field<HTMLButtonElement>("send").disabled = !isIdle;
  field<HTMLButtonElement>("stop").disabled = isIdle;
}

function shown(message: UIMessage, at: number, isIdle: boolean): HTMLElement {
  const article = element("article", textOf(message), { "data-role": message.role, "data-id": message.id });
  for (const part of message.parts) {
    if (part.type === "file") article.append(element("img", "", { src: part.url, alt: part.filename ?? "" }));
    if (part.type.startsWith("tool-") && "state" in part)
      article.append(element("small", ` ${part.type.slice(5)}: ${part.state}`));
  }
  if (!isIdle) return article;
  const others = versions.get(message.id) ?? [];
  const current = others.findIndex((version) => version.current);
  if (others.length > 1) {
    const [before, after] = [others[current - 1], others[current + 1]];
    article.append(element("small", ` ${current + 1}/${others.length} `));
    if (before !== undefined) article.append(button("‹", () => show(before.leafId), "Earlier version"));
    if (after !== undefined) article.append(button("›", () => show(after.leafId), "Later version"));
  }
  if (message.role === "user") article.append(button("Edit", () => edit(message)));
  else if (at === chat.messages.length - 1)
    article.append(button("Regenerate", () => during(chat.regenerate())));
  return article;
}

async function edit(message: UIMessage): Promise<void> {
  const text = prompt("Message", textOf(message));
  if (text === null) return;
  const files = message.parts.filter((part) => part.type === "file");
  await during(chat.sendMessage({ text, files, messageId: message.id }));
}

const show = (leafId: string) => during(moveTo(leafId));

async function moveTo(leafId: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  await fetch(`${api}/leaf`, { method: "POST", headers, body: JSON.stringify({ leafId }) });
  chat.messages = (await (await fetch(api)).json()) as UIMessage[];
}

/** Shows all that an action changed. */
async function during(action: Promise<unknown>): Promise<void> {
  acting++;
  try {
    await action;
    await refresh();
  } finally {
    acting--;
    render();
  }
}

/** The list of chats, and the versions of each message. */
async function refresh(): Promise<void> {
  const chats = (await (await fetch("/api/chat")).json()) as Listed[];
  nav.replaceChildren(button("New chat", () => open(`#${generateId()}`)));
  for (const one of chats) {
    const link = button(one.title || "Untitled", () => open(`#${one.id}`));
    if (one.id === id) link.setAttribute("aria-current", "page");
    nav.append(
      link,
      button("✕", () => remove(one.id), `Delete ${one.title}`),
    );
  }
  for (const message of chat.messages)
    versions.set(message.id, await (await fetch(`${api}/versions/${encodeURIComponent(message.id)}`)).json());
  render();
}

function open(hash: string): void {
  location.hash = hash;
  location.reload();
}

async function remove(which: string): Promise<void> {
  await fetch(`/api/chat/${which}`, { method: "DELETE" });
  if (which === id) open(`#${generateId()}`);
  else await refresh();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const [text, files] = [field<HTMLInputElement>("text"), field<HTMLInputElement>("files")];
  const said = { text: text.value, ...(files.files?.length ? { files: files.files } : {}) };
  const sent = during(chat.sendMessage(said));
  form.reset();
  await sent;
});
field("stop").addEventListener("click", () => void fetch(`${api}/stream`, { method: "DELETE" }));

chat = await openChat("", id, () => render());
render();
await refresh();
await chat.resumeStream();
isOpen = true;
render();
await refresh();
acting--;
render();
