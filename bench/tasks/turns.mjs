import { readFileSync } from "node:fs";

/**
 * The turns of a conversation from a file of JSON lines, each with a question, perhaps an image, a call with its output,
 * and an answer.
 *
 * @typedef {{ question: string, image?: Uint8Array, call: { id: string, name: string, args: object }, output: string, answer: string }} Turn
 * @param {string} path
 * @returns {readonly Turn[]}
 */
export function readTurns(path) {
  return readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => {
      const { image, ...turn } = JSON.parse(line);
      return image === undefined ? turn : { ...turn, image: new Uint8Array(Buffer.from(image, "base64")) };
    });
}
