import { createHash } from "node:crypto";
import { collectGarbage } from "sessile";
import { s3BlobStore } from "sessile/s3";
import { nodeSha256 } from "../../support/plain-values.js";

/** What tests have other processes do with a bucket; the first argument is the role. Each line that it says is an acknowledgement. */

const [role, url = "", prefix = "", name = ""] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const blobs = s3BlobStore({ fetch, url, prefix, partBytes: 5 * 2 ** 20, hashes: [nodeSha256] });

/** The lease of the collector, and how long before its end the others stop to look. */
const leaseMs = 3000;
const marginMs = 500;

/** Bytes that a seed makes. */
function bytesOf(seed: string, length: number): Uint8Array {
  const block = createHash("sha512").update(seed).digest();
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += block.length) bytes.set(block.subarray(0, length - at), at);
  return bytes;
}

const roles: Readonly<Record<string, () => Promise<void>>> = {
  /** Puts by parts, small and large in turn, until it is killed. */
  async put() {
    for (let at = 0; ; at++) {
      const bytes = bytesOf(`${name} ${at}`, at % 4 === 0 ? 11 * 2 ** 20 : 2000 + at);
      say((await blobs.put(bytes)).ref);
    }
  },
  /**
   * Puts and touches twenty blobs, which others put too, until it is killed. Says each acknowledgement with the
   * time of its call, and each blob that was not there within its lease.
   */
  async renew() {
    const acknowledged: { readonly ref: `${"sha256" | "blake3"}:${string}`; readonly at: number }[] = [];
    for (let round = 0; ; round++) {
      const at = Date.now();
      const older = acknowledged[(round * 7) % Math.max(1, acknowledged.length)];
      const act = () =>
        round % 3 === 2 && older !== undefined
          ? blobs.touch(older.ref)
          : blobs.put(bytesOf(`shared ${round % 20}`, 500 + (round % 20)));
      // A failure acknowledges nothing.
      const stat = await act().catch(() => undefined);
      if (stat !== undefined) {
        acknowledged.push({ ref: stat.ref, at });
        say(`${stat.ref} ${at}`);
      }
      const recent = acknowledged.filter((one) => one.at > Date.now() - leaseMs + marginMs);
      const one = recent[(round * 11) % Math.max(1, recent.length)];
      if (one === undefined) continue;
      const got = await blobs.get(one.ref).catch(() => "failed");
      // The lease may have ended while it was read.
      if (got === undefined && one.at > Date.now() - leaseMs) say(`LOST ${one.ref}`);
    }
  },
  /** Collects until it is killed. */
  async collect() {
    const marks = [{ root: "none", refs: [], complete: true }];
    for (;;) {
      try {
        const report = await collectGarbage(blobs, { marks, graceMs: leaseMs, trashMs: 0 });
        say(`${report.trashed.count} ${report.deleted.count}`);
      } catch {
        say("failed");
      }
    }
  },
};

await roles[role ?? ""]?.();
