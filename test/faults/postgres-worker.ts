import { setTimeout as pause } from "node:timers/promises";
import mysql from "mysql2/promise";
import { Pool } from "pg";
import { type Message, type Session, type SessionStore, sessionStore, userMessage } from "sessile";
import { SessileError } from "sessile/errors";
import { mysqlSessionBackend } from "sessile/mysql";
import { postgresSessionStore } from "sessile/postgres";
import { numbers, textOf, type Work } from "./postgres-work.js";
import { say } from "./say.js";

/**
 * A process with connections of its own that writes to sessions on PostgreSQL or MySQL, or follows them. It says each
 * entry that was acknowledged. Each draft has an id and is appended until that succeeds, so that a repetition
 * that writes twice, and an acknowledgement of nothing, are both visible in the log.
 */

let stopped = false;

function stores(work: Work): () => SessionStore {
  const { retryMs, url } = work;
  const options = retryMs === undefined ? {} : { retryMs };
  if (url.startsWith("mysql:")) {
    const db = mysql.createPool({ uri: url, connectionLimit: work.connections ?? 10 });
    return () => sessionStore(mysqlSessionBackend({ db, ...options }));
  }
  const pool = new Pool({
    connectionString: url,
    max: work.connections ?? 10,
    application_name: work.name,
  } as never);
  // An idle connection that is lost is no error of an append.
  pool.on("error", () => undefined);
  return () => postgresSessionStore({ db: pool, ...options });
}

async function write(work: Work): Promise<void> {
  const store = stores(work)();
  const open = (id: string): Promise<Session> => store.open(id, { mode: "write" });
  await Promise.all(
    work.sessions.flatMap((session) =>
      Array.from({ length: work.writers ?? 1 }, async (_, writer) => {
        const random = numbers((work.seed ?? 1) * 31 + writer * 7 + session.length);
        let handle: Session | undefined;
        for (let at = 0; !stopped && at < (work.count ?? Number.POSITIVE_INFINITY); at++) {
          const ids = Array.from(
            { length: random(6) === 0 ? 3 : 1 },
            (_, i) => `${work.name}.${writer}.${at}.${i}`,
          );
          const timestamp = Date.now();
          const drafts = ids.map((id) => ({
            type: "message" as const,
            id,
            message: { ...userMessage(textOf(id)), timestamp } as Message,
          }));
          for (;;) {
            try {
              handle ??= await open(session);
              const entries = await handle.append(drafts, { conflict: "follow" });
              for (const { id } of entries) say(`entry ${session} ${id}`);
              break;
            } catch (error) {
              const code = error instanceof SessileError ? error.code : String(error);
              const expected = ["STORAGE_FAILED", "WRITER_POISONED", "CONCURRENT_WRITER"].includes(code);
              say(`${expected ? "again" : "bad"} ${code} ${String((error as Error).message)}`);
              await handle?.close().catch(() => undefined);
              handle = undefined;
              await pause(20 + random(30));
            }
          }
          if (work.pauseMs !== undefined) await pause(random(work.pauseMs));
        }
        await handle?.close().catch((error: Error) => say(`again close ${error.message}`));
      }),
    ),
  );
}

/** Says each entry once, in the order of the log; continues with another handle if the storage failed. */
async function follow(work: Work): Promise<void> {
  const store = stores(work)();
  const controller = new AbortController();
  process.stdin.once("data", () => setTimeout(() => controller.abort(), 500));
  const { signal } = controller;
  await Promise.all(
    work.sessions.map(async (id) => {
      const seen = new Set<string>();
      const see = (entry: string): void => {
        if (seen.has(entry)) say(`bad follow: ${id} showed ${entry} twice`);
        seen.add(entry);
        say(`saw ${id} ${entry}`);
      };
      while (!signal.aborted) {
        try {
          const session = await store.open(id);
          for (const { node } of (await session.tree()).walk()) if (!seen.has(node.id)) see(node.id);
          for await (const entry of session.follow({ signal, pollMs: 50 })) see(entry.id);
          await session.close();
        } catch (error) {
          if (!SessileError.is(error, "STORAGE_FAILED")) say(`bad follow: ${String(error)}`);
          await pause(50);
        }
      }
    }),
  );
}

async function main(work: Work): Promise<void> {
  process.stdin.once("data", () => {
    stopped = true;
  });
  say("begins");
  await (work.role === "write" ? write(work) : follow(work));
  say("done");
  process.exit(0);
}

await main(JSON.parse(process.argv[2] ?? "") as Work);
