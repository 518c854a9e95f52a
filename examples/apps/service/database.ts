// A database for several processes without a server to install: one process has PGlite and answers queries
// over a local port. Prints its address. In production the processes connect to PostgreSQL instead.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { deserialize, serialize } from "node:v8";
import { PGlite } from "@electric-sql/pglite";

// It takes seconds to start: the service starts beside it, and its first queries wait.
const starting = PGlite.create(process.env.SERVICE_DATABASE_DIR);
const server = createServer(async (request, response) => {
  try {
    const [text, values] = deserialize(await buffer(request));
    const database = await starting;
    const { rows, affectedRows } = await database.query(text, values);
    response.end(serialize({ rows, rowCount: affectedRows }));
  } catch (error) {
    const { message, code } = error as { message: string; code?: string };
    response.writeHead(400).end(serialize({ message, code }));
  }
});
// Node ends an idle connection after 5 s, perhaps just when a client sends its next request.
server.keepAliveTimeout = 65_000;
server.listen(0, "127.0.0.1");
await once(server, "listening");
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
await new Promise((done) => process.once("SIGINT", done).once("SIGTERM", done));
server.close();
server.closeAllConnections();
await (await starting).close();
