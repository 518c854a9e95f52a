import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { call } from "../../cli/call.js";
import { judge } from "./judge.js";

const prices = { input: 3, output: 15, cache_read: 0.3, cache_write: 3.75 };
const model = { cost: prices, limit: { context: 100_000_000, output: 8_000 } };
const environment = {
  OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider: { scripted: { models: { m1: model } } } }),
};

judge(
  "opencode",
  "counts the cost that `sessile stats` prints, within 0.1 %",
  async ({ run }) => {
    const made = await run({
      environment,
      commands: [
        { args: ["run", "--", "look around"] },
        { args: ["stats"] },
        { args: ["session", "list", "--format", "json"] },
      ],
      script: {
        replies: [
          {
            text: "Let me look.",
            calls: [
              { id: "a", name: "bash", arguments: { command: "echo hello", description: "Says hello" } },
            ],
            inputTokens: 20_000_000,
          },
          { text: "All done.", inputTokens: 30_000_000 },
        ],
      },
    });
    expect(made.results.map(({ code }) => code)).toEqual([0, 0, 0]);
    const [, stats, list] = made.results;
    const counted = Number(/Total Cost\D*([\d.,]+)/.exec(stats?.stdout ?? "")?.[1]?.replaceAll(",", ""));
    expect(counted, stats?.stdout).toBeGreaterThan(100);
    const id = /ses_[0-9A-Za-z]+/.exec(list?.stdout ?? "")?.[0] ?? "";
    const files = made.files.filter(({ path }) => path.startsWith(".local/share/opencode/"));
    const exported = await run({ files, commands: [{ args: ["export", id] }] });
    const dir = mkdtempSync(join(tmpdir(), "sessile-costs-"));
    try {
      writeFileSync(join(dir, "session.json"), exported.results[0]?.stdout ?? "");
      const { json, code } = await call(["stats", join(dir, "session.json"), "--json"], { cwd: dir });
      expect(code).toBe(0);
      const { cost } = (json[0] as { readonly tokens: { readonly cost: number } }).tokens;
      expect(Math.abs(cost / counted - 1), `${cost} of ${counted}`).toBeLessThan(0.001);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
  ["1.18.33"],
);
