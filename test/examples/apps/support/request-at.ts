import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** The headers of a request are there. */
interface Begun {
  readonly request: IncomingMessage;
  readonly socket: Socket;
}

const channel = "http.server.request.start";

/** Resolves to the server's end of the connection when a server of this process gets its next request at a port. */
export function requestAt(port: number, method?: string): Promise<Socket> {
  return new Promise((resolve) => {
    const look = (message: unknown) => {
      const { request, socket } = message as Begun;
      if (socket.localPort !== port || (method !== undefined && request.method !== method)) return;
      unsubscribe(channel, look);
      resolve(socket);
    };
    subscribe(channel, look);
  });
}

/** Resolves when a connection has ended, with or without an error. */
export function untilClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once("close", () => resolve());
  });
}
