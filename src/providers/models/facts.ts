/** The one table of models: what each takes and how it counts, for targets, limits, estimates and costs. */

import { readModelName } from "./names.js";

/** A kind of content that a model can read. */
export type ModelInput = "text" | "image" | "pdf" | "audio" | "video";

/** Facts about a model. An absent fact is unknown. */
export interface ModelFacts {
  readonly inputs?: readonly ModelInput[];
  /** How images are counted: a name of `imageTokenRules` in `sessile/estimate`. */
  readonly image?: ImageRuleName;
  /** How pages of a PDF are counted. */
  readonly pdf?: "anthropic" | "gemini";
  /** Reasoning is valid only after the same bytes as when it was made. */
  readonly bindsReasoning?: true;
  /** Messages of the role `system` may follow the user's, and the provider clears those that are for one turn. */
  readonly systemTurns?: true;
  /** A request may not end with an assistant turn. */
  readonly refusesPrefill?: true;
  /** Media can be part of a tool's result, and calls are signed: Gemini from 3 on. */
  readonly signsCalls?: true;
  /** What it accepts as ids of calls, behind servers that pass them on: what differs from the server's rule. */
  readonly callId?: { readonly character?: RegExp; readonly minLength?: number; readonly maxLength?: number };
  /** How tokens differ from a count by o200k_base of the text alone. */
  readonly tokens?: Partial<TokenFacts>;
}

/** The tokens of a request besides its text, and of its text by the model's own vocabulary. */
export interface TokenFacts {
  /** Tokens of text for each of o200k_base. */
  readonly text: number;
  /** Of a request, and of each message in it. */
  readonly request: number;
  readonly message: number;
  /** Of a call, besides its name and arguments, with its result. */
  readonly call: number;
  /** Of a request with tools, the first tool's part included, and of each further tool. */
  readonly tools: number;
  readonly tool: number;
  /** Of a property of a tool's schema, for models that get the schema in another form. Absent: as JSON. */
  readonly property?: number;
}

/** For models without a row: ChatML, and tools as JSON in the instructions. */
const plainTokens: TokenFacts = { text: 1, request: 3, message: 4, call: 12, tools: 100, tool: 10 };

/** The rules of images that the table names. */
type ImageRuleName =
  | "anthropic"
  | "anthropicLarge"
  | "openaiPatches"
  | "openaiMini"
  | "openaiNano"
  | "openaiO4Mini"
  | "openaiHigh"
  | "openai4o"
  | "openai5"
  | "openai4oMini"
  | "openaiO"
  | "gemini2"
  | "gemini3";

interface ModelRow {
  /** Matches the plain name of {@link readModelName}. */
  readonly names: RegExp;
  /** The first and the last version of the row, as in `ModelName.version`. A name without one is the newest. */
  readonly from?: number;
  readonly until?: number;
  /** The newest version of these names that the table knows. */
  readonly newest?: number;
  readonly facts: ModelFacts;
}

const text: readonly ModelInput[] = ["text"];
const sees: readonly ModelInput[] = ["text", "image"];
const reads: readonly ModelInput[] = ["text", "image", "pdf"];
// Without spreads, so that a bundler drops an unused table.
const watches: readonly ModelInput[] = ["text", "image", "pdf", "video"];
const hears: readonly ModelInput[] = ["text", "image", "pdf", "audio", "video"];

/**
 * All rows that match count; a later row takes precedence, fact by fact, and number by number of `tokens`. A new model is a row, or none if it is
 * like the one before it.
 *
 * @see the models of the npm package @earendil-works/pi-ai 1.6.0, generated 2026-11-20: `inputs` of text and
 *   images. Where hosts differ, the maker's own counts.
 */
