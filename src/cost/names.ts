/** A model as a message names it. */
export interface ModelName {
  readonly provider?: string | undefined;
  readonly model: string;
}

/** Other names of providers: of pi, the AI SDK and the dialects of Chat Completions. */
const providers: Readonly<Record<string, string>> = {
  bedrock: "amazon-bedrock",
  gemini: "google",
  moonshot: "moonshotai",
};

/** Providers that serve other makers' open models under the makers' names: a name alone does not tell them apart. */
const hosts: ReadonlySet<string> = new Set(["groq", "cerebras"]);

/** @see https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html, read 2026-11-22 */
const bedrockName =
  /^(?:(global|us|eu|apac|au|jp|in|ca)\.)?anthropic\.(claude-[a-z0-9-]+?)(?:-v\d+)?(?::\d+)?$/;
const bedrockArn =
  /^arn:aws:bedrock:[a-z0-9-]*:\d*:(?:foundation-model|inference-profile|system-defined-inference-profile)\//;

/** Providers whose prices OpenRouter passes through whoever serves the model. */
const passedThrough: ReadonlySet<string> = new Set(["anthropic", "openai"]);

/**
 * The names under which a row of a model may stand, the most exact first: as it is, without a date, and by the
 * rules of the provider that the name is of.
 */
export function namesOf({ provider, model }: ModelName): readonly ModelName[] {
  const named = provider === undefined ? undefined : providerName(provider);
  const plain = model.replace(/^models\//, "").toLowerCase();
  const undated = withoutDate(plain);
  return [
    { provider, model },
    { provider, model: withoutDate(model) },
    { provider: named, model: plain },
    { provider: named, model: undated },
    { provider: named, model: undated.replace(/^(claude-(?:opus|sonnet)-4)-0$/, "$1") },
    ...bedrockNames(named, plain),
    ...routedNames(named, plain),
  ];
}

/** Whether a row of a provider is meant by a name: one without a provider means any but a host. */
export function isProvider(row: string | undefined, asked: string | undefined): boolean {
  if (row === undefined || row === asked) return true;
  return asked === undefined && !hosts.has(row);
}

/** Whether the name is the other with a date or a number of a snapshot behind it; `-5` is a version. */
export function isSnapshotOf(name: string, alias: string): boolean {
  return (
    name.startsWith(alias) &&
    /^[-@](?:\d{3,4}|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:\d{2})?)$/.test(name.slice(alias.length))
  );
}

/** The AI SDK names a provider with its API, as `openai.responses`; Vertex AI has prices of its own. */
function providerName(provider: string): string {
  const name = provider.startsWith("google.vertex") ? provider : (provider.split(".")[0] ?? provider);
  return Object.hasOwn(providers, name) ? (providers[name] ?? name) : name;
}

function withoutDate(model: string): string {
  return model.replace(/[-@]\d{4}-?\d{2}-?\d{2}$/, "");
}

/**
 * A model in one region has no name here: tables differ on whether it costs as a geography does. Before Claude
 * Sonnet 4.5 all endpoints cost the same.
 */
function bedrockNames(provider: string | undefined, model: string): readonly ModelName[] {
  if (provider !== undefined && provider !== "amazon-bedrock" && provider !== "anthropic") return [];
  const [, area, name] = bedrockName.exec(model.replace(bedrockArn, "")) ?? [];
  if (name === undefined) return [];
  const prefix = area === undefined ? "" : area === "global" ? "global." : "geo.";
  return [{ provider: "amazon-bedrock", model: `${prefix}anthropic.${withoutDate(name)}` }];
}

/**
 * OpenRouter's `maker/model`, which costs as at the maker; a variant as `:free` does not. It writes versions of
 * Claude with a point, and in replies before the family.
 *
 * @see https://openrouter.ai/docs/faq.md, read 2026-11-22
 */
function routedNames(provider: string | undefined, model: string): readonly ModelName[] {
  const [maker, name, ...more] = model.split("/");
  if (provider !== undefined && provider !== "openrouter") return [];
  if (maker === undefined || name === undefined || more.length > 0 || !passedThrough.has(maker)) return [];
  const undated = withoutDate(name);
  if (maker === "openai") return [name, undated].map((model) => ({ provider: maker, model }));
  const dashed = undated.replaceAll(".", "-");
  const turned = dashed.replace(/^claude-(\d+(?:-\d+)?)-([a-z]+)$/, "claude-$2-$1");
  return [dashed, turned].map((model) => ({ provider: maker, model }));
}
