import type { PGlite } from "@electric-sql/pglite";
import { deletePartition, eraseEntries, memoryBlobStore, type SessionStore, userMessage } from "sessile";
import { type PostgresSessionsOptions, postgresBlobStore, postgresSessionStore } from "sessile/postgres";
import { beforeAll, describe, expect, it } from "vitest";
import { emptyStore, FaultyDriver, pglite, startMs, writesLines } from "./pglite.js";

let server: PGlite;
beforeAll(async () => {
  server = await pglite();
}, startMs);

async function idsOf(store: SessionStore, partition: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { id } of store.list({ partition })) ids.push(id);
  return ids;
}

describe("a role with a policy of its partition", () => {
  const schema = "tenants";

  it("has every operation in it, and sees and writes nothing of another one", async () => {
    const owner = await emptyStore(schema);
    const other = await owner.create({ cwd: "/", id: "same", partition: "tenant_b" });
    await other.appendMessage(userMessage("of b"));
    // The lines of docs/reference/modules.md.
    for (const statement of [
      "drop role if exists tenant_a",
      "create role tenant_a",
      `grant usage on schema ${schema} to tenant_a`,
      `grant select, insert, update, delete on ${schema}.session, ${schema}.entry, ${schema}.words to tenant_a`,
      `alter table ${schema}.session enable row level security`,
      `alter table ${schema}.entry enable row level security`,
      `alter table ${schema}.words enable row level security`,
      `create policy tenant on ${schema}.session using (partition = current_user)`,
      `create policy tenant on ${schema}.entry using (partition = current_user)`,
      `create policy tenant on ${schema}.words using (partition = current_user)`,
    ])
      await server.query(statement);
    await server.query("set role tenant_a");
    try {
      const store = postgresSessionStore({ db: server, schema });
      const own = { partition: "tenant_a" };
      const session = await store.create({ cwd: "/", id: "same", ...own });
      await session.appendMessage(userMessage("of a"));
      await session.updateInfo({ title: "title" });
      const fork = await store.fork("same", { id: "copy", ...own });
      expect((await fork.context()).items).toHaveLength(1);
      expect(await idsOf(store, "tenant_a")).toEqual(["copy", "same"]);
      expect(await store.delete("copy", own)).toBe(true);
      const indexed = postgresSessionStore({ db: server, schema, search: true });
      const words = async (partition: string) => {
        const found: string[] = [];
        for await (const { snippet } of indexed.search({ text: "of", partition })) found.push(snippet);
        return found;
      };
      const tagged = await indexed.open("same", { ...own, mode: "write" });
      const { id } = await tagged.appendMessage(userMessage("a secret of a"));
      expect(await words("tenant_a")).toEqual(["a secret of a", "of a"]);
      expect(await words("tenant_b")).toEqual([]);
      await eraseEntries(indexed, "same", [id], { ...own, reason: "a request" });
      expect(await words("tenant_a")).toEqual(["of a"]);
      expect((await deletePartition(indexed, "tenant_b")).sessions).toBe(0);
      const partitions: string[] = [];
      for await (const partition of store.partitions()) partitions.push(partition);
      expect(partitions).toEqual(["tenant_a"]);

      const theirs = { partition: "tenant_b" };
      expect(await idsOf(store, "tenant_b")).toEqual([]);
      await expect(store.open("same", theirs)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
      expect(await store.delete("same", theirs)).toBe(false);
      await expect(store.fork("same", { ...theirs, toPartition: "tenant_a" })).rejects.toMatchObject({
        code: "SESSION_NOT_FOUND",
      });
      for (const table of ["version", "quota", "blob_ref", "blob_scan"])
        await expect(server.query(`delete from ${schema}.${table}`)).rejects.toMatchObject({ code: "42501" });
      const stray = await store.create({ cwd: "/", id: "stray", ...theirs });
      await expect(stray.appendMessage(userMessage("into b"))).rejects.toMatchObject({
        code: "STORAGE_FAILED",
        details: { errno: "42501" },
      });
      await expect(store.fork("same", { ...own, toPartition: "tenant_b" })).rejects.toMatchObject({
        code: "STORAGE_FAILED",
      });
    } finally {
      await server.query("reset role");
    }
    expect(await idsOf(owner, "tenant_b")).toEqual(["same"]);
    expect((await (await owner.open("same", { partition: "tenant_b" })).tree()).size).toBe(1);
  });
});

describe("a role for each tenant, with blobs", () => {
  it("stores and collects its own, and sees and deletes none of another tenant", async () => {
    const schema = "tenants_blobs";
    await emptyStore(schema);
    const server = await pglite();
    const owner = postgresBlobStore({ db: server, schema });
    const { ref } = await owner.partition("tenant_b").put(Uint8Array.of(1, 2, 3));
    const tables = ["blob", "blob_trash", "blob_part"].map((table) => `${schema}.${table}`);
    for (const statement of [
      "drop role if exists tenant_c",
      "create role tenant_c",
      `grant usage on schema ${schema} to tenant_c`,
      `grant select, insert, update, delete on ${tables.join(", ")} to tenant_c`,
      ...tables.map((table) => `alter table ${table} enable row level security`),
      ...tables.map((table) => `create policy tenant on ${table} using (partition = current_user)`),
    ])
      await server.query(statement);
    await server.query("set role tenant_c");
    try {
      const own = postgresBlobStore({ db: server, schema, partition: "tenant_c" });
      await own.put(Uint8Array.of(1, 2, 3));
      expect(await own.get(ref)).toEqual(Uint8Array.of(1, 2, 3));
      expect(await own.delete(ref)).toBe(true);
      const other = postgresBlobStore({ db: server, schema, partition: "tenant_b" });
      expect([await other.get(ref), await other.delete(ref)]).toEqual([undefined, false]);
      await expect(other.put(Uint8Array.of(9))).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    } finally {
      await server.query("reset role");
      for (const statement of [`drop schema ${schema} cascade`, "drop role if exists tenant_c"])
        await server.query(statement).catch(() => undefined);
    }
  });
});

describe("a replica", () => {
  it("gives lists and reading handles, and what it lacks never goes into a write", async () => {
    const schema = "primary";
    await emptyStore("replica");
    const primary = await emptyStore(schema);
    const session = await primary.create({ cwd: "/", id: "a" });
    await session.appendMessage(userMessage("one"));
    const replicate = async () => {
      await server.query("truncate replica.session, replica.entry cascade");
      const [row] = (
        await server.query<{ names: string }>(
          `select string_agg(column_name, ', ') as names from information_schema.columns
          where table_schema = 'replica' and table_name = 'session' and is_generated = 'NEVER'`,
        )
      ).rows;
      await server.query(
        `insert into replica.session (${row?.names}) select ${row?.names} from "primary".session`,
      );
      await server.query('insert into replica.entry select * from "primary".entry');
    };
    await replicate();
    await session.appendMessage(userMessage("two"));
    const read = {
      query: (text: string, values?: unknown[]) =>
        server.query(text.replaceAll(`"${schema}"`, '"replica"'), values),
    };
    const store = postgresSessionStore({ db: server, read, schema });
    const reader = await store.open("a");
    expect((await reader.tree()).size).toBe(1);
    expect((await reader.context()).items).toHaveLength(1);
    for await (const { counts } of store.list({ stats: true })) expect(counts?.messages).toBe(1);
    const writer = await store.open("a", { mode: "write" });
    expect((await writer.tree()).size).toBe(2);
    await writer.appendMessage(userMessage("three"));
    expect((await writer.context()).items).toHaveLength(3);
    expect(await reader.refresh()).toEqual([]);
    await replicate();
    expect(await reader.refresh()).toHaveLength(2);
    // The next answer comes from a replica that lags behind the last one.
    await server.query("delete from replica.entry where seq > 1");
    await server.query("update replica.session set head = 2");
    expect(await reader.refresh()).toEqual([]);
    expect((await reader.tree()).size).toBe(3);
    expect(reader.diagnostics).toEqual([]);
    const created = await store.create({ cwd: "/", id: "b" });
    await created.appendMessage(userMessage("new"));
    await expect(store.open("b")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    await expect(store.create({ cwd: "/", id: "b" })).rejects.toMatchObject({ code: "SESSION_EXISTS" });
    expect((await (await store.open("b", { mode: "write" })).tree()).size).toBe(1);
  });

  it("is not asked which blobs an erasure may delete, or which forks there are", async () => {
    const schema = "ahead";
    await emptyStore("behind");
    await emptyStore(schema);
    const read = {
      query: (text: string, values?: unknown[]) =>
        server.query(text.replaceAll(`"${schema}"`, '"behind"'), values),
    };
    const blobs = memoryBlobStore();
    const store = postgresSessionStore({ db: server, read, schema, blobs });
    const data = Buffer.from(`GIF89a${"shared".padEnd(2000)}`).toString("base64");
    const image = (text: string) => ({
      type: "message" as const,
      message: {
        ...userMessage(text),
        content: [{ type: "image" as const, data, mimeType: "image/gif" }],
      },
    });
    const first = await store.create({ cwd: "/", id: "first" });
    const [erased] = await first.append([image("one")]);
    await (await postgresSessionStore({ db: server, schema }).fork("first", { id: "fork" })).close();
    const other = await store.create({ cwd: "/", id: "other" });
    await other.append([image("two")]);
    const report = await eraseEntries(store, "first", [erased?.id ?? ""], {
      reason: "a request",
      forks: true,
      blobs,
    });
    expect(report.sessions.map(({ id }) => id)).toEqual(["first", "fork"]);
    expect(report.blobs).toMatchObject({ deleted: [], kept: [expect.anything()] });
    let stored = 0;
    for await (const _ of blobs.list()) stored++;
    expect(stored).toBe(1);
  });
});

describe("notifications", () => {
  const schema = "notifications";
  const pollMs = 60_000;

  async function followed(
    store: SessionStore,
    id: string,
    partition: string,
    count: number,
    act: () => Promise<unknown>,
  ) {
    const reader = await store.open(id, { partition });
    const controller = new AbortController();
    const types: string[] = [];
    const following = (async () => {
      for await (const { type } of reader.follow({ signal: controller.signal, pollMs })) {
        types.push(type);
        if (types.length === count) controller.abort();
      }
    })();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await act();
    await following;
    await reader.close();
    return types;
  }

  /** A `listen` on the server that counts its connections, and loses them. */
  function listening() {
    const channels: string[] = [];
    const heard: string[] = [];
    const open = new Set<() => Promise<void>>();
    const listen: NonNullable<PostgresSessionsOptions["listen"]> = async (channel, each, lost) => {
      channels.push(channel);
      const stop = await server.listen(channel, (payload) => {
        heard.push(payload);
        each(payload);
      });
      const lose = async () => {
        open.delete(lose);
        await stop();
        lost();
      };
      open.add(lose);
      return async () => {
        if (open.delete(lose)) await stop();
      };
    };
    return { listen, channels, heard, open };
  }

  it("wake a reader of any partition long before its poll, over one connection until the last one ends", async () => {
    await emptyStore(schema);
    const { listen, channels, open } = listening();
    const writing = postgresSessionStore({ db: new FaultyDriver(server), schema, notify: true });
    const reading = postgresSessionStore({ db: server, schema, listen });
    const sessions = [];
    for (const partition of ["", "tenant"]) {
      const session = await writing.create({ cwd: "/", id: "a", partition });
      await session.appendMessage(userMessage("one"));
      sessions.push(session);
    }
    const [a, b] = sessions as [(typeof sessions)[0], (typeof sessions)[0]];
    const types = await followed(reading, "a", "", 3, async () => {
      await a.appendMessage(userMessage("two"));
      await a.append([{ type: "custom", customType: "x" }]);
      const others = await followed(reading, "a", "tenant", 1, () => b.appendMessage(userMessage("two")));
      expect([others, open.size]).toEqual([["message"], 1]);
      await a.updateInfo({ title: "three" });
    });
    expect(types).toEqual(["message", "custom", "session_info"]);
    expect(open.size).toBe(0);
    expect(channels).toEqual([expect.stringMatching(/^sessile_[0-9a-f]{32}$/)]);
  });

  it("are in statements of their own, for all changes since the last one", async () => {
    await emptyStore("together");
    const { listen, heard, open } = listening();
    const db = new FaultyDriver(server);
    const store = postgresSessionStore({ db, schema: "together", notify: true });
    const reading = postgresSessionStore({ db: server, schema: "together", listen });
    const ids = Array.from({ length: 20 }, (_, at) => `s${at}`);
    const sessions = await Promise.all(ids.map((id) => store.create({ cwd: "/", id })));
    await sessions[0]?.appendMessage(userMessage("one"));
    await followed(reading, "s0", "", 1, async () => {
      db.queries.length = 0;
      await Promise.all(sessions.map((session) => session.appendMessage(userMessage("two"))));
    });
    expect(db.queries.filter((text) => text.includes("pg_notify")).length).toBeLessThan(20);
    expect(db.queries.filter((text) => writesLines(text) && text.includes("pg_notify"))).toEqual([]);
    expect([new Set(heard.join("").match(/.{8}/g)).size, open.size]).toEqual([20, 0]);
  });

  it("over a connection that is lost and opened again: what came meanwhile is not missed", async () => {
    await emptyStore("lost");
    const { listen, channels, open } = listening();
    const writing = postgresSessionStore({ db: new FaultyDriver(server), schema: "lost", notify: true });
    const reading = postgresSessionStore({
      db: server,
      schema: "lost",
      listen: async (...given) => {
        if (channels.length > 0) await session.appendMessage(userMessage("while it is opened again"));
        return listen(...given);
      },
    });
    const session = await writing.create({ cwd: "/", id: "a" });
    await session.appendMessage(userMessage("one"));
    const types = await followed(reading, "a", "", 1, async () => {
      for (const lose of [...open]) await lose();
    });
    expect([types, channels.length]).toEqual([["message"], 2]);
  });

  it("over a connection that is lost before it is there: it is ended, and another one is opened", async () => {
    await emptyStore("early");
    const { listen, channels, open } = listening();
    let isLost = false;
    const reading = postgresSessionStore({
      db: server,
      schema: "early",
      listen: (channel, heard, lost) => {
        if (!isLost) {
          isLost = true;
          lost();
        }
        return listen(channel, heard, lost);
      },
    });
    const writing = postgresSessionStore({ db: new FaultyDriver(server), schema: "early", notify: true });
    const session = await writing.create({ cwd: "/", id: "a" });
    await session.appendMessage(userMessage("one"));
    const types = await followed(reading, "a", "", 1, () => session.appendMessage(userMessage("two")));
    expect([types, channels.length, open.size]).toEqual([["message"], 2, 0]);
  });

  it("are sent only if asked for, and wake the readers of the session alone", async () => {
    const store = await emptyStore("silent");
    const { listen, heard } = listening();
    const db = new FaultyDriver(server);
    const session = await postgresSessionStore({ db, schema: "silent" }).create({ cwd: "/" });
    await session.appendMessage(userMessage("one"));
    expect(db.queries.some((text) => text.includes("pg_notify"))).toBe(false);
    const notifying = postgresSessionStore({ db: server, schema: "silent", notify: true, listen });
    const [a, b] = [
      await notifying.create({ cwd: "/", id: "a" }),
      await notifying.create({ cwd: "/", id: "b" }),
    ];
    for (const each of [a, b]) await each.appendMessage(userMessage("start"));
    let reads = 0;
    db.before = (text) => {
      if (text.includes("left join lateral")) reads++;
    };
    const counting = postgresSessionStore({ db, schema: "silent", listen });
    const types = await followed(counting, "a", "", 1, async () => {
      reads = 0;
      await b.appendMessage(userMessage("other"));
      await a.appendMessage(userMessage("own"));
    });
    expect(types).toEqual(["message"]);
    expect(new Set(heard.join("").match(/.{8}/g)).size).toBe(2);
    expect(heard.join("")).not.toMatch(/[^0-9a-f]/);
    expect(reads).toBe(1);
    expect((await (await store.open("a")).tree()).size).toBe(2);
  });

  it("that cannot be listened for leave polls", async () => {
    await emptyStore("deaf");
    const listen = () => Promise.reject(new Error("no connection"));
    const store = postgresSessionStore({ db: server, schema: "deaf", notify: true, listen });
    const session = await store.create({ cwd: "/", id: "a" });
    await session.appendMessage(userMessage("one"));
    const reader = await store.open("a");
    const controller = new AbortController();
    const following = (async () => {
      for await (const _ of reader.follow({ signal: controller.signal, pollMs: 20 })) controller.abort();
    })();
    await session.appendMessage(userMessage("two"));
    await following;
    expect((await reader.tree()).size).toBe(2);
    await reader.close();
  });
});
