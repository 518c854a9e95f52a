import { isRecord } from "../../plain-values.js";
import { richRequest } from "./valid.js";

/** The rule that is broken, how, what the API says the place is, and the body. */
export type Row = readonly [rule: string, why: string, path: string, body: unknown];

export type Json = Record<string, unknown>;

/** The rich request with one thing in it changed: `messages.0.content.1.text`, set or, where undefined, taken out. */
export function changed(changes: Readonly<Record<string, unknown>>): Json {
  const body: unknown = structuredClone(richRequest());
  if (!isRecord(body)) throw new TypeError("body: expected an object");
  for (const [place, value] of Object.entries(changes)) set(body, place.split("."), value);
  return body;
}

function set(target: unknown, [key = "", ...rest]: readonly string[], value: unknown): void {
  if (Array.isArray(target)) {
    if (rest.length > 0) set(target[Number(key)], rest, value);
    else if (value === undefined) target.splice(Number(key), 1);
    else target[Number(key)] = value;
  } else if (isRecord(target)) {
    if (rest.length > 0) set(target[key], rest, value);
    else if (value === undefined) delete target[key];
    else target[key] = value;
  } else {
    throw new TypeError(`no place for ${key}`);
  }
}

export const asking = (content: unknown, rest: Json = {}): Json => ({
  model: "claude-sonnet-4-5",
  max_tokens: 1,
  messages: [{ role: "user", content }],
  ...rest,
});
export const turns = (...messages: readonly unknown[]): Json => asking("", { messages });
export const user = (...content: readonly unknown[]) => ({ role: "user", content });
export const said = (...content: readonly unknown[]) => ({ role: "assistant", content });
export const text = (value: string) => ({ type: "text", text: value });
export const call = (id: string, more: Json = {}) => ({
  type: "tool_use",
  id,
  name: "read",
  input: {},
  ...more,
});
export const result = (id: string, more: Json = {}) => ({
  type: "tool_result",
  tool_use_id: id,
  content: "done",
  ...more,
});
export const search = (id: string) => ({
  type: "server_tool_use",
  id,
  name: "web_search",
  input: { query: "q" },
});
export const hi = user(text("hi"));
export const marked = { cache_control: { type: "ephemeral" } };
export const first = "messages.0.content.0";
