/**
 * A path as the steps that a writer writes: messages of three roles, each reply with all of its results, and
 * compactions with the messages that they keep.
 */

import {
  type AssistantMessage,
  type CustomMessage,
  type ImageBlock,
  type Message,
  type TextBlock,
  type ToolCall,
  type ToolResultMessage,
  toolPairs,
} from "../../content/index.js";
import {
  bashText,
  branchSummaryText,
  type CallIdRule,
  CallIds,
  interruptedText,
  namePrefix,
} from "../../projections/internal.js";
import type { SessionEntry } from "../../session/index.js";
import type { WriteSource } from "../types.js";

/** Ids and names that an agent accepts in its files. */
export interface WriteRules {
  /** @default letters, digits, `_` and `-`, at most 64 */
  readonly callId?: CallIdRule;
  /** @default letters, digits, `_` and `-`, at most 64 */
  readonly toolName?: { readonly character: RegExp; readonly maxLength: number };
}

interface Step {
  readonly entryId: string;
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** A step of {@link stepsOf}. */
export type WriteStep = Step &
  (
    | {
        readonly kind: "user";
        readonly content: readonly (TextBlock | ImageBlock)[];
        /** The type of a custom message, such as `sessile.initial_context`; absent for a person's message. */
        readonly customType?: string;
        /** Whether user interfaces show it. */
        readonly display: boolean;
      }
    | {
        readonly kind: "reply";
        readonly message: AssistantMessage;
        /** One for each call of the message, in order. */
        readonly results: readonly WriteResult[];
      }
    | {
        readonly kind: "compaction";
        /** Empty if an edit removed it. */
        readonly summary: string;
        readonly entry: SessionEntry & { readonly type: "compaction" };
        /** The messages that stay in context behind the summary, in the order of display. */
        readonly kept: readonly WriteStep[];
      }
    /** A change of model, of the level of thinking, of the title; state of a program. */
    | { readonly kind: "other"; readonly entry: SessionEntry }
  );

/** The result of a call. */
export interface WriteResult extends Step {
  /** As the agent accepts it. */
  readonly callId: string;
  readonly toolName: string;
  readonly content: readonly (TextBlock | ImageBlock)[];
  readonly isError: boolean;
  readonly details?: unknown;
  /** Made up, because the call has none. */
  readonly interrupted?: true;
}

/**
 * The steps of a path. Results follow their calls, a call without a result gets one that says so
 * (`interrupted`), results without a call are left out (`entry`), call ids and tool names are changed if the
 * agent would refuse them (`callId`, `toolName`). Commands, summaries of branches and custom messages are
 * messages of the user.
 */
export function stepsOf(source: WriteSource, rules: WriteRules = {}): readonly WriteStep[] {
  return new Steps(source, rules).all();
}

const defaultName = { character: /[A-Za-z0-9_-]/, maxLength: 64 };

class Steps {
  readonly #source: WriteSource;
  readonly #rules: WriteRules;
  readonly #callIds: CallIds;
  /** The indexes of entries on the path. */
  readonly #indexes: ReadonlyMap<string, number>;
  /** Steps by the id of their entry, as far as they were made. */
  readonly #byEntry = new Map<string, WriteStep>();

  constructor(source: WriteSource, rules: WriteRules) {
    this.#source = source;
    this.#rules = rules;
    this.#callIds = new CallIds(rules.callId);
    this.#indexes = new Map(source.path.map(({ id }, at) => [id, at]));
  }

  all(): readonly WriteStep[] {
    const { path } = this.#source;
    const messages = path.filter((entry) => entry.type === "message");
    const { pairs, orphans } = toolPairs(messages.map(({ message }) => message));
    for (const at of orphans) {
      const entryId = messages[at]?.id ?? "";
      this.#source.find({ code: "entry", entryId, text: "a result without a call" });
    }
    /** The results of each reply, by the id of its entry, in the order of its calls. */
    const results = new Map<string, ((SessionEntry & { readonly type: "message" }) | undefined)[]>();
    for (const { callAt, resultAt } of pairs) {
      const id = messages[callAt]?.id ?? "";
      const list = results.get(id) ?? [];
      results.set(id, list);
      list.push(resultAt === undefined ? undefined : messages[resultAt]);
    }
    const steps: WriteStep[] = [];
    for (const [at, entry] of path.entries()) {
      const step = this.#step(entry, at, results.get(entry.id) ?? []);
      if (step === undefined) continue;
      this.#byEntry.set(entry.id, step);
      steps.push(step);
    }
    return steps;
  }

