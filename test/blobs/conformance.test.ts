import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BlobBackend,
  type BlobHints,
  type BlobStat,
  type BlobStore,
  type BlobStoreOptions,
  type BlobTrash,
  blobStore,
  type TrashedBlob,
} from "sessile";
import {
  type BlobConformanceCase,
  type BlobConformanceFixture,
  blobStoreConformance,
} from "sessile/conformance";
import { SessileError } from "sessile/errors";
import { type FileBlobStoreOptions, fileBlobStore } from "sessile/node";
import { afterEach, describe, expect, test } from "vitest";
import { memoryBlobBackend } from "../../src/blobs/memory.js";
import { nodeSha256 } from "../support/plain-values.js";
import { subjects } from "../support/rounds.js";

// On a machine whose disk has other work to do.

const hashes = [nodeSha256];

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

type LosingBackend = BlobBackend & Pick<BlobConformanceFixture, "loseAnswer">;

function fixtureOn(backend: LosingBackend): BlobConformanceFixture {
  const { loseAnswer } = backend;
  return {
    ...(loseAnswer === undefined ? {} : { loseAnswer }),
    open: (options) => blobStore(backend, { hashes, ...options }),
    // The store's own way in, under a name that is not the bytes' digest.
    async damage(ref, bytes) {
      await backend.delete(ref);
      await backend.write(ref, bytes, {});
    },
  };
}

function fileFixture(how: Omit<FileBlobStoreOptions, "dir">): BlobConformanceFixture {
  const dir = mkdtempSync(join(tmpdir(), "sessile-"));
  folders.push(dir);
  return {
    open: (options: BlobStoreOptions = {}): BlobStore => fileBlobStore({ ...how, ...options, dir }),
    ...(how.layout === "flat" ? { digests: [how.digest ?? "sha256"] } : {}),
    damage(ref, bytes) {
      const hex = ref.slice(7);
      const found = readdirSync(dir, { recursive: true, encoding: "utf8" }).find(
        (path) => path.startsWith("blobs") && path.includes(hex),
      );
      const path = join(dir, found as string);
      chmodSync(path, 0o600);
      writeFileSync(path, bytes);
    },
  };
}

const fixtures: Readonly<Record<string, () => BlobConformanceFixture>> = {
  "a store in memory": () => fixtureOn(losing()),
  "a store in files": () => fileFixture({}),
  "a flat store in files, by BLAKE3": () =>
    fileFixture({ layout: "flat", digest: "blake3", durability: "os" }),
  "a store in files that are durable in the operating system": () => fileFixture({ durability: "os" }),
  "a flat store in files": () => fileFixture({ layout: "flat" }),
};

describe.each(subjects(2, fixtures))("%s", (_, fixture) => {
  for (const { name, run } of blobStoreConformance) {
    // @covers R2 › bytes of any size come back to another handle
    // @covers R61 › the same bytes are stored once
    // @covers R61 durability:corrupt-blob › a put over damaged bytes heals them, though nobody has read them
    // @covers R179 › a flat store in files, by BLAKE3 › the same bytes are stored once
    // @covers durability:corrupt-blob durability:wrong-write › a corrupt blob is mended by a put of its bytes
    test(name, async ({ skip }) => {
      const result = await run(fixture());
      if (result !== undefined) skip(result.skipped);
    });
  }
});

describe("a store in memory whose times are whole seconds", () => {
  const isAboutTimes = /touch|lease|grace|trash|list|swept|collection|empty/;
  for (const { name, run } of blobStoreConformance.filter((each) => isAboutTimes.test(each.name))) {
    test(name, async () => {
      expect(await run(fixtureOn(inSeconds()))).toBeUndefined();
    });
  }
});

test("every case has a name of its own", () => {
  const names = blobStoreConformance.map(({ name }) => name);
  expect([...new Set(names)]).toEqual(names);
});

/** A backend in memory that does some things in another way. */
function broken(how: (sound: BlobBackend) => Partial<BlobBackend>): BlobBackend {
  const change = (sound: BlobBackend): BlobBackend =>
    Object.assign(
      Object.create(sound),
      { partition: (name: string) => change(sound.partition(name)) },
      how(sound),
    );
  return change(memoryBlobBackend());
}

function brokenTrash(how: (sound: BlobTrash, backend: BlobBackend) => Partial<BlobTrash>): BlobBackend {
  return broken((sound) => ({
    trash: Object.assign(Object.create(sound.trash), how(sound.trash, sound)),
  }));
}

