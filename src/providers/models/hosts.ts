/** The one table of hosts: who serves models, under which names, and whose price it asks. */

/** Facts about a provider that serves models. */
interface Host {
  /** Other names in agents, frameworks and gateways. */
  readonly aliases?: readonly string[];
  /** It asks the maker's price for models without a row of its own: of all makers, or of these. */
  readonly asksMakersPrice?: true | readonly string[];
  /** It reads PDFs itself for models that read text alone. */
  readonly readsFiles?: true;
}

/** By the provider's name in messages, as in pi. */
const hosts: Readonly<Record<string, Host>> = {
  anthropic: {},
  openai: {},
  google: { aliases: ["gemini", "google-generative-ai", "google-gemini-cli"] },
  // Claude at the global endpoint; regional ones cost a tenth more since Sonnet 4.5:
  // https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai, read 2026-11-28.
  "google-vertex": {
    aliases: ["vertex", "vertex_ai", "vertexai", "google-vertex-anthropic"],
    asksMakersPrice: ["google", "anthropic"],
  },
  // Document chat of text models, such as Jamba, Llama and Titan:
  // https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-supported-models-features.html,
  // read 2026-11-28.
  "amazon-bedrock": { aliases: ["bedrock", "bedrock_converse", "aws-bedrock"], readsFiles: true },
  azure: { aliases: ["azure-openai", "azure-openai-responses", "azure_ai"], asksMakersPrice: ["openai"] },
  "openai-codex": { asksMakersPrice: ["openai"] },
  "github-copilot": { aliases: ["copilot", "github"] },
  // https://openrouter.ai/docs/faq.md, read 2026-11-22: no markup. PDFs "on any model":
  // https://openrouter.ai/docs/features/multimodal/pdfs, read 2026-11-28.
  openrouter: { asksMakersPrice: ["anthropic", "openai", "google", "xai"], readsFiles: true },
  "vercel-ai-gateway": { aliases: ["vercel", "gateway"], asksMakersPrice: true },
  "cloudflare-ai-gateway": { asksMakersPrice: true },
  "cloudflare-workers-ai": { aliases: ["workers-ai"] },
  opencode: { asksMakersPrice: true },
  "opencode-go": { asksMakersPrice: true },
  radius: { asksMakersPrice: true },
  xai: { aliases: ["x-ai", "grok"] },
  mistral: { aliases: ["mistralai"] },
  deepseek: {},
  moonshotai: { aliases: ["moonshot", "kimi"] },
  "moonshotai-cn": { asksMakersPrice: ["moonshotai"] },
  "kimi-coding": { asksMakersPrice: ["moonshotai"] },
  zai: { aliases: ["z-ai", "z.ai", "zhipu", "zhipuai", "glm"] },
  "zai-coding-cn": { asksMakersPrice: ["zai"] },
  minimax: { aliases: ["minimaxi"] },
  "minimax-cn": { asksMakersPrice: ["minimax"] },
  qwen: { aliases: ["alibaba", "dashscope"] },
  cohere: {},
  meta: {},
  xiaomi: {},
  groq: {},
  cerebras: {},
  together: { aliases: ["togetherai", "together_ai", "together.ai"] },
  fireworks: { aliases: ["fireworks-ai", "fireworks_ai"] },
  baseten: {},
  huggingface: { aliases: ["hf"] },
  "ant-ling": {},
};

/** Made at the first question, so that a bundler drops an unused table. */
let byAlias: ReadonlyMap<string, string> | undefined;

function hostNamed(alias: string): string | undefined {
  byAlias ??= new Map(
    Object.entries(hosts).flatMap(([name, { aliases = [] }]) =>
      [name, ...aliases].map((each) => [each, name] as const),
    ),
  );
  return byAlias.get(alias);
}

/** The plain name of a provider, if the table has it, such as `amazon-bedrock` for `bedrock.anthropic.messages`. */
export function readProviderName(provider: string): string | undefined {
  const name = provider.toLowerCase();
  if (name.startsWith("google.vertex") || name.startsWith("vertex.")) return "google-vertex";
  return hostNamed(name) ?? hostNamed(name.split(".")[0] ?? name);
}

/** Whether a provider reads PDFs itself for models that read text alone. */
export function readsFiles(provider: string): boolean {
  return hosts[readProviderName(provider) ?? ""]?.readsFiles === true;
}

/** Whether a host asks a maker's own price. */
export function hostAsksPrice(host: string, maker: string): boolean {
  const { asksMakersPrice } = hosts[host] ?? {};
  return asksMakersPrice === true || (Array.isArray(asksMakersPrice) && asksMakersPrice.includes(maker));
}
