import { contextFrom, project, type Target, toBody, userMessage } from "sessile";
import { describe, expect, test } from "vitest";
import { Base64Placeholders, mediaPart, withBase64Placeholders } from "../../src/providers/media-part.js";
import { png } from "../attachments/samples.js";
import { plainTarget } from "./samples.js";

const text = (parts: Iterable<Uint8Array>) => Buffer.concat([...parts]).toString();

describe("StandIns", () => {
  test("are found again in any text, in order, and as often as they are there", () => {
    const standIns = new Base64Placeholders();
    const [one, two] = [Uint8Array.of(1), Uint8Array.of(2)];
    const [a, b] = [standIns.for(one), standIns.for(two)];
    expect(JSON.stringify([a, b])).toBe(`["${a}","${b}"]`);
    expect(standIns.cut(`x${b}y${a}${b}`)).toEqual({ texts: ["x", "y", "", ""], spliced: [two, one, two] });
    expect(standIns.cut("nothing:0;")).toEqual({ texts: ["nothing:0;"], spliced: [] });
  });
});

describe("withStandIns", () => {
  const origin = { entryId: "m0", item: 0 };

  test("stands in for base64 and data URLs while it runs, and no longer, also where it throws", () => {
    const part = mediaPart({ kind: "image", mediaType: "image/png", bytes: png(), origin });
    const [base64, dataUrl] = [part.base64, part.dataUrl];
    const standIns = new Base64Placeholders();
    const seen = withBase64Placeholders(
      [part],
      ({ bytes }) => standIns.for(bytes),
      () => [part.base64, part.dataUrl],
    );
    expect(seen.map((one) => standIns.cut(one).spliced)).toEqual([[part.bytes], [part.bytes]]);
    expect(seen[1]).toBe(`data:image/png;base64,${seen[0]}`);
    expect(() =>
      withBase64Placeholders(
        [part],
        ({ bytes }) => standIns.for(bytes),
        () => {
          throw new Error("no");
        },
      ),
    ).toThrow("no");
    expect([part.base64, part.dataUrl]).toEqual([base64, dataUrl]);
  });
});

describe("a projection with bytes", () => {
  const bytes = png(40, 40);
  const data = Buffer.from(bytes).toString("base64");
  const context = contextFrom([
    { ...userMessage(""), content: [{ type: "image", data, mimeType: "image/png" }] },
  ]);
  let losses = 0;
  const target: Target<{ parts: { data: string; note?: string }[] }> = {
    ...plainTarget(),
    accepts: { user: ["image/*"], toolResult: [] },
    embedsBase64: true,
    render: ({ turns }, { reportLoss }) => ({
      parts: turns.flatMap(({ parts }) =>
        parts.flatMap((part) => {
          if (part.type !== "media") return [];
          reportLoss(part, { code: "retyped", by: "target", reason: `loss ${++losses}` });
          return [{ data: part.base64 }];
        }),
      ),
    }),
  };

  test("has a body of its bytes, whether its value was looked at before or is after", async () => {
    const expected = JSON.stringify({ model: "m", parts: [{ data }] });
    const unseen = await project(context, target);
    expect(text(toBody(unseen, { model: "m" }))).toBe(expected);
    expect(unseen.value).toEqual({ parts: [{ data }] });
    expect(text(toBody(unseen, { model: "m" }))).toBe(expected);
  });

  test("has a body with what the caller changed in its value", async () => {
    const projection = await project(context, target);
    const [part] = projection.value.parts;
    if (part !== undefined) part.note = "changed";
    expect(text(toBody(projection))).toBe(JSON.stringify({ parts: [{ data, note: "changed" }] }));
    expect(projection.value).toBe(projection.value);
  });

  test("hears of each loss once", async () => {
    const projection = await project(context, target);
    expect(projection.value.parts).toHaveLength(1);
    expect(projection.losses.filter(({ code }) => code === "retyped")).toHaveLength(1);
  });
});
