// JSON.parse of the lines of a transcript: node tasks/json-lines.mjs TASK INPUT
import { task } from "./task.mjs";
import { transcript } from "./transcript.mjs";

/** @param {Uint8Array} bytes */
function parse(bytes) {
  const decoder = new TextDecoder();
  const values = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(10, start);
    values.push(JSON.parse(decoder.decode(bytes.subarray(start, end))));
    start = end + 1;
  }
  return values;
}

await task({
  /** @param {{ bytes: number, path?: string }} input */
  async read(input, timed) {
    for (let i = 0; i < 3; i++) parse(transcript({ ...input, bytes: 1_000_000 }));
    const bytes = transcript(input);
    return (await timed(() => parse(bytes))).length;
  },
});
