import {
  type AssistantMessage,
  type Context,
  type EntryDraft,
  type Message,
  type Session,
  toolPairs,
  toolResult,
  userMessage,
} from "sessile";
import {
  type CompactionPlan,
  type CompactionResult,
  type CompactionStrategy,
  type CompactionTrigger,
  compact,
  type GeneratePrompt,
  planPrune,
  pruneThenSummarize,
  recentUserMessages,
  rollingSummary,
} from "sessile/compaction";
import { estimateMessageTokens } from "sessile/estimate";
import type { Call, ModelMood, Step } from "./sequences.js";

/** A strategy as a user may write one: it cuts anywhere, without a thought for pairs or pins. */
const careless = (share: number): CompactionStrategy => ({
  name: "careless",
  shouldCompact: (_, { window, tokens }) => tokens > window * 0.9,
  limit: (window) => Math.floor(window * 0.9),
  choose: ({ items }, { minimal }) => {
    const keepFrom = minimal ? items.length : Math.floor(items.length * share);
    const prompt = { system: "s", instructions: "i", update: "u", maxTokens: 100 };
    return { keepFrom, parts: [{ items: items.slice(0, keepFrom), prompt }] };
  },
});

const strategies = (tokens: number): readonly CompactionStrategy[] => [
  rollingSummary({ reserveTokens: Math.floor(tokens / 4), keepRecentTokens: Math.floor(tokens / 5) }),
  rollingSummary({ reserveTokens: 0, keepRecentTokens: Math.floor(tokens / 3) }),
  recentUserMessages({ keepUserTokens: Math.floor(tokens / 8) }),
  pruneThenSummarize({
    output: Math.max(1, Math.floor(tokens / 4)),
    skipTurns: 1,
    protectTokens: 20,
    minimumTokens: 10,
  }),
  careless(0.3),
  careless(0.8),
];

const triggers: readonly CompactionTrigger[] = ["manual", "pre-turn", "mid-turn", "overflow"];

/** What a compaction did, and what it found. */
export interface Compacted {
  readonly session: Session;
  readonly before: Context;
  readonly after: Context;
  /** undefined where it threw. */
  readonly result: CompactionResult | undefined;
  readonly error: unknown;
  readonly entriesBefore: number;
  readonly leafBefore: string | null;
  readonly prompts: readonly GeneratePrompt[];
  /** undefined where there was nothing to plan. */
  readonly plan: CompactionPlan | undefined;
  readonly trigger: CompactionTrigger;
  readonly reinject: boolean;
}

/** Plays steps on a session, and tells of each compaction. */
export async function play(
  session: Session,
  steps: readonly Step[],
  onCompacted: (compacted: Compacted) => unknown,
): Promise<void> {
  let clock = 0;
  let calls = 0;
  const text = (size: number, word: string) => `${word} ${"lorem ip ".repeat(Math.ceil(size / 2))}`;
  const add = (message: Message) => session.append([{ type: "message", message }]);
  for (const step of steps) {
    clock++;
    switch (step.do) {
      case "say":
        await add({ ...userMessage(text(step.size, `said${clock}`)), timestamp: clock });
        break;
      case "answer": {
        const made = step.calls.map((call) => ({ ...argumentsOf(call), id: `c${calls++}` }));
        const spent = { input: step.size, output: 10, cacheRead: 0, cacheWrite: 0 };
        const message: AssistantMessage = {
          role: "assistant",
          content: [
            { type: "text", text: text(step.size, `told${clock}`) },
            ...made.map((call) => ({ type: "toolCall" as const, ...call })),
          ],
          provider: "p",
          model: "m",
          stopReason: made.length > 0 ? "toolUse" : "stop",
          ...(step.usage ? { usage: spent } : {}),
          timestamp: clock,
        };
        await add(message);
        break;
      }
      case "result": {
        const open = openCalls(await session.context());
        const pending = open[step.which % Math.max(1, open.length)];
        if (pending === undefined) break;
        const result = toolResult(pending, text(step.size, `gave${clock}`));
        await add({ ...result, isError: step.isError, timestamp: clock });
        break;
      }
      case "bash":
        await add({
          role: "bashExecution",
          command: "ls",
          output: text(step.size, `ran${clock}`),
          cancelled: false,
          truncated: false,
          ...(step.size % 2 === 0 ? { excludeFromContext: true } : {}),
          timestamp: clock,
        });
        break;
      case "custom":
        await session.append([
          {
            type: "custom_message",
            customType: "x",
            content: text(step.size, `custom${clock}`),
            display: true,
          },
        ]);
        break;
      case "system":
        await add({ role: "system", content: text(step.size % 20, `system${clock}`), timestamp: clock });
        break;
      case "model":
        await session.append([{ type: "model_change", provider: "p", modelId: `m${step.size}` }]);
        break;
      case "label":
        if (session.leafId !== null) {
          await session.append([{ type: "label", targetId: session.leafId, label: `l${step.size}` }]);
        }
        break;
      case "edit": {
        const item = pick((await session.context()).items, step.which);
        if (item === undefined || item.origin === "summary" || item.origin === "system") break;
        await session.append([await editOf(session, item.entryId, step.to)]);
        break;
      }
      case "pin": {
        const item = pick((await session.context()).items, step.which);
        if (item === undefined || item.message.role === "system") break;
        await session.append([{ type: "context_pin", targetId: item.entryId, pinned: step.pinned }]);
        break;
      }
      case "view":
        await session.append([{ type: "resource_view", resourceId: `res_${step.which}` }]);
        break;
      case "branch": {
        const entries = [...(await session.tree()).walk()];
        const target = entries[step.which % Math.max(1, entries.length)];
        if (target !== undefined) await session.branch(target.node.id);
        break;
      }
      case "prune": {
        const plan = planPrune(await session.context(), {
          skipTurns: 1,
          protectTokens: 30,
          minimumTokens: 10,
        });
        if (plan !== undefined) await session.append(plan.drafts);
        break;
      }
      case "compact":
        await onCompacted(await compactOnce(session, step));
        break;
    }
  }
}

