import { join } from "node:path";
import { type Claim, type Row, type Target, timesTable } from "./support/claim.js";
import { pis } from "./support/runner.js";
import { writeSession } from "./support/sessions.js";

const maxTimes = 3;
const maxPeakMb = 400;
const minPageTimes = 20;

export const millionLines: Claim = {
  name: "million-lines",
  title:
    "Open a session of a million lines, 560 MB: more than one string can hold, so that pi 0.73.1 cannot open it",
  async measure(runner) {
    return runner.inDirectory("million", async (dir) => {
      const path = join(dir, "session.jsonl");
      writeSession(path, { entries: 1_000_000, compactEvery: 1_000 });
      const [old, current] = pis;
      if (old === undefined) throw new Error("expected a version of pi");
      const failure = await runner.failure(old, "open", { path });
      if (!failure.includes("ERR_STRING_TOO_LONG"))
        throw new Error(`pi: expected another failure, got ${failure}`);
      const opened = await runner.alone("open", "openOnly", { path });
      const built = await runner.alone("open and build the context", "open", { path });
      const scanned = await runner.alone("for comparison: only count the line ends", "scan", { path });
      const newest = await runner.alone("the newest 100 entries, without opening it", "newest", { path });
      const rows = [opened, built].map((row): Row => ({ ...row, targets: ceilings(row, scanned) }));
      const page = { ...newest, targets: [sooner(newest, opened)] };
      const theirs =
        current === undefined
          ? []
          : [await runner.alone(`open and build the context: ${current.label}`, "open", { path }, current)];
      return timesTable(undefined, [
        { ...scanned, targets: [] },
        ...rows,
        page,
        ...theirs.map((row) => ({ ...row, targets: [] })),
      ]);
    });
  },
};

function sooner(page: Pick<Row, "ours">, opened: Pick<Row, "ours">): Target {
  const times = opened.ours.ms / page.ours.ms;
  return {
    text: `at least ${minPageTimes} times as fast as opening it (${times.toFixed(0)})`,
    met: times >= minPageTimes,
  };
}

function ceilings({ ours }: Pick<Row, "ours">, scanned: Pick<Row, "ours">): readonly Target[] {
  const times = ours.ms / scanned.ours.ms;
  return [
    {
      text: `at most ${maxTimes} times as long as counting the line ends (${times.toFixed(1)})`,
      met: times <= maxTimes,
    },
    { text: `peak under ${maxPeakMb} MB`, met: ours.peakMb < maxPeakMb },
  ];
}
