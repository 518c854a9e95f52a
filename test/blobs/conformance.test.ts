import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BlobBackend,
  type BlobStat,
  type BlobStore,
  type BlobStoreOptions,
  type BlobTrash,
  blobStore,
} from "sessile/blobs";
import {
  type BlobConformanceCase,
  type BlobConformanceSubject,
  blobStoreConformance,
} from "sessile/blobs/conformance";
import { type FileBlobStoreOptions, fileBlobStore } from "sessile/blobs/node";
import { afterEach, describe, expect, test } from "vitest";
import { memoryBlobBackend } from "../../src/blobs/memory.js";
import { nodeSha256 } from "../../src/blobs/node/hashes.js";

const hashes = [nodeSha256];

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function subjectOn(backend: BlobBackend): BlobConformanceSubject {
  return { open: (options) => blobStore(backend, { hashes, ...options }) };
}

function memorySubject(): BlobConformanceSubject {
  // Bytes that a case puts in the place of a blob's are what the backend then reads.
  const wrong = new Map<string, Uint8Array>();
  const sound = memoryBlobBackend();
  const backend: BlobBackend = Object.assign(Object.create(sound), {
    async stat(ref) {
      const stat = await sound.stat(ref);
      return stat && { ...stat, size: wrong.get(ref)?.length ?? stat.size };
    },
    async read(ref) {
      const reading = await sound.read(ref);
      const bytes = wrong.get(ref);
      if (reading === undefined || bytes === undefined) return reading;
      return {
        size: bytes.length,
        bytes: (async function* () {
          for (let at = 0; at < bytes.length; at += 1 << 20) yield bytes.slice(at, at + (1 << 20));
        })(),
        async quarantine() {
          wrong.delete(ref);
          await sound.delete(ref);
          return "elsewhere";
        },
      };
    },
    async write(ref, bytes, hints) {
      if (wrong.get(ref)?.length !== bytes.length) wrong.delete(ref);
      return sound.write(ref, bytes, hints);
    },
    async delete(ref) {
      wrong.delete(ref);
      return sound.delete(ref);
    },
  } satisfies Partial<BlobBackend>);
  return {
    ...subjectOn(backend),
    damage: (ref, bytes) => void wrong.set(ref, bytes),
  };
}

function fileSubject(how: Omit<FileBlobStoreOptions, "dir">): BlobConformanceSubject {
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

const subjects: Readonly<Record<string, () => BlobConformanceSubject>> = {
  "a store in memory": memorySubject,
  "a store in files": () => fileSubject({}),
  "a store in files that are durable in the operating system": () => fileSubject({ durability: "os" }),
  "a flat store in files": () => fileSubject({ layout: "flat" }),
  "a flat store in files, by BLAKE3": () => fileSubject({ layout: "flat", digest: "blake3" }),
};

describe.each(Object.entries(subjects))("%s", (_, subject) => {
  for (const { name, run } of blobStoreConformance) {
    test(name, { timeout: 60_000 }, async ({ skip }) => {
      const result = await run(subject());
      if (result !== undefined) skip(result.skipped);
    });
  }
});

test("every case has a name of its own", () => {
  const names = blobStoreConformance.map(({ name }) => name);
  expect([...new Set(names)]).toEqual(names);
});
