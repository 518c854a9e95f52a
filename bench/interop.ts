import { fixture } from "../test/support/fixtures.js";
import { type Claim, fasterThan, type Row, timesTable } from "./support/claim.js";

const sides = { ours: "interop", peer: "json-lines" };
const real = fixture("agents/claude-code/claude-code-viewer/fe5e1c67-53e7-4862-81ae-d0e013e3270b.jsonl");
const bytes = 50_000_000;

const sources = [
  { what: "generated, results of 6 kB", path: undefined },
  ...(real.absent === undefined ? [{ what: "a real one of 774 kB again and again", path: real.path }] : []),
];

/** JSON.parse of each line, decoded, with all values kept. Files are in memory; both sides have compiled their code before. */
export const interop: Claim = {
  name: "interop",
  title:
    "A transcript of Claude Code of 50 MB to the entries of a session, beside JSON.parse of its lines alone",
  async measure(runner) {
    const rows: Row[] = [];
    for (const { what, path } of sources) {
      for (const keep of ["none", "blob"] as const) {
        const input = { bytes, keep, path };
        const label = `${what}; ${keep === "blob" ? "the file's bytes kept in a blob store in memory, hashed by Node" : "only entries"}`;
        const row = await runner.compare(label, "read", () => input, sides);
        const target = { ...fasterThan("JSON.parse", row, 1 / 2), text: "within 2 times of JSON.parse" };
        rows.push({ ...row, targets: [target] });
      }
    }
    return timesTable("JSON.parse", rows);
  },
};
