import { describe, expect, test } from "vitest";
import { readPayloads } from "../../src/providers/attachments.js";
import { everyBlob, image } from "../attachments/samples.js";
import { attaching, work } from "./samples.js";

const many = Array.from({ length: 100 }, (_, at) => work(image(at), at));

describe("readPayloads", () => {
  test("reads each blob once, and says which are missing or damaged", async () => {
    const { blobs, reads } = everyBlob([image(1).blob], [image(2).blob]);
    const works = [0, 1, 2, 1, 0].map((number) => work(image(number)));
    const payloads = await readPayloads(works, attaching({ blobs }));
    expect(reads).toEqual([image(0).blob, image(1).blob, image(2).blob]);
    const kinds = [...payloads.values()].map((payload) => (typeof payload === "string" ? payload : "bytes"));
    expect(kinds).toEqual(["bytes", "missing", "corrupt"]);
  });

  test("says that all are missing where there is no store", async () => {
    expect([...(await readPayloads([work(image(1))], attaching())).values()]).toEqual(["missing"]);
  });

  test("reads nothing for what is inline", async () => {
    const { blobs, reads } = everyBlob();
    const inline = { bytes: Uint8Array.of(1), base64: undefined, declared: "image/png" };
    await readPayloads([{ ...work(image(1)), inline }], attaching({ blobs }));
    expect(reads).toEqual([]);
  });

  test("reads several at once, and not all", async () => {
    let [now, most] = [0, 0];
    const get = async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
      return Uint8Array.of(1);
    };
    expect((await readPayloads(many, attaching({ blobs: { get } }))).size).toBe(100);
    expect(most).toBe(8);
  });

  test("gives a store's failure on, and asks no more of it", async () => {
    let asked = 0;
    const get = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      if (asked++ === 3) throw new Error("gone");
      return Uint8Array.of(1);
    };
    await expect(readPayloads(many, attaching({ blobs: { get } }))).rejects.toThrow("gone");
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(asked).toBeLessThan(25);
  });

  test("stops when it is told to", async () => {
    const controller = new AbortController();
    let asked = 0;
    const get = async () => {
      if (++asked === 10) controller.abort(new Error("enough"));
      return Uint8Array.of(1);
    };
    const reading = readPayloads(many, attaching({ blobs: { get }, signal: controller.signal }));
    await expect(reading).rejects.toThrow("enough");
    expect(asked).toBeLessThan(25);
  });
});
