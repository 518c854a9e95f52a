import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Claim, fasterThan, timesTable } from "./support/claim.js";
import { heldOutTexts } from "./support/texts.js";

const sides = { ours: "estimate", peer: "tokenx" };
const times = 20;

export const estimateSpeed: Claim = {
  name: "estimate-speed",
  title: `Estimate the tokens of a megabyte of text of all kinds, ${times} times, in a program that has done so before`,
  async measure(runner) {
    return runner.inDirectory("estimate", async (dir) => {
      const samples = heldOutTexts();
      const of = async (what: string, texts: readonly string[]) => {
        const path = join(dir, "texts.json");
        writeFileSync(path, JSON.stringify(texts));
        return runner.compare(what, "estimate", () => ({ path, times }), sides);
      };
      const all = await of(
        "all kinds",
        samples.map(({ text }) => text),
      );
      const one = async (kind: string) =>
        of(
          `${kind} alone`,
          samples.flatMap((each) => (each.kind === kind ? [each.text] : [])),
        );
      return timesTable("tokenx", [
        { ...all, targets: [fasterThan("tokenx", all, 5)] },
        { ...(await one("English prose")), targets: [] },
        { ...(await one("TypeScript")), targets: [] },
        { ...(await one("base64")), targets: [] },
      ]);
    });
  },
};
