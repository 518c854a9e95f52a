// PGlite behind HTTP, for drivers that have only fetch: the protocol of Neon's serverless driver.
import { createServer } from "node:http";
import { PGlite, types } from "@electric-sql/pglite";

/** Values in both directions as PostgreSQL's own text, as that protocol has them. */
const asText = Object.fromEntries(
  Object.values(types).map((oid) => [oid, (/** @type {string} */ value) => value]),
);

/**
 * Starts a database in memory and its endpoint on loopback.
 *
 * @returns {Promise<{ url: string, close(): Promise<void> }>}
 */
export async function databaseOverHttp() {
  const database = await PGlite.create();
  const server = createServer((request, response) => {
    answer(database, request).then(
      ({ status, body }) =>
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
      (error) => response.writeHead(500).end(String(error)),
    );
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}/sql`,
    async close() {
      await new Promise((resolve) => server.close(resolve));
      await database.close();
    },
  };
}

/**
 * @param {PGlite} database
 * @param {import("node:http").IncomingMessage} request
 */
async function answer(database, request) {
  /** @type {Buffer[]} */
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const { query, params } = JSON.parse(Buffer.concat(chunks).toString());
  try {
    const { rows, fields, affectedRows } = await database.query(query, params, {
      rowMode: "array",
      parsers: asText,
      serializers: asText,
    });
    return {
      status: 200,
      body: { command: "", rowCount: affectedRows ?? rows.length, rows, fields, rowAsArray: true },
    };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { status: 400, body: { ...error, message: error.message } };
  }
}
