import { EventEmitter } from "eventemitter3";
import type { SessionInfo } from "../runtime/session-info.js";
import type { Diagnostic } from "./diagnostics.js";
import type { FileDiff, SessionEntry, SessionStats, UnknownEntry } from "./entries.js";

/** The state of a tool call. */
export type ToolState = "pending" | "running" | "completed" | "error";

/**
 * What happens and is not kept: `publish` sends it to listeners, and `append` refuses it. What must outlive the process
 * is an entry.
 */
export type EphemeralEvent =
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

/** The events of a session, by name. */
export interface SessionEventMap {
  /** The session exists in its store from now on: its first entries were written. */
  created: { readonly id: string };
  /** Name, title, labels of state or statistics changed. */
  updated: { readonly info: SessionInfo };
  /** An entry was written, or waits for the first message; by this handle (`local`) or by another writer (`remote`). */
  entry: { readonly entry: SessionEntry | UnknownEntry; readonly origin: "local" | "remote" };
  /** The leaf moved. */
  leaf: { readonly leafId: string | null; readonly previousLeafId: string | null };
  /** Files changed: an entry brought statistics or the diff of a revert. */
  diff: {
    readonly entryId: string;
    readonly stats?: SessionStats;
    readonly files?: readonly FileDiff[];
    readonly diff?: string;
  };
  diagnostic: Diagnostic;
  /** Something failed that no caller is waiting for, or a listener threw. */
  error: { readonly error: unknown; readonly operation: string };
  /** The session was deleted from its store. */
  deleted: { readonly id: string };
  /** The handle was closed. */
  closed: { readonly id: string };
  ephemeral: EphemeralEvent;
}

/** The name of a session event. */
export type SessionEventName = keyof SessionEventMap;

/** Listeners by event. One that throws does not reach the writer: its error is an `error` event, or uncaught. */
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

  /** Whether anybody listens. */
  has(event: keyof M & string): boolean {
    return this.#emitter.listenerCount(event) > 0;
  }

  clear(): void {
    this.#emitter.removeAllListeners();
  }
}
