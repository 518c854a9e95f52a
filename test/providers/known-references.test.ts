import { memoryReferenceCache, type ProviderReference, type ReferenceKey } from "sessile";
import { describe, expect, test } from "vitest";
import { knownReferences, referencePart } from "../../src/providers/attachments.js";
import { image } from "../attachments/samples.js";
import { attaching, plainTarget, work } from "./samples.js";

const file: ProviderReference = { kind: "file", id: "file_1" };
const key = { blob: image(1).blob, provider: "p" };
const takesFiles = { user: ["image/png", "text/plain"], toolResult: [], references: ["file" as const] };

async function found(
  reference: ProviderReference,
  more: Parameters<typeof attaching>[0] = {},
  place = work(image(1)),
) {
  const references = memoryReferenceCache();
  references.set(key, reference);
  const target = plainTarget({ accepts: takesFiles });
  const known = await knownReferences([place], attaching({ target, references, ...more }));
  return known.get(place);
}

describe("knownReferences", () => {
  test("finds one of a kind that the target takes, for what goes as it is", async () => {
    expect(await found(file)).toBe(file);
    expect(await found(file, {}, work(image(1), 0, "toolResult"))).toBe(file);
    expect(await found({ kind: "url", url: "https://a.example/" })).toBe(undefined);
    expect(await found(file, { target: plainTarget() })).toBe(undefined);
    expect(await found(file, {}, work(image(1, { mediaType: "image/gif" })))).toBe(undefined);
    expect(await found(file, {}, work(image(1, { mediaType: "text/csv" })))).toBe(undefined);
    expect(await found(file, {}, work(image(1), 0, "textOnly"))).toBe(undefined);
  });

  test.each([
    [undefined, true],
    [200_000, true],
    [160_000, true],
    [159_999, false],
    [100_000, false],
    [0, false],
  ])("with expiry %s at 100000 it is of use: %s", async (expiresAt, isOfUse) => {
    const reference = expiresAt === undefined ? file : { ...file, expiresAt };
    expect((await found(reference, { now: () => 100_000 })) !== undefined).toBe(isOfUse);
  });

  test("asks by digest, provider and account", async () => {
    const asked: ReferenceKey[] = [];
    const references = { get: (one: ReferenceKey) => void asked.push(one) };
    const accepts = takesFiles;
    await knownReferences([work(image(1))], attaching({ target: plainTarget({ accepts }), references }));
    const maker = { provider: "p", model: "m", account: "a" };
    await knownReferences(
      [work(image(1))],
      attaching({ target: plainTarget({ accepts, model: maker }), references }),
    );
    expect(asked).toEqual([key, { ...key, account: "a" }]);
  });

  test("waits for a cache that answers later, and gives its failure on", async () => {
    const target = plainTarget({ accepts: takesFiles });
    const place = work(image(1));
    const slow = {
      get: () => new Promise<ProviderReference>((resolve) => setImmediate(() => resolve(file))),
    };
    expect((await knownReferences([place], attaching({ target, references: slow }))).get(place)).toBe(file);
    const broken = { get: () => Promise.reject(new Error("no connection")) };
    await expect(knownReferences([place], attaching({ target, references: broken }))).rejects.toThrow(
      "no connection",
    );
  });
});

describe("referencePart", () => {
  test("says what it refers to, its name made well-formed", () => {
    const resource = image(1, { name: "a\ud800.png", mediaType: "IMAGE/PNG" });
    expect(referencePart(work(resource), file, attaching())).toMatchObject({
      type: "reference",
      kind: "image",
      mediaType: "image/png",
      name: "a\ufffd.png",
      reference: file,
      resource,
    });
    const pdf = image(1, { mediaType: "application/pdf", name: " " });
    const part = referencePart(work(pdf), file, attaching());
    expect([part.kind, part.name]).toEqual(["document", undefined]);
  });
});
