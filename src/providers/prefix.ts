/**
 * The prefix of a request, compared with those that the model answered. Providers let reasoning count only after
 * the bytes that it was made for, and read a cache only up to the first change.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/preserved-thinking and
 *   https://developers.openai.com/api/docs/guides/keep-prefix-unchanged (stored copies, 2026-11-28)
 */

import { digest } from "../blobs/index.js";
import { estimateTextTokens } from "../content/estimate/index.js";
import type { AssistantMessage, Context } from "../content/index.js";
import { contentDigest } from "../content/internal.js";
import { RollingDigest, textDigest } from "../core/rolling-digest.js";
import { isRecord } from "../core/shape.js";
import type { AttachmentState } from "./attachment-state.js";
import type { LossList } from "./losses.js";
import { withBase64Placeholders } from "./media-part.js";
import { isReasoning } from "./past-reasoning.js";
import { partEssence } from "./prompt-contract.js";
import type {
  AssistantPart,
  MediaPart,
  NeutralRequest,
  OpaquePart,
  Part,
  ReasoningPart,
  Turn,
} from "./request.js";
import { mediaIn } from "./select-messages.js";
import { type HeldReply, isOwn, type Target } from "./target.js";
import { requestUsage } from "./usage.js";

/** How a request continues those that its model answered. JSON-safe. */
export interface RequestPrefix {
  /**
   * `unchanged`: all that the model's newest reply answered is sent again, and more after it. `changed`: not so.
   * `new`: the context has no reply of a model. `unknown`: the newest reply does not name its request, as after
   * an import.
   */
  readonly state: "unchanged" | "changed" | "new" | "unknown";
  /** The newest reply whose whole request this one repeats; absent if there is none. */
  readonly since?: string;
  /**
   * The first change after it, if `changed`. `compaction`: a summary replaced messages. `edit`: a context edit or
   * an update. `policy`: the replay policy or the boundary sends an attachment in another form. `limit`: a limit
   * left an attachment out. `tools`, `instructions`. `model`: other models made all replies. `other`: anything
   * else, such as a result that came later.
   */
  readonly change?: {
    readonly by: "compaction" | "edit" | "policy" | "limit" | "tools" | "instructions" | "model" | "other";
    /** The entry at which it is, or the first one that it can be at. */
    readonly entryId: string;
  };
  /** The replies whose reasoning no longer counts, in the order of the context. It is left out. */
  readonly lost: readonly string[];
  /** Estimated tokens of this reasoning. */
  readonly reasoningTokens: number;
  /** Estimated tokens that the model's newest reply answered, and that a cache cannot serve again. */
  readonly cacheTokens: number;
  /** The digest of this request, which `AssistantMessage.prefix` of its reply begins with. */
  readonly digest: string;
}

/** The input of {@link comparePrefix}. */
export interface PrefixInput {
  readonly request: NeutralRequest;
  readonly target: Target<unknown>;
  readonly context: Pick<Context, "items"> & Partial<Pick<Context, "usageSince">>;
  /** As declared to the provider; {@link toolsAsRecorded} if they are not known, and taken for unchanged. */
  readonly tools: unknown;
  readonly states: readonly AttachmentState[];
  /** What was compared before of the turns at the beginning. */
  readonly earlier?: ComparedTurns | undefined;
  /** The turn from which a later request may be compared, and the item of its first part. */
  readonly until?: { readonly turn: number; readonly item: number } | undefined;
}

/** What was found of the turns at the beginning of a request, and the digests of them. */
export interface ComparedTurns {
  /** How many. */
  readonly turns: number;
  readonly digest: RollingDigest;
  readonly reasoning: RollingDigest;
  readonly newest: Reply | undefined;
  readonly since: Reply | undefined;
  readonly change: Change | undefined;
  readonly lost: readonly string[];
  readonly reasoningTokens: number;
}

/** Tools of a request that is compared by a program that does not send it. */
export const toolsAsRecorded: unique symbol = Symbol("tools as recorded");

/** A compared request. */
export interface ComparedPrefix {
  /** Without the reasoning that does not count, if the target binds reasoning. */
  readonly request: NeutralRequest;
  readonly prefix: RequestPrefix;
  /** The turns before `until`. */
  readonly compared: ComparedTurns | undefined;
}

