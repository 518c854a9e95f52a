/** The events of sessions and stores. */

import { EventEmitter } from "eventemitter3";
import type { Diagnostic, FileDiff, SessionEntry, SessionStats, UnknownEntry } from "../../log/internal.js";
import type { SessionInfo } from "../runtime/session-info.js";

/** The state of a tool call. */
export type ToolState = "pending" | "running" | "completed" | "error";

/** What `publish` makes an event of. */
export type EphemeralDraft =
  | { readonly type: "text_delta"; readonly delta: string; readonly messageId?: string }
  | { readonly type: "thinking_delta"; readonly delta: string; readonly messageId?: string }
  | {
      readonly type: "tool_state";
      readonly toolCallId: string;
      readonly state: ToolState;
      readonly output?: string;
    }
  | { readonly type: "status"; readonly status: "idle" | "busy" | "retrying"; readonly message?: string }
  | { readonly type: "compacting"; readonly active: boolean };

/**
 * An event that is not recorded: `publish` emits it to listeners, and `append` rejects it. State that must
 * outlive the process belongs in an entry.
 */
export type EphemeralEvent = EphemeralDraft & {
  /** A UUID of version 7. */
  readonly id: string;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly sessionId: string;
};

/** The types of ephemeral events. */
export const ephemeralTypes: Readonly<Record<EphemeralDraft["type"], true>> = {
  text_delta: true,
  thinking_delta: true,
  tool_state: true,
  status: true,
  compacting: true,
};

/** The events of a session, by name. */
export interface SessionEventMap {
  /** The first entries were written: the session now exists in its store. */
  created: { readonly id: string };
  /** The info changed, such as name, title or statistics. */
  updated: { readonly info: SessionInfo };
  /** This handle wrote or staged an entry (`local`), or another writer wrote one (`remote`). */
  entry: { readonly entry: SessionEntry | UnknownEntry; readonly origin: "local" | "remote" };
  /** The leaf moved. */
  leaf: { readonly leafId: string | null; readonly previousLeafId: string | null };
  /** Files changed: an entry has statistics, or the diff of a revert. */
  diff: {
    readonly entryId: string;
    readonly stats?: SessionStats;
    readonly files?: readonly FileDiff[];
    readonly diff?: string;
  };
  diagnostic: Diagnostic;
  /** A listener threw, or an operation without a waiting caller failed. */
  error: { readonly error: unknown; readonly operation: string };
  /** The session was deleted from its store. */
  deleted: { readonly id: string };
  /** The handle was closed. */
  closed: { readonly id: string };
  ephemeral: EphemeralEvent;
}

/** The name of a session event. */
export type SessionEventName = keyof SessionEventMap;

/** Listeners by event. An exception of a listener becomes an `error` event, or an uncaught exception. */
export class Events<M extends object> {
  readonly #emitter = new EventEmitter();

  on<E extends keyof M & string>(event: E, listener: (payload: M[E]) => void): () => void {
    const safely = (payload: M[E]): void => {
      try {
        listener(payload);
      } catch (error) {
        if (event !== "error" && this.#emitter.listenerCount("error") > 0) {
          this.#emitter.emit("error", { error, operation: `listener of ${event}` });
        } else {
          queueMicrotask(() => {
            throw error;
          });
        }
      }
    };
    this.#emitter.on(event, safely);
    return () => void this.#emitter.off(event, safely);
  }

  emit<E extends keyof M & string>(event: E, payload: M[E]): void {
    this.#emitter.emit(event, payload);
  }

  /** Whether the event has listeners. */
  has(event: keyof M & string): boolean {
    return this.#emitter.listenerCount(event) > 0;
  }

  clear(): void {
    this.#emitter.removeAllListeners();
  }
}
