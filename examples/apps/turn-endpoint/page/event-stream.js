/**
 * @typedef {object} ServerEvent
 * @property {string} event
 * @property {string} data
 */

/**
 * Reads server-sent events from chunks of any size. EventSource neither posts nor sends an Authorization
 * header. Rules: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream, read
 * 2026-11-22. Ids and retry times are ignored, because a turn is not sent twice.
 *
 * @param {AsyncIterable<Uint8Array>} chunks
 * @returns {AsyncGenerator<ServerEvent, void>} an event that the end of the stream cuts off is none
 */
export async function* readEventStream(chunks) {
  let event = "";
  /** @type {string[]} */
  let data = [];
  for await (const line of readLines(chunks)) {
    if (line === "") {
      if (data.length > 0) yield { event: event || "message", data: data.join("\n") };
      event = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }
}

/**
 * Lines that end with a line feed, a carriage return, or both.
 *
 * @param {AsyncIterable<Uint8Array>} chunks
 * @returns {AsyncGenerator<string, void>}
 */
async function* readLines(chunks) {
  const decoder = new TextDecoder();
  /**
   * @type {string[]} Pieces of a line without its end: joined once, so that a long line in many chunks
   *   takes linear time.
   */
  let begun = [];
  let afterReturn = false;
  for await (const chunk of chunks) {
    let text = decoder.decode(chunk, { stream: true });
    if (text === "") continue;
    // If CR LF was cut in two, the CR has ended the line.
    if (afterReturn && text.startsWith("\n")) text = text.slice(1);
    afterReturn = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      begun.push(line);
      yield begun.join("");
      begun = [];
    }
    if (rest !== "") begun.push(rest);
  }
}
