/** The projection of a context to a request: the stages in order. */

import { resourcesIn } from "../attachments/index.js";
import { dropRefusedNotes, type InlineContext, inlineAsResources } from "../attachments/internal.js";
import type { AssistantMessage, Context, ContextItem } from "../content/index.js";
import { noteRequest, toolsAfter } from "../content/internal.js";
import type { LimitViolation } from "../content/limits/index.js";
import { assertHas, describe, oneOfOption, stringArgument } from "../core/arguments.js";
import { encodeBase64 } from "../core/base64.js";
import { SessileError } from "../core/errors/index.js";
import { isRecord } from "../core/shape.js";
import {
  type AttachmentReport,
  type AttachmentState,
  notSentTexts,
  rejectedNames,
  workReport,
} from "./attachment-state.js";
import { needsDigests, resolveAttachments } from "./attachments.js";
import { breakpointParts } from "./cache-breakpoints.js";
import {
  dependsOnOthers,
  type EarlierRequest,
  earlierRequest,
  forgetRequest,
  keepRequest,
  lastStart,
  requestKey,
} from "./earlier-request.js";
import { enforceLimits, limitWords } from "./enforce-limits.js";
import { explainRejection } from "./explain.js";
import { finalizeRequest, isEmptyRequest, plainTextBytes, textBytes } from "./finalize-request.js";
import { type Loss, LossList } from "./losses.js";
import { Base64Placeholders, entryOutline, type Outline, withBase64Placeholders } from "./media-part.js";
import { pairTurns } from "./pair-tool-calls.js";
import { withoutPastReasoning } from "./past-reasoning.js";
import {
  afterFirstTurn,
  comparePrefix,
  hasOwnContent,
  type RequestPrefix,
  toolsAsRecorded,
  turnsAfter,
} from "./prefix.js";
import type { Projection, ProjectionWarning, ProjectOptions } from "./projection.js";
import type {
  NeutralRequest,
  Part,
  PendingAssistantPart,
  PendingAttachment,
  PendingTurn,
  PendingUserPart,
} from "./request.js";
import { latestOnly, mediaIn, selectMessages } from "./select-messages.js";
import {
  type HeldReply,
  isOwn,
  type ModelRef,
  type RenderTools,
  type Target,
  type TargetRules,
} from "./target.js";
import { repeatTurnOnly } from "./turn-only.js";
import { requestUsage } from "./usage.js";

/**
 * Projects a context to a request for one target: valid by its rules, within its limits, with a report of all
 * changes and omissions. Does not change the context.
 *
 * The same context gives the same bytes. A longer context keeps the bytes of its prefix, except if the replay
 * of an attachment ended, a limit removed an item, a pending call got its result, an upload replaced bytes or
 * expired, a cache marker moved, a system message changed the instructions, the earlier context was empty, the
 * model declined a turn, or a turn ended whose open provider call the target accepts only within that turn. If
 * reasoning counts only after the same bytes, instructions and attachments stay as they were first sent, and
 * reasoning that does not count is left out: `prefix` tells.
 * @throws SessileError PROJECTION_LOSSY if `onLoss` is "throw"; errors of the blob store, the boundary, the
 *   replay policy or the reference cache, and the signal's reason; TypeError for an invalid context or
 *   target, or tools that are no JSON, RangeError for an invalid rule of ids or an unknown transport
 * @example
 * ```ts
 * const { value, losses } = await project(await session.context(), anthropicMessages({ model: "claude-opus-5-5" }));
 * for (const { code, entryId, reason } of losses) console.warn(code, entryId, reason);
 * ```
 */
export async function project<V>(
  context: Pick<Context, "items" | "views" | "observations">,
  asked: Target<V>,
  options: ProjectOptions = {},
): Promise<Projection<V>> {
  checkArguments(context, asked);
  if (options.blobs !== undefined) assertHas("blobs", options.blobs, ["get"], "a blob store");
  const target = options.zeroRetention === true ? withoutRetention(asked) : asked;
  const onLoss = oneOfOption("onLoss", options.onLoss, ["report", "throw"]);
  options.signal?.throwIfAborted();
  const { items, refused } = await permittedItems(context.items, target, options);
  const declared = toolsIn(toolItems(context.items, target.rules));
  const tools = options.tools ?? declared;
  const key = requestKey(context, target, options, tools);
  const given: Given<V> = { context, items, refused, target, options, onLoss, declared, tools, key };
  const before = key === undefined ? undefined : earlierRequest(items, key, options);
  const continued = before && (await projectAfter(given, before));
  return continued ?? ((await projectAfter(given, undefined)) as Projection<V>);
}

