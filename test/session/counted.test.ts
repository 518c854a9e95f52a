import { SessileError } from "sessile/errors";
import { memorySessionStore } from "sessile/session";
import { expect, test } from "vitest";
import type { SessionSummary } from "../../src/session/api/types.js";
import { withCounts } from "../../src/session/store/list.js";

const listedSummary: SessionSummary = {
  id: "one",
  slug: "s",
  cwd: "/",
  created: "",
  modified: "",
  size: 0,
  cursor: "0_one",
};

test("entries and messages are counted, and the session is closed", async () => {
  const store = memorySessionStore();
  const session = await store.create({ cwd: "/", id: "one" });
  await session.append([
    { type: "custom", customType: "c" },
    { type: "message", message: { role: "user", content: "a", timestamp: 0 } },
  ]);
  expect(await withCounts(listedSummary, () => Promise.resolve(session))).toEqual({
    ...listedSummary,
    counts: { entries: 2, messages: 1 },
  });
  await expect(session.append([])).rejects.toMatchObject({ code: "SESSION_CLOSED" });
});

// @covers R135
test("a session that was deleted since it was listed is left out, so that the list goes on", async () => {
  const gone = new SessileError("SESSION_NOT_FOUND", "gone", { details: { id: "one" } });
  expect(await withCounts(listedSummary, () => Promise.reject(gone))).toBeUndefined();
  await expect(withCounts(listedSummary, () => Promise.reject(new Error("other")))).rejects.toThrow("other");
});
