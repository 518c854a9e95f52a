import { describeResource, type ReplayDecision, type Resource } from "../content/index.js";
import { isSendable } from "./resources.js";

/**
 * Why a resource is sent in full, described or omitted. In full: it belongs to the `currentTurn`, it was `viewed`, or the
 * policy has it `replayed`. Described: it belongs to an `earlierTurn`, its bytes are `sentAlready` in this request, it is a
 * `link`, of `unknownType`, `missing` or `corrupt`. Described or omitted: by the `policy` or by the `boundary`.
 */
export type AttachmentReason =
  | "currentTurn"
  | "viewed"
  | "replayed"
  | "earlierTurn"
  | "policy"
  | "boundary"
  | "sentAlready"
  | "link"
  | "unknownType"
  | "missing"
  | "corrupt";

/**
 * What a model reads at the place of a resource: never that it was shown something that it was not. Empty where it is omitted.
 * With `viewTool` the text tells the model of the tool to view it again; by default it does not.
 *
 * @param observation what was seen in the resource when it stood here; told where the resource is described
 */
export function attachmentText(
  resource: Resource,
  decision: ReplayDecision,
  reason: AttachmentReason,
  observation?: string,
  { viewTool = false }: { readonly viewTool?: boolean } = {},
): string {
  if (decision === "omit") return "";
  if (decision === "full") return describeResource(resource);
  const seen = reason === "sentAlready" ? "" : observationText(observation);
  const facts = [dimensions(resource), explanation(resource, reason, viewTool), seen].filter(
    (part) => part !== "",
  );
  return facts.length === 0
    ? describeResource(resource)
    : `${describeResource(resource)} (${facts.join("; ")})`;
}

const maxObservationLength = 500;

/**
 * An observation as descriptors and the notes of summaries tell it: one line of at most 500 characters, no brackets, quotes or
 * control characters in it. Empty for one that says nothing.
 */
export function observationText(observation: string | undefined, maxLength = maxObservationLength): string {
  // Twice as much is looked at, since what goes may be at the start.
  const line = (observation ?? "")
    .slice(0, 2 * maxLength)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replace(/[[\]<>]/g, "_")
    .replaceAll('"', "'")
    .trim();
  if (line === "") return "";
  const isCut = line.length > maxLength || (observation?.length ?? 0) > 2 * maxLength;
  const shown = isCut ? `${line.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, "")}…` : line;
  return `noted when it was seen: "${shown}"`;
}

function dimensions(resource: Resource): string {
  if (resource.kind === "link" || resource.width === undefined || resource.height === undefined) return "";
  return `${resource.width} x ${resource.height} pixels`;
}

const unknownTypeText = "kept, and not sent, since its type is unknown";

function explanation(resource: Resource, reason: AttachmentReason, viewTool: boolean): string {
  const { resourceId } = resource;
  switch (reason) {
    case "earlierTurn":
      // The words of its own turn, so that the prompt's prefix stays.
      if (!isSendable(resource)) return unknownTypeText;
      // An id of ours is one word; what a foreign history calls one is shown in brackets only, where it is made safe.
      return viewTool && /^\w+$/.test(resourceId)
        ? `not sent again, view ${resourceId} to see it`
        : "not sent again";
    case "sentAlready":
      return "shown elsewhere in this request";
    case "link":
      return "a link, never fetched";
    case "unknownType":
      return unknownTypeText;
    case "missing":
      return "not shown: its bytes are no longer stored";
    case "corrupt":
      return "not shown: its stored bytes are damaged";
    case "policy":
    case "boundary":
      return "not shown: it was withheld";
    default:
      return "";
  }
}
