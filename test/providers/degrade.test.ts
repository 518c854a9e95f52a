import fc from "fast-check";
import { contextFrom, project, type ResizeImage, type StoredResource, userMessage } from "sessile";
import { replayAlways } from "sessile/attachments";
import { checkLimits, type LimitRow, type LimitViolation, limitProfiles } from "sessile/limits";
import { describe, expect, test } from "vitest";
import type { AttachmentState, ProjectionContext } from "../../src/providers/attachment-state.js";
import { enforceLimits, limitItem, sentBytes } from "../../src/providers/enforce-limits.js";
import { LossList } from "../../src/providers/losses.js";
import { mediaPart } from "../../src/providers/media-part.js";
import { bytesOf, image } from "../attachments/samples.js";
import { attaching, limitedTarget, plainTarget, pngOf, row, stored, storeOf, work } from "./samples.js";

/** What is sent at a place. */
interface Sent {
  readonly item: number;
  readonly kind?: "image" | "document" | "reference";
  readonly width?: number;
  /** Bytes. */
  readonly size?: number;
  /** Which resource; its own by default. */
  readonly of?: number;
}

/** Places with bytes of these sizes; a second place of a resource says where the first is. */
function worksOf(all: readonly Sent[]): readonly AttachmentState[] {
  const carriers = new Map<number, AttachmentState>();
  return all.map(({ item, kind = "image", width = 100, size = 100, of }, at) => {
    const number = of ?? 1000 + at;
    const mediaType = kind === "document" ? "application/pdf" : "image/png";
    const resource: StoredResource = image(number, { mediaType, width, height: 10, size });
    const one = work(resource, item, "user", at);
    const carrier = carriers.get(number);
    const { origin } = one.draft;
    if (carrier !== undefined) one.carrier = carrier;
    else if (kind === "reference") {
      const reference = { kind: "file", id: "f" } as const;
      one.draft.media = { type: "reference", kind: "image", mediaType, reference, resource, origin };
    } else {
      const size_ = kind === "image" ? { width, height: 10, animated: false } : {};
      one.draft.media = mediaPart({
        kind,
        mediaType,
        bytes: new Uint8Array(size),
        origin,
        resource,
        ...size_,
      });
    }
    if (carrier === undefined) carriers.set(number, one);
    return one;
  });
}

async function kept(
  all: readonly Sent[],
  rows: readonly LimitRow[],
  more: Partial<ProjectionContext> = {},
  text = 0,
) {
  const losses = new LossList();
  const works = worksOf(all);
  const options = attaching({ target: limitedTarget(...rows), losses, ...more });
  const broken = await enforceLimits(works, () => text, options);
  return {
    works,
    kept: works.flatMap(({ draft }, at) => (draft.media === undefined ? [] : [at])),
    broken: broken.map(({ rule }) => rule),
    losses: losses.inOrder(),
  };
}

const count = (value: number) => row({ rule: "imageCount", value, unit: "count", scope: "request" });
const perMessage = (value: number) => row({ rule: "imageCount", value, unit: "count", scope: "message" });
const files = (value: number) => row({ rule: "fileBytes", value, unit: "decodedBytes", scope: "request" });
const body = (value: number) => row({ rule: "bodyBytes", value, unit: "bodyBytes", scope: "request" });
const documents = (value: number) => row({ rule: "documentCount", value, unit: "count", scope: "request" });
const side = (value: number) => row({ rule: "imageSide", value, unit: "pixels", scope: "item" });
const size = (value: number) => row({ rule: "imageBytes", value, unit: "decodedBytes", scope: "item" });
const sideOfMany = (value: number, imagesOver: number) =>
  row({ rule: "imageSide", value, unit: "pixels", scope: "item", when: { imagesOver } });
/** What the body has besides: a fixed reserve. */
const reserve = 2 ** 18;

const images = (length: number): Sent[] => Array.from({ length }, (_, item) => ({ item }));