/** The target, of whose requests the provider keeps nothing. */
function withoutRetention<V>(target: Target<V>): Target<V> {
  const { renderKey } = target;
  return {
    ...target,
    heldMs: 0,
    ...(renderKey === undefined ? {} : { renderKey: `zero retention ${renderKey}` }),
    render: (request, tools, since) => target.render(request, { ...tools, zeroRetention: true }, since),
  };
}

/** What a projection is made of. */
interface Given<V> {
  readonly context: Pick<Context, "items" | "views" | "observations"> & Partial<Pick<Context, "usageSince">>;
  readonly items: Context["items"];
  readonly refused: PermittedItems["refused"];
  readonly target: Target<V>;
  readonly options: ProjectOptions;
  readonly onLoss: "report" | "throw";
  readonly declared: readonly unknown[];
  readonly tools: unknown;
  /** Absent if nothing can be kept for the next projection. */
  readonly key: string | undefined;
}

/** Makes a request behind an earlier one, or all of it; undefined if the earlier one changed. */
async function projectAfter<V>(
  { context, items, refused, target, options, onLoss, declared, tools, key }: Given<V>,
  before: EarlierRequest | undefined,
): Promise<Projection<V> | undefined> {
  const { model, rules = {} } = target;
  const losses = new LossList(before?.losses);
  const isLatest = rules.history === "latest";
  const whole = { ...context, items };
  const from = before?.to ?? 0;
  // A target that keeps its own history gets no message of a model.
  const inlined: InlineContext = isLatest
    ? { context: whole, images: new Map() }
    : inlineAsResources(whole, needsDigests(options), "assistant", from);
  const selected = selectMessages(inlined.context.items, { model, rules, losses, from });
  const { system, messages } = isLatest ? latestOnly(items, selected, losses) : selected;
  const paired = pairTurns(items, messages, { rules, losses, earlier: before?.calls });
  const turns = rules.turnOnly === undefined ? paired : repeatTurnOnly(paired, items, before?.turns);
  const systemText = JSON.stringify(system);
  const isAlone =
    key !== undefined &&
    !system.some(({ type }) => type === "attachment") &&
    !dependsOnOthers(items, turns, { from, names: before?.names });
  if (before !== undefined && (!isAlone || systemText !== before.system || turns[0]?.role !== "assistant"))
    return undefined;
  const attaching = { ...options, now: options.now ?? Date.now, target, losses };
  const { states: added, unplacedViews } = await resolveAttachments(
    inlined,
    attachmentsIn(system, turns),
    attaching,
  );
  const states = [...(before?.states ?? []), ...added];
  noteUnplaced(context, unplacedViews, losses, isLatest);
  const bytes = new TextBytes(system, turns, before);
  const fixed = before?.states.map(({ draft }) => draft.media) ?? [];
  const broken = await enforceLimits(states, (room) => bytes.within(room), attaching);
  const isChanged =
    fixed.some((media, at) => states[at]?.draft.media !== media) || isShownTwice(before, added);
  if (before !== undefined && (isChanged || bytes.isExceeded)) {
    forgetRequest(before);
    return undefined;
  }
  options.signal?.throwIfAborted();
  const made = finalizeRequest({ system, turns, states: added }, target, losses);
  const all = before === undefined ? made : { ...made, turns: [...before.turns, ...made.turns] };
  const sent = rules.takesReasoning === "current" ? withoutPastReasoning(all, losses) : all;
  const until = isAlone ? lastStart(sent.turns, states, options, target) : undefined;
  const earlier = before?.compared;
  const compared = lazy(() =>
    comparePrefix({ request: sent, target, context, states, tools, earlier, until }, losses),
  );
  const request = rules.bindsReasoning === true ? compared().request : sent;
  const prefix = () => (isLatest ? keptByTarget : keeping().prefix);
  if (!isLatest) {
    noteRequest(context, { ...answersOf(model), digest: () => prefix().digest });
  }
  const cached = cachedParts(request, target, options);
  const skipped = before?.turns.length ?? 0;
  /** A rendering of the whole, or of what follows a turn. */
  const render = (reportLoss: RenderTools["reportLoss"], since?: HeldReply) => {
    const tools: RenderTools = { trace: (block) => block, endsCache: (part) => cached.has(part), reportLoss };
    if (since === undefined || skipped === 0) return target.render(request, tools, since);
    return target.render(turnsAfter(request, skipped), tools, { ...since, turn: since.turn - skipped + 1 });
  };
  const embeds = target.embedsBase64 === true;
  const addLoss: RenderTools["reportLoss"] = (part, loss) => {
    // Text that the projection added is not a loss.
    if (part.origin.item >= 0) losses.add(part.origin, loss);
  };
  const rest = turnsFrom(request, skipped);
  const isKept = { ...afterFirstTurn, turn: skipped - 1 };
  const drawn =
    before === undefined
      ? lazyValue(request, embeds, render, addLoss)
      : lazily(() => lazyValue(request, embeds, render, () => undefined));
  if (before !== undefined) lazyValue(rest, embeds, (report) => render(report, isKept), addLoss);
  const found = losses.inOrder();
  const keeping = lazy(() => {
    const whole = compared();
    if (whole.compared !== undefined && key !== undefined && until !== undefined) {
      const to = until.item;
      const kept = states.filter(({ decided }) => decided.item < to);
      const textBytes = bytes.upTo(whole.compared.turns - skipped);
      const { blobs } = options;
      keepRequest(
        {
          ...{
            items,
            to,
            key,
            blobs,
            system: systemText,
            states: kept,
            losses: losses.before(to),
            textBytes,
          },
          ...{ compared: whole.compared, request, callId: rules.callId },
        },
        before,
      );
    }
    return whole;
  });
  if (rules.bindsReasoning === true) keeping();
  const held = isLatest
    ? undefined
    : heldReply({ request, target, context, prefix, losses: found, now: attaching.now() });
  const shown =
    held &&
    lazyValue(
      turnsFrom(request, held.turn + 1),
      embeds,
      (report) => render(report, held),
      () => undefined,
    );
  const forced = found.filter(({ by }) => by !== "policy");
  if (onLoss === "throw") refuseLossy(target, forced);
  const usage = lazy(() => requestUsage(request, target, tools === toolsAsRecorded ? undefined : tools));
  const sentValue = shown ?? drawn;
  const attachments = [
    ...refused,
    ...states.map((work) => ({ item: work.decided.item, report: workReport(work) })),
  ]
    .sort((a, b) => a.item - b.item)
    .map(({ report }) => report);
  const projection: Projection<V> = {
    get value() {
      return sentValue.value();
    },
    ...(held === undefined ? {} : { continues: held.entryId }),
    whole: () => drawn.value(),
    losses: forced,
    byPolicy: found.filter(({ by }) => by === "policy"),
    warnings: [
      ...requestWarnings(request, broken, found, isPaused(items)),
      ...(attachments.length === 0 ? [] : attachmentWarnings(attachments, options.blobs !== undefined)),
    ],
    attachments,
    get usage() {
      return usage();
    },
    get prefix() {
      return prefix();
    },
    tools: declared,
    request,
    target: target.name,
    explain: (error, search) => {
      const named = options.boundary === undefined;
      const asSent: Target<unknown> =
        held === undefined ? target : { ...target, render: (all, tools) => target.render(all, tools, held) };
      return explainRejection(error, { context, request, target: asSent, cached, named }, search);
    },
  };
  return Object.defineProperties(projection, {
    [entryOutline]: { value: sentValue.outline },
    // The request before it was rendered has the bytes of attachments, which JSON has as a number each.
    toJSON: { value: () => withBase64(projection.value) },
  });
}

