import fc from "fast-check";
import {
  type BlobRef,
  type Context,
  type Loss,
  project,
  promptContract,
  type Resource,
  toBody,
} from "sessile";
import { type LeakageBoundary, replayAlways, resourcesIn } from "sessile/attachments";
import { describe, expect, test } from "vitest";
import { contextAt, type HazardousSession, hazardousSession } from "../arbitraries/hazards.js";
import { checkedTargets } from "../support/checked-targets.js";
import { falseLosses, goesOn, silentlyAbsent, written } from "../support/projection-oracle.js";
import { rounds } from "../support/rounds.js";

/** Sessions of each target, of which so many are tried. */
const numRuns = rounds(2, 24);

async function bytesByBlob({ entries, blobs }: HazardousSession): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const ref of new Set(JSON.stringify(entries).match(/sha256:[0-9a-f]{64}/g))) {
    const bytes = await blobs.get(ref as BlobRef).catch(() => undefined);
    if (bytes !== undefined) found.set(ref, Buffer.from(bytes).toString("base64"));
  }
  return found;
}

describe.each(checkedTargets)("$name", ({ target, breaches, makers, keepsPrefix, tellsInstructions }) => {
  const sessions = hazardousSession(30, makers);

  // @covers R18 R30
  test("takes what any session becomes", async () => {
    await fc.assert(
      fc.asyncProperty(sessions, fc.boolean(), async (session, always) => {
        const replay = always ? { replay: replayAlways } : {};
        const { value } = await project(contextAt(session), target, { blobs: session.blobs, ...replay });
        expect(breaches(value)).toEqual([]);
      }),
      { numRuns },
    );
  });

  // @covers R22
  test("leaves nothing out without a loss, and has no loss of what is there", async () => {
    await fc.assert(
      fc.asyncProperty(sessions, async (session) => {
        const context = contextAt(session);
        const before = written(context);
        const projection = await project(context, target, { blobs: session.blobs, replay: replayAlways });
        const known = await bytesByBlob(session);
        const bytesOf = (resource: Resource) =>
          resource.kind === "link" ? undefined : known.get(resource.blob);
        expect(silentlyAbsent(context, projection, bytesOf)).toEqual([]);
        expect(falseLosses(context, projection, bytesOf)).toEqual([]);
        expect(written(context)).toBe(before);
      }),
      { numRuns },
    );
  });

  // @covers security:boundary
  test("tells nothing of what a boundary refuses, and has a report and no loss of it", async () => {
    await fc.assert(
      fc.asyncProperty(sessions, fc.nat({ max: 3 }), fc.boolean(), async (session, odd, always) => {
        const context = contextAt(session);
        const isRefused = ({ resourceId }: Resource) =>
          resourceId.charCodeAt(resourceId.length - 1) % 4 === odd;
        const boundary: LeakageBoundary = (resource) => (isRefused(resource) ? "refuse" : "allow");
        const replay = always ? { replay: replayAlways } : {};
        const projection = await project(context, target, { blobs: session.blobs, boundary, ...replay });
        const text = written(projection.value);
        const told = new Set(projection.losses.map(({ entryId, block }) => `${entryId} ${block}`));
        const refused = resourcesIn(context).filter(isRefused);
        const known = await bytesByBlob(session);
        for (const resource of refused) {
          expect(text).not.toContain(resource.resourceId);
          if (resource.kind === "link") expect(text).not.toContain(resource.uri);
          else expect(text).not.toContain(known.get(resource.blob) || "\0");
        }
        for (const { entryId, block, resourceId, reason, sent } of projection.attachments) {
          if (reason !== "boundary") continue;
          expect({ sent, isTold: told.has(`${entryId} ${block}`) }).toEqual({
            sent: "nothing",
            isTold: false,
          });
          expect(refused.some((one) => one.resourceId === resourceId) || resourceId === undefined).toBe(true);
        }
      }),
      { numRuns: 40 },
    );
  });

  test("tells nothing of what summaries say for programs", async () => {
    await fc.assert(
      fc.asyncProperty(sessions, async (session) => {
        const context = contextAt(session);
        const details = { readFiles: ["told"], content: "told", resource: "told" };
        const [told, plain] = [behindSummaries(context, { details }), behindSummaries(context, {})];
        const first = await project(told, target, { blobs: session.blobs });
        const second = await project(plain, target, { blobs: session.blobs });
        expect(written(first.value)).toBe(written(second.value));
        const options = { version: "1", model: "m" };
        expect(promptContract(first, options)).toEqual(promptContract(second, options));
      }),
      { numRuns: 6 },
    );
  });

  test("gives the same bytes again, and as a body those of JSON.stringify", async () => {
    await fc.assert(
      fc.asyncProperty(sessions, async (session) => {
        const context = contextAt(session);
        const first = await project(context, target, { blobs: session.blobs });
        const second = await project(context, target, { blobs: session.blobs });
        expect(written(second.value)).toBe(written(first.value));
        const body = Buffer.concat([...toBody(first, { model: "m" })]).toString();
        expect(body).toBe(written({ model: "m", ...first.value }));
      }),
      { numRuns: 12 },
    );
  });

  test.runIf(keepsPrefix)("keeps the bytes of what a grown context had", async () => {
    await fc.assert(
      fc.asyncProperty(sessions, fc.nat(), async (session, at) => {
        const cut = 1 + (at % session.entries.length);
        const [before, after] = [contextAt(session, cut), contextAt(session)];
        fc.pre(isPrefix(before, after));
        const options = { blobs: session.blobs, replay: replayAlways };
        const earlier = await project(before, target, options);
        const later = await project(after, target, options);
        // The named exceptions: a pending call got its result, a limit took an item, the instructions changed.
        fc.pre(!earlier.losses.some(({ code }) => code === "interrupted"));
        fc.pre(!earlier.warnings.some(({ code }) => code === "empty"));
        const instructions = ({ request }: typeof later) => written(request.system);
        fc.pre(tellsInstructions !== true || instructions(earlier) === instructions(later));
        fc.pre(!newlyLimited(before, earlier.losses, later.losses));
        const none = { system: "", systemInstruction: "", system_instruction: "" };
        const turnsOf = (value: object) => ({ ...value, ...none });
        const kept = goesOn(turnsOf(earlier.value), turnsOf(later.value));
        expect(kept ? [] : [earlier.value, later.value]).toEqual([]);
      }),
      { numRuns },
    );
  });
});

/** The context behind two summaries that say this for programs. */
function behindSummaries(context: Context, more: { readonly details?: unknown }): Context {
  const summary = {
    role: "compactionSummary",
    summary: "s",
    tokensBefore: 1,
    ...more,
    timestamp: 0,
  } as const;
  const branch = { role: "branchSummary", summary: "b", fromId: "root", ...more, timestamp: 0 } as const;
  const items = [
    { entryId: "one", origin: "summary", message: summary },
    { entryId: "two", origin: "branchSummary", message: branch },
  ] as const;
  return { ...context, items: [...items, ...context.items] };
}

function isPrefix(before: Context, after: Context): boolean {
  return before.items.every((item, at) => written(item) === written(after.items[at]));
}

/** Whether a limit took something that the earlier context had and kept. */
function newlyLimited(before: Context, earlier: readonly Loss[], later: readonly Loss[]): boolean {
  const had = new Set(before.items.map(({ entryId }) => entryId));
  const places = (losses: readonly Loss[]) =>
    losses.flatMap(({ code, entryId, block }) =>
      code === "overLimit" && had.has(entryId) ? [`${entryId} ${block}`] : [],
    );
  const taken = new Set(places(earlier));
  return places(later).some((place) => !taken.has(place));
}
