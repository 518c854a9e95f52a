// What a server and a user interface do with sessions: the second program of the design.
import {
  blockResource,
  contextFrom,
  customEntry,
  type Message,
  project,
  type Session,
  type SessionEntry,
  type SessionStore,
  type SessionTree,
  type UnknownEntry,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { SessileError } from "sessile/errors";

export async function rename(sessions: SessionStore, id: string, name: string): Promise<void> {
  const session = await sessions.open(id, { mode: "write" });
  try {
    await session.append([{ type: "session_info", name }], { conflict: "rebase" });
  } catch (error) {
    if (SessileError.is(error, "SESSION_LOCKED")) throw new Error(`held by ${error.details.pid}`);
    throw error;
  } finally {
    await session.close();
  }
}

export async function* live(sessions: SessionStore, id: string, signal: AbortSignal) {
  const session = await sessions.open(id);
  yield* session.follow({ signal });
}

const todo = customEntry("todo", (data) => {
  if (!Array.isArray(data)) throw new TypeError("todo");
  return data as string[];
});

export async function use(session: Session, entry: SessionEntry | UnknownEntry): Promise<number | undefined> {
  await session.append([todo.draft(["a"])]);
  return todo.read(entry)?.length;
}

export function label(entry: SessionEntry | UnknownEntry): string {
  switch (entry.type) {
    case "message":
      return entry.message.role;
    case "compaction":
      return entry.summary;
    case "custom":
      return entry.customType;
    case "unknown":
      return entry.entryType;
    default:
      return entry.type;
  }
}

export const lines = (tree: SessionTree): string[] =>
  [...tree.walk()].map(({ node, depth }) => " ".repeat(depth) + node.type);

export const html = (message: Message): string[] =>
  message.role === "user" && typeof message.content !== "string"
    ? message.content.map((block) => {
        if (block.type === "image") return block.mimeType;
        const resource = blockResource(block);
        return resource && resource.kind !== "link" ? resource.blob : block.text;
      })
    : [];

export const standalone = () => project(contextFrom([userMessage("hi")]), anthropicMessages({ model: "m" }));