/** The value with base64 in place of bytes, as Bedrock has them, which JSON has as a number each. */
function withBase64(value: unknown): unknown {
  if (value instanceof Uint8Array) return encodeBase64(value);
  if (Array.isArray(value)) return value.map(withBase64);
  if (!isRecord(value) || "toJSON" in value) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withBase64(member)]));
}

/** An upper bound of the bytes of the texts of a request, behind an earlier one or in whole. */
class TextBytes {
  /** Whether the bound is not enough, and the texts of the earlier request have to be counted. */
  isExceeded = false;
  readonly #system: readonly PendingUserPart[];
  readonly #turns: readonly PendingTurn[];
  readonly #before: number | undefined;

  constructor(
    system: readonly PendingUserPart[],
    turns: readonly PendingTurn[],
    before: Pick<EarlierRequest, "textBytes"> | undefined,
  ) {
    this.#system = system;
    this.#turns = turns;
    this.#before = before?.textBytes;
  }

  within(room: number): number {
    if (this.#before === undefined) return textBytes(this.#system, this.#turns, room);
    const most = textBytes(this.#system, this.#turns, Number.POSITIVE_INFINITY) + this.#before;
    this.isExceeded ||= most > room;
    return most;
  }

  /** A bound for the earlier request and some of the turns. */
  upTo(turns: number): number {
    return plainTextBytes(this.#turns.slice(0, turns)) + (this.#before ?? 0);
  }
}

/** Whether an attachment has its bytes in an earlier request already. */
function isShownTwice(before: EarlierRequest | undefined, added: readonly AttachmentState[]): boolean {
  if (before === undefined || added.length === 0) return false;
  const ids = new Set(before.states.map(({ decided }) => decided.resource.resourceId));
  return added.some(({ decided }) => ids.has(decided.resource.resourceId));
}

function turnsFrom(request: NeutralRequest, turn: number): NeutralRequest {
  return { ...request, turns: request.turns.slice(turn) };
}

/**
 * The reply whose request the provider holds, if this one repeats all of it and adds a turn of the user; undefined
 * if all has to be sent. A reply that was cut may not be held, and one that changed is held as it came.
 */
function heldReply({
  request: { turns },
  target: { heldMs = 0 },
  context: { items },
  prefix,
  losses,
  now,
}: {
  readonly request: NeutralRequest;
  readonly target: Target<unknown>;
  readonly context: Pick<Context, "items">;
  readonly prefix: () => RequestPrefix;
  readonly losses: readonly Loss[];
  readonly now: number;
}): (HeldReply & { readonly entryId: string }) | undefined {
  const turn = turns.length - 2;
  const parts = turns[turn]?.parts ?? [];
  if (heldMs <= 0 || turns[turn]?.role !== "assistant" || turns[turn + 1]?.role !== "user") return undefined;
  const item = parts[0]?.origin.item ?? -1;
  const { entryId, message, edited } = items[item] ?? {};
  if (entryId === undefined || message?.role !== "assistant" || edited === true) return undefined;
  const { stopReason, timestamp, providerFields } = message;
  const id = providerFields?.id;
  const isWhole = stopReason === "stop" || stopReason === "toolUse";
  if (typeof id !== "string" || !isWhole || now - timestamp >= heldMs || timestamp > now) return undefined;
  if (parts.some(({ origin }) => origin.item !== item) || losses.some((loss) => loss.entryId === entryId))
    return undefined;
  const { state, since } = prefix();
  return state === "unchanged" && since === entryId && hasOwnContent(message)
    ? { turn, id, entryId }
    : undefined;
}

/** Which messages are replies of a model. It keeps nothing else of the projection. */
function answersOf(model: ModelRef) {
  return {
    model: JSON.stringify(model),
    answers: (message: AssistantMessage): boolean => isOwn(message, model),
  };
}

/** The prefix of a request whose history the target keeps: nothing can be compared. */
const keptByTarget: RequestPrefix = {
  state: "unknown",
  lost: [],
  reasoningTokens: 0,
  cacheTokens: 0,
  digest: "",
};

/** Computes a value on the first call. */
function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** A value and its outline, made on the first use. */
function lazily<V>(make: () => LazyValue<V>): LazyValue<V> {
  const made = lazy(make);
  return { value: () => made().value(), outline: () => made().outline() };
}

/** The items whose tools a request declares, and does not tell where they changed. */
function toolItems(
  items: Context["items"],
  { bindsReasoning, toolChanges }: TargetRules = {},
): Context["items"] {
  if (bindsReasoning !== true || toolChanges === undefined) return items;
  const start = items.findIndex(({ message }) => message.role !== "system");
  return start < 0 ? items : items.slice(0, start);
}

/** The tools that system messages declare. */
function toolsIn(items: Context["items"]): readonly unknown[] {
  return items.reduce<readonly unknown[]>(
    (tools, { message }) => (message.role === "system" ? toolsAfter(tools, message) : tools),
    [],
  );
}

/** The items, and reports of the attachments that the boundary refuses in summaries. */
interface PermittedItems {
  readonly items: Context["items"];
  readonly refused: readonly { readonly item: number; readonly report: AttachmentReport }[];
}

/**
 * Removes the notes of attachments in summaries that the boundary refuses. Ignores summaries outside the
 * request.
 */
async function permittedItems(
  items: Context["items"],
  { name, model, rules = {} }: Target<unknown>,
  { boundary, signal }: ProjectOptions,
): Promise<PermittedItems> {
  if (boundary === undefined || !items.some(isSummary)) return { items, refused: [] };
  const ignored = new LossList();
  const selection = selectMessages(items, { model, rules, losses: ignored });
  const { messages } = rules.history === "latest" ? latestOnly(items, selection, ignored) : selection;
  const sent = new Set(messages.map(({ item }) => item));
  const at = [...items.keys()].filter((item) => sent.has(item) && isSummary(items[item] as ContextItem));
  const { items: shown, refused } = await dropRefusedNotes(
    at.map((item) => items[item] as ContextItem),
    { target: name, boundary, among: items, ...(signal === undefined ? {} : { signal }) },
  );
  const permitted = [...items];
  const places = new Map<string, number>();
  for (const [index, entry] of shown.entries()) {
    const item = at[index] as number;
    permitted[item] = entry;
    places.set(entry.entryId, item);
  }
  const reports = refused.map(({ entryId, resourceId }) => ({
    item: places.get(entryId) ?? 0,
    report: { entryId, resourceId, sent: "nothing", reason: "boundary" } as const,
  }));
  return { items: permitted, refused: reports };
}

function isSummary({ message: { role } }: ContextItem): boolean {
  return role === "compactionSummary" || role === "branchSummary";
}

interface LazyValue<V> {
  readonly value: () => V;
  readonly outline: () => Outline | undefined;
}

/**
 * Renders a request and collects its losses. If the value embeds base64, renders with placeholders first, and
 * with the base64 only when `value` is read, so that a body never needs the large strings.
 */
function lazyValue<V>(
  request: NeutralRequest,
  embedsBase64: boolean,
  render: (reportLoss: RenderTools["reportLoss"]) => V,
  reportLoss: RenderTools["reportLoss"],
): LazyValue<V> {
  const media = embedsBase64 ? request.turns.flatMap(mediaIn) : [];
  if (media.length === 0) {
    const value = render(reportLoss);
    return { value: () => value, outline: () => undefined };
  }
  const placeholders = new Base64Placeholders();
  const outline = withBase64Placeholders(
    media,
    ({ bytes }) => placeholders.for(bytes),
    () => render(reportLoss),
  );
  let made: { readonly value: V } | undefined;
  return {
    value: () => {
      made ??= { value: render(() => undefined) };
      return made.value;
    },
    outline: () =>
      made === undefined && typeof outline === "object" && outline !== null
        ? { value: outline, placeholders }
        : undefined,
  };
}

function checkArguments(context: Pick<Context, "items" | "views">, target: Target<unknown>): void {
  if (!Array.isArray(context?.items) || !Array.isArray(context.views)) {
    const { context: ofSession } = (context ?? {}) as { readonly context?: unknown };
    const hint = Array.isArray(context)
      ? ": give contextFrom(messages)"
      : typeof ofSession === "function"
        ? ": give await session.context()"
        : "";
    throw new TypeError(`context: expected a context, got ${describe(context)}${hint}`);
  }
  if (typeof target?.render !== "function") {
    const expected = "a target, such as anthropicMessages({ model })";
    throw new TypeError(`target: expected ${expected}, got ${describe(target)}`);
  }
  stringArgument("target.name", target.name);
  stringArgument("target.model.provider", target.model?.provider);
  stringArgument("target.model.model", target.model.model);
}

/** The attachments in the request, without those of dropped results. */
function attachmentsIn(
  system: readonly PendingUserPart[],
  turns: readonly PendingTurn[],
): readonly PendingAttachment[] {
  const found: PendingAttachment[] = [];
  const add = (part: PendingUserPart | PendingAssistantPart) => {
    if (part.type === "attachment") found.push(part);
    else if (part.type === "opaqueMedia") for (const inner of part.attachments) found.push(inner);
  };
  system.forEach(add);
  for (const turn of turns) {
    if (turn.role === "user") for (const { parts } of turn.results) parts.forEach(add);
    turn.parts.forEach(add);
  }
  return found;
}

function noteUnplaced(
  { items, views }: Pick<Context, "items" | "views">,
  unplaced: readonly string[],
  losses: LossList,
  isLatest: boolean,
): void {
  if (unplaced.length === 0) return;
  const inContext = new Set(isLatest ? resourcesIn({ items }).map(({ resourceId }) => resourceId) : []);
  const latest = new Map(views.map((view) => [view.resourceId, view]));
  for (const resourceId of unplaced) {
    const view = latest.get(resourceId);
    if (view === undefined) continue;
    const isInContext = inContext.has(resourceId);
    const reason = isInContext
      ? "a view of a resource in the history that the target keeps itself"
      : "a view of a resource that the request does not hold";
    losses.add(
      { entryId: view.entryId, item: view.item },
      { code: "unplaced", by: isInContext ? "policy" : "history", resourceId, reason },
    );
  }
}

const none: ReadonlySet<Part> = new Set();

function cachedParts(
  request: NeutralRequest,
  { maxCacheMarkers = 0 }: Target<unknown>,
  { cache }: ProjectOptions,
): ReadonlySet<Part> {
  return cache === undefined || maxCacheMarkers === 0
    ? none
    : breakpointParts(request, cache, maxCacheMarkers);
}

function refuseLossy(target: Target<unknown>, forced: readonly Loss[]): void {
  const [first] = forced;
  if (first === undefined) return;
  throw new SessileError(
    "PROJECTION_LOSSY",
    `${forced.length} of the context's parts cannot go to ${target.name} as they are: ${first.code}, ${first.reason}`,
    {
      details: {
        target: target.name,
        losses: forced.map(({ code, by, entryId, block, reason }) => ({
          code,
          by,
          entryId,
          ...(block === undefined ? {} : { block }),
          reason,
        })),
      },
    },
  );
}

function requestWarnings(
  request: NeutralRequest,
  broken: readonly LimitViolation[],
  losses: readonly Loss[],
  isPaused: boolean,
): readonly ProjectionWarning[] {
  const warnings: ProjectionWarning[] = broken.map((violation) => ({
    code: "overLimit",
    message: `the text alone is ${limitWords(violation)}: compact the session`,
  }));
  if (isEmptyRequest(request)) {
    warnings.push({ code: "empty", message: "the context has nothing that can be sent" });
  } else if (request.turns.at(-1)?.role === "assistant" && !isPaused) {
    warnings.push({ code: "endsWithAssistant", message: "the last turn is the model's" });
  }
  const refused = losses.filter(({ code }) => code === "refused").length;
  if (refused > 0) {
    const message = `${refused} messages of turns that the model declined to answer are left out`;
    warnings.push({ code: "refused", message });
  }
  return warnings;
}

function attachmentWarnings(
  reports: readonly AttachmentReport[],
  hasBlobs: boolean,
): readonly ProjectionWarning[] {
  // An inline image needs no store.
  const unread = reports.filter(
    ({ reason, resourceId }) => !hasBlobs && reason === "missing" && resourceId !== undefined,
  );
  const others = unread.length === 0 ? reports : reports.filter((report) => !unread.includes(report));
  const warnings = notSentTexts(others).map((message) => ({ code: "notSent", message }) as const);
  if (unread.length === 0) return warnings;
  const names = rejectedNames(unread, "missing").join(", ");
  const message = `described and not sent: ${names}; pass the store of their bytes as blobs to project`;
  return [{ code: "noBlobs", message }, ...warnings];
}

/** Whether the provider continues the last reply. */
function isPaused(items: Context["items"]): boolean {
  const last = items.findLast(({ message: { role } }) => role === "assistant")?.message;
  return last?.role === "assistant" && last.stopReason === "pause";
}
