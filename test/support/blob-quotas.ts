import fc from "fast-check";
import type { BlobQuotas, BlobReservation } from "sessile";
import { expect } from "vitest";

/** A model of the port of blob quotas, and a property that holds any implementation against it. */

type BlobRef = NonNullable<BlobReservation["ref"]>;

interface ModelPartition {
  used: number | undefined;
  added: number;
  readonly reservations: Map<string, { bytes: number; ref?: BlobRef; expired: boolean }>;
}

type Step = (quotas: BlobQuotas, model: (partition: string) => ModelPartition) => Promise<void>;

const partition = fc.constantFrom("", "acme", "Acme");
const id = fc.constantFrom("a", "b", "c", "d");
const bytes = fc.nat({ max: 60 });
const refOf = (name: string): BlobRef => `sha256:${name.charCodeAt(0).toString(16).repeat(32)}`;

const reserve = fc
  .record({ partition, id, bytes, named: fc.option(id), expires: fc.boolean(), quota: fc.nat({ max: 200 }) })
  .map(({ partition: at, id: name, bytes: size, named, expires, quota }): Step => {
    const ref = named === null ? {} : { ref: refOf(named) };
    return async (quotas, model) => {
      const expected = model(at);
      const { reservations } = expected;
      for (const [other, each] of reservations)
        if (other !== name && each.expired && each.ref === undefined) reservations.delete(other);
      const others = [...reservations].filter(([other]) => other !== name);
      const sum = others.reduce((total, [, each]) => total + each.bytes, 0);
      const used = expected.used === undefined ? undefined : expected.used + sum;
      const reserved = used !== undefined && used + size <= quota;
      const room = await quotas.reserve(
        at,
        { id: name, bytes: size, ...ref },
        { quota, leaseMs: expires ? 0 : 3_600_000 },
      );
      expect({ reserved: room.reserved, used: room.used }).toEqual({ reserved, used });
      const expired = others.filter(([, each]) => each.expired);
      expect([...room.expired].sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual(
        expired.map(([other, each]) => ({ id: other, bytes: each.bytes, ref: each.ref })).sort(byId),
      );
      if (reserved) reservations.set(name, { bytes: size, ...ref, expired: expires });
    };
  });

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return a.id < b.id ? -1 : 1;
}

const end = fc.record({ partition, id, bytes }).map(
  ({ partition: at, id: name, bytes: size }): Step =>
    async (quotas, model) => {
      const expected = model(at);
      const ended = await quotas.end(at, name, size);
      expect(ended).toBe(expected.reservations.delete(name));
      if (!ended) return;
      expected.added += size;
      if (expected.used !== undefined) expected.used += size;
    },
);

const add = fc.record({ partition, bytes }).map(
  ({ partition: at, bytes: size }): Step =>
    async (quotas, model) => {
      const expected = model(at);
      await quotas.add(at, size);
      if (expected.used === undefined) return;
      expected.used += size;
      expected.added += size;
    },
);

const remove = fc.record({ partition, id, bytes }).map(
  ({ partition: at, id: name, bytes: size }): Step =>
    async (quotas, model) => {
      const expected = model(at);
      await quotas.remove(at, refOf(name), size);
      const named = [...expected.reservations].filter(([, { ref }]) => ref === refOf(name));
      for (const [other] of named) expected.reservations.delete(other);
      if (named.length === 0 && expected.used !== undefined)
        expected.used = Math.max(0, expected.used - size);
    },
);

/** A listing, during which bytes are added. */
const recount = fc.record({ partition, bytes, ended: bytes }).map(
  ({ partition: at, bytes: listed, ended }): Step =>
    async (quotas, model) => {
      const expected = model(at);
      const { added } = await quotas.usage(at);
      await quotas.add(at, ended);
      const since = expected.added;
      if (expected.used !== undefined) expected.added += ended;
      await quotas.recount(at, listed, added);
      expected.used = listed + (expected.added - since);
    },
);

/** Runs steps on fresh partitions of an implementation and on the model, and compares all results. */
export async function holdAgainstModel(
  open: () => Promise<BlobQuotas> | BlobQuotas,
  numRuns: number,
): Promise<void> {
  const step = fc.oneof(
    { arbitrary: reserve, weight: 4 },
    { arbitrary: end, weight: 2 },
    add,
    remove,
    recount,
  );
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(step, { maxLength: 40 }), async (isCounted, steps) => {
      const quotas = await open();
      const partitions = new Map<string, ModelPartition>();
      const model = (name: string): ModelPartition => {
        const known = partitions.get(name) ?? { used: undefined, added: 0, reservations: new Map() };
        partitions.set(name, known);
        return known;
      };
      // Before its first count a partition grants no reservation.
      for (const name of isCounted ? ["", "acme", "Acme"] : []) {
        await quotas.recount(name, 50, 0);
        model(name).used = 50;
      }
      for (const run of steps) {
        await run(quotas, model);
        for (const [name, { used, added }] of partitions)
          expect(await quotas.usage(name)).toMatchObject({ used, added });
      }
    }),
    { numRuns },
  );
}
