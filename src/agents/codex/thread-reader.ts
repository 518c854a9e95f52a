/** Reads the lines of a thread: items, and the events that change the model's history. */

import { type ForeignObject, readMilliseconds, readNumber, readObject, readText } from "../shared/values.js";
import type { DraftEntry, EntryBuilder, ForeignRecord, ForeignSource } from "../types.js";
import { readCompacted } from "./compacted.js";
import { eventOutcome, type readUsage } from "./outcomes.js";
import type { Rollout, RolloutLine, RolloutMeta } from "./rollout.js";
import { changeMessage, type ItemLine, ThreadItems } from "./thread-items.js";
import { ThreadState } from "./thread-state.js";
import { type Draft, Timeline } from "./timeline.js";

/** The last version seen to keep the harness's messages in front of a turn that is rolled back. */
export const keepingMinor = 98;

/** Reads one thread: the files of which it consists, one after the other. */
export class ThreadReader {
  readonly timeline = new Timeline();
  readonly #state: ThreadState;
  readonly #items: ThreadItems;
  readonly #source: ForeignSource;
  readonly #id: string;
  #prefix = "";
  #time: number;
  #cwd: string | undefined;
  #effort: string | undefined;
  /** The name that the thread has at its end. */
  name: string | undefined;
  #isCompacting = false;
  #compactionUsage: ReturnType<typeof readUsage>;
  readonly #fromEvents: { readonly draft: Draft; readonly data: { readonly text: string } }[] = [];
  readonly #newer = new Set<string>();

  /** @param keepsStates whether a file continues from a line of an earlier one */
  constructor(
    source: ForeignSource,
    builder: EntryBuilder,
    meta: RolloutMeta | undefined,
    keepsStates: boolean,
  ) {
    this.#source = source;
    this.#id = meta?.id ?? "";
    this.#time = builder.time(meta?.timestamp);
    this.#cwd = meta?.cwd;
    const minor = Number(/^0\.(\d{1,6})\./.exec(meta?.version ?? "")?.[1] ?? 0);
    this.#state = new ThreadState({ keepsStates, trims: minor > keepingMinor });
    this.#items = new ThreadItems(source, this.timeline, this.#state);
    this.#items.provider = meta?.provider ?? "openai";
    this.#items.onDirectory = (cwd, record) => this.#moveTo(cwd, record);
  }

  /** The threads that calls started. */
  get spawned(): ReadonlySet<string> {
    return this.#items.spawned;
  }

  /** Reads the lines of a file up to an ordinal. Its record ids begin with the prefix. */
  read(rollout: Rollout, { prefix = "", end = Number.POSITIVE_INFINITY } = {}): void {
    this.#prefix = prefix;
    for (const line of rollout.lines()) {
      if (line.ordinal >= end) break;
      this.#time = readMilliseconds(line.timestamp) ?? this.#time;
      const inner =
        line.type === "response_item" || line.type === "event_msg" ? line.payload.type : undefined;
      const type = inner === undefined ? line.type : `${line.type}/${readText(inner) ?? ""}`;
      this.#source.count(type, this.#line(line) ? "mapped" : "unmapped", line.record);
      this.#state.note(line.ordinal, this.timeline.cursor);
    }
    this.#items.endReply();
  }

  /** Restores the state before a line, from which a file continues. The lines after it are a branch. */
  revertTo(end: number, recordId: string): void {
    this.#items.usage.forget();
    this.#items.turnReply = undefined;
    const target = this.#state.revertTo(end);
    this.timeline.moveTo(target, { recordId, part: "revert", timestamp: this.#time });
  }

  /** Adds the entries to a builder. */
  finish(builder: EntryBuilder): void {
    const items = this.#items;
    items.finish();
    for (const { draft, data } of items.hasUserItems ? this.#fromEvents : []) {
      // At the end of a growing file it was a message, whose time has to stay.
      if (draft.timestamp === items.firstUserTime) draft.isDropped = true;
      else draft.entry = asState(data);
    }
    if (items.hasReplies && !items.usage.isExact) {
      this.#source.find({
        code: "guessed",
        text: "usage and ends of replies follow from the order of the lines",
      });
    }
    this.timeline.flush(builder);
  }