describe("keepLimits, of documents that go as text", () => {
  const notes = [4000, 3000, 2000].map((size, at) =>
    stored(bytesOf(`${at}`.repeat(size)), {
      kind: "file",
      mediaType: "text/markdown",
      resourceId: `res_00000000000000a${at}`,
    }),
  );
  const sentWith = async (bytes: number) => {
    const [oldest, middle, newest] = notes as [StoredResource, StoredResource, StoredResource];
    const context = contextFrom([userMessage(oldest, middle), userMessage(newest, oldest)]);
    const target = limitedTarget(body(reserve + bytes));
    const texts = storeOf(...[4000, 3000, 2000].map((size, at) => bytesOf(`${at}`.repeat(size))));
    return await project(context, target, { blobs: texts, replay: replayAlways });
  };

  test("leaves out the oldest where the body is too large, and says so at each of its places", async () => {
    const { attachments, losses, warnings, value } = await sentWith(8500);
    expect(attachments.map(({ sent, reason }) => `${sent} ${reason}`)).toEqual([
      "text currentTurn",
      "descriptor overLimit",
      "text currentTurn",
      "descriptor sentAlready",
    ]);
    expect(losses.map(({ code, block }) => `${code} ${block}`)).toEqual([
      "asText 0",
      "overLimit 1",
      "asText 0",
    ]);
    expect(warnings).toMatchObject([
      { code: "notSent", message: expect.stringMatching(/, a limit of the target: \S+$/) },
    ]);
    expect(JSON.stringify(value)).not.toContain("11");
    const least = await sentWith(1200 + 400);
    expect(least.attachments.map(({ sent }) => sent)).toEqual(Array(4).fill("descriptor"));
    expect(least.losses.map(({ code }) => code)).toEqual(Array(4).fill("overLimit"));
  });

  test("leaves all where there is room", async () => {
    const { attachments } = await sentWith(100_000);
    expect(attachments.map(({ sent }) => sent)).toEqual(["text", "text", "text", "descriptor"]);
  });
});

