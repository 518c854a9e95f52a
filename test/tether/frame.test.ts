import type {
  AssistantDoneFrame,
  CheckedFrame,
  SequencedFrame,
  TetherFrame,
  TetherImage,
  UserMessageFrame,
} from "sessile/tether";
import { checkFrame } from "sessile/tether";
import { describe, expect, expectTypeOf, it } from "vitest";
import { smallImage } from "../support/tether.js";

const session = { channel: "telegram", id: "42" };

describe("frames", () => {
  it("are plain data that a program can write by hand", () => {
    const frame: UserMessageFrame = {
      v: 1,
      type: "user.message",
      ts: "2026-01-31T12:00:00Z",
      session,
      payload: {
        text: "Analyze this chart",
        images: [smallImage],
        user: { id: "123", name: "Alice" },
      },
    };
    expect(checkFrame(frame)).toMatchObject({ kind: "userMessage", frame });
  });

  it("of a known type are frames, and so are those of a ring", () => {
    expectTypeOf<UserMessageFrame>().toExtend<TetherFrame>();
    expectTypeOf<AssistantDoneFrame>().toExtend<TetherFrame>();
    expectTypeOf<SequencedFrame>().toExtend<TetherFrame>();
    expectTypeOf<AssistantDoneFrame & { seq: number }>().toExtend<SequencedFrame>();
    expectTypeOf<TetherFrame>().not.toExtend<SequencedFrame>();
  });

  it("have images of the four types, by value and never by reference", () => {
    expectTypeOf<TetherImage["media_type"]>().toEqualTypeOf<
      "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    >();
    expectTypeOf<keyof TetherImage>().toEqualTypeOf<"media_type" | "data">();
  });

  it("are told apart by their kind once they are checked", () => {
    expectTypeOf<
      Extract<CheckedFrame, { kind: "assistantDone" }>["frame"]
    >().toEqualTypeOf<AssistantDoneFrame>();
    expectTypeOf<Extract<CheckedFrame, { kind: "other" }>["frame"]["payload"]>().toEqualTypeOf<unknown>();
    expectTypeOf<Extract<CheckedFrame, { kind: "assistantDelta" }>["images"]>().toEqualTypeOf<readonly []>();
  });
});
