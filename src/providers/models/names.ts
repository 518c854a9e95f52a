/** The one reader of model names: what an API, a gateway, a cloud or an agent calls a model. */

/** What a model's name says. All forms of one model have the same `name`. */
export interface ModelName {
  /** In lower case, with dashes, without host, date and variant: `claude-opus-4-7`. */
  readonly name: string;
  /** The digits of a dated snapshot, such as `20250929`; empty for an alias. */
  readonly snapshot: string;
  /** The name without its version: `claude-opus` of `claude-opus-4-7`, `gpt-codex` of `gpt-5.2-codex`. */
  readonly family: string;
  /** Major times 100 plus minor: 407 of `claude-opus-4-7`. Absent without a version. */
  readonly version?: number;
  /** The maker that the name belongs to, as providers are called in messages. Absent if unknown. */
  readonly maker?: string;
  /** The area in an id of Amazon Bedrock: of an inference profile, such as `eu`, or `region` without one. */
  readonly bedrock?: string;
  /** The variant after a colon, such as `free` at OpenRouter. Sizes at Ollama belong to the name. */
  readonly variant?: string;
}

/** Longer names are no model's. The bound keeps all patterns linear. */
const maxNameLength = 256;

/**
 * Ids of Bedrock: an area of an inference profile, the maker, the model.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html, read 2026-11-22
 */
const bedrockId =
  /^(?:(global|geo|us-gov|us|eu|apac|au|jp|in|ca)\.)?(anthropic|amazon|meta|mistral|deepseek|qwen|openai|xai|google|moonshot|moonshotai|minimax|zai|nvidia|writer|cohere|ai21|stability|twelvelabs)\.(.{0,256})$/;

/** What stands before a model's name: a deployment's words, but no other model, whose name tells its teacher. */
const deployment =
  /^(?!(?:qwen|llama|gemma|deepseek|mistral|gpt|phi|glm|granite|nemotron|hermes|olmo|kimi|grok|smollm)).{1,100}?[-_.~](?=(?:claude|gemini)-)/;

/** The first words of makers' names. The first match counts. */
const makers: readonly (readonly [RegExp, string])[] = [
  [/^claude\b/, "anthropic"],
  // Open weights: the maker serves none.
  [/^gpt-oss\b/, "open-weights"],
  [/^(?:gpt|chatgpt|o[134]|codex|computer-use)\b/, "openai"],
  [/^gemini\b/, "google"],
  [/^(?:mistral|magistral|ministral|devstral|codestral|pixtral|voxtral|labs|open-mi)/, "mistral"],
  [/^deepseek\b/, "deepseek"],
  [/^(?:qwen|qwq|qvq)/, "qwen"],
  [/^(?:kimi|moonshot)/, "moonshotai"],
  [/^(?:glm|zai)\b/, "zai"],
  [/^(?:grok)\b/, "xai"],
  [/^minimax\b/, "minimax"],
  [/^(?:command|c4ai|aya|north)\b/, "cohere"],
  [/^(?:nova|titan)\b/, "amazon"],
  [/^muse\b/, "meta"],
  [/^mimo\b/, "xiaomi"],
];

/**
 * Reads the name of a model in any form: plain, dated, `-latest`, `claude-opus-4.7`, `claude-opus-4-7[1m]`,
 * `anthropic/claude-4.7-opus`, ids and ARNs of Bedrock, `claude-opus-4-7@20260401` and paths of Vertex AI,
 * `models/gemini-…`, `accounts/fireworks/models/glm-5p1`, `gpt-oss:20b`. Never throws.
 */