async function compactOnce(session: Session, step: Step & { readonly do: "compact" }): Promise<Compacted> {
  const before = await session.context();
  const entriesBefore = (await session.tree()).size;
  const leafBefore = session.leafId;
  const options = strategies(step.window);
  const prompts: GeneratePrompt[] = [];
  let result: CompactionResult | undefined;
  let error: unknown;
  let plan: CompactionPlan | undefined;
  const trigger = triggers[step.trigger % triggers.length] as CompactionTrigger;
  try {
    result = await compact(session, {
      strategy: options[step.strategy % options.length] as CompactionStrategy,
      window: step.window,
      trigger,
      generate: async (prompt) => {
        prompts.push(prompt);
        return { text: answerOf(step.model, prompts.length - 1) };
      },
      retry: { attempts: 2, delayMs: () => 0 },
      ...(step.reinject ? { initialContext: { content: "the rules" } } : {}),
      before: (made) => {
        plan = made;
        return undefined;
      },
    });
  } catch (thrown) {
    error = thrown;
  }
  const after = await session.context();
  return {
    session,
    before,
    after,
    result,
    error,
    entriesBefore,
    leafBefore,
    prompts,
    plan,
    trigger,
    reinject: step.reinject,
  };
}

function answerOf(moods: ModelMood, at: number): string {
  const mood = moods[at] ?? "good";
  if (mood === "fails") throw new Error("the service is down");
  if (mood === "overflow") throw new Error("prompt is too long: 9 tokens > 8 maximum");
  if (mood === "empty") return "  \n";
  return mood === "long" ? "so much more to say ".repeat(4000) : "What was done.";
}

function argumentsOf({ name, file }: Call) {
  const path = `f${file}.ts`;
  return { name, arguments: name === "write" ? { path, content: "x" } : { path } };
}

async function editOf(
  session: Session,
  targetId: string,
  to: "nothing" | "less" | "original",
): Promise<EntryDraft> {
  const entry = await session.entry(targetId);
  const message = entry?.type === "message" ? entry.message : undefined;
  const content = message !== undefined && "content" in message ? message.content : undefined;
  if (to === "nothing" || content === undefined) return { type: "context_edit", targetId, replacement: null };
  const less =
    message?.role === "assistant"
      ? [{ type: "text", text: "less" }]
      : [{ type: "text" as const, text: "less" }];
  return { type: "context_edit", targetId, replacement: { content: to === "less" ? less : content } };
}

function pick<T>(from: readonly T[], at: number): T | undefined {
  return from[at % Math.max(1, from.length)];
}

/** Calls of a context that have no result. */
function openCalls({ items }: Context) {
  const { pairs } = toolPairs(items.map(({ message }) => message));
  return pairs.flatMap(({ call, result }) => (result === undefined ? [call] : []));
}

/** Results without a call, and calls without a result. */
export function brokenPairs({ items }: Context): number {
  const { pairs, orphans } = toolPairs(items.map(({ message }) => message));
  return orphans.length + pairs.filter(({ result }) => result === undefined).length;
}

/** What all of a context is estimated at. */
export function estimateOf({ items }: Context): number {
  return Math.ceil(items.reduce((sum, { message }) => sum + estimateMessageTokens(message), 0));
}

/** The newest message of a user, by its entry. */
export function newestUser({ items }: Context): string | undefined {
  return items.findLast(({ message }) => message.role === "user")?.entryId;
}
