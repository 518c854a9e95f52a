import type { SessionSummary } from "sessile";
import { afterEach, expect, test, vi } from "vitest";
import { everySession, listSlack } from "../../src/session/store/list.js";

const start = Date.parse("2026-01-01T00:00:00.000Z");

afterEach(() => {
  vi.useRealTimers();
});

function summary(id: string, created: number, modified = created): SessionSummary {
  const [from, to] = [new Date(created).toISOString(), new Date(modified).toISOString()];
  return { id, cwd: "/", slug: id, created: from, modified: to, size: 1, cursor: id };
}

async function idsOf(lists: () => readonly SessionSummary[]): Promise<{ ids: string[]; passes: number }> {
  let passes = 0;
  const store = {
    async *list({ since }: { readonly since?: Date } = {}) {
      passes++;
      for (const each of lists())
        if (since === undefined || Date.parse(each.modified) >= since.getTime()) yield each;
    },
  };
  const ids: string[] = [];
  for await (const { id } of everySession(store, "")) ids.push(id);
  return { ids, passes };
}

test("a session that moved while the list was read is found in the next one", async () => {
  vi.useFakeTimers({ now: start });
  const old = summary("old", start - 10 * listSlack);
  const moved = summary("moved", start - 9 * listSlack, start);
  const lists = [[old], [moved, old], [moved, old]];
  expect(await idsOf(() => lists.shift() ?? [])).toEqual({ ids: ["old", "moved"], passes: 3 });
});

test("a session that moves again while the newest ones are listed is found too", async () => {
  vi.useFakeTimers({ now: start });
  const old = summary("old", start - 10 * listSlack);
  const busy = summary("busy", start - 9 * listSlack, start);
  const busier = summary("busy", start - 9 * listSlack, start + 1);
  const moved = summary("moved", start - 8 * listSlack, start + 2);
  const lists = [[busy, old], [busier], [moved, busier]];
  expect(await idsOf(() => lists.shift() ?? [])).toEqual({ ids: ["busy", "old", "moved"], passes: 4 });
});

test("sessions that change all the time do not make it endless", async () => {
  vi.useFakeTimers({ now: start });
  let at = start;
  const { ids, passes } = await idsOf(() => [summary("busy", start - listSlack, ++at)]);
  expect(ids).toEqual(["busy"]);
  expect(passes).toBeLessThan(12);
});

test("sessions that are created all the time do not make it endless", async () => {
  vi.useFakeTimers({ now: start });
  const all = [summary("old", start - listSlack)];
  const { ids, passes } = await idsOf(() => {
    vi.advanceTimersByTime(listSlack / 4);
    all.unshift(summary(`new ${all.length}`, Date.now()));
    if (all.length > 100) throw new Error("endless");
    return all;
  });
  expect(ids).toContain("old");
  expect(passes).toBeLessThan(8);
});
