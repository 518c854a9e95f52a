import {
  type Context,
  memoryBlobStore,
  memorySessionStore,
  project,
  type ReplayPolicy,
  type Session,
  type ThinkingBlock,
  type Usage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { replayAlways, replayCurrentTurn, replayWithin } from "sessile/attachments";
import {
  type CompactionStrategy,
  compact,
  contextTokens,
  planPrune,
  rollingSummary,
} from "sessile/compaction";
import { sessionCost, usageCost } from "sessile/cost";
import { estimateImageTokens, estimateResourceTokens, type ImageFamily } from "sessile/estimate";
import { geminiContents } from "sessile/gemini";
import { sessionMemory } from "sessile/memory";
import { openaiResponses } from "sessile/openai";
import { textEstimators } from "../src/content/estimate/text.js";
import { type Claim, printTarget, type Target } from "./support/claim.js";
import { codingSession, pdfPages, pictureSize, prose, type Round } from "./support/coding-session.js";
import { type CachingRules, PromptCache, type Unit } from "./support/prompt-cache.js";

const fitted = textEstimators.fitted;
/** A PDF of so many pages, by the size that the estimate gives a page. */
const pdf = { mediaType: "application/pdf", size: pdfPages * 50_000 };

const turns = 200;
/** The window by which a context is compacted, and the length of a summary. */
const window = 200_000;
const summaryCharacters = 6_000;
const system = prose(1, 12_000);

/** A model with the rules of its provider's cache; docs/reference/economics.md has their sources. */
interface Provider {
  readonly name: string;
  readonly model: string;
  readonly provider: string;
  /** By the name in the rows of the table. */
  readonly rules: Readonly<Record<string, CachingRules>>;
  readonly image: ImageFamily;
  readonly pdf: "anthropic" | "gemini";
  units(
    session: Session,
    sending: Sending,
    blobs: ReturnType<typeof memoryBlobStore>,
  ): Promise<readonly unknown[]>;
  /** What a reply has of so many characters of reasoning; absent for a model that does not bind it. */
  readonly thinks?: (text: string) => ThinkingBlock;
}

/** How a request is made. */
interface Sending {
  readonly replay: ReplayPolicy;
  readonly reasoning?: "all" | "current";
}

const claudeRules = { minimumTokens: 1024, granularity: "ends", lookback: 20, countsWrites: true } as const;

/** Reasoning items so far. */
let items = 0;

const providers: readonly Provider[] = [
  {
    name: "Claude Opus 5.5",
    provider: "anthropic",
    model: "claude-opus-5-5",
    image: "anthropicLarge",
    pdf: "anthropic",
    rules: {
      "5 min": { ...claudeRules, lifetimeSeconds: 300 },
      "1 h": { ...claudeRules, lifetimeSeconds: 3600, hour: true },
    },
    async units(session, { replay, reasoning }, blobs) {
      const target = anthropicMessages({
        model: "claude-opus-5-5",
        ...(reasoning === "current" ? { reasoning } : {}),
      });
      return (await project(await session.context(), target, { blobs, replay })).value.messages;
    },
    thinks: (thinking) => ({ type: "thinking", thinking, thinkingSignature: "c2lnbmVk" }),
  },
  {
    name: "GPT-6.2 Sol",
    provider: "openai",
    model: "gpt-6.2-sol",
    image: "openaiHigh",
    pdf: "anthropic",
    rules: {
      "30 min": { lifetimeSeconds: 1800, minimumTokens: 1024, granularity: "ends", countsWrites: true },
    },
    async units(session, { replay }, blobs) {
      const target = openaiResponses({ model: "gpt-6.2-sol" });
      return (await project(await session.context(), target, { blobs, replay })).value.input;
    },
    thinks: (thinking) => {
      const summary = [{ type: "summary_text", text: thinking }];
      const item = { type: "reasoning", id: `rs_${++items}`, summary, encrypted_content: "c2lnbmVk" };
      return { type: "thinking", thinking, thinkingSignature: JSON.stringify(item) };
    },
  },
  {
    name: "Gemini 2.5 Pro",
    provider: "google",
    model: "gemini-2.5-pro",
    image: "gemini2",
    pdf: "gemini",
    rules: {
      implicit: { lifetimeSeconds: 300, minimumTokens: 2048, granularity: "anywhere", countsWrites: false },
    },
    async units(session, { replay }, blobs) {
      const target = geminiContents({ model: "gemini-2.5-pro" });
      return (await project(await session.context(), target, { blobs, replay })).value.contents;
    },
  },
];

/** A choice of a harness. With `reasoning` each reply has reasoning, of which so much is sent. */
interface Setting extends Sending {
  readonly name: string;
  readonly prunes?: boolean;
  readonly strategy?: CompactionStrategy;
  /** The system's text is a memory, which is written after every fourth turn. */
  readonly memory?: "frozen" | "rendered at each write";
}

const within = replayWithin({ tokens: 20_000, images: 12, turns: 20 });
const policies = [
  ["replayAlways", replayAlways],
  ["replayCurrentTurn", replayCurrentTurn],
  ["replayWithin", within],
] as const;
const settings: readonly Setting[] = [
  ...policies.map(([name, replay]) => ({ name, replay })),
  ...policies.map(([name, replay]) => ({ name: `${name}, pruned`, replay, prunes: true })),
  ...policies.map(([name, replay]) => ({ name: `${name}, compacted`, replay, strategy: rollingSummary() })),
  ...(["frozen", "rendered at each write"] as const).map((memory) => ({
    ...{ name: `memory, ${memory}`, replay: replayCurrentTurn, strategy: rollingSummary(), memory },
  })),
  ...(
    [
      ["all reasoning, replayAlways", replayAlways, "all"],
      ["all reasoning, replayCurrentTurn", replayCurrentTurn, "all"],
      ["the turn's reasoning, replayCurrentTurn", replayCurrentTurn, "current"],
    ] as const
  ).map(([name, replay, reasoning]) => ({
    ...{ name: `${name}, compacted`, replay, reasoning, strategy: rollingSummary() },
  })),
];
/** Of each reply that has reasoning. */
const reasoningCharacters = 2_400;
/** Turns between two writes of a memory. */
const writeEvery = 4;
const recommended = "replayCurrentTurn, compacted";

/** The figures of one session. */
interface Outcome {
  /** By the rules of the cache: dollars, and bytes that were read from it. */
  readonly cached: ReadonlyMap<string, { readonly dollars: number; readonly readBytes: number }>;
  /** The same requests with no cache. */
  readonly uncached: number;
  readonly bytes: number;
  /** Bytes of each request that the one before it began with too. */
  readonly prefixBytes: number;
  readonly breaks: ReadonlyMap<string, readonly number[]>;
  /** Blocks of reasoning of the context, and those of its request, summed over all requests. */
  readonly reasoning: { readonly made: number; readonly sent: number };
}

export const economics: Claim = {
  name: "economics",
  title: `Cost of a generated coding session of ${turns} turns, at published prices`,
  async measure() {
    const blobs = memoryBlobStore();
    const rounds = await codingSession(turns, blobs);
    const lines: string[][] = [];
    const targets: Target[] = [];
    for (const provider of providers) {
      const measured = new Map<string, Outcome>();
      for (const setting of settings) {
        if (setting.reasoning !== undefined && provider.thinks === undefined) continue;
        if (setting.reasoning === "current" && provider.provider !== "anthropic") continue;
        measured.set(setting.name, await run(rounds, provider, setting, blobs));
      }
      const dearest = measured.get("replayAlways")?.uncached ?? Number.NaN;
      for (const [name, outcome] of measured) {
        for (const [lifetime, { dollars, readBytes }] of outcome.cached) {
          const rendered = measured.get("memory, rendered at each write")?.cached.get(lifetime);
          const own = [
            ...(name === recommended ? targetsOf(outcome, dollars, dearest) : []),
            ...(name === "memory, frozen" ? [frozenTarget(dollars, rendered?.dollars ?? Number.NaN)] : []),
          ];
          targets.push(...own);
          lines.push([
            `${provider.name}, ${lifetime}: ${name}`,
            `$${dollars.toFixed(2)}`,
            `1/${(dearest / dollars).toFixed(1)}`,
            percent(readBytes / outcome.bytes),
            percent(outcome.prefixBytes / outcome.bytes),
            [...printBreaks(outcome), ...printReasoning(outcome), ...own.map(printTarget)].join("; ") ||
              "none",
          ]);
        }
      }
    }
    const head = [
      "",
      "cost",
      "of replayAlways uncached",
      "bytes read from cache",
      "bytes of the previous prefix",
    ];
    return { head: [...head, "breaks of the prefix, targets"], lines, targets };
  },
};

function targetsOf({ prefixBytes, bytes }: Outcome, dollars: number, dearest: number): readonly Target[] {
  return [
    { text: "at most a fifth of replayAlways uncached", met: dollars <= dearest / 5 },
    { text: "95 % of bytes are the previous prefix", met: prefixBytes >= 0.95 * bytes },
  ];
}

function frozenTarget(dollars: number, rendered: number): Target {
  return {
    text: "at most three quarters of a prompt that is rendered at each write",
    met: dollars <= 0.75 * rendered,
  };
}

function printReasoning({ reasoning: { made, sent } }: Outcome): readonly string[] {
  return made === 0 ? [] : [`${percent(sent / made)} of the context's reasoning is sent`];
}

function printBreaks({ breaks }: Outcome): readonly string[] {
  return [...breaks].map(([why, at]) => {
    const shown = at.slice(0, 4).join(", ");
    return `${at.length} by ${why} (turn ${shown}${at.length > 4 ? " …" : ""})`;
  });
}

async function run(
  rounds: readonly Round[],
  provider: Provider,
  { strategy, prunes, memory: kept, ...sending }: Setting,
  blobs: ReturnType<typeof memoryBlobStore>,
): Promise<Outcome> {
  await using session = await memorySessionStore().create({ cwd: "/project" });
  const caches = Object.entries(provider.rules).map(([name, rules]) => ({
    ...{ name, cache: new PromptCache(rules) },
    ...{ dollars: 0, readBytes: 0 },
  }));
  const memory = sessionMemory(session, {
    blocks: [
      { label: "identity", text: system },
      { label: "facts", writable: true, maxTokens: 4_000 },
    ],
  });
  const unitOf = units(provider);
  const breaks = new Map<string, number[]>();
  const sums = { uncached: 0, bytes: 0, prefixBytes: 0 };
  const reasoning = { made: 0, sent: 0 };
  let previous: readonly Unit[] = [];
  let changed: string | undefined;
  for (const { turn, at, before, answer: plain } of rounds) {
    const thought = sending.reasoning && provider.thinks?.(prose(turn, reasoningCharacters));
    const answer = thought === undefined ? plain : { ...plain, content: [thought, ...plain.content] };
    for (const message of before) await session.appendMessage(message);
    const head = kept === undefined ? system : (await memory.prompt()).system;
    const now = [head, ...(await provider.units(session, sending, blobs))].map(unitOf);
    if (sending.reasoning !== undefined) {
      reasoning.made += blocksOfReasoning(await session.context());
      reasoning.sent += now.reduce((sum, unit) => sum + unit.reasoning, 0);
    }
    const shared = sharedUnits(previous, now);
    if (shared < previous.length) {
      const why = changed ?? "the policy leaving attachments out";
      breaks.set(why, [...(breaks.get(why) ?? []), turn]);
    }
    changed = undefined;
    previous = now;
    const output = outputTokens(answer.content);
    const usages = caches.map((each) => {
      const { prompt, readBytes } = each.cache.send(now, at);
      const usage: Usage = { ...prompt, output };
      each.dollars += usageCost(usage, provider)?.total ?? Number.NaN;
      each.readBytes += readBytes;
      return usage;
    });
    const input = now.reduce((sum, { tokens }) => sum + tokens, 0);
    sums.uncached += usageCost({ input, output, cacheRead: 0, cacheWrite: 0 }, provider)?.total ?? Number.NaN;
    sums.bytes += bytesOf(now);
    sums.prefixBytes += bytesOf(now.slice(0, shared));
    const { provider: name, model } = provider;
    const [usage] = usages as [Usage];
    const totalTokens = input + output;
    await session.appendMessage({ ...answer, provider: name, model, usage: { ...usage, totalTokens } });
    if (answer.stopReason === "toolUse") continue;
    if (prunes === true) {
      const plan = planPrune(await session.context());
      if (plan !== undefined) {
        await session.append(plan.drafts);
        changed = "pruning";
      }
    }
    if (kept !== undefined && turn % writeEvery === 0) {
      const { text } = await memory.get("facts");
      await memory.set("facts", `${text}\n${prose(turn, 80)}`);
      if (kept === "rendered at each write") {
        await memory.refresh();
        changed = "a write of the memory";
      }
    }
    if (strategy !== undefined && (await compacted(session, strategy))) changed = "compaction";
  }
  const { cost, summaries, unknown } = await sessionCost(session);
  const cached = new Map(
    caches.map(({ name, dollars, readBytes }) => [name, { dollars: dollars + summaries.total, readBytes }]),
  );
  const [first] = cached.values();
  if (unknown.length > 0 || Math.abs(cost.total - (first?.dollars ?? 0)) > 0.001)
    throw new Error(`the session costs ${cost.total}, its calls ${first?.dollars}`);
  return { ...sums, cached, breaks, reasoning };
}

async function compacted(session: Session, strategy: CompactionStrategy): Promise<boolean> {
  const context = await session.context();
  if (!strategy.shouldCompact(context, { window, tokens: contextTokens(context) })) return false;
  const text = prose(context.items.length, summaryCharacters);
  const { status } = await compact(session, {
    strategy,
    window,
    async generate(prompt) {
      const input = Math.ceil(fitted(prompt.system) + fitted(prompt.text));
      return { text, usage: { input, output: Math.ceil(fitted(text)), cacheRead: 0, cacheWrite: 0 } };
    },
  });
  return status === "compacted";
}

function sharedUnits(before: readonly Unit[], now: readonly Unit[]): number {
  const at = before.findIndex(({ id }, place) => now[place]?.id !== id);
  return at === -1 ? before.length : at;
}

/** Units by their text, each counted once. */
function units(provider: Provider): (value: unknown) => ThinkingUnit {
  const known = new Map<string, ThinkingUnit>();
  return (value) => {
    const text = JSON.stringify(value);
    const unit = known.get(text);
    if (unit !== undefined) return unit;
    const made = {
      id: known.size,
      tokens: Math.ceil(tokensIn(value, provider)),
      bytes: text.length,
      blocks: blocksIn(value),
      reasoning: text.match(/"type":"(?:thinking|reasoning)"/g)?.length ?? 0,
    };
    known.set(text, made);
    return made;
  };
}

/** A unit with the number of its blocks of reasoning. */
type ThinkingUnit = Unit & { readonly reasoning: number };

function blocksOfReasoning({ items: shown }: Context): number {
  return shown.reduce(
    (sum, { message }) =>
      message.role === "assistant"
        ? sum + message.content.filter(({ type }) => type === "thinking").length
        : sum,
    0,
  );
}

function blocksIn(value: unknown): number {
  const content = (value as { readonly content?: unknown }).content;
  return Array.isArray(content) ? content.length : 1;
}

/** Text by its runs, pictures and PDFs by the provider's rule: their base64 is known by how it begins. */
function tokensIn(value: unknown, provider: Provider): number {
  if (typeof value === "string") {
    const payload = value.startsWith("data:") ? value.slice(value.indexOf(",") + 1) : value;
    if (payload.startsWith("iVBORw0KGgo")) return estimateImageTokens(pictureSize, provider.image);
    if (payload.startsWith("JVBERi0")) return estimateResourceTokens(pdf, { pdf: provider.pdf });
    return fitted(value);
  }
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, member) => sum + tokensIn(member, provider), 0);
}

function outputTokens(content: unknown): number {
  return Math.ceil(fitted(JSON.stringify(content)));
}

function bytesOf(list: readonly Unit[]): number {
  return list.reduce((sum, { bytes }) => sum + bytes, 0);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
