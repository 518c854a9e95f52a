import { type Claim, fasterThan, type Row, type Target, timesTable } from "./support/claim.js";

const sides = (peer: string) => ({ ours: "body", peer });

/** 24 MB of images; and as many as make a body of 24 MB. */
const images = { count: 8, size: 3_000_000 };
const fewer = { count: 6, size: 3_000_000 };
const bodyMb = 24;

const kinds = [
  ["a body that is streamed, as fetch takes it", "stream"],
  ["a body that is kept whole", "body"],
] as const;

export const bodyBesideBase64: Claim = {
  name: "body-base64",
  title: "From 24 MB of images, 8 of 3 MB, to the pieces of a body, beside their base64 alone",
  async measure(runner) {
    const input = { ...images, digest: false };
    const rows: Row[] = [];
    for (const [what, task] of kinds) {
      const row = await runner.compare(what, task, () => input, sides("base64"));
      const target = { ...fasterThan("base64 alone", row, 1 / 2), text: "within 2 times of base64 alone" };
      rows.push({ ...row, targets: [target] });
    }
    return timesTable("base64", rows);
  },
};

export const bodyBesideStringify: Claim = {
  name: "body",
  title:
    "From 24 MB of images to a body, beside base64, JSON.stringify and encoding, which give the same bytes",
  async measure(runner) {
    const { found: shape } = await runner.once("body", "shape", images);
    const input = { ...images, digest: true, shape };
    const row = await runner.compare("a body that is kept whole", "body", () => input, sides("stringify"));
    return timesTable("stringify", [{ ...row, targets: [fasterThan("stringify", row, 3)] }]);
  },
};

export const bodyMemory: Claim = {
  name: "body-memory",
  title: `Memory for a body of ${bodyMb} MB, the images it is made of not counted`,
  async measure(runner) {
    const held = await runner.alone("the images", "hold", fewer, "body");
    const rows: Row[] = [{ ...held, targets: [] }];
    for (const [what, task] of kinds) {
      const row = await runner.alone(what, task, { ...fewer, digest: false }, "body");
      rows.push({ ...row, targets: [ceiling(row.ours.peakMb - held.ours.peakMb)] });
    }
    return timesTable(undefined, rows);
  },
};

function ceiling(mb: number): Target {
  const times = mb / bodyMb;
  return {
    text: `${times.toFixed(1)} times its size more than the images alone, at most 2`,
    met: times <= 2,
  };
}
