/** The written lines of a rollout: items, and the events by which Codex lists and shows a session. */

import { textUuid } from "../shared/ids.js";
import { type ForeignObject, readObject } from "../shared/values.js";
import type { CodexItem } from "./write-items.js";

/** Members for this library beside the payload, which Codex ignores: ids and types for the way back. */
export type LineAnnotation = Readonly<Record<string, unknown>> & { readonly entry: string };

/** The form of the lines. */
export interface LineForm {
  readonly threadId: string;
  /** The number of the first line, in threads that number them. */
  readonly ordinal?: number;
}

/** Makes the lines of one rollout. */
export class RolloutLines {
  readonly #form: LineForm;
  /** Lines that were not taken, in pieces. */
  #made: string[] = [];
  #count = 0;
  #turnId: string | undefined;

  constructor(form: LineForm) {
    this.#form = form;
  }

  /** Adds a line. */
  add(type: string, payload: ForeignObject, time: number, annotation?: LineAnnotation): void {
    const { ordinal } = this.#form;
    const line = {
      timestamp: new Date(time).toISOString(),
      ...(ordinal === undefined ? {} : { ordinal: ordinal + this.#count++ }),
      type,
      payload,
      ...(annotation === undefined ? {} : { sessile: annotation }),
    };
    this.#made.push(`${JSON.stringify(line)}\n`);
  }

  /** Returns the lines since the last call. */
  take(): readonly string[] {
    const made = this.#made;
    this.#made = [];
    return made;
  }

  /** A line whose payload ends with a list of items, in pieces: the list may be as long as the session. */
  async *addList(
    type: string,
    payload: ForeignObject,
    list: { readonly name: string; readonly items: AsyncIterable<CodexItem> },
    time: number,
    annotation: LineAnnotation,
  ): AsyncGenerator<string, void, undefined> {
    this.add(type, { ...payload, [list.name]: [] }, time, annotation);
    yield* this.#made.splice(0, this.#made.length - 1);
    const [line = ""] = this.take();
    // In a string of JSON its quotes are escaped.
    const empty = `${JSON.stringify(list.name)}:[]`;
    const at = line.indexOf(empty) + empty.length - 1;
    yield line.slice(0, at);
    let separator = "";
    for await (const item of list.items) {
      yield `${separator}${JSON.stringify(item)}`;
      separator = ",";
    }
    yield line.slice(at);
  }

  /** Adds an item of the conversation. */
  item(item: CodexItem, time: number, annotation?: LineAnnotation): void {
    this.add("response_item", item, time, annotation);
  }

  /** Begins a turn, in threads that number their lines: they show turns by these events. */
  beginTurn(entryId: string, time: number): void {
    if (this.#form.ordinal === undefined) return;
    this.endTurn(time);
    this.#turnId = textUuid("codex", this.#form.threadId, entryId);
    const started_at = Math.floor(time / 1000);
    this.#event(
      { type: "task_started", turn_id: this.#turnId, started_at, model_context_window: null },
      time,
    );
  }

  /** Ends the turn. */
  endTurn(time: number): void {
    if (this.#turnId === undefined) return;
    const completed_at = Math.floor(time / 1000);
    this.#event(
      { type: "task_complete", turn_id: this.#turnId, last_agent_message: null, completed_at },
      time,
    );
    this.#turnId = undefined;
  }

  /** The event that shows a message of the user. */
  showUser(entryId: string, item: CodexItem, time: number): void {
    const parts = (item.content as readonly ForeignObject[]) ?? [];
    const text = parts.flatMap((part) => (typeof part.text === "string" ? [part.text] : [])).join("\n");
    const images = parts.flatMap((part) => (typeof part.image_url === "string" ? [part.image_url] : []));
    if (this.#form.ordinal === undefined) {
      this.#event({ type: "user_message", message: text, images, local_images: [], text_elements: [] }, time);
      return;
    }
    const shown = [
      ...images.map((image_url) => ({ type: "image", image_url })),
      ...(text === "" ? [] : [{ type: "text", text, text_elements: [] }]),
    ];
    this.#completed({ type: "UserMessage", id: this.#foreignId(entryId, "user"), content: shown }, time);
  }

  /** The event that shows an item of a reply. */
  showReply(entryId: string, item: CodexItem, at: number, time: number): void {
    const isLegacy = this.#form.ordinal === undefined;
    if (item.type === "message") {
      const text = (item.content as readonly ForeignObject[]).map((part) => String(part.text)).join("");
      if (isLegacy) this.#event({ type: "agent_message", message: text }, time);
      else {
        const id = this.#foreignId(entryId, String(at));
        this.#completed({ type: "AgentMessage", id, content: [{ type: "Text", text }] }, time);
      }
    }
    if (item.type !== "reasoning" || !Array.isArray(item.summary)) return;
    const texts = item.summary.map((part) => String(readObject(part)?.text ?? ""));
    if (texts.length === 0) return;
    if (isLegacy) for (const text of texts) this.#event({ type: "agent_reasoning", text }, time);
    else {
      const id = this.#foreignId(entryId, String(at));
      this.#completed({ type: "Reasoning", id, summary_text: texts, raw_content: [] }, time);
    }
  }

  #event(payload: ForeignObject, time: number): void {
    this.add("event_msg", payload, time);
  }

  #completed(item: ForeignObject, time: number): void {
    const turn_id = this.#turnId ?? this.#foreignId("", "turn");
    const { threadId: thread_id } = this.#form;
    this.#event({ type: "item_completed", thread_id, turn_id, item, completed_at_ms: time }, time);
  }

  #foreignId(entryId: string, part: string): string {
    return textUuid("codex", this.#form.threadId, entryId, part);
  }
}
