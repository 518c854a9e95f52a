/** Recognises a provider's refusal of a request that is too long. */
/**
 * The members in which clients keep a provider's answer: `fetch`, the official clients of OpenAI, Anthropic,
 * Google, AWS and Mistral, the AI SDK, LangChain, axios. No other member is read: errors also carry the
 * request, whose prompt may contain any text.
 */
const answerMembers = [
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
/** The most objects of an error that are searched. */
const maxObjects = 64;
/** The most UTF-16 code units that are read of a text. */
const maxReadLength = 8_000;

/** Within one error `rate` wins over `overflow`: messages about rate limits often mention tokens. */
type Verdict = "rate" | "overflow" | undefined;

/**
 * Whether an error means that the provider refused a request as too long for the model. Accepts the error of
 * any client, or its text, and searches causes, bodies and lists of attempts. Linear, and never throws.
 *
 * A rate limit is not an overflow, although it may count tokens. A request of too many bytes is, since it
 * must shrink too. An answer without a message, such as an empty 400, is not.
 *
 * @example
 * ```ts
 * isContextOverflow(new Error("prompt is too long: 213462 tokens > 200000 maximum")); // true
 * isContextOverflow({ status: 429, message: "Too many tokens, please wait before trying again" }); // false
 * ```
 */
export function isContextOverflow(error: unknown): boolean {
  return readVerdict(error, new Set()) === "overflow";
}

function readVerdict(value: unknown, seen: Set<object>): Verdict {
  if (typeof value === "string") return wordsVerdict(value.slice(0, maxReadLength));
  if (typeof value === "number") return value === tooManyRequests ? "rate" : undefined;
  if (typeof value !== "object" || value === null || seen.has(value) || seen.size >= maxObjects)
    return undefined;
  seen.add(value);
  const attempts = readList(value);
  if (attempts !== undefined) {
    const verdicts = attempts.map((attempt) => readVerdict(attempt, seen));
    return verdicts.includes("overflow") ? "overflow" : verdicts.find((verdict) => verdict !== undefined);
  }
  let verdict: Verdict;
  for (const name of answerMembers) {
    const member = read(value, name);
    const found = isTooLarge(name, member) ? "overflow" : readVerdict(member, seen);
    if (found === "rate") return "rate";
    verdict ??= found;
  }
  return verdict;
}

function wordsVerdict(text: string): Verdict {
  if (rateWords.test(text)) return "rate";
  return overflowWords.some(({ words }) => words.test(text)) ? "overflow" : undefined;
}

/** Whether the member is an HTTP status 413, not just that number. */
function isTooLarge(name: (typeof answerMembers)[number], value: unknown): boolean {
  return value === contentTooLarge && (name === "code" || /status/i.test(name));
}

/** The searched items of an array; [] for a revoked proxy, undefined for anything else. */
function readList(value: object): readonly unknown[] | undefined {
  try {
    return Array.isArray(value) ? value.slice(0, maxObjects) : undefined;
  } catch {
    return [];
  }
}

/** Reads a member, which may be a getter that throws. */
function read(value: object, name: string): unknown {
  try {
    return (value as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/** A provider's message about a prompt that is too long. */
export interface OverflowWords {
  readonly provider: string;
  /** Matches in linear time. */
  readonly words: RegExp;
  /** A report of such a refusal, read 2026-11-22. */
  readonly source: string;
}

const issue = (path: string): string => `https://github.com/${path}`;
const pi = issue(
  "earendil-works/pi/blob/17c253c5d6a9364b392a0fd3ee68333026d94255/packages/ai/src/utils/overflow.ts",
);

/** Error codes come first: a gateway that rewrites messages keeps them. */
export const overflowWords: readonly OverflowWords[] = [
  {
    provider: "OpenAI, Azure, Groq and most that speak their protocol",
    words: /context[_ ]length[_ ]exceeded/i,
    source: issue("dyad-sh/dyad/issues/1672"),
  },
  {
    provider: "GitHub Copilot",
    words: /model_max_prompt_tokens_exceeded|prompt token count of \d{1,12} exceeds the limit/i,
    source: issue("microsoft/vscode/issues/289219"),
  },
  {
    provider: "llama.cpp",
    words: /exceed_context_size_error|exceeds the available context size/i,
    source: issue("continuedev/continue/issues/12735"),
  },
  {
    provider: "Z.ai, and Anthropic as a stop reason",
    words: /model_context_window_exceeded/i,
    source: issue("can1357/oh-my-pi/pull/683"),
  },
  {
    provider: "LiteLLM",
    words: /ContextWindowExceededError/,
    source: issue("entropy-research/Devon/issues/88"),
  },
  {
    provider: "Anthropic, Vertex AI",
    words: /prompt is too long/i,
    source: issue("earendil-works/pi/issues/129"),
  },
  {
    provider: "Anthropic, of prompt and answer together",
    words: /exceed context limit: ?\d{1,12} ?\+ ?\d{1,12}/i,
    source: issue("docker/docker-agent/issues/569"),
  },
  {
    // Bytes, not tokens; a request has to shrink all the same.
    provider: "Anthropic, of more than 32 MB",
    words: /request_too_large|request exceeds the maximum size/i,
    source: "https://platform.claude.com/docs/en/api/errors",
  },
  {
    provider: "OpenAI",
    words: /exceeds the context window/i,
    source: issue("dyad-sh/dyad/issues/1672"),
  },
  {
    provider: "OpenAI of old, OpenRouter, DeepSeek, vLLM, LiteLLM",
    words:
      /maximum context length (?:is|of) [\d,]{1,16}|exceeds (?:the )?(?:model'?s )?maximum context length/i,
    source: issue("vllm-project/vllm/issues/20409"),
  },
  {
    provider: "vLLM since 0.16",
    words: /context length is only \d{1,12} tokens/i,
    source: issue("harbor-framework/harbor/pull/996"),
  },
  {
    provider: "vLLM, of a prompt alone",
    words: /is too long to fit into the model/i,
    source: issue("vllm-project/vllm/issues/12165"),
  },
  {
    provider: "Gemini",
    words: /input token count[ \d(),]{0,40}exceeds the maximum/i,
    source: issue("google-gemini/gemini-cli/issues/6678"),
  },
  {
    provider: "Bedrock",
    words: /input is too long for requested model/i,
    source: issue("aws-samples/bedrock-chat/issues/95"),
  },
  {
    provider: "xAI",
    words: /maximum prompt length is \d{1,12}/i,
    source: issue("cline/cline/issues/3120"),
  },
  {
    provider: "Groq, Cerebras",
    words: /reduce the length of the (?:messages|input prompt)/i,
    source: issue("cline/cline/issues/5140"),
  },
  {
    provider: "LM Studio",
    words:
      /greater than the context length|cannot truncate prompt with n_keep|trying to keep the first \d{1,12} tokens/i,
    source: issue("Gitlawb/openclaude/issues/353"),
  },
  {
    provider: "MiniMax",
    words: /context window exceeds limit/i,
    source: issue("MiniMax-AI/MiniMax-M2/issues/119"),
  },
  {
    provider: "Alibaba",
    words: /range of input length should be/i,
    source: issue("QwenLM/qwen-code/issues/98"),
  },
  {
    provider: "Z.ai",
    words: /tokens in request more than max tokens allowed/i,
    source: issue("anomalyco/opencode/issues/35918"),
  },
  { provider: "Kimi", words: /exceeded model token limit/i, source: pi },
  { provider: "Mistral", words: /too large for model with \d{1,12} maximum context length/i, source: pi },
  { provider: "Together AI", words: /is longer than the model'?s context length/i, source: pi },
  { provider: "Poolside", words: /exceeds (?:the )?maximum allowed input length/i, source: pi },
  { provider: "Ollama", words: /prompt too long; exceeded (?:max )?context length/i, source: pi },
];

/**
 * A provider's message about a rate limit. Some mention tokens: Groq's 413 "Request too large … on tokens per
 * minute" (https://github.com/elizaOS/eliza/issues/4040), Bedrock's 429 "Too many tokens, please wait before
 * trying again" (https://github.com/anthropics/claude-code/issues/236). Read 2026-11-22.
 */
const rateWords = new RegExp(
  [
    /rate[_ -]?limit|too[_ ]many[_ ]requests|tokens per (?:min|day|hour)/,
    /throttl|resource[_ ]exhausted|quota|wait before trying again/,
    /(?:^|(?:code|status|http)["']?[ :]{1,3})429\b/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);
