import type { AttachmentReport, Context, ContextMessage, Loss, Projection, Resource } from "sessile";

/** A value as the provider would read it: bytes as base64, and easy to search. */
export function written(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key: string, field: unknown) {
    const raw = this[key];
    return raw instanceof Uint8Array ? Buffer.from(raw).toString("base64") : field;
  });
}

type Facts = Pick<Projection<unknown>, "losses" | "byPolicy" | "attachments" | "value">;

/** Whether a policy is why an attachment is not in a value. */
function isHeldBack({ sent, reason }: AttachmentReport): boolean {
  const isPolicy = reason === "earlierTurn" || reason === "policy" || reason === "boundary";
  return isPolicy && (sent === "descriptor" || sent === "nothing");
}

/** The words that a text has as a mark of its own. */
const wordsIn = (text: string): readonly string[] => text.match(/w\d+w/g) ?? [];

/** One thing that a context holds. */
interface Held {
  readonly entryId: string;
  readonly block: number | undefined;
  readonly words: readonly string[];
  readonly resource?: Resource;
  /** Base64 of an inline image. */
  readonly inline?: string;
}

function heldBy(entryId: string, message: ContextMessage): readonly Held[] {
  switch (message.role) {
    case "bashExecution":
      if (message.excludeFromContext === true) return [];
      return [{ entryId, block: undefined, words: wordsIn(message.command + message.output) }];
    case "compactionSummary":
    case "branchSummary":
      return [{ entryId, block: undefined, words: wordsIn(message.summary) }];
    default: {
      if (typeof message.content === "string") {
        return [{ entryId, block: undefined, words: wordsIn(message.content) }];
      }
      return message.content.map((block, index) => {
        const place = { entryId, block: index };
        switch (block.type) {
          case "text":
            return block.resource === undefined
              ? { ...place, words: wordsIn(block.text) }
              : { ...place, words: [], resource: block.resource };
          case "image":
            return { ...place, words: [], inline: block.data };
          case "thinking":
            return {
              ...place,
              words: wordsIn(block.thinking + (block.redacted ? block.thinkingSignature : "")),
            };
          case "toolCall":
            return { ...place, words: wordsIn(JSON.stringify(block.arguments)) };
          default:
            return { ...place, words: wordsIn(JSON.stringify(block)) };
        }
      });
    }
  }
}

/** Losses of what is there all the same, in another form or at another place. */
const changes: ReadonlySet<Loss["code"]> = new Set<Loss["code"]>([
  "asText",
  "moved",
  "retyped",
  "interrupted",
  "callId",
  "toolName",
  "arguments",
  "malformed",
  "trailingSpace",
  "unplaced",
]);

/**
 * What is absent from a value though no loss says so.
 *
 * @param bytesOf base64 of what is stored, where the value has to hold what is sent of it
 */
export function silentlyAbsent(
  context: Context,
  projection: Facts,
  bytesOf: (resource: Resource) => string | undefined,
): readonly string[] {
  const text = written(projection.value);
  const told = new Set<string>();
  for (const { code, entryId, block } of [...projection.losses, ...projection.byPolicy]) {
    if (!changes.has(code)) told.add(`${entryId} ${block}`);
  }
  for (const report of projection.attachments) {
    if (isHeldBack(report)) told.add(`${report.entryId} ${report.block}`);
  }
  return context.items.flatMap(({ entryId, message }) =>
    heldBy(entryId, message).flatMap((held) => {
      if (told.has(`${entryId} ${held.block}`) || told.has(`${entryId} undefined`)) return [];
      if (held.words.some((word) => !text.includes(word))) return [`${entryId} ${held.block}: ${held.words}`];
      if (held.inline !== undefined) {
        return text.includes(held.inline) ? [] : [`${entryId} ${held.block}: inline image`];
      }
      if (held.resource === undefined) return [];
      const report = projection.attachments.find(
        (one) => one.entryId === entryId && one.block === held.block,
      );
      const shown = report?.sent === "bytes" || report?.sent === "text" || report?.sent === "reference";
      const elsewhere =
        report?.reason === "sentAlready" &&
        projection.attachments.some(
          (one) =>
            one.resourceId === report.resourceId && one.sent !== "descriptor" && one.sent !== "nothing",
        );
      const isLink = held.resource.kind === "link" && report?.sent === "descriptor";
      const bytes = shown && report.sent !== "reference" ? bytesOf(held.resource) : undefined;
      const isThere = bytes === undefined || text.includes(bytes) || hasText(text, bytes);
      return (shown && isThere) || elsewhere || isLink
        ? []
        : [`${entryId} ${held.block}: attachment ${JSON.stringify(report)}`];
    }),
  );
}

