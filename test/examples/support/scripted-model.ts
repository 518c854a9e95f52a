import { isDeepStrictEqual } from "node:util";
import {
  assistantMessage,
  type Context,
  type ContextMessage,
  type ToolCall,
  type ToolResultMessage,
  toolPairs,
} from "sessile";
import { estimateMessageTokens } from "sessile/estimate";
import type { Task, Work } from "./scripted-work.js";

/**
 * A model that does tasks, and is as strict as a provider: it refuses what is too long, a call without its result and the
 * other way round, and a context without the user's newest message or with anything but one set of instructions.
 */
export class ScriptedModel {
  readonly #window: number;
  readonly #instructions: string;
  readonly #sizes = new WeakMap<ContextMessage, number>();
  #prompt = "";
  #work: ReturnType<Work> | undefined;
  #calls: readonly ToolCall[] = [];
  #made = 0;
  /** Refuses the next context as too long, whatever it is. */
  refuses = false;
  /** How often it made its calls again, since a compaction took the results away before it saw them. */
  repeated = 0;

  constructor(window: number, instructions: string) {
    this.#window = window;
    this.#instructions = instructions;
  }

  begin(task: Task): void {
    this.#prompt = task.prompt;
    this.#work = task.work?.();
    this.#calls = [];
  }

  async generate(context: Context) {
    const messages = context.items.map(({ message }) => message);
    const input = this.#checked(messages);
    const parts = this.#next(messages);
    const answer = assistantMessage({ provider: "scripted", model: "scripted" }, ...parts);
    const output = estimateMessageTokens(answer);
    return { ...answer, usage: { input, output, cacheRead: 0, cacheWrite: 0, totalTokens: input + output } };
  }

  #next(messages: readonly ContextMessage[]): readonly (string | ToolCall)[] {
    const calls = this.#wanted(messages);
    if (typeof calls === "string") return [calls];
    this.#calls = calls.map(({ name, arguments: args }) => {
      this.#made++;
      return { type: "toolCall", id: `call_${this.#made}`, name, arguments: args };
    });
    return this.#calls;
  }

  #wanted(messages: readonly ContextMessage[]): readonly Pick<ToolCall, "name" | "arguments">[] | string {
    const results = this.#calls.flatMap(({ id }) => messages.filter((message) => isResultOf(message, id)));
    if (results.length === this.#calls.length) {
      return this.#work?.next(results as ToolResultMessage[]).value ?? "Understood.";
    }
    this.repeated++;
    return this.#calls;
  }

  /** Gives what the messages come to, in tokens. */
  #checked(messages: readonly ContextMessage[]): number {
    const tokens = messages.reduce((sum, message) => sum + this.#sizeOf(message), 0);
    const window = this.refuses ? tokens - 1 : this.#window;
    this.refuses = false;
    if (tokens > window) throw new Error(`prompt is too long: ${tokens} tokens > ${window} maximum`);
    const { pairs, orphans } = toolPairs(messages);
    if (orphans.length > 0 || pairs.some(({ result }) => result === undefined)) {
      throw new Error("tool_use ids were found without tool_result blocks");
    }
    const said = messages.findLast(({ role }) => role === "user");
    if (said?.role !== "user" || said.content !== this.#prompt)
      throw new Error("the user's message is not there");
    const told = messages.flatMap((message) => (message.role === "custom" ? [message.content] : []));
    if (!isDeepStrictEqual(told, [this.#instructions])) {
      throw new Error(`instructions are there ${told.length} times`);
    }
    return tokens;
  }

  #sizeOf(message: ContextMessage): number {
    const size = this.#sizes.get(message) ?? estimateMessageTokens(message);
    this.#sizes.set(message, size);
    return size;
  }
}

function isResultOf(message: ContextMessage, id: string): boolean {
  return message.role === "toolResult" && message.toolCallId === id;
}
