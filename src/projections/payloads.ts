import { type ResourcePayload, readPayload } from "../attachments/index.js";
import type { BlobRef, StoredResource } from "../content/index.js";
import type { Attaching, AttachmentWork } from "./work.js";

/** A store on a network answers several at once faster than one after the other. */
const readsAtOnce = 8;

/** Reads what is not inline, each blob once. */
export async function readPayloads(
  works: readonly AttachmentWork[],
  { blobs, signal }: Attaching,
): Promise<ReadonlyMap<BlobRef, ResourcePayload>> {
  const payloads = new Map<BlobRef, ResourcePayload>();
  const stored = works.filter(({ inline }) => inline === undefined);
  const refs = each(new Set(stored.map(({ decided }) => (decided.resource as StoredResource).blob)));
  const readSome = async () => {
    for (const ref of refs) {
      signal?.throwIfAborted();
      payloads.set(ref, await readPayload(blobs, ref, signal));
    }
  };
  await Promise.all(Array.from({ length: readsAtOnce }, readSome));
  return payloads;
}

/** A generator, since that ends for all who take from it when one of them leaves with an error. */
function* each<T>(values: Iterable<T>): Generator<T, void, undefined> {
  yield* values;
}
