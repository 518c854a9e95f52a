import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Claim, fasterThan, printTarget, type Row, type Target, timesOf } from "./support/claim.js";
import { prose } from "./support/coding-session.js";
import { pis, type Runner } from "./support/runner.js";

const turns = 200;

/** What a side sent in one session. */
interface Sent {
  readonly requests: number;
  readonly continued: number;
  /** Bytes of all bodies. */
  readonly bytes: number;
  /** Bytes of questions and results, as JSON. */
  readonly news: number;
}

export const growingRequests: Claim = {
  name: "growing-requests",
  title: `A session of ${turns} turns and ${2 * turns} requests to Anthropic: append, make the body, read the streamed reply`,
  async measure(runner) {
    return runner.inDirectory("growing-requests", async (dir) => {
      const path = join(dir, "turns.jsonl");
      writeFileSync(path, `${Array.from({ length: turns }, (_, turn) => lineOf(turn)).join("\n")}\n`);
      const measured = [await rowOf(runner, dir, path, true), await rowOf(runner, dir, path, false)];
      const head = [
        "",
        "ms",
        "pi ms",
        "times as fast (least to most)",
        "of the new content",
        "pi's",
        "target",
      ];
      const lines = measured.map(({ cells, targets }) => [
        ...cells,
        targets.length === 0 ? "none" : targets.map(printTarget).join("; "),
      ]);
      return { head, lines, targets: measured.flatMap(({ targets }) => targets) };
    });
  },
};

/** A question, a call with an output of 2 to 8 KB, every ninth 40 KB, and an answer. */
function lineOf(turn: number): string {
  return JSON.stringify({
    question: prose(turn, 300),
    call: { id: `toolu_${turn}`, name: "bash", args: { command: prose(turn + 1, 80) } },
    output: prose(turn * 7, turn % 9 === 0 ? 40_000 : 2_000 + (turn % 7) * 1_000),
    answer: prose(turn + 2, 900),
  });
}

async function rowOf(
  runner: Runner,
  dir: string,
  path: string,
  isContinued: boolean,
): Promise<{ readonly cells: readonly string[]; readonly targets: readonly Target[] }> {
  const what = isContinued ? "continued: what is new, and a reference" : "whole: the history each time";
  const input = (round: string) => ({ path, isContinued, dir: join(dir, `${round}-${isContinued}`) });
  const pi = pis.find(({ version }) => version === "1.6.0");
  const row: Omit<Row, "targets"> =
    pi === undefined
      ? await runner.alone(what, "requests", () => input("alone"))
      : await runner.compare(what, "requests", input, pi);
  const counted = async (side: string) =>
    (await runner.once(side, "requests", { ...input(`bytes-${side}`), counts: true }, pi)).found as Sent;
  const ours = await counted("sessile");
  const theirs = pi === undefined ? undefined : await counted("pi");
  const share = ({ bytes, news }: Sent) => `${(bytes / news).toFixed(2)} times`;
  const targets: Target[] = [];
  if (isContinued && pi !== undefined) targets.push(fasterThan("pi", row, 1));
  if (isContinued)
    targets.push(
      { text: "bytes at most 1.2 times the new content", met: ours.bytes <= 1.2 * ours.news },
      { text: "all requests but the first are continued", met: ours.continued === ours.requests - 1 },
    );
  const times =
    row.ratio === undefined
      ? ""
      : `${timesOf(row.ratio.median)} (${timesOf(row.ratio.min)} to ${timesOf(row.ratio.max)})`;
  return {
    cells: [
      row.what,
      String(Math.round(row.ours.ms)),
      row.peer === undefined ? "" : String(Math.round(row.peer.ms)),
      times,
      share(ours),
      theirs === undefined ? "" : share(theirs),
    ],
    targets,
  };
}
