import { describe, expect, test } from "vitest";
import { canDeliver, deliveryFor } from "../../src/providers/attachment-state.js";
import type { AttachmentPlace } from "../../src/providers/request.js";
import { image } from "../attachments/samples.js";
import { attaching, plainTarget, work } from "./samples.js";

const resize = () => undefined;

describe("wayFor", () => {
  test.each<[string, AttachmentPlace, string | undefined]>([
    ["image/png", "user", "native"],
    ["image/png", "toolResult", "native"],
    ["image/jpeg", "toolResult", "moved"],
    ["application/pdf", "toolResult", "moved"],
    ["text/plain", "user", "native"],
    ["text/plain", "toolResult", "asText"],
    ["text/csv", "user", "asText"],
    ["application/json", "user", "asText"],
    ["image/svg+xml", "user", "asText"],
    ["image/gif", "user", undefined],
    ["image/gif", "toolResult", undefined],
    ["application/zip", "user", undefined],
    ["image/png", "textOnly", undefined],
    ["text/plain", "textOnly", undefined],
  ])("%s in %s: %s", (mediaType, place, way) => {
    expect(deliveryFor(mediaType, work(image(1), 0, place), attaching())).toBe(way);
  });

  test("an image that is not taken is converted where somebody can", () => {
    const options = attaching({ resize });
    expect(deliveryFor("image/gif", work(image(1)), options)).toBe("converted");
    expect(deliveryFor("image/gif", work(image(1), 0, "toolResult"), options)).toBe("converted");
    expect(deliveryFor("image/gif", work(image(1), 0, "textOnly"), options)).toBe(undefined);
    expect(deliveryFor("application/zip", work(image(1)), options)).toBe(undefined);
    const blind = attaching({
      resize,
      target: plainTarget({ accepts: { user: ["text/*"], toolResult: [] } }),
    });
    expect(deliveryFor("image/gif", work(image(1)), blind)).toBe(undefined);
  });

  test("a target that says nothing takes text alone", () => {
    const target = { name: "t", model: { provider: "p", model: "m" }, render: () => "" };
    const ways = ["image/png", "text/plain"].map((type) =>
      deliveryFor(type, work(image(1)), attaching({ target })),
    );
    expect(ways).toEqual([undefined, "asText"]);
  });
});

describe("mayGo", () => {
  test("gives an image of a type that is not taken the benefit of the doubt", () => {
    expect(canDeliver(work(image(1, { mediaType: "image/heic" })), attaching())).toBe(true);
    expect(canDeliver(work(image(1, { mediaType: "application/zip", kind: "file" })), attaching())).toBe(
      false,
    );
    expect(canDeliver(work(image(1), 0, "textOnly"), attaching())).toBe(false);
  });
});
