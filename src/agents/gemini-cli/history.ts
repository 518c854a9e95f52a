/**
 * The log of a chat: states of messages, checkpoints and rewinds, in the order of the file. The result is the
 * steps by which the conversation came about. Linear in the log.
 */

import { contentParts, type Part, partResponses, shownText } from "../shared/gemini-parts.js";
import { type ForeignObject, readObject, readText, toArray } from "../shared/values.js";
import { isEnvironment } from "./agent.js";

/** A message of the log. */
export interface Turn {
  /** Unique in the log: the id of the message, with a number if the id was used again after a rewind. */
  readonly key: string;
  readonly id: string;
  /** The last state, with members of earlier ones that it lacks. */
  value: ForeignObject;
  /** A summary, and the reply that the agent makes up to it, have no entry as messages. */
  role: "message" | "summary" | "acknowledgement";
}

/** The place to which a rewind goes back: a message, a compaction, or before the first. */
export type Anchor = Turn | CompactionStep | undefined;

export interface CompactionStep {
  readonly type: "compaction";
  readonly summary: Turn;
  /** Earlier messages that stay in context, in order. */
  readonly retained: Turn[];
}

/** A step of the conversation. */
export type Step =
  | { readonly type: "message"; readonly turn: Turn }
  | CompactionStep
  /** `removed`: retained messages of the anchor that are not in context any longer. */
  | {
      readonly type: "rewind";
      readonly key: string;
      readonly anchor: Anchor;
      readonly removed: readonly Turn[];
    }
  /** Messages that a checkpoint drops without a summary. */
  | { readonly type: "removed"; readonly key: string; readonly turns: readonly Turn[] }
  | { readonly type: "name"; readonly key: string; readonly name: string };

/** Reads the records of a chat one after the other. */
export class ChatLog {
  readonly steps: Step[] = [];
  /** Records that are a later state of a message. */
  superseded = 0;
  /** The messages in force, in order. */
  #current: Turn[] = [];
  #places = new Map<string, number>();
  /** The messages in force before a run of checkpoints, of which only the last one counts. */
  #before: Turn[] | undefined;
  /** Messages that checkpoints may name: those before them, and those that they brought. */
  #known = new Map<string, Turn>();
  #fresh = new Set<Turn>();
  readonly #lives = new Map<string, number>();
  #compaction: CompactionStep | undefined;
  /** The messages that the compaction keeps, and its own. */
  #kept = new Set<Turn>();
  /** The messages that a rewind dropped, while a summary after it may name them again. */
  #rewound:
    | { readonly step: Step; readonly dropped: ReadonlyMap<string, Turn>; compaction?: CompactionStep }
    | undefined;
  #serial = 0;

  /** The messages in force, oldest first. */
  get current(): readonly Turn[] {
    return this.#current;
  }

  /** The compaction that is in force. */
  get compaction(): CompactionStep | undefined {
    return this.#compaction;
  }

  /** Whether a compaction keeps a message, or made it. */
  isKept(turn: Turn): boolean {
    return this.#kept.has(turn);
  }

  /** A record with an id: a new message, or a later state of one. */
  put(id: string, value: ForeignObject): void {
    this.finish();
    const known = this.#current[this.#places.get(id) ?? -1];
    if (known !== undefined) {
      this.#update(known, value);
      return;
    }
    const { dropped, compaction } = this.#rewound ?? {};
    const again = compaction === undefined ? undefined : dropped?.get(id);
    if (again !== undefined) {
      this.#update(again, value);
      compaction?.retained.push(again);
      this.#kept.add(again);
      this.#push(again);
      return;
    }
    const turn = this.#newTurn(id, value);
    const isFirst = this.#current.length === 0;
    this.#push(turn);
    if (isFirst && isSummary(turn)) {
      this.#recompact(turn);
      return;
    }
    this.#rewound = undefined;
    this.steps.push({ type: "message", turn });
  }

