/** Decides if attachments are sent again: replay policies, and the boundary that can send less. */
import type {
  ReplayAmount,
  ReplayDecision,
  ReplayPlace,
  ReplayPolicy,
  Resource,
  StoredResource,
} from "../content/index.js";
import { integerOption } from "../core/arguments.js";

/**
 * The default policy. Sends the bytes of the current turn's attachments in each request of the turn, and
 * descriptors of earlier ones, unless a resource view of this turn brings one back.
 */
export const replayCurrentTurn: ReplayPolicy = (_resource, { currentTurn, viewed }) =>
  currentTurn || viewed ? "full" : "describe";

/** Sends the bytes of every attachment in every request. Expensive, but the prompt's prefix stays stable. */
export const replayAlways: ReplayPolicy = () => "full";

/** Sends descriptors only, also of the current turn. */
export const replayNever: ReplayPolicy = () => "describe";

/** Budgets of {@link replayWithin}. An absent one is unbounded. */
export interface ReplayBudget {
  /** Estimated tokens of attachments, at least 0. */
  readonly tokens?: number;
  /** Images, at least 0. */
  readonly images?: number;
  /** Turns, the current one included, at least 1. */
  readonly turns?: number;
  /** Stored bytes, at least 0. A sliding window. */
  readonly maxBytes?: number;
  /** Attachments, at least 0. A sliding window. */
  readonly maxCount?: number;
}

/**
 * {@link replayCurrentTurn}, and also sends the newest earlier attachments within budgets. The model sees
 * them longer, out of the provider's prompt cache, at the cost of a larger prompt.
 *
 * Prefix stability: if a budget of tokens, images or turns is exceeded, the oldest attachments are dropped
 * until between half and all of it is used. Only then does the prefix break, at the oldest dropped
 * attachment. It also breaks after a compaction, and if a view or a new occurrence shows an earlier
 * attachment again. `maxBytes` and `maxCount` are exact: once reached, each new attachment breaks the prefix
 * at the oldest one.
 *
 * @throws RangeError for a budget that is not an integer or too small
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

/** Whether a budget does not apply to a resource, as that of images to a document. */
function isExempt(kind: keyof ReplayAmount, { kind: of }: StoredResource): boolean {
  return kind === "images" && of !== "image";
}

/** The amount dropped from the start, in steps of half a budget, so that the cut seldom moves. */
function cutAt(all: number, bound: number): number {
  const step = Math.max(1, Math.floor(bound / 2));
  return all <= bound ? 0 : Math.ceil((all - bound) / step) * step;
}

/** A transfer of a resource to a target, for a {@link LeakageBoundary} to allow. */
export interface Transfer {
  /** The name of the request's target. */
  readonly target: string;
  /** `full`: the bytes and the descriptor would be sent. `describe`: only the descriptor. */
  readonly wanted: Exclude<ReplayDecision, "omit">;
  /** `attach`: attached in this turn. `view`: brought back by a view. `replay`: part of the history. */
  readonly intent: "attach" | "view" | "replay";
  readonly place: ReplayPlace;
  /** The recorded observation, which is part of the descriptor; absent if nothing was recorded. */
  readonly observation?: string;
}

/** `allow` sends as wanted, `describe` sends only the descriptor, `refuse` sends nothing. */
export type LeakageVerdict = "allow" | "describe" | "refuse";

/**
 * Controls which resources leave the machine. Called for each occurrence of each resource in each request,
 * links too. It can send less than the replay policy, never more. May be asynchronous, for example to ask a
 * person.
 */
export type LeakageBoundary = (
  resource: Resource,
  transfer: Transfer,
) => LeakageVerdict | Promise<LeakageVerdict>;

/** Reduces a decision by a verdict. An unknown verdict refuses. */
export function applyVerdict(wanted: ReplayDecision, verdict: LeakageVerdict): ReplayDecision {
  if (verdict === "allow") return wanted;
  return verdict === "describe" && wanted !== "omit" ? "describe" : "omit";
}