const rows: readonly ModelRow[] = [
  // https://platform.claude.com/docs/en/build-with-claude/vision and pdf-support (2026-11-21).
  { names: /^claude/, newest: 505, facts: { inputs: reads, image: "anthropic", pdf: "anthropic" } },
  { names: /^claude-(?:instant|[12](?:-|$))/, facts: { inputs: text } },
  { names: /^claude/, facts: { callId: { character: /[A-Za-z0-9_-]/ } } },
  // https://platform.claude.com/docs/en/api/errors (2026-11-21).
  { names: /^claude/, from: 406, facts: { refusesPrefill: true } },
  { names: /^claude/, from: 407, facts: { image: "anthropicLarge" } },
  // https://platform.claude.com/docs/en/build-with-claude/preserved-thinking (2026-11-21).
  { names: /^claude-(?:fable|mythos)/, from: 501, newest: 502, facts: { bindsReasoning: true } },
  { names: /^claude/, from: 505, facts: { bindsReasoning: true } },
  // https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (2026-11-29). The others
  // from 5.5: the npm package @ai-sdk/anthropic 4.0.105.
  { names: /^claude-(?:opus|fable|mythos)/, from: 408, facts: { systemTurns: true } },
  { names: /^claude/, from: 505, facts: { systemTurns: true } },

  // https://developers.openai.com/api/docs/guides/keep-prefix-unchanged and latest-model (2026-11-28).
  { names: /^gpt/, from: 602, facts: { bindsReasoning: true } },

  // Texts and calls: usage in recorded replies and requests of 2025 and 2026, those of the AI SDK and of
  // pydantic-ai's tests. Tools: "tool use system prompt token count" of
  // https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview (read 2026-11-28), and from 4.7 on
  // 104 more by the same recordings. Choices `any` and `tool` cost up to 130 more.
  { names: /^claude/, facts: { tokens: { text: 1.13, call: 40, tools: 330, tool: 28 } } },
  { names: /^claude/, from: 405, facts: { tokens: { tools: 496 } } },
  { names: /^claude/, from: 407, facts: { tokens: { text: 1.39, call: 34, tools: 780, tool: 39 } } },
  { names: /^claude/, from: 408, facts: { tokens: { tools: 394 } } },
  { names: /^claude-sonnet/, from: 500, facts: { tokens: { tools: 458 } } },

  // https://developers.openai.com/api/docs/guides/images-vision and file-inputs (2026-11-21). Tools are lines
  // of TypeScript: the npm package ai-tokenizer 1.0.6, measured by its authors (2026-11-28), also for Gemini,
  // Kimi, Grok, GLM, Qwen and DeepSeek.
  {
    names: /^(?:gpt|chatgpt|o\d|codex)/,
    facts: { tokens: { call: 12, tools: 20, tool: 6, property: 4 } },
  },
  { names: /^(?:gpt|chatgpt|o\d|codex|computer-use)/, newest: 602, facts: { inputs: reads } },
  { names: /^(?:gpt|chatgpt)/, from: 504, facts: { image: "openaiHigh" } },
  { names: /^gpt/, until: 503, facts: { image: "openaiPatches" } },
  { names: /^gpt-5(?:-1)?(?!-\d)/, facts: { image: "openai5" } },
  { names: /^(?:chat)?gpt-(?:4o|4-1(?!\d)|4-turbo|4-5|4-vision)/, facts: { image: "openai4o" } },
  { names: /^gpt-(?:4-1|5)-mini|^gpt-5(?:-1)?-codex-mini/, facts: { image: "openaiMini" } },
  { names: /^gpt-(?:4-1|5)-nano/, facts: { image: "openaiNano" } },
  { names: /^gpt-4o-mini/, facts: { image: "openai4oMini" } },
  { names: /^o\d/, facts: { image: "openaiO" } },
  { names: /^o4-mini/, facts: { image: "openaiO4Mini" } },
  {
    names:
      /^(?:gpt-3|gpt-4(?:-32k)?$|gpt-4-(?:1106|0125)|gpt-oss|o1-mini|o1-preview|o3-mini|davinci|babbage)/,
    facts: { inputs: text },
  },
  { names: /^gpt-(?:4o-)?audio/, facts: { inputs: ["text", "audio"] } },

  // https://ai.google.dev/gemini-api/docs/media-resolution and image-understanding (2026-11-21).
  {
    names: /^gemini/,
    newest: 400,
    facts: { inputs: hears, image: "gemini2", pdf: "gemini" },
  },
  { names: /^gemini/, from: 300, facts: { image: "gemini3", signsCalls: true } },
  {
    names: /^gemini/,
    facts: { tokens: { text: 1.08, request: 0, message: 0, call: 5, tools: 0, tool: 0, property: 3 } },
  },

  { names: /^deepseek/, facts: { inputs: text, tokens: { tools: 140, tool: 40 } } },
  { names: /^deepseek-(?:v\d|flash)/, from: 401, newest: 401, facts: { inputs: sees } },
  { names: /^grok/, from: 400, newest: 407, facts: { inputs: sees } },
  { names: /^grok/, from: 400, facts: { tokens: { request: 160, tools: 186, tool: 20 } } },
  { names: /^grok/, until: 399, facts: { inputs: text } },
  { names: /^grok-(?:code|voice)/, facts: { inputs: text } },
  { names: /^grok-build/, facts: { inputs: sees } },
  // `functions.NAME:INDEX`, which it does not recognize if rewritten:
  // https://github.com/MoonshotAI/kimi-code/pull/2503 (2026-11-22).
  {
    names: /^(?:kimi|k\d)/,
    newest: 301,
    facts: { inputs: sees, callId: { maxLength: 128 }, tokens: { tools: 40 } },
  },
  { names: /^kimi|^moonshot/, until: 204, facts: { inputs: text } },
  { names: /^glm/, newest: 503, facts: { inputs: text, tokens: { tools: 130, tool: 10 } } },
  { names: /^glm-(?:\d-)?\dv/, facts: { inputs: sees } },
  { names: /^glm-(?:\d-\d-)?flash/, from: 503, facts: { inputs: sees } },
  { names: /^minimax/, until: 299, facts: { inputs: text } },
  { names: /^minimax-m/, from: 300, newest: 301, facts: { inputs: sees } },
  { names: /^qwen/, facts: { tokens: { tools: 140, tool: 30 } } },
  { names: /^qwen/, from: 305, newest: 400, facts: { inputs: sees } },
  { names: /^qwen/, until: 304, facts: { inputs: text } },
  // Qwen-Max and Qwen-Flash: https://www.alibabacloud.com/help/en/model-studio/text-generation (2026-01-28).
  {
    names: /^(?:qwen-(?:max|plus|flash|turbo)|qwen.{0,100}-coder|qwen-3-7-max|qwen-3-8-2-4t|qwq)/,
    facts: { inputs: text },
  },
  { names: /^(?:mistral|mixtral|codestral|devstral|magistral|ministral)/, facts: { tokens: { tools: 40 } } },
  { names: /^mistral|^(?:labs|magistral|ministral|pixtral)/, newest: 400, facts: { inputs: sees } },
  {
    names: /^(?:mistral-(?:\d|nemo|saba|tiny|embed)|open-mi|mixtral|codestral|devstral|mathstral)/,
    facts: { inputs: text },
  },
  { names: /^devstral-small/, facts: { inputs: sees } },
  { names: /^voxtral/, facts: { inputs: ["text", "audio"] } },
  // Also templates of vLLM: https://github.com/anomalyco/opencode/issues/1680 (2026-11-22).
  {
    names: /^(?:mi[sx]tral|codestral|devstral|magistral|ministral|pixtral|voxtral|open-mi)/,
    facts: { callId: { character: /[A-Za-z0-9]/, minLength: 9, maxLength: 9 } },
  },
  { names: /^(?:command|c4ai|aya)/, facts: { inputs: text } },
  { names: /^command-a-plus/, facts: { inputs: sees } },
  { names: /^nova/, facts: { inputs: watches } },
  { names: /^(?:nova-micro|titan)/, facts: { inputs: text } },
  { names: /^llama/, facts: { inputs: text } },
  { names: /^llama-(?:4|3-2-(?:11|90)b)/, newest: 400, facts: { inputs: sees } },
  { names: /^gemma/, from: 300, newest: 400, facts: { inputs: sees } },
  { names: /^gemma/, until: 299, facts: { inputs: text } },
  { names: /^gemma-3-(?:1b|270m)/, facts: { inputs: text } },
  { names: /^mimo/, from: 206, newest: 206, facts: { inputs: sees } },
  { names: /^mimo/, until: 205, facts: { inputs: text } },
  {
    names: /^(?:phi|nemotron|granite|hermes|nous|codellama|starcoder|wizard|vicuna|yi|falcon|olmo|smollm)/,
    facts: { inputs: text },
  },
  {
    names: /^(?:tinyllama|lfm|ling|ring|longcat|mercury|ernie|jamba|palmyra|solar|hy[34]-|hy3|hunyuan)/,
    facts: { inputs: text },
  },
  { names: /^(?:internlm|step-3-5|aion|beam|flint|laguna|midm|motif)/, facts: { inputs: text } },
  { names: /^(?:longcat-2-5|ling-3-2|hy4-flash|nemotron-nano-12b)/, facts: { inputs: sees } },
  // Words for models that see, of any maker.
  {
    names: /(?:^|\d|-)(?:vl\d?|vision|omni|multimodal|ocr|llava|bakllava|moondream|minicpm-v)\b/,
    facts: { inputs: sees },
  },
];

/**
 * What the table knows of a model, by any form of its name. A newer version than the table knows, or a name
 * without one, is counted as the newest of its family: `isAssumed`.
 */
export function modelFacts(
  model: string,
): ModelFacts & { readonly tokens: TokenFacts; readonly isAssumed: boolean } {
  const { name, version = Number.POSITIVE_INFINITY } = readModelName(model);
  const found = rows.filter(
    ({ names, from = 0, until = Number.POSITIVE_INFINITY }) =>
      from <= version && version <= until && names.test(name),
  );
  const newest = found.findLast((row) => row.newest !== undefined)?.newest;
  const facts = Object.assign({}, ...found.map((row) => row.facts)) as ModelFacts;
  const tokens = Object.assign({}, plainTokens, ...found.map((row) => row.facts.tokens)) as TokenFacts;
  return { ...facts, tokens, isAssumed: newest !== undefined && version > newest };
}
