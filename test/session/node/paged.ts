import type { SessionEntry, UnknownEntry } from "sessile";
import type { EntriesPage } from "sessile/node";
import type { FileSystem } from "../../../src/core/node/file-system.js";
import { readEntriesBackwardsOn } from "../../../src/storage/files/read-ends.js";
import { SimulatedDisk } from "../../support/simulated-disk.js";

export type Entry = SessionEntry | UnknownEntry;

/** Where {@link diskOf} puts a file. */
export const path = "/s/log.jsonl";
export const custom = (id: string, parentId: string | null = null, data: unknown = null): SessionEntry => {
  const place = { id, parentId, timestamp: "2025-11-20T23:33:50.805Z" };
  return { type: "custom", ...place, customType: "c", data };
};
export function diskOf(content: string | Uint8Array): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.put(path, content);
  return disk;
}

/** All pages, the oldest first. */
export async function pagesOf(
  disk: FileSystem,
  options: (page: number) => Parameters<typeof readEntriesBackwardsOn>[2] = () => ({}),
  between: () => void = () => undefined,
): Promise<readonly EntriesPage[]> {
  const pages: EntriesPage[] = [];
  for (let before: string | undefined; ; ) {
    const cursor = before === undefined ? {} : { before };
    const page = await readEntriesBackwardsOn(disk, path, { ...options(pages.length), ...cursor });
    pages.unshift(page);
    if (page.before === undefined) return pages;
    // It goes through JSON, as to a browser and back.
    before = JSON.parse(JSON.stringify(page.before)) as string;
    between();
  }
}