/** Whether a value holds a document as text. */
function hasText(value: string, base64: string): boolean {
  const words = wordsIn(Buffer.from(base64, "base64").toString());
  return words.length > 0 && words.every((word) => value.includes(word));
}

/** Losses, and attachments that a policy holds back, of which all is there as it was. */
export function falseLosses(
  context: Context,
  projection: Facts,
  bytesOf: (resource: Resource) => string | undefined,
): readonly (Loss | AttachmentReport)[] {
  const text = written(projection.value);
  const held = new Map<string, Held>();
  for (const { entryId, message } of context.items) {
    for (const one of heldBy(entryId, message)) held.set(`${entryId} ${one.block}`, one);
  }
  const wordsOf = (loss: Loss): readonly string[] =>
    [...held.values()]
      .filter((one) => one.entryId === loss.entryId && (loss.block === undefined || one.block === loss.block))
      .flatMap(({ words }) => words);
  const isThere = ({ entryId, block }: { readonly entryId: string; readonly block?: number }) => {
    const { resource, inline } = held.get(`${entryId} ${block}`) ?? {};
    const elsewhere = projection.attachments.some(
      (report) =>
        report.sent === "bytes" && resource !== undefined && report.resourceId === resource.resourceId,
    );
    const bytes = inline ?? (resource && bytesOf(resource));
    return bytes !== undefined && bytes !== "" && !elsewhere && text.includes(bytes);
  };
  const heldBack = projection.attachments.filter((report) => isHeldBack(report) && isThere(report));
  const lost = [...projection.losses, ...projection.byPolicy].filter((loss) => {
    const one = held.get(`${loss.entryId} ${loss.block}`);
    switch (loss.code) {
      case "missing":
      case "corrupt":
      case "invalid":
      case "unsupported":
      case "overLimit":
        if (loss.instead !== undefined && !text.includes(JSON.stringify(loss.instead).slice(1, -1)))
          return true;
        return isThere(loss);
      case "reasoning":
      case "opaque":
      case "duplicateCall":
      case "orphanResult":
      case "duplicateResult":
      case "notRepeated":
        return wordsOf(loss).some((word) => text.includes(word));
      case "interrupted":
        return !text.includes("[This call was interrupted: there is no result.]");
      case "callId":
      case "toolName":
        return loss.instead === undefined || !text.includes(JSON.stringify(loss.instead).slice(1, -1));
      case "asText":
        return one?.resource === undefined || text.includes(bytesOf(one.resource) ?? "\0");
      default:
        return false;
    }
  });
  return [...lost, ...heldBack];
}

/** Whether a value goes on where another ends: all that was there is, but that the last of a list may have grown. */
export function goesOn(before: unknown, after: unknown): boolean {
  if (Array.isArray(before) && Array.isArray(after)) {
    if (before.length > after.length) return false;
    return before.every((item, at) =>
      at === before.length - 1 ? goesOn(item, after[at]) : same(item, after[at]),
    );
  }
  if (isObject(before) && isObject(after)) {
    const keys = Object.keys(before);
    return keys.every((key) => goesOn(before[key], after[key]));
  }
  return same(before, after);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}

function same(a: unknown, b: unknown): boolean {
  return written(a) === written(b);
}