/** A reply of the target's model in the request. */
interface Reply {
  readonly item: number;
  readonly message: AssistantMessage;
  /** The digest of all that the request has before the reply, without its reasoning. */
  readonly before: string | undefined;
  readonly reasoning: readonly PlacedReasoning[];
  /** Whether text stands for a block of its own, such as one whose media are gone. */
  readonly hasStandIn: boolean;
}

/** Reasoning, and its place among the other parts of the request. */
interface PlacedReasoning {
  readonly part: ReasoningPart | OpaquePart;
  readonly place: string;
}

/** A change, and the item at which it is. */
interface Change {
  readonly by: NonNullable<RequestPrefix["change"]>["by"] | "unknown";
  readonly item: number;
}

/**
 * Compares a request with the digests of the replies in its context. If the target binds reasoning, removes what
 * is bound to another prefix, and reports it as lost.
 */
export function comparePrefix(input: PrefixInput, losses: LossList): ComparedPrefix {
  const { request, target, context, earlier, until } = input;
  const base = digestRequest(input);
  const binds = target.rules?.bindsReasoning === true;
  const replies = ownReplies(input, base.before);
  const kept = earlier?.reasoning.copy() ?? new RollingDigest();
  const lost = [...(earlier?.lost ?? [])];
  const dropped = new Set<Part>();
  let since = earlier?.since;
  let change = earlier?.change;
  let compared: ComparedTurns | undefined;
  const first = until === undefined ? -1 : replies.findIndex(({ item }) => item >= until.item);
  const lostTokens = () =>
    [...dropped].reduce(
      (sum, part) => sum + reasoningTokens(part as AssistantPart),
      earlier?.reasoningTokens ?? 0,
    );
  const compareUntil = (newest: Reply | undefined) => {
    if (until === undefined || base.until === undefined) return;
    const found = { newest, since, change, lost: [...lost], reasoningTokens: lostTokens() };
    compared = { turns: until.turn, digest: base.until, reasoning: kept.copy(), ...found };
  };
  for (const [at, reply] of replies.entries()) {
    const { message, before, reasoning, item, hasStandIn } = reply;
    if (at === first) compareUntil(replies[at - 1] ?? earlier?.newest);
    const isSame = before !== undefined && repeats(message, before + kept.text(chainDigits), input.tools);
    if (isSame) {
      since = reply;
      change = undefined;
    } else change ??= firstChange(input, base, reply, since);
    if (reasoning.length === 0) continue;
    if (!binds || (isSame && hasOwnContent(message) && !hasStandIn)) {
      for (const { part, place } of reasoning) kept.add(`${place} ${reasoningText(part)}`);
      continue;
    }
    const { by } = change ?? { by: "edit" };
    lost.push(entryIdOf(context, item));
    for (const { part } of reasoning) {
      dropped.add(part);
      losses.add(part.origin, { code: part.type, by: lossBy[by], reason: changeWords[by] });
    }
  }
  const newest = replies.at(-1) ?? earlier?.newest;
  if (first < 0) compareUntil(newest);
  if (newest === undefined) change = otherModel(context);
  const known = change === undefined || change.by === "unknown" ? undefined : { ...change, by: change.by };
  const unchanged = newest === undefined ? "new" : "unchanged";
  return {
    request: dropped.size === 0 ? request : withReasoning(request, (part) => !dropped.has(part)),
    prefix: {
      state: known !== undefined ? "changed" : change !== undefined ? "unknown" : unchanged,
      ...(since === undefined ? {} : { since: entryIdOf(context, since.item) }),
      ...(known === undefined ? {} : { change: { by: known.by, entryId: entryIdOf(context, known.item) } }),
      lost,
      reasoningTokens: lostTokens(),
      cacheTokens: known === undefined ? 0 : tokensAfter(input, known, newest?.item ?? context.items.length),
      digest: base.end + kept.text(chainDigits),
    },
    compared,
  };
}

/** Losses of normal operation are by `policy`, so that a loop that warns of each forced one is silent then. */
const lossBy: Readonly<Record<Change["by"], "policy" | "history">> = {
  compaction: "policy",
  policy: "policy",
  limit: "policy",
  unknown: "policy",
  edit: "history",
  tools: "history",
  instructions: "history",
  model: "history",
  other: "history",
};

