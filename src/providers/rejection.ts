/** A provider's refusal: what its error says, and the table of wordings with what each is about. */

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
interface ErrorPath {
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

// The wordings of refusals by class. Sources are issues of repositories on GitHub and pages of documentation,
// stored copies read 2026-11-28 unless a date says otherwise.

/** The kind of content that a refusal names. `media`: an attachment of any kind. */
export type RefusedKind = "image" | "document" | "media" | "reasoning" | "pair" | "blank" | "text";

/** What a refusal is about. */
export type RefusalClass =
  /**
   * Content. `one`: a single part. `largest`: a part that has too many bytes. `count`: more than `most` parts.
   * `every`: all parts of the kind, because the model or the server reads none.
   */
  | {
      readonly class: "content";
      readonly kind: RefusedKind;
      readonly guilty: "one" | "largest" | "count" | "every";
      readonly most?: number;
    }
  /** The form of the request: no message causes it. */
  | { readonly class: "form" }
  /** The account, the model, the service, a policy or the length in tokens: no single part causes it. */
  | { readonly class: "elsewhere" }
  /** The words are not in the table. */
  | { readonly class: "unknown" };

interface Wording {
  readonly says: RegExp;
  readonly means: "form" | "elsewhere" | "media" | "reasoning" | "pair" | "blank" | "text";
  /** Also applies to status 413, which servers send for too many bytes and for too many tokens a minute. */
  readonly any413?: true;
  /** Ignores the paths in the texts, whose members are such words. */
  readonly noPaths?: true;
}

/** The first row that matches applies. Rows of media are between `beforeMedia` and `afterMedia`. */
const beforeMedia: readonly Wording[] = [
  // Groq's 413 is one of these: "Request too large for model … on tokens per minute (TPM)".
  // https://github.com/openai/codex/issues/690, https://console.groq.com/docs/rate-limits.
  {
    says: /rate.?limit|too many requests|\bquota|resource.?exhausted|(?:tokens|requests|images) per (?:minute|day|hour)/i,
    means: "elsewhere",
    any413: true,
  },
  {
    says: /api[ _-]?key|authenti|unauthori[sz]ed|permission|(?<!extra_)forbidden|credit balance|billing|payment|insufficient (?:balance|credits?|funds)|not enabled for (?:your|this) (?:account|organi[sz]ation|project)|must be verified/i,
    means: "elsewhere",
    any413: true,
  },
  // Plans: "File storage limit exceeded for organization", "upgrade your plan".
  {
    says: /\b(?:your|this) (?:account|organi[sz]ation|project|workspace|plan|subscription|tier)\b.{0,40}(?:not (?:allowed|permitted|enabled|entitled|includ|support)|(?:does not|n't) (?:allow|includ|permit|support)|has been|cannot|(?:is|are) (?:disabled|suspended|blocked|limited))|upgrade (?:your|to an?) .{0,20}(?:plan|tier|account)|\b(?:free|trial|basic) (?:tier|plan|account)|storage limit/i,
    means: "elsewhere",
    any413: true,
  },
  { says: /overloaded|temporarily unavailable|service unavailable|server is busy/i, means: "elsewhere" },

  // Markers: "messages.13.content.0.thinking.cache_control: Extra inputs are not permitted",
  // "A maximum of 4 blocks with cache_control may be provided", "a ttl='1h' cache_control block must not come
  // after a ttl='5m'". Wei-Shaw/sub2api/issues/225 and 176, headroomlabs-ai/headroom/issues/2939,
  // zhukunpenglinyutong/jetbrains-cc-gui/issues/844.
  {
    says: /cache_?control|cache_?point|cache[ _]breakpoint|prompt_?cach|\bttl\b|\bephemeral\b/i,
    means: "form",
  },
  // Unknown members: Anthropic, Mistral, Groq, Gemini, OpenAI, xAI. charmbracelet/crush/issues/1590,
  // janhq/jan/issues/8136, google-gemini/gemini-cli/issues/13972, teabranch/open-responses-server/issues/41.
  {
    says: /extra (?:inputs?|fields?|keys?|propert(?:y|ies)|parameters?)\b.{0,20}\b(?:not|forbidden)\b|extra_forbidden|(?:unknown|unrecogni[sz]ed|unexpected|unsupported|undefined|unidentified) (?:request )?(?:parameter|name|fields?|arguments?|keyword|property|properties|keys?|members?|option|attribute)\b|unknown_parameter|unsupported_parameter|additional ?propert|propert(?:y|ies) .{1,120} (?:is|are) (?:not supported|unsupported|not allowed)|cannot find field|no such field|field .{1,60} (?:is )?not (?:supported|allowed|recogni[sz]ed)|(?<!mime_?type )parameter .{1,60} not (?:supported|allowed|recogni[sz]ed)/i,
    means: "form",
  },
  // Types of blocks: "Input tag 'foo' found using 'type' does not match any of the expected tags", "Supported
  // values are: 'input_text', 'input_image'": simonw/llm-openai-plugin/issues/14. The type of a file is content.
  {
    says: /expected tags|input tag|\.type\W{1,3}input should be|supported values are.{0,100}put_text|invalid value(?!\W{1,4}\w{0,6}(?:image|file|document))\W{1,4}.{0,60}supported values/i,
    means: "form",
  },
  { says: /(?:media_?type|mime_?type)\W{1,3}(?:\w{1,20}: )?input should be/i, means: "media" },
  // The header of the request: servers answer 415.
  { says: /content-type\b.{0,40}(?:header|must|application\/)|application\/json/i, means: "form" },
  // Prefill: Claude from 4.6 on. smallmain/vscode-unify-chat-provider/issues/249.
  { says: /prefill|trailing (?:white ?)?space/i, means: "form" },

  // Signatures: "Invalid `signature` in `thinking` block", "thinking.signature: Field required", "blocks in the
  // latest assistant message cannot be modified". anthropics/claude-code/issues/10627 and 63284,
  // router-for-me/CLIProxyAPI/issues/714. Encrypted reasoning: openai/codex/issues/8145,
  // anomalyco/opencode/issues/5104. The Interactions API: "Invalid input at 'input[0].content[0].processing'",
  // a recording of vercel/ai.
  {
    says: /invalid (?:input|value) at \W{0,2}[\w.[\]]{1,100}signature|(?:invalid|corrupted|malformed|expired|bad|unverifiable|wrong)\W{1,3}(?:thought|thinking|reasoning)?[ _`]{0,3}signature|signature\b(?!.{0,40}missing).{0,60}(?:invalid|field required|mismatch|does not match|not valid|verif|corrupt|tamper|decod)|(?:thinking|reasoning)\b.{0,80}(?:cannot|can't|must not|may not) be (?:modified|changed|edited|altered)|encrypted[ _]content\b.{0,200}(?:could not|cannot|can't|invalid|failed|unable)|invalid_encrypted_content|(?:could not|cannot|failed to|unable to) (?:verify|decrypt|decode).{0,60}(?:reasoning|thinking|signature|encrypted)|each thinking block must|(?:thinking|reasoning) blocks?\b.{0,40}(?:different|another|other) model/i,
    means: "reasoning",
  },

  // Configuration. "json_schema", "tools.0.custom.input_schema", "toolConfig field must be defined":
  // openai/openai-python/issues/2024, vxcontrol/pentagi/pull/196.
  {
    says: /max_?(?:output_?|completion_?)?tokens|\btemperature\b|\btop_?[pk]\b|tool_?choice|parallel_tool|stop_?sequences?|response_?format|(?:json|input|response)[ _]?schema|schema for|service_tier|generation_?config|anthropic[-_](?:version|beta)|\bbetas?\b|stream_options|\btools?[.[]\d|function_?declarations|tool_?config|inference_?config|thinking_?config|budget_tokens|thinking\.(?:type|enabled|budget|adaptive)|reasoning[_.]effort|previous_response|image[ _]?generation|file_search|code_interpreter|web_search|media_?resolution|output modalit|response_?(?:modalit|mime)|safety_?settings|frequency_penalty|presence_penalty|logprobs|container_id|\bcitations?\b/i,
    means: "form",
  },
  // "Expected `thinking` or `redacted_thinking`, but found `text`", "The `reasoning_content` in the thinking
  // mode must be passed back", "Function call is missing a thought_signature in functionCall parts":
  // lbjlaq/Antigravity-Manager/issues/139, earendil-works/pi/issues/3636, MayDay-wpf/snow-cli/issues/104.
  {
    says: /expected\W{1,3}(?:redacted_)?thinking|must start with a thinking|reasoning_content|reasoning_details|missing.{0,20}thought_?signature|thought_?signature.{0,40}(?:missing|required)|thinking (?:mode|is enabled|is required|is not supported)|when\W{1,3}thinking\W{1,3}is enabled/i,
    means: "form",
  },

  // Pairs of calls and results, and items of Responses that need each other: anthropics/claude-code/issues/2157,
  // strands-agents/harness-sdk/issues/1435, camel-ai/camel/issues/3954, BerriAI/litellm/issues/10083,
  // partITech/php-mistral/issues/57, openai/openai-agents-python/issues/1660.
  {
    says: /tool_?use_?ids?\b|tool_?call_?ids?\b|\bcall_?ids?\b|\btool_?use\b.{0,60}\b(?:ids?|blocks?|without|result)|tool_?results?\b|tool_?calls\b.{0,20}must be followed|no tool (?:output|call|result)|(?:function|tool) (?:calls?|responses?|results?|outputs?)\b.{0,80}\b(?:ids?|same number|equal|match|missing|without|unexpected|not found|no corresponding)|(?:number of|unexpected|orphan(?:ed)?|unmatched|duplicate) (?:tool|function)|required following item|required (?:reasoning|preceding|previous) item|duplicate item|items? with id|tool messages?\b|\brole\W{1,3}tool\b.{0,40}(?:response|follow|preced)/i,
    means: "pair",
    noPaths: true,
  },
  // Roles and their order: FlowiseAI/Flowise/issues/2006, microsoft/semantic-kernel/issues/10281,
  // NousResearch/hermes-agent/pull/50055.
  {
    says: /\broles?\b(?!:user\W{1,3}the following must be satisfied\W{1,4}messages\.\d{1,6}\.content\W{1,5}value must be a string).{0,80}(?:alternate|must|expected|invalid|unexpected|unknown|supported|should|input)|(?:unexpected|valid|unknown|expected|unsupported|must use the|must be|only).{0,30}\broles?\b|(?<!(?:url|data|images?|file|base64)\W{1,2})must (?:start|begin|end) with|(?:first|last|final) (?:message|turn|assistant)\b.{0,30}(?:must|should|cannot)|must alternate|(?:consecutive|successive) (?:user|assistant|messages?|turns?|roles?)|immediately after a user turn/i,
    means: "form",
  },
  // Blank text: anthropics/claude-code/issues/23440, aws-samples/bedrock-engineer/issues/8.
  {
    says: /(?:text|content)\b.{0,80}(?:non-?empty|non-?white|is blank|is empty|(?:must|can|may|should)(?:not| not|n't) be (?:blank|empty))|empty (?:text|content)|blank text/i,
    means: "blank",
    noPaths: true,
  },
  // Ids and names are written by the library: rusiaaman/wcgw/issues/51.
  { says: /(?:[._]|\b)(?:id|name|title|description)\W{1,4}string (?:is )?too long/i, means: "form" },
  {
    says: /(?:maximum|exceed).{0,40}context|context[ _](?:window|length)|context_length|(?:prompt|input) is too long/i,
    means: "elsewhere",
  },
  // "string_above_max_length", "string too long. Expected a string with maximum length 1048576":
  // rusiaaman/wcgw/issues/51.
  { says: /string_above_max_length|(?:string|text)\b.{0,20} too long|too many characters/i, means: "text" },
];

const afterMedia: readonly Wording[] = [
  {
    says: /\btokens?\b|context[ _](?:window|length|limit|size)|context_length|(?:prompt|input|conversation) is too long/i,
    means: "elsewhere",
  },
  // "404 model not found", Bedrock's "on-demand throughput isn't supported … inference profile".
  {
    says: /\bmodels?\b.{0,120}(?:not found|not exist|n't exist|not available|no longer|deprecated|decommission|retired|not supported|unsupported|no access|not have access)|(?:unknown|invalid|no such|unsupported) model|model_not_found|no endpoints found|inference profile/i,
    means: "elsewhere",
  },
  {
    says: /content[ _](?:filter|polic|management)|moderation|flagged|\bsafety\b|usage polic|prohibited/i,
    means: "elsewhere",
  },
  // Shapes: pydantic, zod, serde and OpenAI. danny-avila/LibreChat/issues/11761, vercel/ai/issues/8815.
  {
    says: /field required|input should be|invalid[ _]type|expected (?:an?(?! valid (?:url|image|base64|data))|one of|string|object|array|number|boolean)\b|missing required|(?:value|content|must be) .{0,20}(?:a|an)? ?(?:valid )?(?:string|object|array|list|dictionary|number|boolean)\b|is required|unknown variant|invalid json|(?:failed|unable) to (?:parse|deserialize)|supported values are|invalid_union/i,
    means: "form",
  },
];

const image = String.raw`(?<![\w./-])(?:images?|pictures?|photos?|screenshots?|image_url|input_image|png|jpe?g|gif|webp|heic|avif)(?![\w-])|图片|图像|画像`;
const document = String.raw`(?<![\w./-])(?:pdfs?|documents?|docx?|pptx?|xlsx?)(?![\w-])|文档`;
const medium = String.raw`(?<![\w./-])(?:files?|media|multi-?modal|base64|inline_?data|file_?(?:data|id|uri|url)|input_file|attachments?|mime[ _]?types?|download(?:ing|ed)?|vision)(?![\w-])|文件|附件`;
const anyMedium = `(?:${image}|${document}|${medium})`;
const fault = String.raw`(?:could(?: not|n't)|can(?:not| not|'t)|unable|fail(?:ed|ure|s)?\b|invalid|illegal|unsupported|no such|not? (?:a |an |be )?(?:valid|supported|allowed|enabled|recogni[sz]ed|accepted|found|readable|accessible|an?\b|image|document|pdf|pages)|(?:not|n't) (?:support|accept|recogni)|corrupt|malformed|broken|damaged|truncated|incomplete|unreadable|unrecogni[sz]ed|exceed|too (?:large|big|small|long|many|high|wide|tall)|(?:larger|bigger|smaller|greater|more) than|maximum|minimum|\bmax\b|expected an? (?:base64|data url)|at (?:most|least)|limit|empty|(?:zero|\b0) bytes|encrypt|password|does(?: not|n't) (?:match|represent|contain)|do not match|appears to be|mismatch|but got|unknown(?= (?:\w{1,12} )?(?:format|type))|unexpected|error|timeout|rejected|violat|not safe|unsafe|must (?:be|have|not|start|begin)|missing|\bbad\b|\bwrong\b|错误|失败|不支持|无法|损坏)`;

/** A model or a server that reads none of a kind. A group is the type of the part in the request. */
const unread: readonly RegExp[] = [
  // "does not support vision", "don't accept image inputs".
  /(?:\bnot|n't) (?:yet )?(?:support|accept)s? (?:any )?(?:images?|vision|pdfs?|documents?|multi-?modal)(?: (?:inputs?|content|messages|urls?|uploads?))?(?![\w/-]|.{0,16}(?:format|type|size|larger|bigger|over|above|more|exceed|dimension|with|than))/i,
  // "this model does not support image input", "This model doesn't support the image content block":
  // ollama/ollama/issues/17301, anomalyco/opencode/issues/47994, langchain-ai/langchain-aws/issues/332.
  new RegExp(
    String.raw`\b(?:models?|endpoints?|servers?|providers?|deployment|api|service)\b[^:\n]{0,80}(?:(?<!could )\bnot?\b|(?<!could)n't|cannot|without).{0,30}(?:support|accept|allow|enabl|handle|process|see|take|read|have|able)\w{0,8}\b.{0,40}(?:${image}|${document}|multi-?modal|vision|file input)(?!/|.{0,16}(?:format|type|size|url|larger|bigger|over|above|more|exceed|dimension|with|than))`,
    "i",
  ),
  // "image input is not supported - hint: … mmproj", "Image inputs are not supported by this model":
  // ggml-org/llama.cpp/issues/13566 and 15377.
  new RegExp(
    String.raw`(?:${image}|${document}|file|vision|multi-?modal)[ -]?(?:inputs?|content|understanding|modality|messages|uploads?|attachments)[^\w:]{0,3}(?:(?:is|are) )?(?:currently )?(?:not|un)\s?(?:supported|enabled|allowed|available|accepted)(?! (?:\w{1,12} )?(?:format|type|size))`,
    "i",
  ),
  /(?<![\w./-])(?:images?|image_url|input_image|pictures?|pdfs?|documents?|files|vision) (?:(?:is|are) )?(?:currently )?(?:not|un)\s?(?:supported|enabled|allowed|available|accepted) (?:by|for|with|on|in) (?:this|the|your) (?:\w{1,20} )?(?:model|server|endpoint|deployment|provider)/i,
  // "Invalid content type. image_url is only supported by certain models":
  // roboflow/awesome-openai-vision-api-experiments/issues/11.
  new RegExp(`${anyMedium}.{0,40}only supported by (?:certain|some|specific)`, "i"),
  // "当前模型不支持图片输入"
  /(?:不支持|无法处理|不能处理)(?:图片|图像|多模态|视觉)(?!.{0,4}(?:格式|类型|大小|尺寸|链接))/,
  // DeepSeek: yilewang/llm-for-zotero/issues/143.
  /unknown variant\W{1,4}(\w{0,6}image\w{0,4}|\w{0,6}file|document)\b/i,
  // OpenRouter: openclaw/openclaw/pull/99079.
  /no endpoints found that (?:can )?(?:support|accept|handle)s? (?:image|file|pdf|document|vision|multi-?modal)/i,
  // vLLM: studio-dots-ai/dots.ocr/issues/61. Ollama and LM Studio say the like.
  /(?:not an? (?:multi-?modal|vision)|text-only)(?: \w{1,20})? (?:model|endpoint)|(?:only (?:supports?|accepts?|process(?:es)?|handles?|takes?|reads?) text(?!\/)|\bmmproj\b|not compiled for multi-?modal)/i,
  // llama.cpp and vLLM: ggml-org/llama.cpp/issues/12947, vllm-project/vllm/pull/57774.
  /unsupported (?:chat )?(?:message )?(?:content|part)[ _](?:part |block )?type\W{1,5}(\w{0,6}image\w{0,4}|\w{0,6}file|document)\b/i,
  // Qwen: QwenLM/qwen-code/issues/1888.
  /invalid value\W{1,4}(\w{0,6}image\w{0,4}|\w{0,6}file|document)\W{1,4}supported values/i,
];

/** Groq, whose text models accept no list of parts, which only media need: vercel/ai/issues/2837. */
const stringOnly =
  /messages?\[\d{1,6}\]\.content must be a string|role:user\W{1,3}the following must be satisfied\W{1,4}messages\.\d{1,6}\.content\W{1,5}value must be a string/;

/**
 * More media than a request may have: "At most 1 image(s) may be provided in one request", "supports at most 1
 * image per prompt", "Too many images". vllm-project/vllm/issues/9739, diegosouzapw/OmniRoute/issues/3044.
 */
const counted =
  /(?:at most|up to|max(?:imum)?(?: of)?|limit(?:ed)?(?: of| to| is)?|only|more than|over|exceeds?) (\d{1,6}) (?:\w{1,12} ){0,2}(?:images?|pictures?|files?|documents?|pdfs|media|attachments)\b(?! ?(?:pixels|bytes|pages|[km]b))|(?:too many|maximum number of|number of|count of) (?:\w{1,12} ){0,2}(?:images|pictures|files|documents|pdfs|media|attachments)\b/i;

const nearFault = [
  new RegExp(`${anyMedium}.{0,160}${fault}`, "i"),
  new RegExp(`${fault}.{0,160}${anyMedium}`, "i"),
];
const ofImage = new RegExp(image, "i");
const ofDocument = new RegExp(document, "i");
/** Sizes in bytes. */
const ofSize =
  /too (?:large|big)|request_too_large|(?:exceed|maximum|limit|larger|over).{0,60}(?:\b(?:file|request|body|payload|entity)? ?size\b|\bbytes|payload|entity|\d ?[kmg]i?b\b)|(?:size|bytes|payload|entity|\d ?[kmg]i?b\b).{0,60}(?:exceed|maximum|limit|larger)/i;
/** Paths and addresses: their members are words such as `image`. */
const places = /https?:\/\/\S{1,2000}|\b\w{1,60}(?:\.\w{1,60}|\.?\[\d{1,9}\]){2,40}/g;
const maxWords = 4000;

/** The class of a refusal, by its words and status. */
export function refusalClass({ message, texts, status }: Rejection): RefusalClass {
  // The provider's own words first: a gateway can say much around them.
  const said = [message, ...texts].join("\n").slice(0, maxWords);
  const words = said.replace(places, " ");
  const is413 = status === 413;
  for (const wordings of [beforeMedia, undefined, afterMedia]) {
    if (wordings === undefined) {
      const media = aboutMedia(words, said);
      if (media !== undefined) return media;
      continue;
    }
    const row = wordings.find(
      ({ says, any413, noPaths }) =>
        (!is413 || any413 === true) && says.test(noPaths === true ? words : said),
    );
    if (row === undefined) continue;
    if (row.means === "form" || row.means === "elsewhere") return { class: row.means };
    return { class: "content", kind: row.means, guilty: "one" };
  }
  if (is413 || ofSize.test(words)) return { class: "content", kind: "media", guilty: "largest" };
  return { class: "unknown" };
}

function aboutMedia(words: string, said: string): RefusalClass | undefined {
  const kind = kindIn(words, said);
  const none = unread.map((wording) => wording.exec(words)).find((found) => found !== null);
  if (none !== undefined) {
    const [, type] = none;
    const ofType = type === undefined ? kind : /image/i.test(type) ? "image" : "document";
    return { class: "content", kind: ofType, guilty: "every" };
  }
  if (stringOnly.test(said)) return { class: "content", kind: "media", guilty: "every" };
  const count = counted.exec(words);
  if (count !== null) {
    const most = count[1] ?? /(?:max(?:imum)?|limit|most|>|of|is)\D{0,12}(\d{1,6})/i.exec(words)?.[1];
    if (most === "0") return { class: "content", kind, guilty: "every" };
    return { class: "content", kind, guilty: "count", ...(most === undefined ? {} : { most: Number(most) }) };
  }
  if (!nearFault.some((wording) => wording.test(words))) return undefined;
  return { class: "content", kind, guilty: ofSize.test(words) ? "largest" : "one" };
}

function kindIn(words: string, said: string): RefusedKind {
  const [asImage, asDocument] = [ofImage.exec(words), ofDocument.exec(words)];
  if (asImage === null && asDocument === null) {
    if (/[.\]](?:image|image_url|input_image)\b/.test(said)) return "image";
    if (/[.\]](?:document|pdf)\b/.test(said)) return "document";
    return /\bvision\b/i.test(words) ? "image" : "media";
  }
  // "The PDF … images": the first one is the subject.
  if (asDocument === null) return "image";
  return asImage !== null && asImage.index < asDocument.index ? "image" : "document";
}

/** Members of a block that carry its media; a refusal of one is about the media. */
export const mediaMembers: ReadonlySet<string> = new Set([
  "bytes",
  "base64",
  "data",
  "file_data",
  "fileData",
  "file_id",
  "file_uri",
  "fileUri",
  "format",
  "image",
  "image_url",
  "document",
  "input_image",
  "inline_data",
  "inlineData",
  "media_type",
  "mime_type",
  "mimeType",
  "pdf",
  "source",
  "url",
]);
