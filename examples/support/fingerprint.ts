import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";

/** Bytes and time of a file in one string, to tell whether it was changed; undefined where there is no regular file. */
export async function fingerprint(path: string): Promise<string | undefined> {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  if (stats?.isFile() !== true) return undefined;
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return `${stats.mtimeNs} ${hash.digest("hex")}`;
}
