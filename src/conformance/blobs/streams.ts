/** Puts and reads that end early: failed sources, aborts, abandoned streams. */

import { equal, refuses, within } from "../expect.js";
import { blobCase, inChunks, noise, readError, refsIn } from "./harness.js";

export const streamCases = [
  blobCase("a source that fails leaves nothing, and its error comes out", async ({ open }) => {
    const store = await open();
    const broken = new Error("the line went dead");
    for (const before of [0, 10, 400_000]) {
      const source = async function* () {
        yield* inChunks(noise(before), 100_000);
        throw broken;
      };
      equal(
        (await readError(() => store.put(source()), "put")) === broken,
        true,
        "whether it is the source's error",
      );
    }
    equal(await refsIn(store), [], "blobs");
  }),

  blobCase("a source of something else than bytes is a TypeError", async ({ open }) => {
    const store = await open();
    const texts = async function* () {
      yield noise(10);
      yield "text" as unknown as Uint8Array;
    };
    await refuses(() => store.put(texts()), "put of a stream of strings");
    for (const other of ["text", [1, 2], undefined, null, 7, new ArrayBuffer(2)]) {
      await refuses(() => store.put(other as unknown as Uint8Array), "put of what is no source");
    }
    equal(await refsIn(store), [], "blobs");
  }),

  blobCase(
    "an aborted put ends with the signal's reason, closes its source and leaves nothing",
    async ({ open }) => {
      const store = await open();
      const reason = new TypeError("no longer wanted");
      await refuses(() => store.put(noise(10), { signal: AbortSignal.abort(reason) }), "put after an abort");
      for (const length of [1000, 400_000]) {
        const controller = new AbortController();
        let closed = false;
        const source = async function* () {
          try {
            yield noise(length);
            controller.abort(reason);
            yield noise(length);
          } finally {
            closed = true;
          }
        };
        await refuses(
          () => store.put(source(), { signal: controller.signal }),
          "put that is aborted meanwhile",
        );
        await undefined;
        equal(closed, true, "whether the source was closed");
      }
      const controller = new AbortController();
      const { signal } = controller;
      await refuses(
        () => store.put(noise(1_500_000), { signal, onProgress: () => controller.abort(reason) }),
        "put of bytes that is aborted meanwhile",
      );
      equal(await refsIn(store), [], "blobs");
    },
  ),

  blobCase("an aborted put does not wait for a source that hangs", async ({ open }) => {
    const store = await open();
    const controller = new AbortController();
    const source = async function* () {
      yield noise(400_000);
      await new Promise(() => undefined);
    };
    const put = store.put(source(), { signal: controller.signal });
    setTimeout(() => controller.abort(new TypeError("waited enough")), 20);
    await within(
      refuses(() => put, "put from a source that hangs"),
      "the end of the put",
    );
    equal(await refsIn(store), [], "blobs");
  }),

  blobCase("a stream that is left early harms nothing", async ({ open }) => {
    const store = await open();
    const { ref } = await store.put(noise(1_500_000));
    for await (const chunk of (await store.stream(ref)) ?? []) {
      equal(chunk.length > 0, true, "whether a chunk has bytes");
      break;
    }
    await store.stream(ref);
    equal((await store.get(ref))?.length, 1_500_000, "bytes read after that");
    equal(await store.delete(ref), true, "whether it could be deleted");
  }),

  blobCase("an aborted get, stream or list ends with the signal's reason", async ({ open }) => {
    const store = await open();
    const { ref } = await store.put(noise(1_500_000));
    await store.put(noise(10));
    const signal = AbortSignal.abort(new TypeError("no longer wanted"));
    await refuses(() => store.get(ref, { signal }), "get after an abort");
    await refuses(() => store.stream(ref, { signal }), "stream after an abort");
    await refuses(async () => {
      for await (const _ of store.list({ signal }));
    }, "list after an abort");
    const controller = new AbortController();
    await refuses(async () => {
      for await (const _ of store.list({ signal: controller.signal })) {
        controller.abort(new TypeError("enough"));
      }
    }, "list that is aborted meanwhile");
    for await (const _ of store.list()) break;
    equal((await refsIn(store)).length, 2, "blobs");
  }),
];
