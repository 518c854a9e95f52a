import { type OnOperation, observed, observedItems } from "../internal/operations.js";
import type { BlobStore } from "./types.js";

/** A blob store that reports each of its methods, once. */
export function observedBlobStore(store: BlobStore, hook: OnOperation): BlobStore {
  return {
    put: (source, options) =>
      observed(
        hook,
        "put",
        () => store.put(source, options),
        ({ size }) => size,
      ),
    get: (ref, options) =>
      observed(
        hook,
        "get",
        () => store.get(ref, options),
        (bytes) => bytes?.length,
      ),
    async stream(ref, options) {
      let chunks: AsyncIterable<Uint8Array> | undefined;
      // A stream that began is reported at its end.
      const unlessBegun: OnOperation = (operation) => chunks ?? hook(operation);
      await observed(unlessBegun, "stream", async () => {
        chunks = await store.stream(ref, options);
      });
      return chunks && observedItems(hook, "stream", chunks, ({ length }) => length);
    },
    stat: (ref) => observed(hook, "stat", () => store.stat(ref)),
    locate: (ref) => observed(hook, "locate", () => store.locate(ref)),
    touch: (ref) => observed(hook, "touch", () => store.touch(ref)),
    list: (options) => observedItems(hook, "list", store.list(options)),
    delete: (ref) => observed(hook, "delete", () => store.delete(ref)),
    verify: (options) =>
      observed(
        hook,
        "verify",
        () => store.verify(options),
        ({ checked }) => checked.bytes,
      ),
    // The inner store has the hook in its options, so that this one reports too.
    partition: (name) => store.partition(name),
    backend: store.backend,
  };
}
