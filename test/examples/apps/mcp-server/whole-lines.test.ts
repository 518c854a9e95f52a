import { once } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WholeLines } from "../../../../examples/apps/mcp-server/whole-lines.js";
import { cuts, piecesOf } from "../../../arbitraries/bytes.js";

async function through(pieces: readonly Uint8Array[], max = 1000): Promise<readonly string[]> {
  const lines = new WholeLines(max);
  const given: string[] = [];
  lines.on("data", (piece: Buffer) => given.push(piece.toString()));
  for (const piece of pieces) lines.write(Buffer.from(piece));
  lines.end();
  await once(lines, "end");
  return given;
}

describe("WholeLines", () => {
  it("gives whole lines, whatever pieces they come in, and no unfinished one", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.stringMatching(/^[ab]{0,9}\n$/)), cuts, async (all, places) => {
        const text = all.join("");
        const given = await through(piecesOf(new TextEncoder().encode(`${text}rest`), places));
        expect(given.join("")).toBe(text);
        for (const piece of given) expect(piece.endsWith("\n")).toBe(true);
      }),
    );
  });

  // @covers R81
  it("ends with an error at a line that is too long, before it has all of it", async () => {
    const lines = new WholeLines(10);
    const given: string[] = [];
    lines.on("data", (piece: Buffer) => given.push(piece.toString()));
    lines.write(Buffer.from("0123456789\n"));
    lines.write(Buffer.from("0123"));
    lines.write(Buffer.from("456789\n01234"));
    lines.write(Buffer.from("567890"));
    const [error] = await once(lines, "error");
    expect(error.message).toBe("a line is longer than 10 bytes");
    expect(given).toEqual(["0123456789\n", "0123456789\n"]);
  });

  it.each([["0123", "4567890\n"], ["\n01234567890"]])("so does %j, where it goes on", async (...pieces) => {
    const lines = new WholeLines(10);
    lines.resume();
    for (const piece of pieces) lines.write(Buffer.from(piece));
    await once(lines, "error");
  });
});
