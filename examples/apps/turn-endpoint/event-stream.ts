import type { ServerResponse } from "node:http";
import { commonHeaders } from "./answer.js";
import type { TurnLimits } from "./limits.js";

/** An answer of server-sent events. Sending never waits, never throws, and does nothing once the client is gone. */
export interface EventStream {
  send(event: string, data: unknown): void;
  end(): void;
}

/**
 * Begins an answer of server-sent events.
 *
 * A client that reads slowly must not hold up the turn, which is others' too and costs money, nor may what it has not read
 * pile up: past the bound its connection is closed. It finds everything that it missed in the session.
 *
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream (read 2026-11-22)
 */
export function openEventStream(
  response: ServerResponse,
  { unsentBytes, heartbeatMs }: Pick<TurnLimits, "unsentBytes" | "heartbeatMs">,
): EventStream {
  response.writeHead(200, { ...commonHeaders, "content-type": "text/event-stream; charset=utf-8" });
  response.flushHeaders();
  const write = (text: string): void => {
    if (response.destroyed || response.writableEnded) return;
    if (response.writableLength > unsentBytes) response.destroy();
    else response.write(text);
  };
  // A line that begins with a colon is a comment.
  const heartbeat = setInterval(() => write(":\n\n"), heartbeatMs);
  response.once("close", () => clearInterval(heartbeat));
  return {
    // JSON has no line ends in it, so that an event is one line of data whatever it says.
    send: (event, data) => write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
    end() {
      clearInterval(heartbeat);
      response.end();
    },
  };
}
