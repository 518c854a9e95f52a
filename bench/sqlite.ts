import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type Claim, type Row, type Target, timesTable } from "./support/claim.js";
import { prose } from "./support/coding-session.js";
import { node24, type Runner, type Sides } from "./support/runner.js";

/** node:sqlite is in Node 24. */
const alone: Sides = { ours: "sqlite", peer: "sqlite", node: node24 };
const texts = Array.from({ length: 200 }, (_, number) => prose(number, 400));
const sessions = 1000;
const perSession = 100;

/** An append with an index against one without, and searches by index and by scan. */
const sqliteSearch: Claim = {
  name: "sqlite-search",
  title: `SQLite: an index of words, and a search over ${(sessions * perSession).toLocaleString("en")} entries in ${sessions.toLocaleString("en")} sessions`,
  measure: (runner) =>
    runner.inDirectory("sqlite", async (dir) => {
      const rows: Row[] = [];
      const input = (search: boolean) => () => ({
        file: join(dir, `${crypto.randomUUID()}.db`),
        texts,
        count: 1000,
        warm: 300,
        search,
        synchronous: "full",
      });
      const what = "append 1,000 messages, each durable";
      const plain = await runner.alone(`${what}, without an index`, "append", input(false), alone);
      const indexed = await runner.alone(`${what}, with the index`, "append", input(true), alone);
      const times = indexed.ours.ms / plain.ours.ms;
      rows.push({ ...plain, targets: [] });
      const text = `at most twice the time without (${times.toFixed(1)})`;
      rows.push({ ...indexed, targets: [{ text, met: times <= 2 }] });
      const file = join(dir, "search.db");
      await runner.once("sqlite", "fill", { file, sessions, perSession, texts, search: true }, alone);
      for (const [word, query] of [
        ["a word of one entry", "needle77777x"],
        ["a word of ten sessions", "amber"],
        ["a word of every session, 50 hits", "needle"],
      ] as const) {
        const find = { file, text: query, limit: 50 };
        const byIndex = await runner.alone(word, "find", { ...find, search: true }, alone);
        const byScan = await runner.alone(word, "find", { ...find, search: false }, alone);
        const ratio = byScan.ours.ms / byIndex.ours.ms;
        const targets: Target[] = word.includes("every")
          ? []
          : [{ text: `at least 10 times as fast as the scan (${ratio.toFixed(0)})`, met: ratio >= 10 }];
        rows.push({ ...byIndex, what: `${word}, by the index`, targets });
        rows.push({ ...byScan, what: `${word}, by a scan`, targets: [] });
      }
      return timesTable(undefined, rows);
    }),
};

const version = "0.32.0";
const peer = `Agents SDK ${version}`;

/** The directory of the Agents SDK, installed by the first run. */
function agentsSdk(): string {
  const home = process.env.SESSILE_AGENTS ?? join(homedir(), ".cache", "sessile-agents");
  const dir = join(home, `agents-sdk-${version}`);
  if (existsSync(join(dir, "node_modules", "agents", "dist"))) return dir;
  mkdirSync(dir, { recursive: true });
  const options = ["--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund"];
  execFileSync("npm", ["install", "--prefix", dir, ...options, `agents@${version}`], { stdio: "ignore" });
  return dir;
}

const images = { images: 50, imageBytes: 200_000 };

/** Both on node:sqlite with the same settings; the Agents SDK's storage is that of a Durable Object, on a file. */
const sqliteAgents: Claim = {
  name: "sqlite-agents-sdk",
  title: `SQLite: sessions beside those of the ${peer}, both on node:sqlite`,
  measure: (runner) =>
    runner.inDirectory("agents-sdk", async (dir) => {
      const agents = agentsSdk();
      const sides: Sides = { ours: "sqlite", peer: "agents-sdk", node: node24 };
      const fresh = () => ({ agents, file: join(dir, `${crypto.randomUUID()}.db`) });
      const rows: Row[] = [];
      const work = { texts, count: 1000, warm: 300 };
      const appended = await runner.compare(
        "append 1,000 messages",
        "append",
        () => ({ ...fresh(), ...work }),
        sides,
      );
      rows.push({ ...appended, targets: [] });
      const [ours, theirs] = [join(dir, "ours.db"), join(dir, "theirs.db")];
      const filled = { agents, texts, count: 1000, warm: 0 };
      await runner.once(sides.ours, "append", { ...filled, file: ours }, sides);
      await runner.once(sides.peer, "append", { ...filled, file: theirs }, sides);
      const file = (round: string) => ({
        agents,
        messages: 50,
        file: round.endsWith(sides.peer) ? theirs : ours,
      });
      const history = await runner.compare("a history of 1,000 messages", "history", file, sides);
      rows.push({ ...history, targets: [] });
      const window = await runner.compare("the newest 50 of them", "window", file, sides);
      rows.push({ ...window, targets: [] });
      const stored = await runner.compare(
        "50 images of 200 kB",
        "images",
        () => ({ ...fresh(), ...images }),
        sides,
      );
      const [mine, other] = await Promise.all(
        [sides.ours, sides.peer].map((side) => bytesOf(runner, sides, side, fresh())),
      );
      const text = `at most the bytes of the peer (${mb(mine)} to ${mb(other)})`;
      rows.push({ ...stored, targets: [{ text, met: (mine ?? 0) <= (other ?? 0) }] });
      return timesTable(peer, rows);
    }),
};

/** The bytes on disk after the images were stored. */
async function bytesOf(runner: Runner, sides: Sides, side: string, input: object): Promise<number> {
  await runner.once(side, "images", { ...input, ...images }, sides);
  return Number((await runner.once(side, "bytes", input, sides)).found);
}

function mb(bytes: number | undefined): string {
  return `${((bytes ?? 0) / 1e6).toFixed(1)} MB`;
}

export const sqliteClaims: readonly Claim[] = [sqliteSearch, sqliteAgents];
