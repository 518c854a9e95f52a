import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { IntColumn, NumberColumn } from "../../src/internal/columns.js";

interface Column {
  push(value: number): void;
  at(row: number): number;
  set(row: number, value: number): void;
}

/** Pushes and overwrites, against an array that has the same done to it. */
function check(
  column: Column,
  values: readonly number[],
  overwrites: readonly (readonly [number, number])[],
): number[] {
  const model: number[] = [];
  for (const value of values) {
    column.push(value);
    model.push(value);
  }
  for (const [at, value] of overwrites) {
    if (model.length === 0) break;
    column.set(at % model.length, value);
    model[at % model.length] = value;
  }
  expect(model.map((_, row) => column.at(row))).toEqual(model);
  return model;
}

const capacity = fc.integer({ min: 1, max: 5 });
const sequences = (value: fc.Arbitrary<number>) =>
  [fc.array(value, { maxLength: 30 }), fc.array(fc.tuple(fc.nat(), value), { maxLength: 5 })] as const;

describe("IntColumn", () => {
  test("keeps what was put in, however often it grew", () => {
    fc.assert(
      fc.property(capacity, ...sequences(fc.integer()), (capacity, values, overwrites) => {
        const column = new IntColumn(capacity);
        const model = check(column, values, overwrites);
        expect(column.length).toBe(values.length);
        expect(Array.from(column.copy())).toEqual(model);
      }),
    );
  });

  test("copies: a change of either does not reach the other", () => {
    const column = new IntColumn(4);
    column.push(1);
    const copy = column.copy();
    copy[0] = 2;
    expect(column.at(0)).toBe(1);
    column.set(0, 3);
    expect(copy[0]).toBe(2);
  });

  test("fills the rows that are there, and no others", () => {
    const column = new IntColumn(4);
    for (const value of [1, 2]) column.push(value);
    column.fill(-1);
    column.push(7);
    expect(Array.from(column.copy())).toEqual([-1, -1, 7]);
  });
});

describe("NumberColumn", () => {
  test("keeps doubles, however often it grew", () => {
    const value = fc.double({ noNaN: true });
    fc.assert(
      fc.property(capacity, ...sequences(value), (capacity, values, overwrites) => {
        check(new NumberColumn(capacity), values, overwrites);
      }),
    );
  });
});
