import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import {
  assistantMessage,
  contextFrom,
  type Explanation,
  memorySessionStore,
  project,
  quarantine,
  refusalSearch,
  resumeRefusalSearch,
  type Session,
  toolResult,
  userMessage,
} from "sessile";
import { anthropicMessages } from "sessile/anthropic";
import { replayAlways } from "sessile/attachments";
import { fileSessionStore } from "sessile/node";
import { afterAll, describe, expect, test } from "vitest";
import { base64 } from "../attachments/samples.js";
import { rounds } from "../support/rounds.js";
import { pngOf, stored, storeOf } from "./samples.js";

const bytes = [0, 1, 2].map((number) => pngOf({ width: 2, height: 3 }, number));
const [first, second, third] = bytes.map((one, at) =>
  stored(one, { resourceId: `res_000000000000000${at}`, name: "salaries.png" }),
) as [ReturnType<typeof stored>, ReturnType<typeof stored>, ReturnType<typeof stored>];
const blobs = storeOf(...bytes);
const target = anthropicMessages({ model: "claude-opus-5-5" });
const refusal = (message: string, status = 400) => Object.assign(new Error(message), { status });

/** Messages, a result and its call, with the same image at two places. */
async function sessionWithImages(): Promise<Session> {
  const session = await memorySessionStore().create({ cwd: "/" });
  const call = { type: "toolCall", id: "toolu_1", name: "shot", arguments: {} } as const;
  const inline = {
    type: "image",
    data: base64(pngOf({ width: 4, height: 4 })),
    mimeType: "image/png",
  } as const;
  await session.appendMessage(userMessage("One.", first, first));
  await session.appendMessage({
    role: "assistant",
    provider: "elsewhere",
    model: "m",
    content: [{ type: "text", text: "Two." }, call],
    timestamp: 2,
  });
  await session.appendMessage(toolResult(call, "three", second));
  await session.appendMessage({ role: "user", content: [inline], timestamp: 3 });
  await session.appendMessage(userMessage("Four.", third, first));
  return session;
}

/** What is explained of each request, while a provider refuses it; no more than so many. */
async function recover(
  session: Session,
  refuse: (value: string) => unknown,
): Promise<readonly (Explanation | undefined)[]> {
  const explained: (Explanation | undefined)[] = [];
  for (let round = 0; round < 30; round++) {
    const projection = await project(await session.context(), target, { blobs, replay: replayAlways });
    const error = refuse(JSON.stringify(projection.value));
    if (error === undefined) break;
    const explanation = projection.explain(error);
    explained.push(explanation);
    if (explanation === undefined) break;
    await session.append(explanation.drafts);
  }
  return explained;
}

describe("a refusal, its explanation and what is sent next", () => {
  test("come to an end with a provider that takes no image", async () => {
    const session = await sessionWithImages();
    const explained = await recover(session, (value) =>
      value.includes('"type":"image"') ? refusal("Could not process image") : undefined,
    );
    expect(explained.map((one) => one?.resourceId)).toEqual([
      third.resourceId,
      undefined,
      second.resourceId,
      first.resourceId,
    ]);
    const { value } = await project(await session.context(), target, { blobs });
    const text = JSON.stringify(value);
    for (const kept of ["One.", "Two.", "three", "Four."]) expect(text).toContain(kept);
  });
});

describe("quarantine", () => {
  test("says nothing of an attachment that a boundary would be asked about", () => {
    const context = contextFrom([userMessage("Look.", first)]);
    const drafts = JSON.stringify(quarantine(context, [{ entryId: "m0", block: 1 }]));
    expect(drafts).toContain("[image] (left out: the provider refused it)");
    expect(drafts).not.toMatch(/salaries|res_/);
  });

  test("leaves a message out where what stood for its block was refused as well", () => {
    const context = contextFrom([userMessage("Look.", "[text] (left out: the provider refused it)")]);
    const draft = (block: number) => quarantine(context, [{ entryId: "m0", block }], "why");
    expect(draft(0)).toMatchObject([{ replacement: { content: [{ text: "[text] (left out: why)" }, {}] } }]);
    expect(draft(1)).toMatchObject([{ replacement: null }]);
  });
});

