// A table and one statement written by hand, the least that an application does: node tasks/pg-insert.mjs TASK INPUT
import pg from "pg";
import { task } from "./task.mjs";

const { url, connections } = JSON.parse(process.argv[3] ?? "{}");
const pool = new pg.Pool({ connectionString: url, max: connections ?? 4 });

await task({
  /** A prepared insert of each message as JSON. @param {{ id: string, messages: readonly object[], count: number, warm: number, writers: number }} input */
  async append({ id, messages, count, warm, writers }, timed) {
    await pool.query(
      "create table if not exists message (session text, seq bigint, line text not null, primary key (session, seq))",
    );
    const ends = Array.from({ length: writers }, () => 0);
    /** @param {number} most */
    const append = (most) =>
      Promise.all(
        ends.map(async (_, writer) => {
          for (let i = 0; i < most; i++) {
            const seq = ends[writer] ?? 0;
            ends[writer] = seq + 1;
            await pool.query({
              name: "insert-message",
              text: "insert into message (session, seq, line) values ($1, $2, $3)",
              values: [`${id}-${writer}`, seq, JSON.stringify(messages[i % messages.length])],
            });
          }
        }),
      );
    await append(warm);
    await timed(() => append(count));
    await pool.end();
    return ends.reduce((sum, end) => sum + end, 0);
  },
});
