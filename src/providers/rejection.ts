/** Reads a provider's refusal from a client's error or a response body, and from the wrappers of gateways. */

import { parseJson } from "../core/json.js";
import { isRecord } from "../core/shape.js";

/** A provider's refusal of a request. */
export interface Rejection {
  /** The words of the provider that refused, behind any gateway; empty if there are none. */
  readonly message: string;
  /** The HTTP status, if known. */
  readonly status: number | undefined;
  /** All texts of the error, the outermost first. */
  readonly texts: readonly string[];
  /** Whether another program wrote the refused request: its places are no places of ours. */
  readonly isWrapped: boolean;
}

/** Members in which libraries wrap the provider's error. */
const wrappers = ["error", "cause", "lastError", "data", "upstream_error"] as const;
/** Members that quote the request or describe the transport. `input` is the quoted value of a pydantic error. */
const quoting =
  /^(?:request|headers|responseHeaders|contentType|rawResponse|config|options|input|ctx|url|stack|user_id|provider_name)/;
/**
 * Words of gateways around another server's error: OpenRouter, LiteLLM, claude-code-router, opencode's and
 * claude-code-hub. Sources: github.com/diegosouzapw/OmniRoute/issues/3044, All-Hands-AI/OpenHands/issues/4643,
 * musistudio/claude-code-router/issues/845, anomalyco/opencode/issues/41666, ding113/claude-code-hub/issues/662
 * (stored copies, read 2026-11-28).
 */
