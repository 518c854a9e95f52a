import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * Keeps at most so many connections. `maxConnections` refuses the newest one, so that a few hundred slow connections shut out
 * every client. Here a new connection takes the place of the one that has waited longest without a request that was let in;
 * it is refused only if all of them are at work.
 *
 * @returns to be called with each request that was let in: its connection stays until it is answered
 */
export function boundConnections(
  server: Server,
  maxConnections: number,
): (request: IncomingMessage, response: ServerResponse) => void {
  // A Set has the order of insertion: the first one has waited longest.
  const waiting = new Set<Socket>();
  const atWork = new Map<Socket, number>();
  server.on("connection", (socket) => {
    waiting.add(socket);
    socket.once("close", () => {
      waiting.delete(socket);
      atWork.delete(socket);
    });
    if (waiting.size + atWork.size <= maxConnections) return;
    const [longest] = waiting;
    if (longest === undefined) return;
    waiting.delete(longest);
    longest.destroy();
  });
  return ({ socket }, response) => {
    waiting.delete(socket);
    atWork.set(socket, (atWork.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const others = (atWork.get(socket) ?? 1) - 1;
      if (others > 0) return void atWork.set(socket, others);
      atWork.delete(socket);
      if (!socket.destroyed) waiting.add(socket);
    });
  };
}
