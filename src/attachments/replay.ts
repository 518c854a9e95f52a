import type {
  ReplayAmount,
  ReplayDecision,
  ReplayPlace,
  ReplayPolicy,
  Resource,
  StoredResource,
} from "../content/index.js";
import { integerOption } from "../internal/arguments.js";

/**
 * The default: the bytes of the current turn's attachments, on every round of its tools; of earlier ones the descriptor,
 * unless a resource view of this turn brings one back.
 */
export const replayCurrentTurn: ReplayPolicy = (_resource, { currentTurn, viewed }) =>
  currentTurn || viewed ? "full" : "describe";

/** The bytes of every attachment, in every request. Dear, but the prompt's beginning stays what it was. */
export const replayAlways: ReplayPolicy = () => "full";

/** Descriptors only: no bytes leave, not even those of the current turn. */
export const replayNever: ReplayPolicy = () => "describe";

/** Budgets of {@link replayWithin}; what is absent is unbounded. */
export interface ReplayBudget {
  /** Estimated tokens of attachments, at least 0. */
  readonly tokens?: number;
  /** Images, at least 0. */
  readonly images?: number;
  /** Turns, the current one included, at least 1. */
  readonly turns?: number;
  /** Bytes as stored, at least 0. A bound that moves with each new attachment. */
  readonly maxBytes?: number;
  /** Attachments, at least 0. A bound that moves with each new attachment. */
  readonly maxCount?: number;
}

/**
 * {@link replayCurrentTurn}, and of earlier attachments the newest within budgets. So a model sees them for longer, from the
 * provider's cache; what is paid for is the larger prompt.
 *
 * Prefix: if a budget of tokens, images or turns is exceeded, the oldest go until no more than half to all of it is left, and
 * none goes until it is exceeded again. The prompt's prefix breaks at the oldest attachment that goes then, and at no other
 * request. It also breaks after a compaction, and if a view or a new place shows an earlier attachment again. `maxBytes` and
 * `maxCount` are exact: once they are reached, each new attachment breaks the prefix at the oldest one.
 *
 * @throws RangeError for a budget that is no integer or too small
 * @example
 * ```ts
 * const replay = replayWithin({ tokens: 20_000, images: 12, turns: 20 });
 * const target = anthropicMessages({ model: "claude-sonnet-4-5" });
 * const { attachments } = await project(await session.context(), target, { replay });
 * ```
 */
export function replayWithin(budget: ReplayBudget): ReplayPolicy {
  const most = Number.MAX_SAFE_INTEGER;
  const maxBytes = integerOption("maxBytes", budget.maxBytes, most, 0);
  const maxCount = integerOption("maxCount", budget.maxCount, most, 0);
  const bounds = {
    tokens: integerOption("tokens", budget.tokens, most, 0),
    images: integerOption("images", budget.images, most, 0),
    turns: integerOption("turns", budget.turns, most, 1),
  };
  const kinds = ["tokens", "images", "turns"] as const;
  return (resource, place) => {
    if (replayCurrentTurn(resource, place) === "full") return "full";
    const { newer, history } = place;
    if (newer.count + 1 > maxCount || newer.bytes + resource.size > maxBytes) return "describe";
    if (history === undefined) return "full";
    const { before, all } = history;
    return kinds.every((kind) => isExempt(kind, resource) || before[kind] >= cutAt(all[kind], bounds[kind]))
      ? "full"
      : "describe";
  };
}

/** Whether a budget does not apply to a resource: that of images to a document. */
function isExempt(kind: keyof ReplayAmount, { kind: of }: StoredResource): boolean {
  return kind === "images" && of !== "image";
}

/** How much of the start goes: in steps of half a budget, so that the cut seldom moves. */
function cutAt(all: number, bound: number): number {
  const step = Math.max(1, Math.floor(bound / 2));
  return all <= bound ? 0 : Math.ceil((all - bound) / step) * step;
}

/** What is about to leave this machine, for a {@link LeakageBoundary} to judge. */
export interface Transfer {
  /** Where it would go: the name that the request was planned for. */
  readonly target: string;
  /** What would be sent of it: its bytes, or its descriptor alone. */
  readonly wanted: Exclude<ReplayDecision, "omit">;
  /** Why: it was attached in this turn, a view asks for it, or it is part of the history that is sent again. */
  readonly intent: "attach" | "view" | "replay";
  readonly place: ReplayPlace;
  /** What was seen in it, which its descriptor tells; absent where nothing was recorded for this place. */
  readonly observation?: string;
}

/** `allow` what is wanted, `describe` it and keep the bytes, or `refuse`: not even the descriptor leaves. */
export type LeakageVerdict = "allow" | "describe" | "refuse";

/**
 * Stands between a session and whoever its resources are sent to. Asked for each place of each resource of each request,
 * links too; it can send less than the replay policy wants, never more. May take its time, such as to ask a person.
 */
export type LeakageBoundary = (
  resource: Resource,
  transfer: Transfer,
) => LeakageVerdict | Promise<LeakageVerdict>;

/** What is left of what the policy wants. */
export function applyVerdict(wanted: ReplayDecision, verdict: LeakageVerdict): ReplayDecision {
  if (verdict === "allow") return wanted;
  // Anything else that a boundary might say is a no.
  return verdict === "describe" && wanted !== "omit" ? "describe" : "omit";
}
