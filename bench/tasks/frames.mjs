const session = { channel: "mcp", id: "default" };
const ts = "2026-11-22T00:00:00.000Z";
const data = "iVBORw0KGgo".padEnd(1 << 20, "A");
const turnFrames = 50;

/**
 * Frames as turns make them: a message with an image of a megabyte, 48 pieces of an answer, and the answer with an image.
 *
 * @param {number} count
 * @returns {readonly import("sessile/tether").TetherFrame[]}
 */
export function turns(count) {
  return Array.from({ length: count }, (_, at) => {
    const turn = Math.floor(at / turnFrames);
    const [type, msg_id, payload] = partOf(turn, at % turnFrames);
    return { v: 1, type, ts, session, msg_id, payload };
  });
}

/** @type {(turn: number, part: number) => [type: string, msg_id: string, payload: unknown]} */
function partOf(turn, part) {
  const images = [{ media_type: "image/png", data }];
  if (part === 0)
    return ["user.message", `m${turn}`, { text: "What is this?", images, user: { name: "Ann" } }];
  if (part < turnFrames - 1) return ["assistant.delta", `a${turn}`, { text: `word ${part} ` }];
  return ["assistant.done", `a${turn}`, { text: "A chart of sales.", images }];
}
