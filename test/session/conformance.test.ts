import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SessionStore, sessionStore } from "sessile/session";
import { type ConformanceSubject, sessionStoreConformance } from "sessile/session/conformance";
import { fileSessionStore } from "sessile/session/node";
import { afterEach, describe, test } from "vitest";
import { memoryBackend } from "../../src/session/memory.js";

const maxLineBytes = 2 * 1024 * 1024;

function memorySubject(): ConformanceSubject {
  const backend = memoryBackend(Date.now);
  return { open: () => sessionStore(backend, { maxLineBytes }), maxLineBytes };
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function fileSubject(durability: "disk" | "os"): ConformanceSubject {
  const dir = mkdtempSync(join(tmpdir(), "sessile-"));
  folders.push(dir);
  const open = (): SessionStore => fileSessionStore({ dir, durability, maxLineBytes });
  return {
    open,
    maxLineBytes,
    async tear(id) {
      const session = await open().open(id);
      appendFileSync(session.location as string, '{"type":"message","id":"torn0001","parentId":"e00');
      await session.close();
    },
  };
}

const subjects: Readonly<Record<string, () => ConformanceSubject>> = {
  memorySessionStore: memorySubject,
  "fileSessionStore, durable on disk": () => fileSubject("disk"),
  "fileSessionStore, durable in the operating system": () => fileSubject("os"),
};

describe.each(Object.entries(subjects))("%s", (_, subject) => {
  for (const { name, run } of sessionStoreConformance) {
    test(name, { timeout: 30_000 }, async ({ skip }) => {
      const result = await run(subject());
      if (result !== undefined) skip(result.skipped);
    });
  }
});
