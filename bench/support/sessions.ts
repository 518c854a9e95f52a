import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { encodeEntry, type Message, type SessionEntry } from "sessile";

/** The shape of a session to be made. */
export interface SessionShape {
  readonly id?: string;
  readonly cwd?: string;
  readonly entries: number;
  /** A compaction after every so many entries, keeping the last {@link keptEntries}. Default none. */
  readonly compactEvery?: number;
  /** Whether compactions are as an open session writes them: with what is in force, and the info before them. */
  readonly isOwn?: boolean;
  /** Whether lines are as pi writes them after a migration: the id behind the message, and no checksum. */
  readonly isMigrated?: boolean;
  /** The message at a place; {@link messageAt} where it is absent. */
  readonly messages?: (number: number) => Message;
}

const keptEntries = 20;
const startTime = Date.UTC(2026, 0, 1);

/**
 * Writes a session as this library does, checksums included: turns of a question, an answer with a tool call, the tool's
 * result and an answer, one after the other. Lines have 560 bytes on average. The same at every call.
 */
export function writeSession(path: string, shape: SessionShape): void {
  const { id = "0198c0de-0000-7000-8000-000000000000", cwd = "/work/project", entries } = shape;
  mkdirSync(dirname(path), { recursive: true });
  const file = openSync(path, "w");
  try {
    const timestamp = new Date(startTime).toISOString();
    let block = `${JSON.stringify({ type: "session", version: 3, id, timestamp, cwd, sessile: 1 })}\n`;
    for (let number = 0; number < entries; number++) {
      block += `${encodeLine(entryAt(number, shape), shape)}\n`;
      if (block.length < 1 << 20) continue;
      writeSync(file, block);
      block = "";
    }
    writeSync(file, block);
  } finally {
    closeSync(file);
  }
}

function encodeLine(entry: SessionEntry, { isMigrated }: SessionShape): string {
  if (isMigrated !== true) return encodeEntry(entry);
  const { id, parentId, ...fields } = entry;
  return JSON.stringify({ ...fields, id, parentId });
}

function entryAt(number: number, { compactEvery, isOwn, messages = messageAt }: SessionShape): SessionEntry {
  const place = {
    id: idOf(number),
    parentId: number === 0 ? null : idOf(number - 1),
    timestamp: new Date(startTime + number * 1000).toISOString(),
  };
  if (isOwn === true && compactEvery !== undefined && number % compactEvery === compactEvery - 2)
    return { type: "session_info", ...place, title: "A long session" };
  if (compactEvery !== undefined && number % compactEvery === compactEvery - 1) {
    const firstKeptEntryId = idOf(number - keptEntries);
    return {
      type: "compaction",
      ...place,
      summary: prose(number, 600),
      firstKeptEntryId,
      tokensBefore: 150_000,
      ...(isOwn === true
        ? { inForce: { model: inForce, thinkingLevel: "off", pins: [], isObserved: false } }
        : {}),
    };
  }
  return { type: "message", ...place, message: messages(number) };
}

/** Eight hexadecimal digits that do not come in order, as random ones do not; each number has its own. */
function idOf(number: number): string {
  return (Math.imul(number + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");
}

const usage = {
  input: 1523,
  output: 211,
  cacheRead: 48_211,
  cacheWrite: 902,
  totalTokens: 50_847,
  cost: { input: 0.004569, output: 0.003165, cacheRead: 0.0144633, cacheWrite: 0.0033825, total: 0.0255798 },
};

const inForce = { provider: "anthropic", modelId: "claude-sonnet-4-5" };
const model = { api: "anthropic-messages", provider: "anthropic", model: "claude-sonnet-4-5", usage };

/** The message at a place in the conversation. */
export function messageAt(number: number): Message {
  const timestamp = startTime + number * 1000;
  const made = { ...model, timestamp };
  const call = `toolu_${idOf(number - (number % 4))}`;
  switch (number % 4) {
    case 0:
      return { role: "user", content: [{ type: "text", text: prose(number, 290) }], timestamp };
    case 1: {
      const block = {
        type: "toolCall",
        id: call,
        name: "read",
        arguments: { path: `src/file-${number}.ts` },
      } as const;
      return { role: "assistant", content: [block], stopReason: "toolUse", ...made };
    }
    case 2: {
      const content = [{ type: "text", text: prose(number, 340) }] as const;
      return { role: "toolResult", toolCallId: call, toolName: "read", content, isError: false, timestamp };
    }
    default:
      return {
        role: "assistant",
        content: [{ type: "text", text: prose(number, 60) }],
        stopReason: "stop",
        ...made,
      };
  }
}

/** Of the calls in the session that was looked at, 48 % were of `bash`, 36 % of `edit`, 15 % of `read` and 1 % of `write`. */
const tools = "bash edit bash read edit bash bash edit read bash edit bash edit".split(" ");
const callsInTurn = 8;
/** One in four is only read. */
const fileCount = 12;

/**
 * The message at a place in a coding session: a question, an answer with a call, its result, another call, and at last an
 * answer without. Calls are of the tools and about as frequent as in the session that was looked at.
 */
export function codingMessageAt(number: number): Message {
  const length = 2 + 2 * callsInTurn;
  const place = number % length;
  if (place === 0) return { ...messageAt(0), timestamp: startTime + number * 1000 } as Message;
  if (place === length - 1) return { ...messageAt(3), timestamp: startTime + number * 1000 } as Message;
  const timestamp = startTime + number * 1000;
  const callNumber = Math.floor(number / length) * callsInTurn + ((place - 1) >> 1);
  const id = `toolu_${idOf(callNumber)}`;
  const file = (callNumber * 7) % fileCount;
  const named = tools[callNumber % tools.length] as string;
  const name = named === "edit" && file % 4 === 0 ? "read" : named;
  if (place % 2 === 0) {
    const content = [{ type: "text", text: prose(number, name === "edit" ? 120 : 900) }] as const;
    return { role: "toolResult", toolCallId: id, toolName: name, content, isError: false, timestamp };
  }
  const path = `packages/agent/src/part-${file % 8}/file-${file}.ts`;
  const args =
    name === "bash"
      ? { command: `npx vitest run ${path}` }
      : name === "read"
        ? { path }
        : { path, oldText: prose(number, 160), newText: prose(number + 1, 200) };
  const content = [{ type: "toolCall", id, name, arguments: args }] as const;
  return { role: "assistant", content, stopReason: "toolUse", ...model, timestamp };
}

const words =
  "the tree keeps every branch and a line is never rewritten so its history stays as it was".split(" ");

/**
 * Text of so many characters, with a line feed now and then. One line in twenty has characters that are not ASCII, as in
 * the coding sessions that were looked at; in those it was 47 lines of 1,019.
 */
function prose(seed: number, length: number): string {
  let text = seed % 20 === 0 ? "“Ok” → " : "";
  for (let i = seed; text.length < length; i++)
    text += `${words[(i * 7 + seed) % words.length]}${i % 12 === 0 ? "\n" : " "}`;
  return text.slice(0, length);
}