describe("a refusal", () => {
  const explain = async (error: unknown) => {
    const { explain: explained } = await project(contextFrom([userMessage(first)]), target, { blobs });
    return explained(error)?.certainty;
  };

  test.each([
    "Retry your request with the ID of an inference profile",
    "tool results must follow immediately",
    "identity token is invalid",
    "see the documentation",
    "input length and max_tokens exceed context limit: 190000 + 20000 > 200000",
    "Your input exceeds the context window of this model",
  ])("is not about an attachment: %s", async (message) => {
    expect(await explain(refusal(message))).toBeUndefined();
  });

  test.each([
    "image exceeds 5 MB maximum: 6 MB > 5 MB, or 5000 tokens",
    "Invalid file_data",
    "Unsupported media type: .bmp files",
    "request exceeds the maximum size",
  ])("is about an attachment: %s", async (message) => {
    expect(await explain(refusal(message))).toBe("guess");
  });

  test("is read from a body, too, as providers write it", async () => {
    const message = "Could not process image";
    expect(await explain({ type: "error", error: { type: "invalid_request_error", message } })).toBe("guess");
    expect(await explain({ error: { code: 400, message, status: "INVALID_ARGUMENT" } })).toBe("guess");
    expect(await explain({ error: { code: 429, message } })).toBeUndefined();
    expect(await explain({ error: message })).toBe("guess");
    expect(await explain({})).toBeUndefined();
  });
});

