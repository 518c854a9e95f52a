import { type Claim, timesTable } from "./support/claim.js";

export const loading: Claim = {
  name: "loading",
  title: "Import what keeps sessions in files, and nothing else, in a process that has loaded nothing",
  async measure(runner) {
    const rows = await runner.comparePis("import", "load", () => ({}));
    return timesTable(
      "pi",
      rows.map((row) => ({ ...row, targets: [] })),
    );
  },
};
