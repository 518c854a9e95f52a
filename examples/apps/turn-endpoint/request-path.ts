import type { IncomingMessage } from "node:http";

/** The path of a request as it was sent. Nothing is decoded or worked out: what is no path of ours to the letter is none. */
export function pathOf({ url = "" }: IncomingMessage): string {
  return url.split("?", 1)[0] ?? "";
}
