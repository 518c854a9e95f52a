// The tokens of `stats` beside those of ccusage. CCUSAGE_RECORD=1 renews what test/cli compares with.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type CcusageDays,
  ccusageRows,
  sorted,
  statsRows,
  writeHomes,
} from "../../test/cli/ccusage-homes.js";

const run = promisify(execFile);
const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const recorded = pathOf("test/cli/ccusage.json");
const dir = mkdtempSync(join(tmpdir(), "sessile-ccusage-"));
beforeAll(() => writeHomes(dir));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

type Homes = "alike" | "differing";

function envOf(homes: Homes, timezone: string): NodeJS.ProcessEnv {
  const none = join(dir, "none");
  return {
    ...{ PATH: process.env.PATH, HOME: none, TZ: timezone, TSX_TSCONFIG_PATH: pathOf("tsconfig.json") },
    ...{ CLAUDE_CONFIG_DIR: join(dir, homes, "claude"), CODEX_HOME: join(dir, homes, "codex") },
    ...{ GEMINI_CLI_HOME: none, XDG_DATA_HOME: none, PI_CODING_AGENT_DIR: none },
  };
}

async function ccusage(homes: Homes, timezone: string): Promise<CcusageDays> {
  const daily = async (name: string) => {
    const words = ["daily", "--json", "--offline", "--timezone", timezone];
    const program = pathOf(`bench/node_modules/${name}/dist/index.js`);
    const { stdout } = await run(process.execPath, [program, ...words], { env: envOf(homes, timezone) });
    return JSON.parse(stdout).daily;
  };
  return { claude: await daily("ccusage"), codex: await daily("@ccusage/codex") };
}

async function ours(homes: Homes, agent: string, timezone: string) {
  const words = ["stats", "all", "--agent", agent, "--by", "day", "--by", "model", "--json"];
  const tsx = pathOf("node_modules/tsx/dist/esm/index.mjs");
  const program = ["--import", tsx, pathOf("src/cli/main.ts")];
  const { stdout } = await run(process.execPath, [...program, ...words], {
    ...{ cwd: dir, env: envOf(homes, timezone) },
  });
  return sorted(statsRows(JSON.parse(stdout)));
}

describe("ccusage 17", () => {
  it("prints what is recorded in test/cli/ccusage.json", async () => {
    const days = { alike: await ccusage("alike", "UTC"), differing: await ccusage("differing", "UTC") };
    const how =
      "npm run peers with CCUSAGE_RECORD=1: `daily --json --offline --timezone UTC` of ccusage 17.2.1 and @ccusage/codex 17.0.3";
    if (process.env.CCUSAGE_RECORD === "1")
      writeFileSync(recorded, `${JSON.stringify({ how, ...days }, null, 2)}\n`);
    expect(days).toEqual({ ...JSON.parse(readFileSync(recorded, "utf8")), how: undefined });
  });

  // UTC is that of the record.
  it("gives the tokens of stats by day and model, on the days of another time zone", async () => {
    const timezone = "Pacific/Kiritimati";
    const theirs = ccusageRows(await ccusage("alike", timezone));
    expect(await ours("alike", "claude-code", timezone)).toEqual(sorted(theirs.claude));
    expect(await ours("alike", "codex", timezone)).toEqual(sorted(theirs.codex));
  });
});
