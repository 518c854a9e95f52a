/**
 * Brings the ends of many files into the system's cache while a list reads them one after the other: a disk
 * serves several readers at once.
 */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";

/** Fewer files are read before the threads have started. */
const minFiles = 1_000;
const threads = 4;

/** Reads the first 16 KiB and the last 64 KiB of each file. Each thread reads a part of the files. */
const program = `
const { closeSync, fstatSync, openSync, readSync } = require("node:fs");
const { workerData } = require("node:worker_threads");
const buffer = Buffer.alloc(65536);
for (const path of workerData) {
  try {
    const file = openSync(path);
    const { size } = fstatSync(file);
    readSync(file, buffer, 0, 16384, 0);
    if (size > 16384) readSync(file, buffer, 0, 65536, Math.max(0, size - 65536));
    closeSync(file);
  } catch {
    // The list reports the error of the file.
  }
}`;

/** Starts reading. The result ends it. */
export function readAhead(dir: string): () => Promise<void> {
  const paths = sessionFiles(dir);
  if (paths.length < minFiles) return async () => {};
  const workers = Array.from({ length: threads }, (_, thread) => {
    const workerData = paths.filter((_path, at) => at % threads === thread);
    const worker = new Worker(program, { eval: true, workerData, stderr: true, execArgv: [] });
    // Without the threads the list is only slower.
    worker.on("error", () => {});
    worker.unref();
    return worker;
  });
  return async () => {
    await Promise.all(workers.map((worker) => worker.terminate()));
  };
}

function sessionFiles(dir: string): readonly string[] {
  try {
    const names = readdirSync(dir, { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".jsonl")).map((name) => join(dir, name));
  } catch {
    return [];
  }
}
