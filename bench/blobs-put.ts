import { join } from "node:path";
import { type Claim, fasterThan, type Row, timesTable } from "./support/claim.js";

const sides = { ours: "blobs", peer: "cacache" };

export const blobsPut: Claim = {
  name: "blobs-put",
  title: 'Put blobs one at a time, each awaited: durability "disk" here, while cacache syncs nothing',
  async measure(runner) {
    const rows: Row[] = [];
    for (const [what, count, size, atLeast] of [
      ["1000 blobs of 4 KB", 1000, 4096, 2],
      ["50 blobs of 5 MB", 50, 5_000_000, 1],
    ] as const) {
      await runner.inDirectory(`blobs-put-${size}`, async (dir) => {
        const input = (round: string) => ({ dir: join(dir, round), count, size });
        const row = await runner.compare(what, "put", input, sides);
        rows.push({ ...row, targets: [fasterThan("cacache", row, atLeast)] });
      });
    }
    return timesTable("cacache", rows);
  },
};
