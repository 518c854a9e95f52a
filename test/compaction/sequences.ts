import fc from "fast-check";

/** What happens to a session, one thing after another. Numbers choose among what is there. */
export type Step =
  | { readonly do: "say"; readonly size: number }
  | { readonly do: "answer"; readonly size: number; readonly calls: readonly Call[]; readonly usage: boolean }
  | { readonly do: "result"; readonly size: number; readonly isError: boolean; readonly which: number }
  | { readonly do: "bash" | "custom" | "system" | "model" | "label"; readonly size: number }
  | { readonly do: "edit"; readonly which: number; readonly to: "nothing" | "less" | "original" }
  | { readonly do: "pin"; readonly which: number; readonly pinned: boolean }
  | { readonly do: "view"; readonly which: number }
  | { readonly do: "branch"; readonly which: number }
  | { readonly do: "prune" }
  | {
      readonly do: "compact";
      readonly strategy: number;
      readonly window: number;
      readonly model: ModelMood;
      readonly trigger: number;
      readonly reinject: boolean;
    };

/** A call of a tool that touches a file. */
export interface Call {
  readonly name: "read" | "write" | "edit";
  readonly file: number;
}

/** How a summarising model behaves: what it does at each call, the last for good. */
export type ModelMood = readonly ("good" | "fails" | "empty" | "long" | "overflow")[];

const nat = fc.nat({ max: 40 });
const size = fc.oneof(fc.nat({ max: 30 }), fc.nat({ max: 900 }));
const call: fc.Arbitrary<Call> = fc.record({
  name: fc.constantFrom("read", "write", "edit"),
  file: fc.nat({ max: 4 }),
});
const mood: fc.Arbitrary<ModelMood> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<ModelMood>(["good"]) },
  {
    weight: 2,
    arbitrary: fc.array(fc.constantFrom("good", "fails", "empty", "long", "overflow"), {
      minLength: 1,
      maxLength: 5,
    }),
  },
);

/** Something that happens to a session. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("say" as const), size }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("answer" as const),
      size,
      calls: fc.array(call, { maxLength: 3 }),
      usage: fc.boolean(),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant("result" as const), size, isError: fc.boolean(), which: nat }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "bash" as const,
        "custom" as const,
        "system" as const,
        "model" as const,
        "label" as const,
      ),
      size,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("edit" as const),
      which: nat,
      to: fc.constantFrom("nothing" as const, "less" as const, "original" as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pin" as const), which: nat, pinned: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("view" as const), which: nat }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("branch" as const), which: nat }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("prune" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("compact" as const),
      strategy: nat,
      window: fc.integer({ min: 60, max: 4000 }),
      model: mood,
      trigger: nat,
      reinject: fc.boolean(),
    }),
  },
);

/** The same without edits, which take calls out of the context, and on one branch. */
export const callStep: fc.Arbitrary<Step> = step.filter((made) => {
  return made.do !== "edit" && made.do !== "branch";
});
