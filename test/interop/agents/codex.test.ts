import { expect } from "vitest";
import { reduceRequest } from "../support/reduced.js";
import { judge } from "./judge.js";

const options = ["exec", "--skip-git-repo-check"];

judge("codex", "answers a message, and sends it again after a resume", async ({ run }) => {
  const first = await run({
    commands: [{ args: [...options, "hello there"] }],
    script: { replies: [{ text: "Hi." }] },
  });
  const rollouts = first.files.filter(({ path }) => /^\.codex\/sessions\/.*\.jsonl$/.test(path));
  expect(rollouts).toHaveLength(1);
  const id = /[0-9a-f-]{36}(?=\.jsonl$)/.exec(rollouts[0]?.path ?? "")?.[0] ?? "";

  const second = await run({ files: rollouts, commands: [{ args: [...options, "resume", id, "go on"] }] });
  expect(second.results).toMatchObject([{ code: 0 }]);
  const own = [/^<environment_context>/, /^# AGENTS.md instructions/];
  expect(reduceRequest(second.requests.at(-1)?.body, { without: own })).toEqual([
    { role: "user", text: "hello there" },
    { role: "assistant", text: "Hi." },
    { role: "user", text: "go on" },
  ]);
});