  /** A checkpoint: the messages in force are these. */
  checkpoint(messages: unknown): void {
    this.#rewound = undefined;
    if (this.#before === undefined) {
      this.#before = this.#current;
      this.#known = new Map(this.#before.map((turn) => [turn.id, turn]));
    }
    const next = new Map<string, Turn>();
    for (const message of toArray(messages)) {
      const value = readObject(message);
      const id = readText(value?.id);
      if (value === undefined || id === undefined || next.has(id)) continue;
      const known = this.#known.get(id);
      const turn = known ?? this.#newTurn(id, value);
      if (known !== undefined) this.#update(known, value);
      else {
        this.#known.set(id, turn);
        this.#fresh.add(turn);
      }
      next.set(id, turn);
    }
    this.#replace([...next.values()]);
  }

  /** Drops a message and all after it; all messages for an unknown id, as the agent does. */
  rewind(id: string): void {
    this.finish();
    const dropped = this.#current.splice(this.#places.get(id) ?? 0);
    for (const turn of dropped) this.#places.delete(turn.id);
    const last = this.#current.at(-1);
    if (last === undefined) this.#compact(undefined);
    const isKept = last !== undefined && this.#kept.has(last);
    const anchor: Anchor = isKept ? this.#compaction : last;
    const removed = isKept ? dropped.filter((turn) => this.#kept.has(turn)) : [];
    const step: Step = { type: "rewind", key: `rewind ${this.#serial++}`, anchor, removed };
    this.steps.push(step);
    const isEmpty = this.#current.length === 0 && dropped.some(isConversation);
    this.#rewound = isEmpty ? { step, dropped: new Map(dropped.map((turn) => [turn.id, turn])) } : undefined;
  }

  name(name: string): void {
    this.steps.push({ type: "name", key: `name ${this.#serial++}`, name });
  }

  /** Compares the last of a run of checkpoints with the messages before them. Called once more at the end. */
  finish(): void {
    const before = this.#before;
    if (before === undefined) return;
    this.#before = undefined;
    const now = new Set(this.#current);
    const dropped = before.filter((turn) => !now.has(turn) && isConversation(turn));
    if (dropped.length > 0) this.#drop(dropped);
    for (const turn of this.#current) if (this.#fresh.has(turn)) this.steps.push({ type: "message", turn });
    this.#fresh.clear();
  }

  /** Messages are gone: a compaction if there is a new summary. */
  #drop(dropped: readonly Turn[]): void {
    const at = this.#current.findIndex((turn) => turn.role === "message" && isSummary(turn));
    const summary = this.#current[at];
    if (summary === undefined) {
      this.steps.push({ type: "removed", key: `removed ${this.#serial++}`, turns: dropped });
      return;
    }
    summary.role = "summary";
    this.#fresh.delete(summary);
    const next = this.#current[at + 1];
    const reply = next !== undefined && isAcknowledgement(next) ? next : undefined;
    if (reply !== undefined) {
      reply.role = "acknowledgement";
      this.#fresh.delete(reply);
    }
    const retained = this.#current.filter((turn) => turn.role === "message" && !this.#fresh.has(turn));
    this.#compact({ type: "compaction", summary, retained });
    if (reply !== undefined) this.#kept.add(reply);
  }

  /** Puts a compaction in force. */
  #compact(step: CompactionStep | undefined): void {
    this.#compaction = step;
    this.#kept = new Set(step === undefined ? [] : [step.summary, ...step.retained]);
    if (step !== undefined) this.steps.push(step);
  }

  /** A summary as the first message: a compaction, which puts the kept ones again if a rewind dropped all. */
  #recompact(summary: Turn): void {
    summary.role = "summary";
    const step: CompactionStep = { type: "compaction", summary, retained: [] };
    if (this.#rewound !== undefined) {
      this.steps.splice(this.steps.lastIndexOf(this.#rewound.step), 1);
      this.#rewound.compaction = step;
    }
    this.#compact(step);
  }

  /** A checkpoint may lack known members of a message: its calls, tokens, model and time. */
  #update(turn: Turn, value: ForeignObject): void {
    this.superseded++;
    const { timestamp, toolCalls, tokens, thoughts, model, sessile } = turn.value;
    const known = { toolCalls, tokens, thoughts, model, sessile };
    turn.value = { ...known, ...value, timestamp: timestamp ?? value.timestamp };
  }

  #newTurn(id: string, value: ForeignObject): Turn {
    const life = (this.#lives.get(id) ?? 0) + 1;
    this.#lives.set(id, life);
    return { key: life === 1 ? id : `${id} ${life}`, id, value, role: "message" };
  }

  #push(turn: Turn): void {
    this.#places.set(turn.id, this.#current.length);
    this.#current.push(turn);
  }

