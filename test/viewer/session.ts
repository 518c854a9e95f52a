import type { AssistantMessage, Message, SessionEntry, SessionHeader, ToolCall, UnknownEntry } from "sessile";
import { type ViewerOptions, type ViewerSource, viewerHtml } from "../../src/viewer/html.js";
import { SessionModel } from "../../src/viewer/model/session-model.js";
import type { PageSession } from "../../src/viewer/page-data.js";

export type { ViewerSource };

/** The page of a session. */
export async function pageOf(source: ViewerSource, options: ViewerOptions): Promise<string> {
  return (await viewerHtml(source, options)).parts.join("");
}

type Entry = SessionEntry | UnknownEntry;
type Draft<E = SessionEntry> = E extends SessionEntry ? Omit<E, "id" | "parentId" | "timestamp"> : never;

const start = Date.UTC(2026, 0, 5, 9, 0, 0);

/** Makes entries one after the other, a second apart. */
export class Entries {
  readonly all: Entry[] = [];
  readonly header: SessionHeader;
  last: string | null = null;

  constructor(id = "session-1", parentSession?: string) {
    this.header = {
      type: "session",
      version: 3,
      id,
      timestamp: new Date(start).toISOString(),
      cwd: "/project",
      ...(parentSession !== undefined && { parentSession }),
    };
  }

  /** The time of the next entry. */
  get time(): number {
    return start + this.all.length * 1000;
  }

  add(draft: Draft, id = `e${this.all.length}`): string {
    const entry = { ...draft, id, parentId: this.last, timestamp: new Date(this.time).toISOString() };
    this.all.push(entry as Entry);
    this.last = id;
    return id;
  }

  message(message: Message, id?: string): string {
    return this.add({ type: "message", message }, id);
  }

  user(text: string, id?: string): string {
    return this.message({ role: "user", content: text, timestamp: this.time }, id);
  }

  reply(
    content: string | AssistantMessage["content"],
    more: Partial<AssistantMessage> = {},
    id?: string,
  ): string {
    const message: AssistantMessage = {
      role: "assistant",
      content: typeof content === "string" ? [{ type: "text", text: content }] : content,
      provider: "anthropic",
      model: "claude-opus-5-5",
      usage: { input: 100 * (this.all.length + 1), output: 10, cacheRead: 50, cacheWrite: 0 },
      stopReason: "stop",
      timestamp: this.time,
      ...more,
    };
    return this.message(message, id);
  }

  call(name: string, args: unknown, id: string): ToolCall {
    return { type: "toolCall", id, name, arguments: args };
  }

  result(toolCallId: string, toolName: string, text: string, isError = false): string {
    const content = [{ type: "text" as const, text }];
    return this.message({ role: "toolResult", toolCallId, toolName, content, isError, timestamp: this.time });
  }

  /** Continues from an earlier entry. */
  from(id: string | null): this {
    this.last = id;
    return this;
  }

  get source() {
    return { header: this.header, entries: this.all, leafId: this.last };
  }

  /** The data of the session in a page. */
  get page(): PageSession {
    const { id } = this.header;
    return {
      key: id,
      header: this.header,
      leafId: this.last,
      diagnostics: { total: 0, listed: [] },
    };
  }

  model(): SessionModel {
    return new SessionModel(this.page, this.all);
  }
}
