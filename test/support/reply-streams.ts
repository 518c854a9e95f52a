/** Judges of reply streams: any cut gives a message that a session takes, and the whole equals the reader's result. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  type AssistantMessage,
  memorySessionStore,
  type ReplyDelta,
  type ReplyStream,
  type ToolCall,
  toolCalls,
} from "sessile";
import { expect } from "vitest";
import { fixture } from "./fixtures.js";
import { rounds } from "./rounds.js";

/** The most cuts of one stream, beside the first ones. */
const cuts = rounds(15, 200);
const firstCuts = rounds(10, 20);

export async function* eventsFrom<E>(events: readonly E[]): AsyncGenerator<E, void, undefined> {
  yield* events;
}

/** The events as server-sent events, for a stream that is given bytes. */
export function serverSentEvents(events: readonly object[]): string {
  return events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
}

const textsOf = (message: AssistantMessage, type: "text" | "thinking"): string =>
  message.content
    .map((block) => {
      if (block.type !== type) return "";
      return block.type === "text" ? block.text : block.type === "thinking" ? block.thinking : "";
    })
    .join("");

const deltaText = (deltas: readonly ReplyDelta[], type: "text" | "thinking"): string =>
  deltas.map((delta) => (delta.type === type ? delta.text : "")).join("");

async function read(
  stream: ReplyStream,
): Promise<{ deltas: readonly ReplyDelta[]; message: AssistantMessage }> {
  const deltas: ReplyDelta[] = [];
  for await (const delta of stream) deltas.push(delta);
  return { deltas, message: await stream.message() };
}

/**
 * Reads the whole stream and every cut of it. A cut gives a message that a session takes, that says `aborted`, whose text is
 * a prefix of the whole's, and whose calls are calls of the whole, never half of one. Gives the message of the whole.
 *
 * @param completeAt how many events make the reply complete; all by default
 */
export async function checkCuts<E>(
  events: readonly E[],
  open: (source: AsyncIterable<E>) => ReplyStream,
  completeAt: number = events.length,
): Promise<AssistantMessage> {
  const { deltas, message: whole } = await read(open(eventsFrom(events)));
  for (const type of ["text", "thinking"] as const)
    expect(deltaText(deltas, type)).toBe(textsOf(whole, type));
  const session = await memorySessionStore().create({ cwd: "/" });
  // What is kept beside a call may depend on items behind it.
  const shown = ({ id, name, arguments: args }: ToolCall) => JSON.stringify([id, name, args]);
  const calls = toolCalls(whole).map(shown);
  const step = Math.max(1, Math.floor(events.length / cuts));
  for (let count = 0; count < events.length; count += count < firstCuts ? 1 : step) {
    const { deltas: some, message } = await read(open(eventsFrom(events.slice(0, count))));
    await session.branch(null);
    await session.appendMessage(message);
    if (count < completeAt) expect(message.stopReason).toBe("aborted");
    for (const type of ["text", "thinking"] as const) {
      const text = textsOf(message, type);
      expect(textsOf(whole, type).startsWith(text)).toBe(true);
      expect(deltaText(some, type)).toBe(text);
    }
    for (const call of toolCalls(message)) expect(calls).toContain(shown(call));
    if (message.stopReason !== "aborted") continue;
    for (const { state } of await session.toolStates()) expect(state).toBe("error");
  }
  return whole;
}

/** Recorded streams of a provider, with the recorded whole reply of the same name if there is one. */
export function recordedStreams(folder: string): readonly {
  readonly name: string;
  readonly events: readonly never[];
}[] {
  const { path, absent } = fixture(join("replies", folder));
  if (absent !== undefined || !existsSync(path)) return [];
  return readdirSync(path)
    .filter((name) => name.endsWith(".chunks.txt") || name.endsWith(".sse"))
    .map((name) => {
      const text = readFileSync(join(path, name), "utf8").replaceAll(/^data: (?:\[DONE\])?/gm, "");
      const lines = text.split("\n");
      // A recording whose lines are no events is no stream.
      const events = lines.filter((line) => line.trim() !== "").map(parsed);
      return { name, events: (events.includes(undefined) ? [] : events) as never[] };
    });
}

/** Recorded whole replies of a provider. */
export function recordedReplies(
  folder: string,
): readonly { readonly name: string; readonly reply: unknown }[] {
  const { path, absent } = fixture(join("replies", folder));
  if (absent !== undefined) return [];
  return readdirSync(path)
    .filter((name) => name.endsWith(".json"))
    .map((name) => ({ name, reply: parsed(readFileSync(join(path, name), "utf8")) }));
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