  #step(
    entry: SessionEntry,
    at: number,
    results: readonly ((SessionEntry & { readonly type: "message" }) | undefined)[],
  ): WriteStep | undefined {
    const base = { entryId: entry.id, time: timeOf(entry) };
    switch (entry.type) {
      case "message":
        return this.#message(entry.message, base, results);
      case "custom_message": {
        const { customType, content, display } = entry;
        return { kind: "user", ...base, content: blocksOf(content), customType, display };
      }
      case "branch_summary": {
        if (entry.summary === "") return undefined;
        const { summary, fromId } = entry;
        const text = branchSummaryText({ role: "branchSummary", summary, fromId, timestamp: base.time });
        return {
          kind: "user",
          ...base,
          content: blocksOf(text),
          customType: "branch_summary",
          display: true,
        };
      }
      case "compaction":
        return { kind: "compaction", ...base, summary: entry.summary, entry, kept: this.#kept(entry, at) };
      default:
        return { kind: "other", ...base, entry };
    }
  }

  #message(
    message: Message,
    base: Step,
    results: readonly ((SessionEntry & { readonly type: "message" }) | undefined)[],
  ): WriteStep | undefined {
    switch (message.role) {
      case "user": {
        const content = named(blocksOf(message.content), message.name);
        return { kind: "user", ...base, content, display: true };
      }
      case "custom":
        return { kind: "user", ...base, ...customOf(message) };
      case "bashExecution": {
        if (message.excludeFromContext === true) {
          this.#source.find({
            code: "entry",
            entryId: base.entryId,
            text: "a command that models do not see",
          });
          return undefined;
        }
        return {
          kind: "user",
          ...base,
          content: blocksOf(bashText(message)),
          customType: "bash",
          display: true,
        };
      }
      case "assistant":
        return this.#reply(message, base, results);
      case "system":
        this.#source.find({ code: "entry", entryId: base.entryId, text: "instructions of this harness" });
        return undefined;
      default:
        // A result is written with its reply.
        return undefined;
    }
  }

  #reply(
    message: AssistantMessage,
    base: Step,
    stored: readonly ((SessionEntry & { readonly type: "message" }) | undefined)[],
  ): WriteStep {
    const results: WriteResult[] = [];
    const content = message.content.map((block) => {
      if (block.type !== "toolCall") return block;
      const call = this.#call(block, base.entryId);
      results.push(this.#result(call, stored[results.length], base));
      return call;
    });
    return { kind: "reply", ...base, message: { ...message, content }, results };
  }

  #call(call: ToolCall, entryId: string): ToolCall {
    const id = this.#callIds.idFor(call.id);
    if (id !== call.id) {
      this.#source.find({ code: "callId", entryId, text: `call ${call.id} has the id ${id}` });
    }
    const name = this.#toolName(call.name);
    if (name !== call.name) {
      this.#source.find({ code: "toolName", entryId, text: `tool ${call.name} has the name ${name}` });
    }
    return id === call.id && name === call.name ? call : { ...call, id, name };
  }

  #toolName(name: string): string {
    const { character, maxLength } = this.#rules.toolName ?? defaultName;
    const valid = Array.from(name, (each) => (character.test(each) ? each : "_")).join("");
    return (valid === "" ? "unnamed" : valid).slice(0, maxLength);
  }

  #result(
    { id: callId, name: toolName }: ToolCall,
    entry: (SessionEntry & { readonly type: "message" }) | undefined,
    { entryId, time }: Step,
  ): WriteResult {
    const message = entry?.message as ToolResultMessage | undefined;
    if (entry === undefined || message === undefined) {
      this.#source.find({ code: "interrupted", entryId, text: `call ${callId} has no result` });
      const content = blocksOf(interruptedText);
      return { entryId, time, callId, toolName, content, isError: true, interrupted: true };
    }
    const { content, isError, details } = message;
    return {
      entryId: entry.id,
      time: timeOf(entry),
      callId,
      toolName,
      content,
      isError,
      ...(details === undefined ? {} : { details }),
    };
  }

  /** The steps of earlier entries that a compaction keeps: those it retains, then those of its range. */
  #kept(entry: SessionEntry & { readonly type: "compaction" }, at: number): readonly WriteStep[] {
    const { path } = this.#source;
    const { firstKeptEntryId, retain = [] } = entry;
    const retained = new Set(retain);
    const start = this.#indexes.get(firstKeptEntryId) ?? at;
    const range = path.slice(start, at).map(({ id }) => id);
    return [...retained, ...range.filter((id) => !retained.has(id))].flatMap((id) => {
      const step = this.#byEntry.get(id);
      return step === undefined || step.kind === "compaction" || step.kind === "other" ? [] : [step];
    });
  }
}

function customOf({ customType, content, display }: CustomMessage) {
  return { content: blocksOf(content), customType, display };
}

function blocksOf(
  content: string | readonly (TextBlock | ImageBlock)[],
): readonly (TextBlock | ImageBlock)[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** The blocks of a named user, whose name comes first. */
function named(
  content: readonly (TextBlock | ImageBlock)[],
  name: string | undefined,
): readonly (TextBlock | ImageBlock)[] {
  const prefix = name === undefined || content.length === 0 ? "" : namePrefix(name);
  if (prefix === "") return content;
  const [first, ...rest] = content;
  if (first?.type === "text" && first.resource === undefined)
    return [{ ...first, text: prefix + first.text }, ...rest];
  return [{ type: "text", text: prefix.trimEnd() }, ...content];
}

function timeOf({ timestamp }: SessionEntry): number {
  const time = Date.parse(timestamp);
  return Number.isNaN(time) ? 0 : time;
}
