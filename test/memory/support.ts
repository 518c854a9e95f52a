import {
  type AssistantMessage,
  assistantMessage,
  messageText,
  type Session,
  type ToolCall,
  type ToolResultMessage,
} from "sessile";
import type { SessionMemory, SharedText } from "sessile/memory";

export const model = { provider: "anthropic", model: "claude-opus-5-5" } as const;

let ids = 0;

/** A call of a model. */
export function callOf(name: string, args: unknown): ToolCall {
  return { type: "toolCall", id: `call_${++ids}`, name, arguments: args };
}

/** A reply with calls. */
export function replyWith(...calls: readonly ToolCall[]): AssistantMessage {
  return assistantMessage(model, ...calls);
}

/** One call of a model in a session, answered, and its result appended. */
export async function asked(
  session: Session,
  memory: SessionMemory,
  name: string,
  args: unknown,
): Promise<ToolResultMessage> {
  const call = callOf(name, args);
  await session.appendMessage(replyWith(call));
  const result = await memory.run(call);
  if (result === undefined) throw new Error(`${name} is no tool of the memory`);
  await session.appendMessage(result);
  return result;
}

export const told = (result: ToolResultMessage): string => messageText(result);

/** A shared text in memory, with a count of its writes as the version. */
export function sharedText(text = ""): SharedText & { text: string; version: number } {
  return {
    text,
    version: 0,
    async get() {
      return { text: this.text, version: String(this.version) };
    },
    async set(next, expected) {
      if (expected !== String(this.version)) return undefined;
      this.text = next;
      return String(++this.version);
    },
  };
}

/**
 * The program's own lines of a prompt, without the quoted ones: a reader of the form that the prompt has, which
 * shares no code with the renderer.
 */
export function programLines(system: string): readonly string[] {
  return system.split("\n").filter((line) => !line.startsWith("> ") && line !== ">");
}
