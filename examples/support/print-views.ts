import type { SegmentView } from "sessile/context-tokens";
import { oneLine } from "./terminal.js";

/** A message as a terminal shows it: a line for each segment, none as it is written in the message. */
export function viewLines(views: readonly SegmentView[], width: number): readonly string[] {
  return views.map((view) => `  ${view.type.padEnd(9)}  ${oneLine(wordsOf(view), width - 13)}`);
}

function wordsOf(view: SegmentView): string {
  switch (view.type) {
    case "text":
      return view.text;
    case "thumbnail":
    case "chip":
      return `${view.name}, ${view.size} bytes`;
    case "pending":
      return `${view.kind}, importing`;
    case "broken":
      return `${view.kind} ${view.name}: ${view.reason}`;
  }
}
