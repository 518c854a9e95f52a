/**
 * The steps of a turn as events, named as OpenTelemetry names the spans of generative AI, so that a listener of five
 * lines makes traces of them.
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/client-inference.md, and
 *   execute-tool.md and gen-ai-agent-spans.md beside it (stored copies, 2026-11-29; status: development)
 */

import type { ToolCall } from "../content/index.js";
import { uniqueHex8 } from "../core/ids.js";
import type { ModelRef } from "../providers/index.js";
import { traceProvider } from "../providers/internal.js";

/** Attributes of a span, by their names in the convention; others begin with `turn.`. */
export type TurnAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** A step of a turn begins or ends, or something happened in it. JSON-safe but for `error`. */
export interface TurnEvent {
  readonly phase: "start" | "end" | "note";
  /**
   * `gen_ai.invoke_agent.internal` is the turn, `gen_ai.client.inference` a request, `gen_ai.execute_tool` a call,
   * `turn.compaction` a compaction. Notes are `turn.retry` and `turn.refusal`.
   */
  readonly type: string;
  /** The name of the span, such as `chat claude-opus-5-5`. */
  readonly name: string;
  /** The same at the start and the end. */
  readonly spanId: string;
  /** The span of the turn. Absent for itself. */
  readonly parentId?: string;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly attributes: TurnAttributes;
  /** The error of a step that failed. */
  readonly error?: unknown;
}

/** A step that began. */
export interface TurnSpan {
  end(attributes: TurnAttributes, error?: unknown): void;
}

/** Tells a listener the steps of one turn. */
export class TurnTrace {
  readonly #common: TurnAttributes;
  readonly #model: ModelRef;
  readonly #onEvent: ((event: TurnEvent) => void) | undefined;
  readonly #turnId = uniqueHex8() + uniqueHex8();

  constructor(sessionId: string, model: ModelRef, onEvent: ((event: TurnEvent) => void) | undefined) {
    this.#model = model;
    this.#onEvent = onEvent;
    this.#common = {
      "gen_ai.conversation.id": sessionId,
      "gen_ai.provider.name": traceProvider(model.provider),
    };
  }

  turn(): TurnSpan {
    return this.#begin("gen_ai.invoke_agent.internal", "invoke_agent", "", this.#turnId, {
      "gen_ai.request.model": this.#model.model,
    });
  }

  /** @param continues the reply that the request continues */
  inference(continues: string | undefined): TurnSpan {
    return this.#begin("gen_ai.client.inference", "chat", this.#model.model, undefined, {
      "gen_ai.request.model": this.#model.model,
      "gen_ai.request.stream": true,
      ...(continues === undefined ? {} : { "turn.continues": continues }),
    });
  }

  call({ id, name }: ToolCall): TurnSpan {
    return this.#begin("gen_ai.execute_tool", "execute_tool", name, undefined, {
      "gen_ai.tool.name": name,
      "gen_ai.tool.call.id": id,
      "gen_ai.tool.type": "function",
    });
  }

  compaction(trigger: string): TurnSpan {
    return this.#begin("turn.compaction", "compact", "", undefined, { "turn.compaction.trigger": trigger });
  }

  note(type: "turn.retry" | "turn.refusal", attributes: TurnAttributes): void {
    const spanId = uniqueHex8() + uniqueHex8();
    this.#emit({ phase: "note", type, name: type, spanId, parentId: this.#turnId, attributes });
  }

  #begin(
    type: string,
    operation: string,
    subject: string,
    id: string | undefined,
    more: TurnAttributes,
  ): TurnSpan {
    const span = {
      type,
      name: subject === "" ? operation : `${operation} ${subject}`,
      spanId: id ?? uniqueHex8() + uniqueHex8(),
      ...(id === undefined ? { parentId: this.#turnId } : {}),
    };
    const attributes = { "gen_ai.operation.name": operation, ...this.#common, ...more };
    this.#emit({ ...span, phase: "start", attributes });
    return {
      end: (found, error) => {
        const failed = error === undefined ? {} : { "error.type": errorType(error) };
        this.#emit({
          ...span,
          phase: "end",
          attributes: { ...attributes, ...found, ...failed },
          ...(error === undefined ? {} : { error }),
        });
      },
    };
  }

  #emit(event: Omit<TurnEvent, "timestamp">): void {
    this.#onEvent?.({ ...event, timestamp: Date.now() });
  }
}

/** The class of an error: the status of an answer, a code, or the name of its class. */
export function errorType(error: unknown): string {
  if (typeof error === "string") return error;
  const { status, code, name } = (error ?? {}) as { status?: unknown; code?: unknown; name?: unknown };
  if (typeof status === "number") return String(status);
  return [code, name].find((one): one is string => typeof one === "string" && one !== "") ?? "_OTHER";
}

/** The size of a context before and after a compaction, in tokens. */
export function compactionSizes(result: object): TurnAttributes {
  const { tokensBefore, tokensAfter } = result as { tokensBefore?: number; tokensAfter?: number };
  if (tokensBefore === undefined || tokensAfter === undefined) return {};
  return { "turn.compaction.tokens_before": tokensBefore, "turn.compaction.tokens_after": tokensAfter };
}
