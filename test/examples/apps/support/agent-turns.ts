import { assistantMessage, type Context, messageText, type ToolCall } from "sessile";
import { type TetherSession, tetherImage, userMessageFrame } from "sessile/tether";
import type { Model } from "../../../../examples/apps/support/claude.js";
import { type AnswerFrame, tetherAgent } from "../../../../examples/apps/support/tether-agent.js";
import { to } from "../../../support/tether.js";

export const model = { provider: "scripted", model: "scripted-1" };

export function message(text: string, images: readonly Uint8Array[] = [], session: TetherSession = to) {
  return userMessageFrame(session, { text, images: images.map(tetherImage) });
}

/** The replies of a model, in order: text, calls, or a failure. */
export function saying(
  ...turns: readonly (readonly (string | ToolCall)[] | Error)[]
): Model & { contexts: Context[] } {
  const contexts: Context[] = [];
  return {
    contexts,
    async generate(context) {
      const parts = turns[contexts.length] ?? ["Yes."];
      contexts.push(context);
      if (parts instanceof Error) throw parts;
      return assistantMessage(model, ...parts);
    },
  };
}

export const echo: Model = {
  generate: async ({ items }) =>
    assistantMessage(model, `You said: ${messageText((items.at(-1) as (typeof items)[0]).message)}`),
};

export async function all(frames: AsyncIterable<AnswerFrame>): Promise<AnswerFrame[]> {
  const list: AnswerFrame[] = [];
  for await (const frame of frames) list.push(frame);
  return list;
}

export const textOf = (frames: readonly AnswerFrame[]) => frames.at(-1)?.payload.text;
export const call = (id: string, name: string, args: object): ToolCall => ({
  type: "toolCall",
  id,
  name,
  arguments: args,
});
export const agentAt = (dir: string, its: Model, more: object = {}) =>
  tetherAgent({ dir, instance: "a", model: its, ...more });
