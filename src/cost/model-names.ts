/** The names under which the price table may have a model. */

/** A model and its provider, as in a message. */
export interface ModelName {
  readonly provider?: string | undefined;
  readonly model: string;
}

/** Aliases of providers in pi, the AI SDK and the dialects of Chat Completions. */
const providers: Readonly<Record<string, string>> = {
  bedrock: "amazon-bedrock",
  gemini: "google",
  moonshot: "moonshotai",
};

/** Providers that serve open models of other makers, so that a model name does not identify the provider. */
const hosts: ReadonlySet<string> = new Set(["groq", "cerebras"]);

/**
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html, read 2026-11-22
 */
const bedrockName =
  /^(?:(global|us|eu|apac|au|jp|in|ca)\.)?anthropic\.(claude-[a-z0-9-]{1,100}?)(?:-v\d{1,4})?(?::\d{1,4})?$/;
const bedrockArn =
  /^arn:aws:bedrock:[a-z0-9-]{0,40}:\d{0,20}:(?:foundation-model|inference-profile|system-defined-inference-profile)\//;

/** Makers whose prices OpenRouter passes through, independent of the serving provider. */
const passedThrough: ReadonlySet<string> = new Set(["anthropic", "openai"]);

/**
 * The names under which the table may have a model, the most exact first: unchanged, without a date, and by
 * the naming rules of the provider.
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

/** Whether a row matches a provider. A model without a provider matches all rows except those of hosts. */
export function isProvider(row: string | undefined, asked: string | undefined): boolean {
  if (row === undefined || row === asked) return true;
  return asked === undefined && !hosts.has(row);
}

/**
 * Whether the name is the alias with the suffix of a snapshot: a date or a number. A suffix like `-5` is a
 * version.
 */
export function isSnapshotOf(name: string, alias: string): boolean {
  return (
    name.startsWith(alias) &&
    /^[-@](?:\d{3,4}|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:\d{2})?)$/.test(name.slice(alias.length))
  );
}

/**
 * Removes the API from names of the AI SDK, such as `openai.responses`. Vertex AI stays: its prices differ.
 */
function providerName(provider: string): string {
  const name = provider.startsWith("google.vertex") ? provider : (provider.split(".")[0] ?? provider);
  return Object.hasOwn(providers, name) ? (providers[name] ?? name) : name;
}

function withoutDate(model: string): string {
  return model.replace(/[-@]\d{4}-?\d{2}-?\d{2}$/, "");
}

/**
 * Names of Bedrock: inference profiles and foundation models. A model in a single region has no name here,
 * because sources differ on its price. Before Claude Sonnet 4.5 all endpoints cost the same.
 */
function bedrockNames(provider: string | undefined, model: string): readonly ModelName[] {
  if (provider !== undefined && provider !== "amazon-bedrock" && provider !== "anthropic") return [];
  const [, area, name] = bedrockName.exec(model.replace(bedrockArn, "")) ?? [];
  if (name === undefined) return [];
  const prefix = area === undefined ? "" : area === "global" ? "global." : "geo.";
  return [{ provider: "amazon-bedrock", model: `${prefix}anthropic.${withoutDate(name)}` }];
}

/**
 * Names of OpenRouter: `maker/model`, at the maker's price; variants such as `:free` differ. Versions of
 * Claude have a dot, and replies write the version before the family.
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
  const turned = dashed.replace(/^claude-(\d{1,4}(?:-\d{1,4})?)-([a-z]{1,40})$/, "claude-$2-$1");
  return [dashed, turned].map((model) => ({ provider: maker, model }));
}