  #replace(turns: Turn[]): void {
    this.#current = turns;
    this.#places = new Map(turns.map(({ id }, place) => [id, place]));
  }
}

/** A message that a model was sent. A function response is part of the message with its call. */
function isConversation({ value, role }: Turn): boolean {
  if (role === "acknowledgement") return false;
  if (value.type !== "user") return value.type === "gemini";
  const parts = contentParts(value.content);
  const text = shownText(parts);
  if (text.trim() === "" || isCommand(text) || isEnvironment(text)) return false;
  const { responses, others } = partResponses(parts);
  return responses.length === 0 || others.length > 0;
}

function isSummary({ value }: Turn): boolean {
  return value.type === "user" && isSnapshot(contentParts(value.content));
}

function isAcknowledgement({ value }: Turn): boolean {
  return value.type === "gemini" && /^Got it\b/.test(shownText(contentParts(value.content)));
}

// How Gemini CLI classifies the texts of its users, and how a text keeps out of its classes.

/** A summary that replaces the history. The agent's prompt for summaries asks for this tag. */
function isSnapshot(parts: readonly Part[]): boolean {
  return shownText(parts).trimStart().startsWith("<state_snapshot>");
}

/** A command to the agent, which is never sent to the model after a resume. */
export function isCommand(text: string): boolean {
  return /^[/?]/.test(text.trimStart());
}

/**
 * Version 0.26 records function responses a second time, as these words. They are sent to the model, but are
 * none of the user's.
 */
export function isTextResponse(content: unknown): boolean {
  if (typeof content !== "string" || content === "") return false;
  for (let at = 0; at < content.length; ) {
    if (!content.startsWith("[Function Response: ", at)) return false;
    at = content.indexOf("]", at) + 1;
    if (at === 0) return false;
    while (content[at] === "<") {
      const end = content.indexOf(">", at);
      const inner = content.indexOf("<", at + 1);
      if (end < 0 || (inner > 0 && inner < end)) return false;
      at = end + 1;
    }
  }
  return true;
}

/** A zero-width space. Unlike white space it is not trimmed before a message is classified. */
const guard = "\u200b";

function isGuarded(text: string): boolean {
  if (!text.startsWith(guard)) return false;
  let at = 0;
  while (text[at] === guard) at++;
  const rest = text.slice(at).trimStart();
  return isCommand(rest) || isEnvironment(rest) || rest.startsWith("<state_snapshot>");
}

/**
 * The parts of a user message so that the agent reads them as one: after a resume it drops messages that
 * begin like a command or a context of its own. Inverse to {@link withoutGuard}.
 */
export function withGuard(parts: readonly Part[]): readonly Part[] {
  const text = shownText(parts);
  const needsGuard = isCommand(text) || isEnvironment(text) || isSnapshot(parts) || isGuarded(text);
  const [first, ...rest] = parts;
  return needsGuard ? [{ text: `${guard}${readText(first?.text) ?? ""}` }, ...rest] : parts;
}

/** The parts of a message without the guard of {@link withGuard}. */
export function withoutGuard(parts: readonly Part[]): readonly Part[] {
  const [first, ...rest] = parts;
  const text = readText(first?.text);
  return text?.startsWith(guard) && isGuarded(shownText(parts)) ? [{ text: text.slice(1) }, ...rest] : parts;
}
