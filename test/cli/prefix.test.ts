import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assistantMessage, project, userMessage } from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { fileSessionStore } from "sessile/node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call } from "./call.js";

const model = "claude-opus-5-5";
const asked = ["project", "latest", "--target", "anthropic", "--prefix"];
let cwd: string;
let id: string;
let ids: Record<"first" | "reply", string>;

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), "sessile-prefix-"));
  const session = await fileSessionStore({ dir: join(cwd, ".sessile", "sessions") }).create({ cwd });
  const first = await session.appendMessage(userMessage("Why? ".repeat(2000)));
  await project(await session.context(), anthropicMessages({ model }));
  const thought = { type: "thinking", thinking: "Hm.", thinkingSignature: "c2ln" } as const;
  const reply = await session.appendMessage(
    assistantMessage({ provider: "anthropic", model, api: "anthropic-messages" }, thought, "So."),
  );
  await session.appendMessage(userMessage("And now?"));
  await session.close();
  id = session.id;
  ids = { first: first.id, reply: reply.id };
});
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

test("project and stats say that the next request repeats the last one, or where it changed and the cost", async () => {
  const unchanged = `Unchanged since the request of reply ${ids.reply}.`;
  expect(await call(asked, { cwd })).toMatchObject({ code: 0, stdout: `${unchanged}\n` });
  expect((await call(["stats", "latest"], { cwd })).stdout).toContain(
    `Prefix of the next request\n${unchanged}\n`,
  );

  const store = fileSessionStore({ dir: join(cwd, ".sessile", "sessions") });
  const session = await store.open(id, { mode: "write" });
  await session.append([
    { type: "context_edit", targetId: ids.first, replacement: { content: "What? ".repeat(2000) } },
  ]);
  await session.close();
  const { code, stdout } = await call(asked, { cwd });
  expect(code).toBe(1);
  expect(stdout).toMatch(
    /^Changed at [0-9a-f]+: a message was edited\. About [\d,]+ tokens are read again, \$0\.\d{4} more than from the cache\. Reasoning of 1 reply no longer counts, about \d+ tokens\.\n$/,
  );
  const json = JSON.parse((await call([...asked, "--json"], { cwd })).stdout);
  expect(json).toMatchObject({
    state: "changed",
    change: { by: "edit", entryId: ids.first },
    lost: [ids.reply],
  });
  expect(json.cost).toBeGreaterThan(0);
});