const gateway =
  /provider returned error|\blitellm\.|\b[A-Z][A-Za-z]{1,40}Exception - |error from provider|upstream (?:request failed|error)|upstream: ?\{/i;
/** Members that only a gateway or a framework adds; `responseBody` is the AI SDK's. */
const ofGateway = ["upstream_error", "responseBody"] as const;

/** The request that llama.cpp quotes in its message: ggml-org/llama.cpp/issues/12947. */
const quotedRequest = /\bmessages = \[[\s\S]{0,20000}/;

const maxDepth = 8;
const maxTexts = 200;
const maxTextLength = 20_000;
/** Of all texts. */
const maxCharacters = 200_000;
const maxValues = 2000;
const maxMembers = 1000;

/** Reads the refusal from a client's error or a response body. */
export function toRejection(thrown: unknown): Rejection {
  const error = readPlain(thrown, { values: maxValues, copies: new Map() }, 0);
  const found = new Texts();
  found.add(error, 0);
  const { message, status } = outermost(error);
  return {
    message: found.inner ?? message.replace(quotedRequest, ""),
    status,
    texts: found.texts,
    isWrapped: found.isWrapped || found.texts.some((text) => gateway.test(text)),
  };
}

interface Copying {
  /** How many more objects are read. */
  values: number;
  readonly copies: Map<object, unknown>;
}

/**
 * A bounded copy of an error, of plain objects, without bytes and functions. Getters and proxies that throw have
 * no value. Members of classes and of `Error`, which are not enumerable, are own ones.
 */
function readPlain(value: unknown, copying: Copying, depth: number): unknown {
  if (typeof value !== "object" || value === null) {
    return typeof value === "function" || typeof value === "symbol" ? undefined : value;
  }
  if (copying.copies.has(value)) return copying.copies.get(value);
  if (depth > maxDepth || copying.values <= 0 || ArrayBuffer.isView(value)) return undefined;
  copying.values--;
  let keys: readonly string[] = [];
  let isList = false;
  try {
    isList = Array.isArray(value);
    keys = isList ? Object.keys((value as readonly unknown[]).slice(0, maxMembers)) : keysIn(value);
  } catch {
    return undefined;
  }
  const copy: Record<string, unknown> | unknown[] = isList ? [] : {};
  copying.copies.set(value, copy);
  for (const key of keys) {
    const member = readPlain(read(value, key), copying, depth + 1);
    if (member === undefined) continue;
    if (Array.isArray(copy)) copy.push(member);
    else Object.defineProperty(copy, key, { value: member, enumerable: true });
  }
  return copy;
}

function keysIn(value: object): readonly string[] {
  const keys = new Set(["message"]);
  // Faster than `for in`; no engine lists a part of the members.
  for (const key of Object.keys(value).slice(0, maxMembers - 1)) keys.add(key);
  for (const key of ["status", "statusCode", "code", "$metadata", ...wrappers]) keys.add(key);
  return [...keys];
}

function read(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

/** The first message and the first status on the way into an error. */
function outermost(error: unknown): { readonly message: string; readonly status: number | undefined } {
  if (typeof error === "string") return { message: error, status: undefined };
  let said = "";
  let found: number | undefined;
  let at = error;
  for (let depth = 0; depth < maxDepth && isRecord(at); depth++) {
    const { message, status, statusCode, code, $metadata } = at;
    const http = isRecord($metadata) ? $metadata.httpStatusCode : undefined;
    if (said === "" && typeof message === "string") said = message;
    found ??= [status, statusCode, http, code].find((one) => typeof one === "number");
    // Gateways write it as text.
    if (found === undefined && typeof code === "string" && /^[1-5]\d\d$/.test(code)) found = Number(code);
    const record: Record<string, unknown> = at;
    if (said === "" && typeof record.error === "string") said = record.error;
    at = wrappers.map((name) => record[name]).find(isRecord);
  }
  return { message: said, status: found };
}

/** Collects the texts of an error, also from JSON within its texts. */
class Texts {
  readonly texts: string[] = [];
  /** The message in the innermost JSON text or wrapper. */
  inner: string | undefined;
  isWrapped = false;
  readonly #seen = new Set<unknown>();
  #innerDepth = 0;
  #characters = 0;

  add(value: unknown, depth: number): void {
    if (this.texts.length >= maxTexts || this.#characters >= maxCharacters) return;
    if (typeof value === "string")
      this.#text(value.slice(0, maxTextLength).replace(quotedRequest, ""), depth);
    if (typeof value !== "object" || value === null || depth === maxDepth || this.#seen.has(value)) return;
    this.#seen.add(value);
    if (Array.isArray(value)) for (const item of value) this.add(item, depth + 1);
    else if (isRecord(value)) this.#members(value, depth + 1);
  }

  #members(value: Record<string, unknown>, depth: number): void {
    const placed = placedText(value);
    if (placed !== undefined) this.texts.push(placed);
    if (ofGateway.some((name) => typeof value[name] === "string" || isRecord(value[name])))
      this.isWrapped = true;
    for (const [name, member] of Object.entries(value)) {
      if (quoting.test(name)) continue;
      // OpenRouter: text, JSON text or an object.
      if (name === "metadata" && isRecord(member) && member.raw !== undefined) {
        this.isWrapped = true;
        this.#wrapped(member.raw, depth);
      } else if (name === "upstream_error" || name === "responseBody") this.#wrapped(member, depth);
      else this.add(member, depth);
    }
  }

  #wrapped(value: unknown, depth: number): void {
    const inside = typeof value === "string" ? (jsonIn(value) ?? value) : value;
    this.#take(typeof inside === "string" ? inside : outermost(inside).message, depth);
    this.add(value, depth);
  }

  #text(text: string, depth: number): void {
    this.texts.push(text);
    this.#characters += text.length;
    const json = depth < maxDepth ? jsonIn(text) : undefined;
    if (json === undefined) return;
    this.#take(outermost(json).message, depth);
    this.add(json, depth + 1);
  }

  #take(message: string, depth: number): void {
    if (message === "" || depth < this.#innerDepth) return;
    this.#innerDepth = depth;
    const deeper = jsonIn(message);
    const said = deeper === undefined ? "" : outermost(deeper).message;
    this.inner = said === "" ? message : said;
  }
}

/** The text of a validation error that names its place as a list: `loc` of pydantic, `path` of zod. */
function placedText(value: Record<string, unknown>): string | undefined {
  const place = [value.loc, value.path].find(Array.isArray) as readonly unknown[] | undefined;
  const said = [value.msg, value.message].find((one) => typeof one === "string");
  if (place === undefined || said === undefined || place.length > 20) return undefined;
  const keys = place.filter((key) => (typeof key === "string" && key !== "body") || typeof key === "number");
  return `${keys.join(".")}: ${said}`.slice(0, maxTextLength);
}

/** The first JSON object in a text. */
function jsonIn(text: string): Record<string, unknown> | undefined {
  const start = text.indexOf("{");
  if (start < 0) return undefined;
  let depth = 0;
  let isQuoted = false;
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (isQuoted) {
      if (character === "\\") at++;
      else if (character === '"') isQuoted = false;
    } else if (character === '"') isQuoted = true;
    else if (character === "{") depth++;
    else if (character === "}" && --depth === 0) return parsed(text.slice(start, at + 1));
  }
  return undefined;
}

function parsed(json: string): Record<string, unknown> | undefined {
  const value = parseJson(json);
  return isRecord(value) ? value : undefined;
}

/** A path into a request, found in an error. */
export interface ErrorPath {
  /** The path as the error writes it. */
  readonly path: string;
  /** Members and indexes from the request's root; indexes start at 0. */
  readonly keys: readonly (string | number)[];
}

/**
 * Finds the paths in texts, in order. A path begins with a member of the request and continues with dots,
 * brackets, or both, such as `messages.[3].role`. AWS counts from 1 after `member`.
 * @param roots members of the request, such as `messages`
 */
export function pathsIn(texts: readonly string[], roots: readonly string[]): readonly ErrorPath[] {
  if (roots.length === 0) return [];
  const names = roots.map((root) => root.replace(/[^A-Za-z0-9_]/g, "\\$&")).join("|");
  const pattern = new RegExp(
    `(?<![A-Za-z0-9_])(?:${names})(?:\\.[A-Za-z0-9_]{1,100}|\\.?\\[\\d{1,9}\\]){1,100}`,
    "g",
  );
  return texts.flatMap((text) =>
    [...text.matchAll(pattern)].map(([path]) => ({ path, keys: keysByPath(path) })),
  );
}

function keysByPath(path: string): readonly (string | number)[] {
  const all = path.split(/[.[\]]/).filter((key) => key !== "");
  const fromOne = all.includes("member");
  const keys = all.filter((key) => key !== "member");
  return keys.map((key) => (/^\d{1,9}$/.test(key) ? Number(key) - (fromOne ? 1 : 0) : key));
}
