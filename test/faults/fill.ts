import { closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from "node:fs";
import { join } from "node:path";

const pageBytes = 4096;

/** Fills a disk but for so many pages; gives what makes room again. */
export function fill(dir: string, pagesLeft: number): () => void {
  const path = join(dir, "filler");
  const fd = openSync(path, "a");
  const until = (bytes: Uint8Array) => {
    try {
      for (;;) writeSync(fd, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  };
  until(new Uint8Array(pageBytes));
  closeSync(fd);
  // Room is made by the page, for whoever comes.
  const { size } = statSync(path);
  truncateSync(path, size - pagesLeft * pageBytes);
  return () => rmSync(path);
}
