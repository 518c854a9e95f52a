import { overflowWords, rateWords } from "./overflow-words.js";

/**
 * Where clients keep what a provider said: `fetch`, the official clients of OpenAI, Anthropic, Google, AWS and Mistral, the
 * AI SDK, LangChain, axios. Nothing else is looked at, since requests hang on errors too, and a prompt may say anything.
 */
const told = [
  "message",
  "errorMessage",
  "error_message",
  "error_type",
  "errorType",
  "name",
  "code",
  "type",
  "status",
  "statusCode",
  "status_code",
  "httpStatusCode",
  "reason",
  "error",
  "errors",
  "cause",
  "lastError",
  "originalError",
  "response",
  "responseBody",
  "body",
  "data",
  "detail",
  "details",
  "metadata",
  "$metadata",
  "raw",
] as const;

const contentTooLarge = 413;
const tooManyRequests = 429;
/** Objects that are looked into, in an error. */
const maxObjects = 64;
/** UTF-16 code units that are read of a text. */
const maxReadLength = 8_000;

/** A rate outweighs an overflow in one error: the words of the first often speak of tokens. */
type Verdict = "rate" | "overflow" | undefined;

/**
 * Whether an error is a provider's refusal because a request is too long for the model. Takes whatever any client throws,
 * or its text, and looks into causes, bodies and lists of attempts. A rate limit is none, though it may count tokens; a
 * request of too many bytes is one, since it has to shrink too. An answer without a word, such as an empty 400, is none.
 * Linear, and never throws.
 *
 * @example
 * ```ts
 * isContextOverflow(new Error("prompt is too long: 213462 tokens > 200000 maximum")); // true
 * isContextOverflow({ status: 429, message: "Too many tokens, please wait before trying again" }); // false
 * ```
 */
export function isContextOverflow(error: unknown): boolean {
  return verdictOf(error, new Set()) === "overflow";
}

function verdictOf(value: unknown, seen: Set<object>): Verdict {
  if (typeof value === "string") return wordsVerdict(value.slice(0, maxReadLength));
  if (typeof value === "number") return value === tooManyRequests ? "rate" : undefined;
  if (typeof value !== "object" || value === null || seen.has(value) || seen.size >= maxObjects)
    return undefined;
  seen.add(value);
  const attempts = listOf(value);
  if (attempts !== undefined) {
    const verdicts = attempts.map((attempt) => verdictOf(attempt, seen));
    return verdicts.includes("overflow") ? "overflow" : verdicts.find((verdict) => verdict !== undefined);
  }
  let verdict: Verdict;
  for (const name of told) {
    const member = read(value, name);
    const found = isTooLarge(name, member) ? "overflow" : verdictOf(member, seen);
    if (found === "rate") return "rate";
    verdict ??= found;
  }
  return verdict;
}

function wordsVerdict(text: string): Verdict {
  if (rateWords.test(text)) return "rate";
  return overflowWords.some(({ words }) => words.test(text)) ? "overflow" : undefined;
}

/** A status, not any number. */
function isTooLarge(name: (typeof told)[number], value: unknown): boolean {
  return value === contentTooLarge && (name === "code" || /status/i.test(name));
}

/** The items of a list, as many as are looked into; a revoked proxy is none. */
function listOf(value: object): readonly unknown[] | undefined {
  try {
    return Array.isArray(value) ? value.slice(0, maxObjects) : undefined;
  } catch {
    return [];
  }
}

/** A member that may be a getter, of an object that may be a proxy. */
function read(value: object, name: string): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}
