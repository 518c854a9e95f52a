/** The same bytes, which count how often one of them is read: work that can be tested without a clock. */
export function countedBytes(bytes: Uint8Array): {
  readonly bytes: Uint8Array;
  readonly reads: () => number;
} {
  let reads = 0;
  const counted = new Proxy(bytes, {
    get(target, key) {
      if (typeof key === "string" && /^\d+$/.test(key)) reads++;
      return Reflect.get(target, key, target);
    },
  });
  return { bytes: counted, reads: () => reads };
}
