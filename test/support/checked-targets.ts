import { limitProfiles } from "sessile/limits";
import type { NeutralRequest, Part, Target } from "sessile/projections";
import { type AcpPromptOptions, acpPrompt } from "sessile/projections/acp";
import { type AiSdkMessages, aiSdkMessages } from "sessile/projections/ai-sdk";
import { type CodexExec, codexExec } from "sessile/projections/codex";
import { mcpContent } from "sessile/projections/mcp";
import { makerNames } from "../../src/projections/ai-sdk/maker-names.js";
import type { HazardMaker } from "../arbitraries/hazards.js";
import { everything } from "./providers/acp/rejected.js";
import { acpRules } from "./providers/acp/rules.js";
import { aiSdkRules } from "./providers/ai-sdk/rules.js";
import { checkedBedrock } from "./providers/bedrock/checked.js";
import { codexRules } from "./providers/codex/rules.js";
import { checkedGemini } from "./providers/gemini/checked.js";
import { mcpRules } from "./providers/mcp/rules.js";
import { breaches } from "./providers/rule.js";

/** A target, and what its provider has to say of what it gives. */
export interface CheckedTarget {
  readonly name: string;
  readonly target: Target<object>;
  /** Every breach of the provider's rules; none where it takes the request. */
  readonly breaches: (value: object) => readonly unknown[];
  /** Models that speak in the session, the target's own first. */
  readonly makers: readonly HazardMaker[];
  /** False where only the latest turn is sent. */
  readonly keepsPrefix: boolean;
  /** Instructions stand among the turns, so that others are another beginning. */
  readonly tellsInstructions?: true;
}

const foreign: HazardMaker = { provider: "elsewhere", model: "other-1", api: "other-api" };
const own: HazardMaker = { provider: "plain", model: "plain-1", api: "plain-api" };

/** The turns as they are, of a target with the most rules. */
const plain: Target<{ readonly system: readonly object[]; readonly turns: readonly object[] }> = {
  name: "plain",
  maker: own,
  accepts: { user: ["image/*", "application/pdf"], toolResult: ["image/png"] },
  rules: { trimsAssistant: true, refusesNul: true },
  limits: { profile: limitProfiles.anthropic },
  render: ({ system, turns }) => ({
    system: system.map(bare),
    turns: turns.map((turn) =>
      turn.role === "user"
        ? { ...turn, results: turn.results.map(bare), parts: turn.parts.map(bare) }
        : { ...turn, parts: turn.parts.map(bare) },
    ),
  }),
};

/** A part without where it comes from, which no provider is told. */
function bare(part: Part): object {
  if (part.type === "media") return { type: part.type, data: part.base64 };
  if (part.type === "reference") return { type: part.type };
  const { origin: _, ...rest } = part;
  if (rest.type === "call") return { ...rest, storedId: "" };
  return rest.type === "result" ? { ...rest, storedCallId: "", parts: rest.parts.map(bare) } : rest;
}

function plainBreaches(value: object): readonly string[] {
  const { system, turns } = value as NeutralRequest;
  const found: string[] = [];
  const check = (holds: boolean, problem: string) => {
    if (!holds) found.push(problem);
  };
  const ids = new Set<string>();
  let waiting: readonly string[] = [];
  check(turns[0]?.role === "user", "does not begin with the user");
  turns.forEach((turn, at) => {
    check(turn.role !== turns[at - 1]?.role, `${at}: does not alternate`);
    if (turn.role === "user") {
      check(turn.results.length + turn.parts.length > 0, `${at}: is empty`);
      check(
        JSON.stringify(turn.results.map(({ callId }) => callId)) === JSON.stringify(waiting),
        `${at}: does not answer its calls`,
      );
      for (const { parts } of turn.results) check(parts.length > 0, `${at}: a result is empty`);
      waiting = [];
      return;
    }
    check(turn.parts.length > 0, `${at}: is empty`);
    check(turn.parts.at(-1)?.type !== "reasoning", `${at}: ends in reasoning`);
    waiting = turn.parts.flatMap((part) => (part.type === "call" ? [part.id] : []));
    for (const id of waiting) {
      check(/^[A-Za-z0-9_-]{1,64}$/.test(id), `${at}: id ${id}`);
      check(!ids.has(id), `${at}: id ${id} twice`);
      ids.add(id);
    }
  });
  check(waiting.length === 0, "calls without an answer at the end");
  for (const part of [...system, ...turns.flatMap((turn): readonly Part[] => turn.parts)]) {
    if (part.type !== "text") continue;
    check(/\S/.test(part.text) && part.text.isWellFormed() && !part.text.includes("\0"), "bad text");
  }
  return found;
}

function acp(name: string, options: AcpPromptOptions, keepsPrefix: boolean): CheckedTarget {
  return {
    name,
    target: acpPrompt(options),
    breaches: (value) => {
      const prompt = "prompt" in value ? value.prompt : undefined;
      return breaches({ prompt, capabilities: options.capabilities ?? {} }, acpRules);
    },
    makers: [foreign],
    keepsPrefix,
    tellsInstructions: true,
  };
}

function codex(name: string, history: "latest" | "transcript", keepsPrefix: boolean): CheckedTarget {
  return {
    name,
    // What is in the value is the path, so that it shows by it which image it is.
    target: codexExec({ history, pathOf: ({ base64 }) => `/images/${base64}.png` }),
    breaches: (value) => breaches(value as CodexExec, codexRules),
    makers: [foreign],
    keepsPrefix,
    tellsInstructions: true,
  };
}

function aiSdk(provider: string, modelId: string): CheckedTarget {
  const opaque = (word: string) => ({
    type: "tool-call",
    toolCallId: word,
    toolName: "web_search",
    input: {},
    providerExecuted: true,
  });
  const signed = (word: string) => JSON.stringify({ anthropic: { signature: word } });
  const model: HazardMaker = { ...makerNames(provider, modelId), opaque, signed };
  return {
    name: `ai-sdk for ${provider}`,
    target: aiSdkMessages({ model: { provider, modelId } }),
    breaches: (value) => breaches({ provider, ...(value as AiSdkMessages) }, aiSdkRules),
    makers: [model, foreign],
    keepsPrefix: true,
  };
}

/** Every target, with what checks it. */
export const checkedTargets: readonly CheckedTarget[] = [
  { name: "plain", target: plain, breaches: plainBreaches, makers: [own, foreign], keepsPrefix: true },
  {
    name: "mcp",
    target: mcpContent(),
    breaches: (value) => breaches(value, mcpRules),
    makers: [foreign],
    keepsPrefix: true,
    tellsInstructions: true,
  },
  acp("acp, of everything", { capabilities: everything }, false),
  acp("acp, of text alone", {}, false),
  acp("acp, as a transcript", { capabilities: everything, history: "transcript" }, true),
  aiSdk("anthropic.messages", "claude-sonnet-4-5"),
  aiSdk("openai.chat", "gpt-5"),
  aiSdk("google.generative-ai", "gemini-3-pro"),
  codex("codex", "latest", false),
  codex("codex, as a transcript", "transcript", false),
  ...checkedGemini(foreign),
  ...checkedBedrock(foreign),
];
