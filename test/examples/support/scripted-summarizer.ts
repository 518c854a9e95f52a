import type { Generate } from "sessile/compaction";
import { estimateTextTokens } from "sessile/estimate";

/** What goes wrong when a model is asked: it fails, refuses, says nothing, or says more than it was shown. */
export type Fault = "error" | "overflow" | "empty" | "longer";

const charactersPerToken = 3;

/** A model for summaries. Each compaction has faults, which come first, one a call; then it picks out what was asked for. */
export class ScriptedSummarizer {
  readonly #plan: (readonly Fault[])[];
  #faults: Fault[] = [];
  #wasAsked = true;
  /** What it was shown. */
  readonly prompts: string[] = [];
  /** What went wrong so far. */
  readonly failed = new Set<Fault>();

  /** @param plan the faults of the first compaction, of the second, and so on */
  constructor(plan: readonly (readonly Fault[])[] = []) {
    this.#plan = [...plan];
  }

  /** A compaction begins. One that asks nothing leaves its faults to the next. */
  begin(): void {
    if (this.#wasAsked) this.#faults = [...(this.#plan.shift() ?? [])];
    this.#wasAsked = false;
  }

  readonly generate: Generate = async ({ system, text }, { maxTokens }) => {
    this.#wasAsked = true;
    this.prompts.push(text);
    const fault = this.#faults.shift();
    if (fault !== undefined) this.failed.add(fault);
    const input = estimateTextTokens(system) + estimateTextTokens(text);
    if (fault === "error") throw new Error("fetch failed", { cause: new Error("ECONNRESET") });
    if (fault === "overflow") throw tooLong(input);
    const answer =
      fault === "empty" ? " \n" : fault === "longer" ? longerThan(text) : summaryOf(text, maxTokens);
    const output = estimateTextTokens(answer);
    return {
      text: answer,
      usage: { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output },
    };
  };
}

/** In the words and the shape of Anthropic's client. */
function tooLong(tokens: number): Error {
  const message = `prompt is too long: ${tokens} tokens > ${Math.floor(tokens / 2)} maximum`;
  const error = { type: "error", error: { type: "invalid_request_error", message } };
  return Object.assign(new Error(`400 ${JSON.stringify(error)}`), { status: 400, error });
}

/** More than any context that it could stand for. */
function longerThan(text: string): string {
  return `All of it once more. ${text}\n`.repeat(1 + Math.ceil(2_000_000 / text.length));
}

/** What users said, from the conversation and from an earlier summary alike: first what is to be remembered, then the newest. */
function summaryOf(text: string, maxTokens: number): string {
  const asked = [...new Set(text.match(/Turn \d+: .*/g))];
  const lasting = asked.filter((line) => line.includes("remember"));
  const lines = ["## Goal", ...lasting.map((line) => `- ${line}`), "## Progress"];
  let room = maxTokens * charactersPerToken - lines.join("\n").length;
  const newest: string[] = [];
  for (const line of asked.filter((each) => !lasting.includes(each)).reverse()) {
    room -= line.length + 3;
    if (room < 0) break;
    newest.unshift(`- ${line}`);
  }
  return [...lines, ...newest].join("\n");
}