describe("a search for what is refused", () => {
  const scratch = mkdtempSync(join(tmpdir(), "sessile-refusals-"));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));
  const marks = (count: number) =>
    Array.from({ length: count }, (_, at) => pngOf({ width: 2, height: 2 }, at + 100));

  test("leaves out the guilty ones alone, and has all others back", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 18 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 2 }),
        async (count, picks) => {
          const files = marks(count);
          const guilty = [...new Set(picks.map((pick) => pick % count))];
          const images = files.map((one, at) =>
            stored(one, { resourceId: `res_${String(at).padStart(16, "0")}`, name: `${at}.png` }),
          );
          const session = await memorySessionStore().create({ cwd: "/" });
          // Two in a message, so that one of a message can go and the other stay.
          for (let at = 0; at < count; at += 2) {
            await session.appendMessage(userMessage(`${at}`, ...images.slice(at, at + 2)));
          }
          const before = JSON.stringify((await session.context()).items.map(({ message }) => message));
          const search = refusalSearch();
          const options = { blobs: storeOf(...files), replay: replayAlways };
          const sent = async () => {
            const projection = await project(await session.context(), target, options);
            return { projection, value: JSON.stringify(projection.value) };
          };
          let rounds = 0;
          for (let quiet = false; !quiet; rounds++) {
            const { projection, value } = await sent();
            const isRefused = guilty.some((at) => value.includes(base64(files[at] as Uint8Array)));
            const drafts = isRefused
              ? projection.explain(refusal("Could not process image"), search)?.drafts
              : search.accepted(await session.context());
            await session.append(drafts ?? []);
            quiet = !isRefused && drafts?.length === 0;
            if (rounds > 40) throw new Error("no end");
          }
          expect(rounds).toBeLessThanOrEqual(
            guilty.length * Math.ceil(Math.log2(count)) + 2 * guilty.length + 2,
          );
          const { value } = await sent();
          files.forEach((file, at) => {
            expect(value.includes(base64(file))).toBe(!guilty.includes(at));
          });
          for (const at of guilty) expect(value).toContain(`${images[at]?.resourceId}`);
          const after = (await session.context()).items.map(({ message }) => message);
          const edited = new Set(guilty.map((at) => at >> 1));
          const same = (all: readonly unknown[]) => all.filter((_, at) => !edited.has(at));
          expect(JSON.parse(JSON.stringify(same(after)))).toEqual(same(JSON.parse(before)));
        },
      ),
      { numRuns: rounds(15, 60) },
    );
  });

  test("goes on after restarts, from a session file, whatever was in the middle", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 14 }),
        fc.array(fc.nat(), { minLength: 1, maxLength: 2 }),
        fc.oneof(fc.constant([true]), fc.array(fc.boolean(), { minLength: 20, maxLength: 60 })),
        fc.boolean(),
        fc.boolean(),
        async (count, picks, restarts, repliesFirst, isInline) => {
          const files = marks(count);
          const guilty = [...new Set(picks.map((pick) => pick % count))];
          const images = files.map((one, at) =>
            stored(one, { resourceId: `res_${String(at).padStart(16, "0")}` }),
          );
          const store = fileSessionStore({ dir: mkdtempSync(join(scratch, "search-")) });
          let session = await store.create({ cwd: "/" });
          for (let at = 0; at < count; at += 2) {
            const shown = images.slice(at, at + 2);
            await session.appendMessage(
              isInline
                ? {
                    role: "user",
                    content: files
                      .slice(at, at + 2)
                      .map((one) => ({ type: "image", data: base64(one), mimeType: "image/png" }) as const),
                    timestamp: at,
                  }
                : userMessage(`${at}`, ...shown, ...(at === 0 ? shown.slice(0, 1) : [])),
            );
          }
          const options = { blobs: storeOf(...files), replay: replayAlways };
          const sent = async () => {
            const projection = await project(await session.context(), target, options);
            return { projection, value: JSON.stringify(projection.value) };
          };
          const reply = assistantMessage({ provider: "anthropic", model: "claude-opus-5-5" }, "ok");
          let search = refusalSearch();
          for (let quiet = 0, rounds = 0; quiet < 2; rounds++) {
            if (restarts[rounds % restarts.length] === true) {
              const { id } = session;
              await session.close();
              session = await store.open(id, { mode: "write" });
              search = await resumeRefusalSearch(session);
            }
            const { projection, value } = await sent();
            const isRefused = guilty.some((at) => value.includes(base64(files[at] as Uint8Array)));
            if (isRefused) {
              quiet = 0;
              const fault = projection.explain(refusal("Could not process image"), search);
              await session.append(fault?.drafts ?? []);
            } else {
              if (repliesFirst) await session.appendMessage(reply);
              const drafts = search.accepted(await session.context());
              await session.append(drafts);
              if (!repliesFirst) await session.appendMessage(reply);
              await session.appendMessage(userMessage("and now?"));
              quiet = drafts.length === 0 ? quiet + 1 : 0;
            }
            if (rounds > 60) throw new Error("no end");
          }
          const { value } = await sent();
          await session.close();
          files.forEach((file, at) => {
            expect(value.includes(base64(file))).toBe(!guilty.includes(at));
          });
        },
      ),
      { numRuns: rounds(15, 60) },
    );
  });

  test("does not try again after a restart what an acceptance proved refused", async () => {
    const files = marks(3);
    const [a, b, c] = files.map((one, at) => stored(one, { resourceId: `res_000000000000002${at}` }));
    const session = await memorySessionStore().create({ cwd: "/" });
    const reply = assistantMessage({ provider: "anthropic", model: "claude-opus-5-5" }, "ok");
    const options = { blobs: storeOf(...files), replay: replayAlways };
    /** One refusal, after a restart, and what the acceptance behind it puts back, after another. */
    const round = async () => {
      const projection = await project(await session.context(), target, options);
      const fault = projection.explain(
        refusal("Could not process image"),
        await resumeRefusalSearch(session),
      );
      await session.append(fault?.drafts ?? []);
      const drafts = (await resumeRefusalSearch(session)).accepted(await session.context());
      await session.append(drafts);
      await session.appendMessage(reply);
      return [fault?.resourceId, drafts.length];
    };
    await session.appendMessage(userMessage("look", a as typeof first, b as typeof first));
    expect(await round()).toEqual([b?.resourceId, 0]);
    await session.appendMessage(userMessage("and this", c as typeof first));
    expect(await round()).toEqual([c?.resourceId, 0]);
  });

  test("resumes nothing where nothing was left out, or by another's reason", async () => {
    const session = await memorySessionStore().create({ cwd: "/" });
    const { id: entryId } = await session.appendMessage(userMessage("One.", first, second));
    const accepted = async () => (await resumeRefusalSearch(session)).accepted(await session.context());
    expect(await accepted()).toEqual([]);
    const context = await session.context();
    await session.append(
      quarantine(
        context,
        [
          { entryId, block: 1 },
          { entryId, block: 2 },
        ],
        "a person asked for it",
      ),
    );
    expect(await accepted()).toEqual([]);
    // Words of a user that look like it are in no edit.
    await session.appendMessage(userMessage("[image] (left out: the provider refused it)"));
    expect(await accepted()).toEqual([]);
  });

  test("names what it left out, but if there is a boundary", async () => {
    const draftsWith = async (options: object) => {
      const context = contextFrom([userMessage("Look.", first)]);
      const projection = await project(context, target, { blobs, ...options });
      return JSON.stringify(projection.explain(refusal("Could not process image"), refusalSearch())?.drafts);
    };
    expect(await draftsWith({})).toMatch(
      /salaries\.png.*res_0000000000000000.*left out: the provider refused it/,
    );
    const bounded = await draftsWith({ boundary: () => "allow" });
    expect(bounded).toContain("[image] (left out: the provider refused it)");
    expect(bounded).not.toMatch(/salaries|res_/);
  });

  test("begins anew if what was accepted is refused, and takes the largest for a size", async () => {
    const files = marks(2);
    const images = files.map((one, at) => stored(one, { resourceId: `res_000000000000001${at}` }));
    const context = contextFrom(images.map((image) => userMessage(image)));
    const search = refusalSearch();
    const projection = await project(context, target, { blobs: storeOf(...files), replay: replayAlways });
    expect(search.accepted(context)).toEqual([]);
    const ids = (error: unknown) => projection.explain(error, search)?.resourceId;
    expect(ids(refusal("Could not process image"))).toBe(images[1]?.resourceId);
    search.accepted(context);
    expect(ids(refusal("image exceeds 5 MB maximum"))).toBeDefined();
    expect(ids(refusal("Could not process image"))).toBe(images[1]?.resourceId);
    search.accepted(context);
    expect(ids(refusal("Could not process image"))).toBeDefined();
  });
});
