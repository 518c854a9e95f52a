import { createPool } from "mysql2/promise";
import { Pool } from "pg";
import { mysqlBlobStore } from "sessile/mysql";
import { postgresBlobStore } from "sessile/postgres";

// Puts a blob in a database, and is killed by itself around one of its statements. Arguments: the URL of the server, the
// number of bytes, the number of the statement, and when: before it is sent, on its way, or after its answer. Says
// "put" and the number of statements if it comes to the end.

const [url = "", bytes = "0", last = "0", when = ""] = process.argv.slice(2);

let count = 0;

async function dying<T>(run: () => Promise<T>): Promise<T> {
  const isLast = ++count === Number(last);
  const die = () => process.kill(process.pid, "SIGKILL");
  if (isLast && when === "before") die();
  const answer = run();
  // Its bytes are on their way by then, whatever the server has done.
  if (isLast && when === "sent") setImmediate(die);
  const answered = await answer;
  if (isLast && when === "answered") die();
  return answered;
}

function open() {
  if (url.startsWith("postgres")) {
    const pool = new Pool({ connectionString: url });
    return postgresBlobStore({
      db: { query: (sql, values) => dying(() => pool.query(sql, values as unknown[])) },
    });
  }
  const pool = createPool({ uri: url });
  return mysqlBlobStore({
    db: {
      execute: (sql, values) => dying(() => pool.execute(sql, values as never)),
      query: (sql) => pool.query(sql),
      getConnection: () => pool.getConnection(),
    },
  });
}

async function* source(): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < Number(bytes); at += 500_000)
    yield new Uint8Array(Math.min(500_000, Number(bytes) - at)).fill(7);
}

await open().put(source());
console.log(`put ${count}`);
process.exit(0);