/** A backend that loses the answer of a write or a commit on demand, behind `cleanUp`. */
function losing(cleanUp?: (sound: BlobBackend, ref: BlobStat["ref"]) => Promise<unknown>): LosingBackend {
  let loses = false;
  const backend = broken((sound) => {
    const answered = async (stat: BlobStat): Promise<BlobStat> => {
      if (!loses) return stat;
      loses = false;
      await cleanUp?.(sound, stat.ref);
      const details = { operation: "put", path: "", errno: "ECONNRESET" };
      throw new SessileError("STORAGE_FAILED", "the connection was lost", { details });
    };
    return {
      write: async (ref, bytes, hints) => answered(await sound.write(ref, bytes, hints)),
      async create(hints) {
        const writer = await sound.create(hints);
        return { ...writer, commit: async (ref) => answered(await writer.commit(ref)) };
      },
    };
  });
  return Object.assign(backend, {
    loseAnswer() {
      loses = true;
    },
  });
}

/** A backend whose times are whole seconds of a clock, on which a second takes 25 milliseconds. */
function inSeconds(): BlobBackend {
  const start = Date.now();
  const backend = memoryBlobBackend(() => start + (Date.now() - start) * 40);
  const floor = (time: number) => Math.floor(time / 1000) * 1000;
  const rounded = <S extends BlobStat | undefined>(stat: S): S =>
    stat && { ...stat, touchedAt: floor(stat.touchedAt) };
  const change = (sound: BlobBackend): BlobBackend =>
    Object.assign(Object.create(sound), {
      write: async (...args: Parameters<BlobBackend["write"]>) => rounded(await sound.write(...args)),
      async create(hints: BlobHints) {
        const writer = await sound.create(hints);
        return { ...writer, commit: async (ref: BlobStat["ref"]) => rounded(await writer.commit(ref)) };
      },
      stat: async (ref: BlobStat["ref"]) => rounded(await sound.stat(ref)),
      touch: async (ref: BlobStat["ref"]) => rounded(await sound.touch(ref)),
      async *list() {
        for await (const stat of sound.list()) yield rounded(stat);
      },
      trash: Object.assign(Object.create(sound.trash), {
        // As a store does that has no other state than its times: a touch in the same second is not noticed.
        async take(seen: BlobStat) {
          const stat = await sound.stat(seen.ref);
          return stat !== undefined && rounded(stat).touchedAt === seen.touchedAt && sound.trash.take(stat);
        },
        async *list() {
          for await (const blob of sound.trash.list())
            yield { ...blob, touchedAt: floor(blob.touchedAt), trashedAt: floor(blob.trashedAt) };
        },
        async delete(ref: BlobStat["ref"], seen?: TrashedBlob) {
          for await (const blob of sound.trash.list()) {
            const isSeen =
              seen === undefined ||
              (floor(blob.touchedAt) === seen.touchedAt && floor(blob.trashedAt) === seen.trashedAt);
            if (blob.ref === ref) return isSeen && sound.trash.delete(ref);
          }
          return false;
        },
      }),
      partition: (name: string) => change(sound.partition(name)),
    });
  return change(backend);
}

async function* only(one: Uint8Array): AsyncGenerator<Uint8Array, void> {
  yield one;
}

/** Mistakes of a backend, and cases that must find them. */
const mistakes: Readonly<
  Record<string, { readonly backend: () => BlobBackend; readonly found: readonly string[] }>