export function readModelName(model: string): ModelName {
  if (model.length > maxNameLength) return { name: model, snapshot: "", family: model };
  const written = model.trim().toLowerCase();
  const isGov = /(?:^|\/)(?:arn:aws-us-gov:|us-gov-(?:east|west)-\d\/)/.test(written);
  let name = (written.split("/").at(-1) ?? "").replace(/\[[^[\]]{0,20}\]$/, "");
  // OpenAI: `ft:gpt-4o-mini-2024-07-18:acme::abc123`.
  const tuned = /^ft:([^:]{1,100})(?::|$)/.exec(name)?.[1];
  if (tuned !== undefined) name = `${tuned}:ft`;
  const [, area, vendor, id] = bedrockId.exec(name) ?? [];
  if (id !== undefined) {
    // The `v2` of `claude-v2:1` is the model's version.
    name = id.replace(/(?<!^claude)(?:-v\d{1,2}|-\d{1,2}(?=:))(?::\d{1,2}(?::\w{1,8})?)?$/, "");
    // `deepseek.r1-v1:0`
    if (vendor === "deepseek" && /^[vr]\d/.test(name)) name = `deepseek-${name}`;
  }
  const colon = name.indexOf(":");
  const tag = colon === -1 ? "" : name.slice(colon + 1);
  if (colon !== -1) name = name.slice(0, colon) + (/^\d{1,4}(?:\.\d)?[bm]/.test(tag) ? `-${tag}` : "");
  const isVariant = tag !== "" && tag !== "latest" && !/^\d/.test(tag);
  name = name.replace(deployment, "").replace(/^[~@]/, "");
  // Aliases of Claude Code.
  name = name.replace(/^(?=(?:opus|sonnet|haiku)(?:-\d|$))/, "claude-");
  // Gateways and agents have a name for Claude with thinking; others have it for another model.
  const thinks = /^claude-.{1,100}-thinking$/.test(name);
  if (thinks) name = name.replace(/-thinking$/, "");
  const variant = isVariant ? tag : thinks ? "thinking" : undefined;
  const dated = splitSnapshot(name);
  name = plainName(dated.name);
  const { family, version } = splitVersion(name);
  const maker = makers.find(([words]) => words.test(name))?.[1];
  return {
    name,
    snapshot: dated.snapshot,
    family,
    ...(version !== undefined && { version }),
    ...(maker !== undefined && { maker }),
    ...(id !== undefined && { bedrock: isGov ? "us-gov" : (area ?? "region") }),
    ...(variant !== undefined && { variant }),
  };
}

/**
 * Whether two names can be of one model. A reply names the dated snapshot of an alias, such as
 * `gpt-5-2025-08-07` for `gpt-5`. Two snapshots of one alias are different models.
 */
export function isSameModel(a: string, b: string): boolean {
  const [one, other] = [readModelName(a), readModelName(b)];
  return (
    one.name === other.name &&
    (one.snapshot === "" || other.snapshot === "" || one.snapshot === other.snapshot)
  );
}

/** Whether a model is one of these: a name with a version is one model, a name without one a whole family. */
export function isOneOf(model: string, names: readonly string[]): boolean {
  const { name } = readModelName(model);
  return names.some((one) => {
    const wanted = readModelName(one);
    return name === wanted.name || (wanted.version === undefined && name.startsWith(`${wanted.name}-`));
  });
}

/** Splits off `-latest`, a date, a version of Vertex AI, or a month and day such as `-0905`. */
function splitSnapshot(name: string): { readonly name: string; readonly snapshot: string } {
  const suffix =
    /(?:-latest|@[\w-]{1,20}|-\d{8}|-\d{4}-\d{2}-\d{2}|-\d{2}-\d{4}|-\d{2}-\d{2}|-\d{4}|-00\d)$/.exec(
      name,
    )?.[0];
  if (suffix === undefined) return { name, snapshot: "" };
  return { name: name.slice(0, -suffix.length), snapshot: suffix.replace(/\D/g, "") };
}

/** One spelling: dashes, the version of Claude after its family, digits apart from the words of a family. */
function plainName(name: string): string {
  const dashed = name
    .replaceAll(/[._ ]/g, "-")
    .replaceAll(/(?<=\d)p(?=\d)/g, "-") // Fireworks writes `glm-5p1`.
    .replace(/^(?:meta-(?=llama)|zai-(?=glm)|nvidia-(?=nemotron))/, "")
    .replace(/^claude-v(?=\d)/, "claude-")
    .replace(/^((?:nova|claude)-[a-z\d-]{1,30})-v\d$/, "$1")
    .replace(/^(llama|qwen|gemma|phi|ernie)(?=\d)/, "$1-")
    .replace(/^gpt-35\b/, "gpt-3-5");
  return dashed
    .replace(/^claude-(\d{1,2}(?:-\d{1,2})?)-([a-z]{1,20})(?![a-z])/, "claude-$2-$1")
    .replace(/^(claude-[a-z]{1,20}-\d{1,2})-0(?!\d)/, "$1");
}

/** The first number that is neither a size, such as `27b`, nor a date, and the name without it. */
function splitVersion(name: string): { readonly family: string; readonly version?: number } {
  const found = /(?<!\d)(\d{1,2})(?!\d|b\b|x\d)(?:-(\d{1,2})(?!\d|b\b|x\d))?/.exec(name);
  if (found === null) return { family: name };
  const [all, major, minor = "0"] = found;
  // `deepseek-v3`, but not `glm-4.5v`.
  const rest = name.slice(0, found.index).replace(/-v$/, "") + name.slice(found.index + all.length);
  const family = rest.replaceAll(/-{2,4}/g, "-").replace(/-(?:preview|exp|beta)$|-$/, "");
  return { family, version: Number(major) * 100 + Number(minor) };
}
