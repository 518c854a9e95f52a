import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bounded, type LeakageVerdict } from "../../src/attachments/boundary.js";

describe("bounded", () => {
  const order = ["omit", "describe", "full"] as const;

  test("is never more than was wanted, nor more than the verdict grants", () => {
    const most = { allow: "full", describe: "describe", refuse: "omit" } as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...order),
        fc.constantFrom("allow", "describe", "refuse"),
        (wanted, verdict) => {
          const least = Math.min(order.indexOf(wanted), order.indexOf(most[verdict as keyof typeof most]));
          expect(bounded(wanted, verdict as LeakageVerdict)).toBe(order[least]);
        },
      ),
    );
  });

  test("takes a verdict that is none for a no", () => {
    for (const verdict of [undefined, true, "Allow", "full"]) {
      expect(bounded("full", verdict as LeakageVerdict)).toBe("omit");
    }
  });
});