const bound = "reasoning that counts only after the same bytes:";
const changeWords: Readonly<Record<Change["by"], string>> = {
  compaction: `${bound} a compaction replaced messages before it`,
  policy: `${bound} an attachment before it is sent in another form`,
  limit: `${bound} a limit left out an attachment before it`,
  edit: `${bound} a message before it was edited`,
  tools: `${bound} the tools changed`,
  instructions: `${bound} the instructions changed`,
  model: `${bound} another model made it`,
  other: `${bound} the request before it changed`,
  unknown: `${bound} the request that it answered is not recorded`,
};

function entryIdOf({ items }: PrefixInput["context"], item: number): string {
  return items[item]?.entryId ?? "";
}

/** The replies of the target's model that the request has, in its order. */
function ownReplies(
  { request, target, context, earlier }: PrefixInput,
  before: ReadonlyMap<number, string>,
): readonly Reply[] {
  const replies = new Map<number, { readonly reasoning: PlacedReasoning[]; hasStandIn: boolean }>();
  for (let turn = earlier?.turns ?? 0; turn < request.turns.length; turn++) {
    const { role, parts } = request.turns[turn] as Turn;
    if (role !== "assistant") continue;
    let others = 0;
    for (const part of parts) {
      const { item } = part.origin;
      if (item < 0) continue;
      const reply = replies.get(item) ?? { reasoning: [], hasStandIn: false };
      replies.set(item, reply);
      if (isReasoning(part)) reply.reasoning.push({ part, place: `${turn}:${others}` });
      else others++;
      if (part.type === "text" && part.replaces === "opaque") reply.hasStandIn = true;
    }
  }
  return [...replies].flatMap(([item, said]): readonly Reply[] => {
    const message = context.items[item]?.message;
    if (message?.role !== "assistant" || !isOwn(message, target.model)) return [];
    return [{ item, message, before: before.get(item), ...said }];
  });
}

/** Whether a reply answered a request with this digest. */
function repeats(message: AssistantMessage, expected: string, tools: unknown): boolean {
  const from = tools === toolsAsRecorded ? toolDigits : 0;
  return recordedPrefix(message).slice(from).startsWith(expected.slice(from));
}

/** A log of another program can have anything there. */
function recordedPrefix({ prefix }: AssistantMessage): string {
  return typeof prefix === "string" ? prefix : "";
}

/** Whether the content of a reply is what was recorded with its request. */
export function hasOwnContent(message: AssistantMessage): boolean {
  const recorded = recordedPrefix(message).slice(digestDigits);
  return recorded === "" || recorded === contentDigest(message);
}

function reasoningText(part: ReasoningPart | OpaquePart): string {
  return JSON.stringify(part.type === "opaque" ? part.data : [part.text, part.signature, part.redacted]);
}

/** The change before a reply, after the newest one whose request is repeated. */
function firstChange(
  { context: { items, usageSince = 0 }, states, tools }: PrefixInput,
  { head }: RequestDigest,
  { item: end, message, before: digest }: Reply,
  since: Reply | undefined,
): Change {
  const prefix = recordedPrefix(message);
  if (prefix === "" || digest === undefined) return { by: "unknown", item: end };
  const before = (role: string) =>
    items.findLastIndex(({ message }, item) => item < end && message.role === role);
  const summary = before("compactionSummary");
  if (summary >= 0 && (items[summary]?.message.timestamp ?? 0) > message.timestamp)
    return { by: "compaction", item: summary };
  const system = before("system");
  if (tools !== toolsAsRecorded && prefix.slice(0, toolDigits) !== head.slice(0, toolDigits))
    return { by: "tools", item: Math.max(0, system) };
  if (prefix.slice(toolDigits, head.length) !== head.slice(toolDigits))
    return { by: "instructions", item: Math.max(0, system) };
  const from = since?.item ?? 0;
  const edit = items.findIndex(
    ({ edited, message: one }, item) =>
      item >= from && item < end && (edited === true || (one.role === "assistant" && !hasOwnContent(one))),
  );
  const held = states.find(
    ({ decided: { item }, draft }) => item >= from && item < end && draft.media === undefined,
  );
  if (held !== undefined && (edit < 0 || held.decided.item < edit))
    return { by: held.reason === "overLimit" ? "limit" : "policy", item: held.decided.item };
  if (edit >= 0) return { by: "edit", item: edit };
  // An edit that removed a message leaves no item.
  return { by: usageSince > end ? "edit" : "other", item: since === undefined ? 0 : from + 1 };
}

