import { assistantMessage, type ContextMessage, contextFrom, memoryBlobStore, userMessage } from "sessile";
import { ingest } from "sessile/attachments";
import { SessileError } from "sessile/errors";
import {
  assistantDone,
  checkFrame,
  readFrame,
  readTetherSend,
  type TetherImage,
  tetherImage,
  tetherLimits,
  userMessageFrame,
  windowContext,
} from "sessile/tether";
import { describe, expect, test } from "vitest";
import { base64, bytesOf, gif, image, png } from "../attachments/samples.js";
import { pngOf, to } from "../support/tether.js";

const mebibyte = 2 ** 20;

/** Everything that makes a frame, or takes one in: as MCP's tool, a gateway, an endpoint and an agent use it. */
const producers: readonly [string, (images: readonly TetherImage[]) => unknown][] = [
  ["readTetherSend", (images) => readTetherSend({ instance: "a", text: "", images })],
  ["userMessageFrame", (images) => userMessageFrame(to, { text: "", images })],
  ["assistantDone", (images) => assistantDone(to, "", images)],
  ["checkFrame", (images) => checkFrame(frameOf(images))],
  ["readFrame", (images) => readFrame(JSON.stringify(frameOf(images)))],
  ["readFrame of a value", (images) => readFrame(frameOf(images))],
];

function frameOf(images: readonly TetherImage[]) {
  return {
    v: 1,
    type: "user.message",
    ts: "2026-01-01T00:00:00Z",
    session: to,
    payload: { text: "", images },
  };
}

/** Base64 of so many bytes that nobody is to decode: it is none. */
const undecodable = (bytes: number): TetherImage => ({
  media_type: "image/png",
  data: `${"%".repeat(Math.ceil(bytes / 3) * 4)}`,
});
const small = tetherImage(png());

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (SessileError.is(error, "LIMIT_EXCEEDED")) return error.message;
    throw error;
  }
  return expect.fail("it was taken");
}

describe.each(producers)("20. Size validation, by %s", (_name, produce) => {
  test("takes what is exactly as large as it may be", () => {
    const whole = [1, 2].map((grey) => tetherImage(pngOf(10 * mebibyte, grey)));
    expect(() => produce(whole)).not.toThrow();
    expect(() => produce([small, small, small, small])).not.toThrow();
  });

  // @covers R44 R46 security:frames
  test("refuses an image, a frame and a number that are over, by the length of the base64 alone", () => {
    expect(refusal(() => produce([undecodable(15 * mebibyte)]))).toBe(
      "images[0] too large: 15728640 bytes (max 10485760)",
    );
    expect(refusal(() => produce(Array(3).fill(undecodable(7_100_000))))).toMatch(
      /^images too large together: 213\d{5} bytes \(max 20971520\)$/,
    );
    expect(refusal(() => produce(Array(5).fill(small)))).toBe("too many images: 5 (max 4)");
  });
});

describe.each(producers)("21. Media type validation, by %s", (_name, produce) => {
  test.each(["image/svg+xml", "image/bmp", "IMAGE/PNG", "image/png; charset=x", "", "text/html"])(
    "refuses %j",
    (media_type) => {
      const posing = { media_type, data: small.data } as TetherImage;
      expect(refusal(() => produce([posing]))).toMatch(/^images\[0\] of unsupported type: /);
    },
  );

  // @covers R45 R87
  test("refuses bytes that are not what they are said to be, even another image's", () => {
    const mismatched = [
      { media_type: "image/png", data: base64(gif) },
      { media_type: "image/png", data: base64(bytesOf("<svg/>")) },
      { media_type: "image/png", data: "" },
    ] as const;
    for (const one of mismatched) expect(() => produce([one])).toThrow(/declared as image\/png, but is /);
    expect(() => produce([{ media_type: "image/png", data: base64(png().slice(0, 20)) }])).toThrow(
      /truncated/,
    );
  });
});

describe("22. Oversize rejection test", () => {
  test.each(producers)("%s refuses 15 MB, and five of 10 MB", (_name, produce) => {
    expect(refusal(() => produce([undecodable(15_000_000)]))).toContain(
      "images[0] too large: 15000000 bytes",
    );
    const five = Array(5).fill(undecodable(10_000_000));
    // What is too long for the wire is not looked into.
    expect(refusal(() => produce(five))).toMatch(
      /^too many images: 5 \(max 4\)$|^frame too large: \d+ bytes/,
    );
  });
});

describe("23. Context windowing", () => {
  const turn = (n: number, ...images: readonly number[]): readonly ContextMessage[] => [
    userMessage(`turn ${n}`, ...images.map((at) => image(at))),
    assistantMessage({ provider: "p", model: "m" }, `answer ${n}`),
  ];
  const kept = (messages: readonly ContextMessage[], characters: number) =>
    windowContext(contextFrom(messages), characters).items.flatMap(({ message }) => {
      if (message.role !== "user") return [];
      const { content } = message;
      return typeof content === "string" ? content : (content[0] as { readonly text: string }).text;
    });

  // @covers R66
  test("an image costs the same whatever its size, and pushes old turns out before it fills the window", async () => {
    const blobs = memoryBlobStore();
    const large = await ingest({ bytes: pngOf(10 * mebibyte) }, { blobs });
    const messages = [...turn(1, 1), ...turn(2, 2), userMessage("turn 3", large), ...turn(4)];
    expect(kept(messages, 10_000)).toEqual(["turn 1", "turn 2", "turn 3", "turn 4"]);
    expect(kept(messages, 5_000)).toEqual(["turn 2", "turn 3", "turn 4"]);
    expect(kept(messages, 3_000)).toEqual(["turn 3", "turn 4"]);
  });

  test("and a recent one is not pushed out by the text before it", () => {
    const long = assistantMessage({ provider: "p", model: "m" }, "x".repeat(50_000));
    const messages = [userMessage("long"), long, ...turn(2, 2)];
    const { items } = windowContext(contextFrom(messages), 4_000);
    expect(items.map(({ message }) => message)).toEqual(
      turn(2, 2).map((one) => ({ ...one, timestamp: expect.any(Number) })),
    );
  });

  test("the newest message stays with its image, though it alone is over", () => {
    const { items } = windowContext(contextFrom([...turn(1), userMessage("see", image(1))]), 10);
    expect(items).toHaveLength(1);
  });
});

// @covers R47
test("the limits are those of the requirements, in one place", () => {
  expect(tetherLimits).toEqual({
    maxImageBytes: 10 * mebibyte,
    maxFrameBytes: 20 * mebibyte,
    maxImages: 4,
    maxWireBytes: 28 * mebibyte,
    imageTypes: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  });
});
