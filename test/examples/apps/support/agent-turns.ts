import { type TetherSession, tetherImage, userMessageFrame } from "sessile/tether";
import type { TurnModel } from "sessile/turn";
import { type AnswerFrame, tetherAgent } from "../../../../examples/apps/support/tether-agent.js";
import { to } from "../../../support/tether.js";
import { type Said, scriptedModel } from "../../../support/turn.js";

export function message(text: string, images: readonly Uint8Array[] = [], session: TetherSession = to) {
  return userMessageFrame(session, { text, images: images.map(tetherImage) });
}

/** The replies of a model, in order: text, calls, or a failure. */
export const saying = (...turns: readonly Said[]) =>
  scriptedModel((_request, count) => turns[count] ?? "Yes.");

/** A request as a scripted model gets it. */
export type Asked = Parameters<Parameters<typeof scriptedModel>[0]>[0];

/** The last text of a request. */
export function lastTextOf({ value }: Asked): string {
  const content = value.messages.at(-1)?.content ?? [];
  if (typeof content === "string") return content;
  return content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

export const echo = scriptedModel((request) => `You said: ${lastTextOf(request)}`);

export async function all(frames: AsyncIterable<AnswerFrame>): Promise<AnswerFrame[]> {
  const list: AnswerFrame[] = [];
  for await (const frame of frames) list.push(frame);
  return list;
}

export const textOf = (frames: readonly AnswerFrame[]) => frames.at(-1)?.payload.text;
export const agentAt = (dir: string, its: TurnModel, more: object = {}) =>
  tetherAgent({ dir, instance: "a", model: its, retry: { attempts: 0 }, ...more });
