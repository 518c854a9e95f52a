// A program for git-snapshots.test.ts: DIR SESSIONS ACTION [ENTRY]. It takes a snapshot, or restores an entry.
import { fileSessionStore } from "sessile/node";
import { gitSnapshot } from "../../examples/apps/git-snapshots/git-snapshot.js";

const [dir = "", sessions = "", entry] = process.argv.slice(2);
const store = fileSessionStore({ dir: sessions });
const session = await store.open("s", { mode: "write" });
const snapshots = await gitSnapshot(session, { repo: dir });
if (entry === undefined) await snapshots.take();
else await snapshots.restore(entry);
await session.close();
