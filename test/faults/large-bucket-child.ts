import { createHash } from "node:crypto";
import { type BlobRef, collectGarbage } from "sessile";
import { s3BlobStore } from "sessile/s3";
import { nodeSha256 } from "../support/plain-values.js";

// Lists, verifies and collects a partition of S3 with many blobs; prints the requests, the processor time of each, and
// the largest process. The bucket is a `fetch` that makes replies, so that the time is that of the library.

const [count = 0, verified = count] = process.argv.slice(2).map(Number);
const date = new Date(Date.UTC(2026, 0)).toUTCString();
const bytesAt = (at: number): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(`blob ${at}`.padEnd(1000, "."));
/** Where the blobs are in the order of their keys, and which they are. */
const digests = Buffer.alloc(count * 32);
const order = Uint32Array.from({ length: count }, (_, at) => {
  createHash("sha256")
    .update(bytesAt(at))
    .digest()
    .copy(digests, at * 32);
  return at;
}).sort((a, b) => digests.compare(digests, b * 32, b * 32 + 32, a * 32, a * 32 + 32));
const hexAt = (at: number) => digests.toString("hex", at * 32, at * 32 + 32);
const keyAt = (at: number) => `@acme/sha256/${hexAt(at).slice(0, 2)}/${hexAt(at)}`;
const placeOf = new Map(Array.from(order, (at) => [hexAt(at), at]));

let requests: Record<string, number> = {};

function listed(prefix: string, token: string | null): string {
  const from = Number(token ?? 0);
  const isAll = prefix === "@acme/";
  const page = isAll ? Array.from(order.subarray(from, from + 1000)) : [];
  const rows = page.map(
    (at) =>
      `<Contents><Key>${keyAt(at)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"e"</ETag><Size>1000</Size></Contents>`,
  );
  const next = from + 1000;
  const more = isAll && next < count;
  const truncation = `<IsTruncated>${more}</IsTruncated>${more ? `<NextContinuationToken>${next}</NextContinuationToken>` : ""}`;
  return `<ListBucketResult><Name>b</Name>${truncation}${rows.join("")}</ListBucketResult>`;
}

async function fetch(address: string, init: RequestInit = {}): Promise<Response> {
  const { pathname, searchParams } = new URL(address);
  const kind = searchParams.has("uploads")
    ? "uploads"
    : searchParams.has("list-type")
      ? "list"
      : `${init.method}`;
  requests[kind] = (requests[kind] ?? 0) + 1;
  const headers = { date };
  if (kind === "uploads") return new Response("<ListMultipartUploadsResult/>", { headers });
  if (kind === "list")
    return new Response(listed(searchParams.get("prefix") ?? "", searchParams.get("continuation-token")), {
      headers,
    });
  const at = placeOf.get(pathname.slice(-64)) ?? 0;
  const range = { etag: '"e"', "content-range": "bytes 0-999/1000" };
  return new Response(bytesAt(at), { status: 206, headers: { ...headers, ...range } });
}

const blobs = s3BlobStore({ fetch, url: "http://host/b", hashes: [nodeSha256] }).partition("acme");

async function measured(act: () => Promise<number>) {
  requests = {};
  const before = process.cpuUsage();
  const found = await act();
  const { user, system } = process.cpuUsage(before);
  return { found, requests, cpuMs: Math.round((user + system) / 1000) };
}

const list = await measured(async () => {
  let found = 0;
  for await (const _ of blobs.list()) found++;
  return found;
});
function* refs(found = count): Generator<BlobRef> {
  for (const at of order.subarray(0, found)) yield `sha256:${hexAt(at)}`;
}
const verify = await measured(async () => (await blobs.verify({ refs: refs(verified) })).checked.count);
const collection = await measured(async () => {
  const marks = [{ root: "all", refs: refs(), complete: true }];
  return (await collectGarbage(blobs, { marks })).kept.count;
});
const megabytes = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(JSON.stringify({ list, verify, collection, megabytes }));
