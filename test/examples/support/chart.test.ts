import { describe, expect, it } from "vitest";
import { chartLines } from "../../../examples/support/chart.js";

const point = (tokens: number, mark?: string) => ({
  tokens,
  limit: 3_000,
  ...(mark === undefined ? {} : { mark }),
});

describe("chartLines", () => {
  it("draws columns, the limit, and marks", () => {
    const points = [point(0), point(1_000), point(2_500), point(4_000, "C"), point(1_000), point(500, "p")];
    expect(chartLines(points, { width: 6, height: 4 })).toEqual([
      "   4k |------",
      "   3k |  ##",
      "      | ####",
      "   0k | #####",
      "      +------",
      "          C",
      "            p",
    ]);
  });

  it("shows the largest of several moments in a column, and each mark", () => {
    const points = [point(100), point(4_000, "p"), point(100, "C"), point(100), point(100), point(100)];
    expect(chartLines(points, { width: 2, height: 2 })).toEqual([
      "   4k |--",
      "   0k |##",
      "      +--",
      "       p",
      "       C",
    ]);
  });

  it("has room for nothing at all", () => {
    expect(chartLines([], { width: 10, height: 1 })).toEqual(["   0k |", "      +"]);
  });
});