> = {
  "forgets the last byte": {
    backend: () =>
      broken((sound) => ({ write: (ref, bytes, hints) => sound.write(ref, bytes.subarray(0, -1), hints) })),
    found: ["bytes of any size come back to another handle", "get returns a copy"],
  },
  "acknowledges before it keeps": {
    backend: () =>
      broken((sound) => ({
        async write(ref, bytes, hints) {
          setTimeout(() => sound.write(ref, bytes, hints), 20);
          return { ref, size: bytes.length, touchedAt: 1 };
        },
      })),
    found: ["bytes of any size come back to another handle"],
  },
  "keeps the caller's array": {
    backend: () => {
      const kept = new Map<string, Uint8Array>();
      return broken((sound) => ({
        write(ref, bytes, hints) {
          kept.set(ref, bytes);
          return sound.write(ref, bytes, hints);
        },
        async read(ref) {
          const bytes = kept.get(ref);
          return bytes === undefined ? sound.read(ref) : { size: bytes.length, bytes: only(bytes.slice()) };
        },
      }));
    },
    found: ["what is put is not the caller's array"],
  },
  "keeps the chunks of a stream without copying them": {
    backend: () =>
      broken((sound) => ({
        async create(hints) {
          const writer = await sound.create(hints);
          const chunks: Uint8Array[] = [];
          return {
            async write(chunk) {
              chunks.push(chunk);
            },
            async commit(ref) {
              for (const chunk of chunks) await writer.write(chunk);
              return writer.commit(ref);
            },
            discard: () => writer.discard(),
          };
        },
      })),
    found: ["a source that fills the same array again is stored as it came"],
  },
  "gives its own array": {
    backend: () => {
      const given = new Map<string, Uint8Array>();
      return broken((sound) => ({
        async read(ref) {
          const reading = await sound.read(ref);
          if (reading === undefined) return undefined;
          const bytes =
            given.get(ref) ?? new Uint8Array(await new Response(toStream(reading.bytes)).arrayBuffer());
          given.set(ref, bytes);
          return { size: bytes.length, bytes: only(bytes) };
        },
      }));
    },
    found: ["get returns a copy"],
  },
  "keeps every put as another": {
    backend: () =>
      broken((sound) => {
        const all: BlobStat[] = [];
        return {
          async write(ref, bytes, hints) {
            const stat = await sound.write(ref, bytes, hints);
            all.push(stat);
            return stat;
          },
          async *list() {
            yield* all;
          },
        };
      }),
    found: [
      "the same bytes are stored once",
      "a deleted blob is gone for every handle, and can be put again",
    ],
  },
  "does not touch what it has": {
    backend: () =>
      broken((sound) => ({
        async write(ref, bytes, hints) {
          return (await sound.stat(ref)) ?? sound.write(ref, bytes, hints);
        },
      })),
    found: [
      "stat gives a blob's size, and touch renews its lease",
      "what was touched since it was seen stays",
      "a put after the collection looked is not swept",
    ],
  },
  "tells a touch of another time": {
    backend: () =>
      broken((sound) => ({
        async stat(ref) {
          const stat = await sound.stat(ref);
          // Two times of the same second agree if one is a whole second: less than a second can pass.
          return stat && { ...stat, touchedAt: stat.touchedAt - 1000 };
        },
      })),
    found: [
      "stat gives a blob's size, and touch renews its lease",
      "list gives every blob once, with what stat says",
    ],
  },
  "tells the times of another clock": {
    backend: () => broken(() => ({ now: async () => Date.now() - 3_600_000 })),
    found: ["touchedAt is the time of the last put or touch, by the clock of now"],
  },
  "shows no touch within a minute": {
    backend: () =>
      broken((sound) => {
        const floor = (stat: BlobStat): BlobStat => ({
          ...stat,
          touchedAt: Math.floor(stat.touchedAt / 60_000) * 60_000,
        });
        return {
          write: async (ref, bytes, hints) => floor(await sound.write(ref, bytes, hints)),
          async stat(ref) {
            const stat = await sound.stat(ref);
            return stat && floor(stat);
          },
          async touch(ref) {
            const stat = await sound.touch(ref);
            return stat && floor(stat);
          },
          async *list() {
            for await (const stat of sound.list()) yield floor(stat);
          },
        };
      }),
    found: ["stat gives a blob's size, and touch renews its lease"],
  },
  "removes a blob when the answer of a put is lost": {
    backend: () => losing((sound, ref) => sound.delete(ref)),
    found: ["a put whose answer is lost leaves a whole blob, once"],
  },
  "takes one of another size for the same": {
    backend: () => {
      const backend = broken((sound) => ({
        async write(ref, bytes, hints) {
          return (await sound.touch(ref)) ?? sound.write(ref, bytes, hints);
        },
      }));
      return backend;
    },
    found: [
      "a corrupt blob is mended by a put of its bytes",
      "a put over damaged bytes heals them, though nobody has read them",
    ],
  },
  "takes one of the same size for the same": {
    backend: () =>
      broken((sound) => ({
        async write(ref, bytes, hints) {
          const there = await sound.stat(ref);
          const touched = there?.size === bytes.length ? await sound.touch(ref) : undefined;
          return touched ?? sound.write(ref, bytes, hints);
        },
      })),
    found: ["a put over damaged bytes heals them, though nobody has read them"],
  },
  "keeps what was discarded": {
    backend: () =>
      broken((sound) => ({
        async create(hints) {
          const writer = await sound.create(hints);
          return {
            write: (chunk) => writer.write(chunk),
            commit: (ref) => writer.commit(ref),
            async discard() {
              await writer.commit(`sha256:${"0".repeat(64)}`);
            },
          };
        },
      })),
    found: [
      "a source that fails leaves nothing, and its error comes out",
      "a size that was declared wrongly is refused, and nothing is stored",
    ],
  },
  "finds one blob for every name": {
    backend: () =>
      broken((sound) => ({
        async read(ref) {
          for await (const { ref: any } of sound.list()) return sound.read(any);
          return sound.read(ref);
        },
      })),
    found: ["what is not there is undefined", "bytes of any size come back to another handle"],
  },
  "takes an empty blob for none": {
    backend: () =>
      broken((sound) => ({
        async stat(ref) {
          const stat = await sound.stat(ref);
          return stat?.size === 0 ? undefined : stat;
        },
      })),
    found: ["an empty blob is there like any other"],
  },
  "finds a blob by its digits alone": {
    backend: () => {
      const known = new Map<string, BlobStat["ref"]>();
      return broken((sound) => ({
        write(ref, bytes, hints) {
          known.set(ref.slice(7), ref);
          return sound.write(ref, bytes, hints);
        },
        stat: (ref) => sound.stat(known.get(ref.slice(7)) ?? ref),
        delete: (ref) => sound.delete(known.get(ref.slice(7)) ?? ref),
      }));
    },
    found: ["the same digits of another algorithm are another blob"],
  },
  "cuts a stream where its pieces end": {
    backend: () =>
      broken((sound) => ({
        async create(hints) {
          const writer = await sound.create(hints);
          return Object.assign(Object.create(writer), {
            write: (chunk: Uint8Array) => writer.write(chunk.length === 524_288 ? chunk.subarray(1) : chunk),
            commit: (ref: BlobStat["ref"]) => writer.commit(ref),
            discard: () => writer.discard(),
          });
        },
      })),
    found: [
      "bytes of any size come back to another handle",
      "a stream of any size is the same blob as its bytes",
    ],
  },
  "ignores partitions": {
    backend: () => {
      const sound = memoryBlobBackend();
      const backend: BlobBackend = Object.assign(Object.create(sound), { partition: () => backend });
      return backend;
    },
    found: ["a partition sees nothing of another, even by name"],
  },
  "does not tell partitions by case": {
    backend: () => {
      const sound = memoryBlobBackend();
      return Object.assign(Object.create(sound), {
        partition: (name: string) => sound.partition(name.toLowerCase()),
      });
    },
    found: ["a partition sees nothing of another, even by name"],
  },
  "lists some twice": {
    backend: () =>
      broken((sound) => ({
        async *list(options) {
          yield* sound.list(options);
          yield* sound.list(options);
        },
      })),
    found: ["list gives every blob once, with what stat says"],
  },
  "says that it deleted what was not there": {
    backend: () =>
      broken((sound) => ({
        async delete(ref) {
          await sound.delete(ref);
          return true;
        },
      })),
    found: [
      "what is not there is undefined",
      "a deleted blob is gone for every handle, and can be put again",
    ],
  },
  "deletes instead of trashing": {
    backend: () => brokenTrash((_, backend) => ({ take: ({ ref }) => backend.delete(ref) })),
    found: [
      "what nothing names goes after its grace, first into the trash and then for good",
      "what is in the trash comes back when it is asked for",
    ],
  },
  "trashes what was touched": {
    backend: () =>
      brokenTrash((sound, backend) => ({
        take: async ({ ref }) => sound.take((await backend.stat(ref)) as BlobStat),
      })),
    found: ["what was touched since it was seen stays"],
  },
  "forgets the lease of what it trashes": {
    backend: () =>
      brokenTrash((sound) => ({
        async *list(options) {
          for await (const blob of sound.list(options)) yield { ...blob, touchedAt: 0 };
        },
      })),
    found: ["the grace holds in the trash too"],
  },
  "deletes from the trash what it did not see": {
    backend: () => brokenTrash((sound) => ({ delete: (ref) => sound.delete(ref) })),
    found: ["what came into the trash since it was seen there stays"],
  },
  "restores without a new lease": {
    backend: () =>
      broken((sound) => {
        const past = new Map<string, BlobStat>();
        return {
          async *list(options) {
            for await (const stat of sound.list(options)) yield past.get(stat.ref) ?? stat;
          },
          trash: Object.assign(Object.create(sound.trash), {
            async restore(ref: BlobStat["ref"]) {
              const restored = await sound.trash.restore(ref);
              const stat = await sound.stat(ref);
              if (restored && stat !== undefined) past.set(ref, { ...stat, touchedAt: 1 });
              return restored;
            },
            take: async ({ ref }: BlobStat) => sound.trash.take((await sound.stat(ref)) as BlobStat),
          }),
        };
      }),
    found: ["what is in the trash comes back when it is asked for"],
  },
};

function toStream(bytes: AsyncIterable<Uint8Array>): ReadableStream {
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** Why a case fails on this backend; undefined where it does not. */
async function failureOf({ run }: BlobConformanceCase, backend: BlobBackend): Promise<string | undefined> {
  try {
    await run(fixtureOn(backend));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

describe.each(Object.entries(mistakes))("a backend that %s", (_, { backend, found }) => {
  test.each(found)("is found by: %s", async (name) => {
    const testCase = blobStoreConformance.find((candidate) => candidate.name === name);
    expect(await failureOf(testCase as BlobConformanceCase, backend())).toMatch(/expected .+, got /s);
  });
});
