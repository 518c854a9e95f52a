import { describe, expect, test } from "vitest";
import { type AppendRequest, takeGroup } from "../../src/session/runtime/append-requests.js";

/** A request of lines that are as long as said; their bytes are never looked at. */
function requestOf(...lengths: readonly number[]): AppendRequest {
  const lines = lengths.map((length) => ({ length }) as Uint8Array);
  return { lines, entries: [], preparing: undefined, rebase: false } as unknown as AppendRequest;
}

describe("requests that wait together", () => {
  test("go in batches that a log takes in one write", () => {
    const half = 1 << 29;
    const waiting = [requestOf(half), requestOf(half), requestOf(1), requestOf(2 * half, 5), requestOf(7)];
    const taken = () => takeGroup(waiting).map(({ lines }) => lines.map((line) => line?.length));
    expect(taken()).toEqual([[half], [half]]);
    expect(taken()).toEqual([[1]]);
    expect(taken()).toEqual([[2 * half, 5]]);
    expect(taken()).toEqual([[7]]);
    expect(waiting).toEqual([]);
  });
});
