import type { ToolCall } from "../content/index.js";
import { isRecord } from "../internal/shape.js";
import { jsonExcerpt, label } from "./excerpt.js";

/** Tool calls as `name(key=value, …)`, the values as JSON; what is over the bounds is counted. */
export function callsText(calls: readonly ToolCall[], bounds: { argument: number; calls: number }): string {
  const texts: string[] = [];
  let room = bounds.calls;
  for (const call of calls) {
    if (room <= 0) break;
    const text = callText(call, { argument: bounds.argument, all: room });
    texts.push(text);
    room -= text.length;
  }
  if (texts.length < calls.length) texts.push(`[… ${calls.length - texts.length} calls left out …]`);
  return texts.join("; ");
}

function callText(call: ToolCall, bounds: { argument: number; all: number }): string {
  const { arguments: given } = call;
  const name = label(call.name);
  if (!isRecord(given)) {
    return `${name}(${given === undefined ? "" : jsonExcerpt(given, Math.min(bounds.argument, bounds.all))})`;
  }
  const keys = Object.keys(given);
  const shown: string[] = [];
  let room = bounds.all;
  for (const key of keys) {
    if (room <= 0) break;
    const text = `${label(key)}=${jsonExcerpt(given[key], Math.min(bounds.argument, room))}`;
    shown.push(text);
    room -= text.length;
  }
  if (shown.length < keys.length) shown.push(`[… ${keys.length - shown.length} arguments left out …]`);
  return `${name}(${shown.join(", ")})`;
}
