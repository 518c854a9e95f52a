import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import fc from "fast-check";
import {
  assistantDeltaPayloadSchema,
  assistantDonePayloadSchema,
  tetherFrameSchema,
  tetherImageSchema,
  tetherSendInput,
  userMessagePayloadSchema,
} from "sessile/schema";
import { type TetherFrame, tetherLimits } from "sessile/tether";
import { describe, expect, expectTypeOf, it } from "vitest";
import * as z from "zod";
import { frameProblem } from "../../src/tether/frame.js";
import { mutationOf } from "../arbitraries/mutations.js";
import { tetherFrame } from "../arbitraries/tether-frames.js";
import { jsonValue } from "../arbitraries/values.js";
import { isRecord } from "../support/plain-values.js";
import { rounds } from "../support/rounds.js";

const session = { channel: "mcp", id: "default" };
const envelope = { v: 1, ts: "2026-01-31T12:00:00Z", session };
const runs = { numRuns: rounds(300, 1500) };

/** What the check by hand accepts: a type that no frame takes is a limit to it, and told as one. */
function accepts(value: unknown): boolean {
  if (frameProblem(value) !== undefined) return false;
  const { type, payload } = value as TetherFrame;
  if (type !== "user.message" && type !== "assistant.done") return true;
  const { images = [] } = payload as { images?: readonly { media_type: string }[] };
  return images.every(({ media_type }) => tetherLimits.imageTypes.some((taken) => taken === media_type));
}

describe("tetherFrameSchema", () => {
  it("accepts every frame, and gives it back as it is", () => {
    fc.assert(
      fc.property(tetherFrame, (frame) => {
        expect(frameProblem(frame)).toBeUndefined();
        expect(tetherFrameSchema.parse(frame)).toEqual(frame);
      }),
    );
  });

  it("agrees with checkFrame about the shape of every mutation of a frame", () => {
    let refused = 0;
    fc.assert(
      fc.property(mutationOf(tetherFrame), (value) => {
        const accepted = accepts(value);
        if (!accepted) refused++;
        expect(tetherFrameSchema.safeParse(value).success).toBe(accepted);
      }),
      runs,
    );
    expect(refused).toBeGreaterThan(runs.numRuns / 5);
  });

  it("agrees with it about any JSON", () => {
    const types = fc.constantFrom("user.message", "assistant.delta", "assistant.done", "control.cancel");
    fc.assert(
      fc.property(jsonValue, types, (value, type) => {
        for (const candidate of [
          value,
          { ...(value as object), ...envelope, type },
          { ...envelope, type, payload: value },
          { ...envelope, type, payload: { text: "", ...(value as object) } },
          { ...envelope, type, payload: { text: "", images: value } },
          { ...envelope, type, payload: { text: "", images: [value] } },
          { ...envelope, type, payload: { text: "", user: value } },
        ]) {
          expect(tetherFrameSchema.safeParse(candidate).success).toBe(accepts(candidate));
        }
      }),
    );
  });

  it.each([0, -1, 1.5, 2 ** 53, "1", null])("refuses, as the check does, the number %j", (seq) => {
    const frame = { ...envelope, type: "control.cancel", seq };
    expect(frameProblem(frame)?.path).toBe("seq");
    expect(tetherFrameSchema.safeParse(frame).success).toBe(false);
  });

  it("takes no known type for another one because its payload is wrong", () => {
    for (const type of ["user.message", "assistant.delta", "assistant.done"]) {
      expect(tetherFrameSchema.safeParse({ ...envelope, type, payload: {} }).success).toBe(false);
      expect(tetherFrameSchema.safeParse({ ...envelope, type: `${type}.more`, payload: {} }).success).toBe(
        true,
      );
      expect(tetherFrameSchema.safeParse({ ...envelope, type: type.replace(".", "-") }).success).toBe(true);
    }
  });

  it("can be printed as a JSON Schema that names every type", () => {
    const { anyOf = [] } = z.toJSONSchema(tetherFrameSchema);
    expect(anyOf.map(({ properties }) => properties?.type)).toMatchObject([
      { const: "user.message" },
      { const: "assistant.delta" },
      { const: "assistant.done" },
      { type: "string", minLength: 1, pattern: expect.stringContaining("user\\.message") },
    ]);
  });
});

describe("the schemas of payloads", () => {
  it("accept what the frame's schema accepts of them", () => {
    const schemas = new Map<unknown, z.ZodType>([
      ["user.message", userMessagePayloadSchema],
      ["assistant.delta", assistantDeltaPayloadSchema],
      ["assistant.done", assistantDonePayloadSchema],
    ]);
    fc.assert(
      fc.property(mutationOf(tetherFrame), (value) => {
        const schema = isRecord(value) ? schemas.get(value.type) : undefined;
        if (!isRecord(value) || schema === undefined) return;
        const frame = { ...envelope, type: value.type, payload: value.payload };
        expect(schema.safeParse(value.payload).success).toBe(tetherFrameSchema.safeParse(frame).success);
      }),
    );
  });

  it("keep fields that they do not know", () => {
    const image = { media_type: "image/png", data: "", ref: "sha256:00", size: 1 };
    expect(tetherImageSchema.parse(image)).toEqual(image);
    const payload = { text: "", images: [image], user: { id: "1", later: 1 }, later: {} };
    expect(userMessagePayloadSchema.parse(payload)).toEqual(payload);
  });
});

describe("tetherSendInput", () => {
  // @covers R50
  it("needs instance and text, and tells the session that is meant where none is", () => {
    expect(tetherSendInput.parse({ instance: "a", text: "" })).toEqual({
      instance: "a",
      text: "",
      session_id: "default",
    });
    for (const wrong of [
      { text: "" },
      { instance: "a" },
      { instance: "", text: "" },
      { instance: "a", text: "", session_id: "" },
      { instance: "a", text: "", images: [{ media_type: "image/svg+xml", data: "" }] },
      { instance: "a", text: "", images: [{ media_type: "image/png" }] },
    ]) {
      expect(tetherSendInput.safeParse(wrong).success).toBe(false);
    }
  });

  it("is an input schema for the MCP SDK", () => {
    const server = new McpServer({ name: "test", version: "1.0.0" });
    server.registerTool(
      "tether_send",
      { inputSchema: tetherSendInput },
      ({ text, images = [], session_id }) => {
        expectTypeOf(text).toEqualTypeOf<string>();
        expectTypeOf(session_id).toEqualTypeOf<string>();
        expectTypeOf(images[0]?.data).toEqualTypeOf<string | undefined>();
        return { content: [] };
      },
    );
  });

  it("is printed with what is required, and the default", () => {
    expect(z.toJSONSchema(tetherSendInput, { io: "input" })).toMatchObject({
      type: "object",
      required: ["instance", "text"],
      properties: { session_id: { default: "default" }, images: { type: "array" } },
    });
  });
});