/** The newest reply, if other models made all of them. */
function otherModel({ items }: PrefixInput["context"]): Change | undefined {
  const item = items.findLastIndex(({ message }) => message.role === "assistant");
  return item < 0 ? undefined : { by: "model", item };
}

/** Estimated tokens of a request from a change up to an item. Those of tools and instructions precede all. */
function tokensAfter(
  { request, target, tools }: PrefixInput,
  { by, item: start }: Change,
  end: number,
): number {
  const isAll = by === "tools" || by === "instructions" || by === "model";
  const isBetween = ({ origin: { item } }: Part) => item < end && (isAll || item >= start);
  const turns = request.turns.map((turn): Turn => {
    if (turn.role === "assistant") return { ...turn, parts: turn.parts.filter(isBetween) };
    return { role: "user", results: turn.results.filter(isBetween), parts: turn.parts.filter(isBetween) };
  });
  const sent = { system: isAll ? request.system : [], turns };
  const known = isAll && tools !== toolsAsRecorded ? tools : undefined;
  const { text, images, documents, tools: declared } = requestUsage(sent, target, known);
  return text + images + documents + declared;
}

/** Encrypted reasoning has about this many characters of base64 for a token. */
const signatureCharacters = 5;

function reasoningTokens(part: AssistantPart): number {
  if (part.type === "opaque") return Math.ceil(JSON.stringify(part.data).length / signatureCharacters);
  if (part.type !== "reasoning") return 0;
  return part.text === ""
    ? Math.ceil(part.signature.length / signatureCharacters)
    : estimateTextTokens(part.text);
}

/** A request with the reasoning that a test accepts. */
function withReasoning(request: NeutralRequest, isKept: (part: AssistantPart) => boolean): NeutralRequest {
  const turns = request.turns.map((turn) => {
    if (turn.role === "user" || !turn.parts.some((part) => isReasoning(part) && !isKept(part))) return turn;
    return { ...turn, parts: turn.parts.filter((part) => !isReasoning(part) || isKept(part)) };
  });
  return { ...request, turns };
}

/** Digits of the digests of tools and of instructions, of all before a reply, and of the reasoning before it. */
const toolDigits = 8;
const systemDigits = 6;
const rollingDigits = 24;
const chainDigits = 16;
const digestDigits = toolDigits + systemDigits + rollingDigits + chainDigits;

/** @throws TypeError for tools that are no JSON */
function declaredText(print: (value: unknown) => string, tools: unknown): string {
  try {
    return print(tools ?? null);
  } catch (cause) {
    throw new TypeError("tools: expected JSON values, as the provider gets them", { cause });
  }
}

/** The digests of a request without its reasoning. */
interface RequestDigest {
  /** Of the tools and the instructions. */
  readonly head: string;
  /** Before the first part of each item. */
  readonly before: ReadonlyMap<number, string>;
  readonly end: string;
  /** Before the turn `until`. */
  readonly until: RollingDigest | undefined;
}

/**
 * Digests what a target renders, without reasoning and cache markers, which are no part of a prefix. What is
 * rendered counts, and not the neutral turns: a target may leave out a block for what follows it.
 */