  /** Returns whether the line became entries, or a part of them. */
  #line(line: RolloutLine): boolean {
    const { type, payload } = line;
    switch (type) {
      case "response_item": {
        if (line.metadata.compaction_output === true) {
          this.#items.endReply();
          this.#isCompacting = true;
          return true;
        }
        const known = this.#items.add(this.#itemLine(line));
        if (known === "unknown") this.#isNewer(line, readText(payload.type) ?? "");
        return known === true;
      }
      case "event_msg":
        return this.#event(line);
      case "compacted":
        this.#compacted(line);
        return true;
      case "turn_context":
        this.#turnContext(line);
        return true;
      case "token_usage_record":
        return this.#usageRecord(payload);
      case "session_meta": {
        const text =
          readText(readObject(payload.base_instructions)?.text) ?? readText(payload.instructions) ?? "";
        if (readText(payload.id) === this.#id) this.#items.instructions(this.#itemLine(line), text);
        return true;
      }
      default:
        if (!stateTypes.has(type)) this.#isNewer(line, type);
        return false;
    }
  }

  #place({ recordId, annotation }: RolloutLine, part?: string) {
    const place = {
      recordId: this.#prefix + recordId,
      timestamp: this.#time,
      id: readText(annotation?.entry),
    };
    return part === undefined ? place : { ...place, part };
  }

  #itemLine(line: RolloutLine): ItemLine {
    return { item: line.payload, place: this.#place(line), record: line.record, annotation: line.annotation };
  }

  #isNewer({ record: { file, line } }: RolloutLine, type: string): void {
    if (this.#newer.has(type) || this.#newer.size >= 100) return;
    this.#newer.add(type);
    this.#source.find({ code: "newer", file, line, text: `unknown type ${type}` });
  }

  #event(line: RolloutLine): boolean {
    const { payload } = line;
    const told = eventOutcome(payload);
    if (told !== undefined) {
      this.#items.outcomes.set(told.callId, told.outcome);
      return true;
    }
    switch (payload.type) {
      case "token_count": {
        const usage = this.#items.usage.count(readObject(payload.info));
        if (usage === undefined) return false;
        this.#items.endReply();
        this.#items.usage.assign(usage);
        return true;
      }
      case "user_message":
        this.#userEvent(line);
        return true;
      case "thread_rolled_back":
        return this.#rollBack(line, readNumber(payload.num_turns) ?? 0);
      case "turn_aborted": {
        this.#items.endReply();
        const { turnReply } = this.#items;
        if (turnReply !== undefined) changeMessage(turnReply, { stopReason: "aborted" });
        return turnReply !== undefined;
      }
      case "thread_name_updated": {
        const name = readText(payload.thread_name) ?? readText(payload.name);
        if (name === undefined) return false;
        this.name = name;
        this.timeline.add({ type: "session_info", name }, this.#place(line));
        return true;
      }
      default:
        return false;
    }
  }

  /** In files without items of users, an event is all that there is of their messages. */
  #userEvent(line: RolloutLine): void {
    const content = readText(line.payload.message) ?? "";
    if (this.#items.hasUserItems || content === "") return;
    this.#items.endReply();
    const message = { role: "user", content, timestamp: this.#time } as const;
    const draft: Draft = this.timeline.add({ type: "message", message }, this.#place(line));
    this.#fromEvents.push({ draft, data: { text: content } });
  }

  #usageRecord(payload: ForeignObject): boolean {
    const usage = this.#items.usage.record(payload);
    if (usage === undefined) return false;
    if (this.#isCompacting) {
      this.#compactionUsage = usage;
      return true;
    }
    this.#items.usage.contextTokens = usage.totalTokens ?? 0;
    this.#items.endReply();
    this.#items.usage.assign(usage);
    return true;
  }

  #rollBack(line: RolloutLine, count: number): boolean {
    this.#items.endReply();
    const found = count >= 1 ? this.#state.rollBack(Math.trunc(count)) : undefined;
    if (found === undefined) return false;
    if (found.dropped < count) {
      const { file, line: number } = line.record;
      this.#source.find({ code: "guessed", file, line: number, text: `${found.dropped} of ${count} turns` });
    }
    this.#items.usage.forget();
    this.#items.turnReply = undefined;
    this.timeline.moveTo(found.before, this.#place(line));
    return true;
  }

  #turnContext(line: RolloutLine): void {
    const { payload } = line;
    const items = this.#items;
    items.endReply();
    items.usage.separate();
    const settings = readObject(readObject(payload.collaboration_mode)?.settings);
    const model = readText(payload.model) ?? readText(settings?.model) ?? "";
    if (model !== "" && model !== items.model) {
      items.model = model;
      const entry = { type: "model_change", provider: items.provider, modelId: model } as const;
      this.timeline.add(entry, this.#place(line, "model"));
    }
    const effort = readText(payload.effort) ?? readText(settings?.reasoning_effort);
    if (effort !== undefined && effort !== this.#effort) {
      this.#effort = effort;
      const thinkingLevel = effort === "none" ? "off" : effort;
      this.timeline.add({ type: "thinking_level_change", thinkingLevel }, this.#place(line, "effort"));
    }
    const cwd = readText(payload.cwd);
    if (cwd !== undefined) this.#moveTo(cwd, line.record);
  }

  #moveTo(cwd: string, { file, line }: ForeignRecord): void {
    if (this.#cwd !== undefined && this.#cwd !== cwd) {
      this.#source.find({ code: "moved", file, line, text: `the working directory is ${cwd}` });
    }
    this.#cwd = cwd;
  }

  #compacted(line: RolloutLine): void {
    const items = this.#items;
    items.endReply();
    const usage = this.#compactionUsage ?? items.usage.takeHeld();
    this.#compactionUsage = undefined;
    this.#isCompacting = false;
    const { payload, record } = line;
    const {
      summary,
      items: replaced,
      isGuessed,
    } = readCompacted(payload, this.#state.history, this.#state.dropped);
    if (isGuessed) {
      const text = "the line has no history: all messages of users are taken to stay";
      this.#source.find({ code: "guessed", file: record.file, line: record.line, text });
    }
    const retained = replaced.flatMap((each) => (each.kind === "kept" ? each.drafts : []));
    const place = this.#place(line);
    const tokensBefore = items.usage.contextTokens;
    const draft = this.timeline.add(
      (readId) => ({
        type: "compaction",
        summary,
        // An own id keeps nothing: entries that stay are named one by one.
        firstKeptEntryId: "",
        tokensBefore: readNumber(line.annotation?.tokensBefore) ?? tokensBefore,
        strategy: "codex",
        ...(retained.length === 0 ? {} : { retain: [...new Set(retained.map(readId))] }),
        ...(usage === undefined ? {} : { usage }),
      }),
      place,
    );
    this.#state.restart(new Set(retained));
    for (const [at, { item, ...kept }] of replaced.entries()) {
      if (kept.kind === "kept") {
        items.endReply();
        if (item.role === "user") this.#state.beginTurn(draft);
        this.#state.see(item, ...kept.drafts);
      } else
        items.add({
          item,
          place: { ...place, id: undefined, part: `history.${at}` },
          record,
          annotation: undefined,
          isKept: true,
        });
    }
    items.endReply();
    items.usage.forget();
  }
}

/** The entry of an event whose message came as an item too. */
function asState(data: { readonly text: string }): DraftEntry {
  return { type: "custom", customType: "sessile.user_event", data };
}

/** Lines that are state, of which no model sees anything that items do not have. */
const stateTypes: ReadonlySet<string> = new Set([
  "world_state",
  "state",
  "inter_agent_communication",
  "inter_agent_communication_metadata",
]);
