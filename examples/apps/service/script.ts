/** A scripted model in place of a provider: it needs no key. */
import { setTimeout } from "node:timers/promises";
import { assistantMessage, type NeutralRequest } from "sessile";
import type { TurnModel } from "sessile/turn";

/** A model in this process: a function from the texts of the user, oldest first, to an answer. */
export function answering(
  answer: (questions: readonly string[], signal: AbortSignal) => Promise<string>,
): TurnModel<NeutralRequest["turns"]> {
  const model = { provider: "script", model: "script" };
  return {
    target: { name: "script", model, render: ({ turns }) => turns },
    declare: () => [],
    async ask({ value, signal }) {
      const questions = value.flatMap(({ role, parts }) => {
        const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
        return role === "user" ? [texts.join("\n")] : [];
      });
      const text = await answer(questions, signal);
      return {
        error: undefined,
        message: async () => assistantMessage(model, text),
        async *[Symbol.asyncIterator]() {
          yield { type: "text", index: 0, text };
        },
      };
    },
  };
}

/**
 * Answers with the number of questions in its context, and with the last of them.
 *
 * @param thinkMs the time of an answer
 */
export function scriptedModel(thinkMs: number): TurnModel {
  return answering(async (questions, signal) => {
    await setTimeout(thinkMs, undefined, { signal });
    return `${questions.length}: ${questions.at(-1)}`;
  });
}