function digestRequest({ request, target, tools, earlier, until }: PrefixInput): RequestDigest {
  const bare = withReasoning(turnsAfter(request, earlier?.turns ?? 0), () => false);
  const names = new Map<Uint8Array, string>();
  const marks = new Map<object, Part>();
  const mediaName = ({ bytes, resource }: Pick<MediaPart, "bytes" | "resource">) => {
    const known =
      names.get(bytes) ?? (resource?.size === bytes.length ? resource.contentSha256 : digest(bytes).slice(7));
    names.set(bytes, known);
    return known;
  };
  const media = bare.turns.flatMap(mediaIn);
  const value = withBase64Placeholders(media, mediaName, () =>
    target.render(
      bare,
      {
        trace: (block, part) => {
          marks.set(block, part);
          return block;
        },
        endsCache: () => false,
        reportLoss: () => undefined,
      },
      earlier === undefined ? undefined : afterFirstTurn,
    ),
  );
  const replacer =
    media.length === 0
      ? undefined
      : (_key: string, member: unknown) =>
          member instanceof Uint8Array ? mediaName({ bytes: member }) : member;
  const print = (piece: unknown) => JSON.stringify(piece, replacer) ?? "";
  const declared = declaredText(print, tools);
  const system = print(request.system.map((part) => part.text));
  const head = textDigest(declared, toolDigits) + textDigest(system, systemDigits);
  const rolling = earlier?.digest.copy() ?? new RollingDigest();
  const before = new Map<number, string>();
  let first: RequestDigest["until"];
  let last = -1;
  const here = () => head + rolling.text(rollingDigits);
  const add = (item: number | undefined, piece: string) => {
    if (item !== undefined && item >= 0 && !before.has(item)) before.set(item, here());
    // Behind a piece without an origin, it is not known whether the turn began before.
    if (item !== undefined && item === until?.item && last < item && last >= 0) first ??= rolling.copy();
    last = item ?? until?.item ?? -1;
    rolling.add(piece);
  };
  if (earlier === undefined) rolling.add(target.name);
  if (marks.size === 0) {
    // A target that does not trace its parts, such as messages that another library renders.
    rolling.add(system);
    for (const turn of bare.turns) {
      const parts = turn.role === "user" ? [...turn.results, ...turn.parts] : turn.parts;
      for (const part of parts) add(part.origin.item, `${turn.role} ${print(partEssence(part))}`);
    }
  } else {
    const { turns, head: others } = valueTurns(value);
    if (earlier === undefined) rolling.add(print(others));
    for (const { piece, turn } of pieces(turns)) {
      const ofTurn = isRecord(turn) ? marks.get(turn)?.origin.item : undefined;
      add(markedItem(piece, marks) ?? ofTurn, print(piece));
    }
  }
  return { head, before, end: here(), until: first };
}

/** The end of a request behind a turn in place of those before it, of which a target writes nothing with {@link afterFirstTurn}. */
export function turnsAfter(request: NeutralRequest, turns: number): NeutralRequest {
  if (turns === 0) return request;
  return { ...request, turns: [{ role: "user", results: [], parts: [] }, ...request.turns.slice(turns)] };
}

/** For a request of {@link turnsAfter}. */
export const afterFirstTurn: HeldReply = { turn: 0, id: "" };

/** The members of a value that have its turns, by their names in the protocols. */
const turnMembers = ["messages", "input", "contents"];
/** Members that only the next reply needs, and those that the model does not read. */
const passingMembers: ReadonlySet<string> = new Set(["container", "thread", "store"]);

function valueTurns(value: unknown): { readonly turns: readonly unknown[]; readonly head: unknown } {
  if (Array.isArray(value)) return { turns: value, head: null };
  if (!isRecord(value)) return { turns: [value], head: null };
  const name = turnMembers.find((member) => Array.isArray(value[member]));
  const members = Object.entries(value).filter(([member]) => member !== name && !passingMembers.has(member));
  return { turns: name === undefined ? [] : (value[name] as readonly unknown[]), head: members };
}

/**
 * The turns block by block, since a reply can continue a turn: each block, and with the first one the other
 * members of the turn, and the turn itself.
 */
function* pieces(turns: readonly unknown[]): Generator<{ readonly piece: unknown; readonly turn?: unknown }> {
  for (const turn of turns) {
    const name = isRecord(turn) ? blockMembers.find((member) => Array.isArray(turn[member])) : undefined;
    if (!isRecord(turn) || name === undefined) yield { piece: turn };
    else {
      const { [name]: blocks, ...others } = turn;
      const [first, ...rest] = blocks as readonly unknown[];
      yield { piece: first === undefined ? [others] : [others, first], turn };
      for (const piece of rest) yield { piece };
    }
  }
}

const blockMembers = ["content", "parts"];

/** The item of the first marked object of a piece. */
function markedItem(piece: unknown, marks: ReadonlyMap<object, Part>): number | undefined {
  if (typeof piece !== "object" || piece === null || ArrayBuffer.isView(piece)) return undefined;
  const item = marks.get(piece)?.origin.item;
  if (item !== undefined && item >= 0) return item;
  for (const member of Object.values(piece)) {
    const found = markedItem(member, marks);
    if (found !== undefined) return found;
  }
  return undefined;
}
