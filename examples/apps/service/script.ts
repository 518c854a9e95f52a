/** A scripted model in place of a provider: it needs no key. */
import { setTimeout } from "node:timers/promises";
import { assistantMessage, messageText } from "sessile";
import type { Model } from "../support/claude.js";

/**
 * Answers with the number of questions in its context, and with the last of them.
 *
 * @param thinkMs the time of an answer
 */
export function scriptedModel(thinkMs: number): Model {
  return {
    async generate({ items }, { signal }) {
      await setTimeout(thinkMs, undefined, { signal });
      const questions = items.filter(({ message }) => message.role === "user");
      const last = questions.at(-1)?.message;
      const text = last === undefined ? "" : messageText(last);
      return assistantMessage({ provider: "script", model: "script" }, `${questions.length}: ${text}`);
    },
  };
}
