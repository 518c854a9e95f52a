import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { memoryBlobBackend } from "../../src/blobs/memory.js";
import { Quota } from "../../src/blobs/quota.js";

describe("a quota", () => {
  test("is never passed by what is set aside and kept, in any order", async () => {
    const step = fc.record({ bytes: fc.nat({ max: 60 }), keep: fc.boolean(), wait: fc.nat({ max: 3 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const backend = memoryBlobBackend();
        const quota = new Quota(backend, 100);
        let inUse = 0;
        let stored = 0;
        await Promise.all(
          steps.map(async ({ bytes, keep, wait }, index) => {
            const room = quota.reserve();
            try {
              await room.grow(bytes);
            } catch (error) {
              expect(error).toMatchObject({ code: "QUOTA_EXCEEDED", details: { bytes, quota: 100 } });
              return;
            }
            inUse += bytes;
            expect(inUse).toBeLessThanOrEqual(100);
            for (let turn = 0; turn < wait; turn++) await undefined;
            if (keep) {
              await backend.write(`sha256:${`${index}`.padStart(64, "0")}`, new Uint8Array(bytes), {});
              room.keep();
              stored += bytes;
            } else {
              inUse -= bytes;
            }
            room.release();
          }),
        );
        // What was let go can be had again, to the last byte.
        const rest = quota.reserve();
        await rest.grow(100 - stored);
        await expect(quota.reserve().grow(1)).rejects.toMatchObject({ code: "QUOTA_EXCEEDED" });
      }),
    );
  });
});
