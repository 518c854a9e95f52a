/**
 * The schema of `opencode import`, which a file has to keep whole: 1.2 and 1.18 stop at the first message that
 * does not, and leave a part of the session behind. After the behaviour of 1.1.65, 1.2.27 and 1.18.33.
 */

import { z } from "zod";

const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[0-9A-Za-z]+$`));
const time = z.number().int().nonnegative();
const base = { id: id("prt"), sessionID: id("ses"), messageID: id("msg") };
const metadata = z.record(z.string(), z.any()).optional();
const tokens = z.object({
  input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  cache: z.object({ read: z.number(), write: z.number() }),
});
const file = z.object({
  ...base,
  type: z.literal("file"),
  mime: z.string(),
  filename: z.string().optional(),
  url: z.string(),
});
const input = z.record(z.string(), z.any());
const span = { start: time, end: time };
const state = z.discriminatedUnion("status", [
  z.object({ status: z.literal("pending"), input, raw: z.string() }),
  z.object({
    status: z.literal("completed"),
    input,
    output: z.string(),
    title: z.string(),
    metadata: z.record(z.string(), z.any()),
    time: z.object({ ...span, compacted: time.optional() }),
    attachments: z.array(file).optional(),
  }),
  z.object({ status: z.literal("error"), input, error: z.string(), metadata, time: z.object(span) }),
]);
const part = z.discriminatedUnion("type", [
  z.object({
    ...base,
    type: z.literal("text"),
    text: z.string(),
    synthetic: z.boolean().optional(),
    ignored: z.boolean().optional(),
    metadata,
  }),
  z.object({ ...base, type: z.literal("reasoning"), text: z.string(), metadata, time: z.object(span) }),
  file,
  z.object({ ...base, type: z.literal("tool"), callID: z.string(), tool: z.string(), state, metadata }),
  z.object({ ...base, type: z.literal("compaction"), auto: z.boolean() }),
]);
const message = { id: id("msg"), sessionID: id("ses") };
const info = z.discriminatedUnion("role", [
  z.object({
    ...message,
    role: z.literal("user"),
    time: z.object({ created: time }),
    agent: z.string(),
    model: z.object({ providerID: z.string(), modelID: z.string() }),
  }),
  z.object({
    ...message,
    role: z.literal("assistant"),
    time: z.object({ created: time, completed: time.optional() }),
    error: z
      .object({ name: z.literal("MessageAbortedError"), data: z.object({ message: z.string() }) })
      .optional(),
    parentID: id("msg"),
    modelID: z.string(),
    providerID: z.string(),
    mode: z.string(),
    agent: z.string(),
    path: z.object({ cwd: z.string(), root: z.string() }),
    summary: z.boolean().optional(),
    cost: z.number(),
    tokens,
    finish: z.string().optional(),
  }),
]);

export const exchangeFile = z.object({
  info: z.object({
    id: id("ses"),
    slug: z.string(),
    projectID: z.string(),
    directory: z.string(),
    parentID: id("ses").optional(),
    summary: z.object({ additions: z.number(), deletions: z.number(), files: z.number() }).optional(),
    title: z.string(),
    version: z.string(),
    metadata: z.record(z.string(), z.any()),
    time: z.object({ created: time, updated: time, archived: z.number().optional() }),
    permission: z
      .array(
        z.object({
          permission: z.string(),
          pattern: z.string(),
          action: z.enum(["allow", "deny", "ask"]),
        }),
      )
      .optional(),
  }),
  messages: z.array(z.object({ info, parts: z.array(part) })),
});

export type ExchangeFile = z.infer<typeof exchangeFile>;

/** The value of a written file. Throws for one that opencode refuses, or whose ids do not ascend. */
export function readExchange(bytes: Uint8Array): ExchangeFile {
  const value = exchangeFile.parse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  let last = { id: "", created: 0 };
  for (const { info: each, parts } of value.messages) {
    if (each.id <= last.id) throw new Error(`message ${each.id} stands behind ${last.id}`);
    if (each.time.created < last.created) throw new Error(`message ${each.id} is older than the one before`);
    last = { id: each.id, created: each.time.created };
    let lastPart = "";
    for (const { id: own, messageID } of parts) {
      if (own <= lastPart || messageID !== each.id) throw new Error(`part ${own} is not in its place`);
      lastPart = own;
    }
  }
  return value;
}