describe("keepLimits, of what is too much together", () => {
  test("takes the oldest, as many as must go, and says why", async () => {
    const { kept: left, losses } = await kept(images(5), [count(3)]);
    expect(left).toEqual([2, 3, 4]);
    expect(losses.map(({ code, by, entryId, reason }) => [code, by, entryId, reason])).toEqual([
      ["overLimit", "limit", "m0", "over the target's limit, imageCount 3 in a request"],
      ["overLimit", "limit", "m1", "over the target's limit, imageCount 3 in a request"],
    ]);
    expect(losses[0]?.instead).toMatch(
      /^\[image .*\] \(not shown: over the target's limit, imageCount 3 in a request\)$/,
    );
  });

  test("takes nothing where all is well, or where there are no limits", async () => {
    expect((await kept(images(3), [count(3)])).losses).toEqual([]);
    expect((await kept(images(3), [], { target: plainTarget() })).kept).toEqual([0, 1, 2]);
  });

  test("counts each message by itself where the limit does", async () => {
    const all = [0, 0, 0, 1, 1, 2, 2, 2, 2].map((item) => ({ item }));
    expect((await kept(all, [perMessage(2)])).kept).toEqual([1, 2, 3, 4, 7, 8]);
  });

  test("what a narrow limit takes counts for a wider one no more", async () => {
    const all: Sent[] = [{ item: 0, kind: "document" }, { item: 1 }, { item: 2 }];
    expect((await kept(all, [body(reserve + 300), count(1)])).kept).toEqual([0, 2]);
    expect((await kept(all, [files(200), count(1)])).kept).toEqual([0, 2]);
    expect((await kept(all, [count(3), body(reserve + 300)])).kept).toEqual([1, 2]);
  });

  test("a resource that was shown again lately is as old as that", async () => {
    const all: Sent[] = [{ item: 0, of: 7 }, { item: 1 }, { item: 2 }, { item: 3, of: 7 }];
    expect((await kept(all, [count(2)])).kept).toEqual([0, 2]);
  });

  test("what goes, goes from all its places", async () => {
    const all: Sent[] = [{ item: 0, of: 7 }, { item: 1, of: 7 }, { item: 2 }];
    const { works, kept: left, losses } = await kept(all, [count(1)]);
    expect(left).toEqual([2]);
    expect(works.map(({ reason }) => reason)).toEqual(["overLimit", "overLimit", "currentTurn"]);
    expect(losses.map(({ entryId }) => entryId)).toEqual(["m0", "m1"]);
  });

  test("what the provider has already takes no bytes, and does not go for the sake of bytes", async () => {
    const all: Sent[] = [
      { item: 0, kind: "reference" },
      { item: 1, size: 900 },
      { item: 2, size: 900 },
    ];
    expect((await kept(all, [files(1000)])).kept).toEqual([0, 2]);
    expect((await kept(all, [body(reserve + 1300)])).kept).toEqual([0, 2]);
    expect((await kept(all, [count(2)])).kept).toEqual([1, 2]);
  });

  test("where the text alone is too much, all bytes go, and the limit is named", async () => {
    const all: Sent[] = [{ item: 0 }, { item: 1, kind: "reference" }, { item: 2, kind: "document" }];
    const { kept: left, broken } = await kept(all, [body(1_000_000)], {}, 2_000_000);
    expect([left, broken]).toEqual([[1], ["bodyBytes"]]);
    expect((await kept([], [body(1_000_000)], {}, 2_000_000)).broken).toEqual(["bodyBytes"]);
    const both = await kept(images(3), [body(1_000_000), count(1)], {}, 2_000_000);
    expect([both.kept, both.broken]).toEqual([[], ["bodyBytes"]]);
  });

  test("asks how much text there is with the room that is left", async () => {
    const asked: number[] = [];
    const works = worksOf([{ item: 0, size: 300 }]);
    const options = attaching({ target: limitedTarget(body(1_000_000)) });
    await enforceLimits(works, (room) => asked.push(room), options);
    expect(asked).toEqual([1_000_000 - 400 - reserve]);
    await enforceLimits(
      works,
      () => expect.fail("it was asked"),
      attaching({ target: limitedTarget(count(9)) }),
    );
  });
});

describe("keepLimits, of single attachments", () => {
  // @covers R3
  test("what is too large goes, or becomes smaller where somebody can do that", async () => {
    const all: Sent[] = [{ item: 0, width: 9000 }, { item: 1 }];
    expect((await kept(all, [side(8000)])).kept).toEqual([1]);
    const asked: unknown[] = [];
    const small = pngOf({ width: 8000, height: 9 });
    const resize: ResizeImage = (one, bounds) => {
      asked.push([one.width, bounds]);
      return small;
    };
    const { kept: left, losses, works } = await kept(all, [side(8000), size(500)], { resize });
    expect([left, asked]).toEqual([[0, 1], [[9000, { maxSide: 8000 }]]]);
    expect(losses.map(({ code, reason }) => [code, reason])).toEqual([
      ["resized", `the target does not take it as it is; sent as image/png, 8000 x 9, ${small.length} bytes`],
    ]);
    expect(works[0]?.draft.media).toMatchObject({
      bytes: small,
      width: 8000,
      resource: image(1000, { width: 9000, height: 10 }),
    });
  });

  test.each<[string, ResizeImage, string]>([
    ["throws", () => expect.fail("broken"), "resizing it failed: broken"],
    ["gives nothing", () => undefined, "it could not be resized"],
    ["gives what it was given", ({ bytes }) => bytes, "of what it was resized to, its bytes are no image"],
  ])("a resizer that %s leaves words", async (_, resize, because) => {
    const { kept: left, losses } = await kept([{ item: 0, width: 9000 }], [side(8000)], { resize });
    expect(left).toEqual([]);
    expect(losses.map(({ code, reason }) => `${code} ${reason}`)).toEqual([
      `overLimit over the target's limit, imageSide 8000 pixels; ${because}`,
    ]);
  });

  test("a resizer that lies is found out", async () => {
    const larger: ResizeImage = () => pngOf({ width: 9001, height: 9 });
    const one = await kept([{ item: 0, width: 9000 }], [side(8000)], { resize: larger });
    expect(one.kept).toEqual([]);
    expect(one.losses.map(({ code }) => code)).toEqual(["overLimit"]);
    const heavier: ResizeImage = () => pngOf({ width: 10, height: 9 }, 0, 600);
    expect(
      (await kept([{ item: 0, width: 9000 }], [side(8000), size(500)], { resize: heavier })).kept,
    ).toEqual([]);
  });

  test("a larger file than before counts as what it is for the whole", async () => {
    const resize: ResizeImage = () => pngOf({ width: 10, height: 9 }, 0, 6000);
    const all: Sent[] = [{ item: 0 }, { item: 1, width: 9000 }];
    const sent = Math.ceil(pngOf({ width: 10, height: 9 }, 0, 6000).length / 3) * 4;
    const { kept: left, broken } = await kept(all, [side(8000), body(reserve + sent)], { resize });
    expect([left, broken]).toEqual([[1], []]);
  });

  test("a document that is too large is not given to resize", async () => {
    const resize = () => expect.fail("it was asked");
    const rows = [row({ rule: "documentBytes", value: 50, unit: "decodedBytes", scope: "item" })];
    expect((await kept([{ item: 0, kind: "document" }], rows, { resize })).kept).toEqual([]);
  });

  test("is called off by its signal", async () => {
    const controller = new AbortController();
    const resize = () => void controller.abort(new Error("enough"));
    const keeping = kept([{ item: 0, width: 9000 }], [side(8000)], { resize, signal: controller.signal });
    await expect(keeping).rejects.toThrow("enough");
  });
});

describe("keepLimits, image 21 makes image 3 too large", () => {
  const anthropic = {
    target: plainTarget({ limits: { profile: limitProfiles.anthropic, contextWindow: 1_000_000 } }),
  };
  const wide = (which: (at: number) => boolean, length = 21) =>
    images(length).map((one, at) => (which(at) ? { ...one, width: 3000 } : one));
  const gone = async (all: readonly Sent[], more: Partial<ProjectionContext> = {}) => {
    const { kept: left, losses } = await kept(all, [], { ...anthropic, ...more });
    return { gone: all.flatMap((_, at) => (left.includes(at) ? [] : [at])), losses };
  };

  test("and 20 do not", async () => {
    expect((await gone(wide((at) => at === 2, 20))).gone).toEqual([]);
  });

  test("the way out by leaving out the one", async () => {
    const { gone: left, losses } = await gone(wide((at) => at === 2));
    expect(left).toEqual([2]);
    expect(losses.map(({ reason }) => reason)).toEqual(["over the target's limit, imageSide 2000 pixels"]);
  });

  test("the way out by leaving out the oldest, where that costs fewer", async () => {
    const { gone: left, losses } = await gone(wide((at) => at >= 2, 22));
    expect(left).toEqual([0, 1]);
    expect(losses.map(({ reason }) => reason)).toEqual([
      "left out, so that others keep the target's limit, imageSide 2000 pixels",
      "left out, so that others keep the target's limit, imageSide 2000 pixels",
    ]);
  });

  test("the way out by resizing, where somebody can, comes before both", async () => {
    let asked = 0;
    const resize: ResizeImage = (_, { maxSide = 0 }) => {
      asked++;
      return pngOf({ width: maxSide, height: 7 });
    };
    const { gone: left, losses } = await gone(
      wide((at) => at >= 2, 22),
      { resize },
    );
    expect([left, asked]).toEqual([[], 20]);
    expect(losses.map(({ code }) => code)).toEqual(Array(20).fill("resized"));
  });

  test("an image that was made smaller for itself is made smaller once more", async () => {
    const sides: (number | undefined)[] = [];
    const resize: ResizeImage = (_, { maxSide = 0 }) => {
      sides.push(maxSide);
      return pngOf({ width: maxSide, height: 7 });
    };
    const all = images(21).map((one, at) => (at === 2 ? { ...one, width: 9000 } : one));
    const { gone: left } = await gone(all, { resize });
    expect([left, sides]).toEqual([[], [8000, 2000]]);
  });

  test("what the provider has already counts, and has its size", async () => {
    const all = wide((at) => at === 2).map((one) => ({ ...one, kind: "reference" as const }));
    expect((await gone(all)).gone).toEqual([2]);
  });

  test("what cannot be resized goes, with the reason", async () => {
    const resize: ResizeImage = () => undefined;
    const { losses } = await gone(
      wide((at) => at === 2),
      { resize },
    );
    expect(losses.map(({ reason }) => reason)).toEqual([
      "over the target's limit, imageSide 2000 pixels; it could not be resized",
    ]);
  });
});

/** The same by its description: one at a time, everything looked at anew. Undefined where the text alone is too much. */
function naively(all: readonly Sent[], rows: readonly LimitRow[], text: number): readonly number[] {
  const works = worksOf(all);
  const profile = { name: "test", transports: ["only"] as const, rows };
  const check = (live: readonly AttachmentState[]): readonly LimitViolation[] => {
    const bodyBytes = live.reduce((sum, { draft }) => sum + sentBytes(draft.media), text + reserve);
    return checkLimits(
      live.map((work) => limitItem(work, undefined)),
      profile,
      { bodyBytes },
    );
  };
  const lastPlace = (one: AttachmentState) =>
    works.findLastIndex((other) => other === one || other.carrier === one);
  let live = works.filter(({ draft }) => draft.media !== undefined);
  live = live.toSorted((a, b) => lastPlace(a) - lastPlace(b));
  live = live.filter((one) => check([one]).every(({ scope }) => scope !== "item"));
  const drop = (gone: readonly AttachmentState[]) => {
    live = live.filter((one) => !gone.includes(one));
  };
  for (;;) {
    const found = check(live);
    const widths: readonly ((one: LimitViolation) => boolean)[] = [
      ({ scope, rule }) => scope === "message" && rule !== "bodyBytes",
      ({ scope, rule }) => scope === "request" && rule !== "bodyBytes" && rule !== "fileBytes",
      ({ scope, rule }) => scope === "request" && rule === "fileBytes",
      ({ rule }) => rule === "bodyBytes",
    ];
    const oldest = widths
      .flatMap((isOfWidth) => found.filter(isOfWidth))
      .flatMap(({ items, rule }) => {
        const counted = items.flatMap(({ index }) => live[index] ?? []);
        const ofBytes = rule === "bodyBytes" || rule === "fileBytes";
        return counted.filter(({ draft }) => !ofBytes || draft.media?.type === "media").slice(0, 1);
      });
    if (oldest[0] !== undefined) {
      drop([oldest[0]]);
      continue;
    }
    const single = found.filter(({ scope }) => scope === "item");
    if (single.length === 0) break;
    const broken = live.filter((_, at) => single.some(({ items }) => items[0]?.index === at));
    const pictures = live.filter(({ draft }) => draft.media?.kind === "image");
    const ways = Array.from({ length: broken.length }, (_, at) => pictures.slice(0, at)).filter((gone) =>
      check(live.filter((one) => !gone.includes(one))).every(({ scope }) => scope !== "item"),
    );
    drop(ways[0] ?? broken);
  }
  return works.flatMap((one, at) => (live.includes(one) ? [at] : []));
}

describe("keepLimits, of anything", () => {
  const sent = fc.record(
    {
      kind: fc.constantFrom("image" as const, "image", "document", "reference"),
      width: fc.constantFrom(100, 2500, 9000),
      size: fc.constantFrom(30, 300, 3000),
      of: fc.constantFrom(undefined, undefined, 1, 2),
      next: fc.boolean(),
    },
    { requiredKeys: ["kind", "width", "size", "next"] },
  );
  const placed = fc.array(sent, { maxLength: 14 }).map((all) => {
    let item = 0;
    const kinds = new Map<number, Pick<Sent, "kind" | "width" | "size">>();
    return all.map(({ next, kind, width, size: bytes, of }): Sent => {
      if (next) item++;
      // Places of one resource are of one kind.
      const known = (of === undefined ? undefined : kinds.get(of)) ?? { kind, width, size: bytes };
      if (of !== undefined) kinds.set(of, known);
      return { item, ...known, ...(of === undefined ? {} : { of }) } as Sent;
    });
  });
  const limits = fc.subarray([
    count(5),
    count(2),
    perMessage(2),
    documents(2),
    files(4000),
    body(reserve + 9000),
    body(reserve + 5000),
    side(8000),
    size(2000),
    sideOfMany(2000, 3),
  ]);

  test("breaks no limit unless it says so, and takes what the description says", async () => {
    await fc.assert(
      fc.asyncProperty(placed, limits, fc.constantFrom(0, 1000, 20_000), async (all, rows, text) => {
        const { works, kept: left, broken, losses } = await kept(all, rows, {}, text);
        expect(left).toEqual(naively(all, rows, text));
        const live = works.filter(({ draft }) => draft.media !== undefined);
        const bodyBytes = live.reduce((sum, { draft }) => sum + sentBytes(draft.media), text + reserve);
        const profile = { name: "test", transports: ["only"] as const, rows };
        const found = checkLimits(
          live.map((work) => limitItem(work, undefined)),
          profile,
          { bodyBytes },
        );
        expect(found.map(({ rule }) => rule)).toEqual(broken);
        // Each place says what became of it, and only of what went.
        const gone = works.flatMap(({ draft, carrier }, at) =>
          (carrier ?? works[at])?.draft.media === undefined ? [draft.origin.block] : [],
        );
        expect(losses.map(({ block }) => block).toSorted()).toEqual(gone.toSorted());
      }),
      { numRuns: 300 },
    );
  });
});
