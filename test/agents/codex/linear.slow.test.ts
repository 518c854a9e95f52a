import { codex } from "sessile/codex";
import { expect, test } from "vitest";
import { Source } from "../../../src/agents/foreign-source.js";
// The reader itself is synchronous, so that the time of the processor is its own.
import { ReportBuilder } from "../../../src/agents/report.js";
import { exponentOf, maxExponent } from "../../support/growth.js";
import { answered, event, item, rollout, said } from "./samples.js";

type Lines = readonly (readonly [string, object, object?])[];

const turns: Readonly<Record<string, (at: number) => Lines>> = {
  "messages and calls": (at) => [
    said(`question ${at}`),
    item({ type: "function_call", name: "shell", arguments: "{}", call_id: `call_${at}` }),
    item({ type: "function_call_output", call_id: `call_${at}`, output: "Exit code: 0\n" }),
    answered(`answer ${at}`),
  ],
  "rollbacks of everything": (at) => [
    said(`question ${at}`),
    event({ type: "thread_rolled_back", num_turns: 1e9 }),
  ],
  "compactions that keep one message": (at) => [
    said(`question ${at}`),
    ["compacted", { message: "So.", replacement_history: [said(`question ${at}`)[1]] }],
  ],
  "one reply": () => [answered("more")],
};

test.each(Object.keys(turns))("up to 100,000 records take time in proportion to their number: %s", (kind) => {
  const make = turns[kind] as (at: number) => Lines;
  const file = (size: number) =>
    rollout(Array.from({ length: size / make(0).length }, (_, at) => make(at)).flat());
  const read = ({ path, bytes }: ReturnType<typeof file>) =>
    codex.read?.(
      new Source({
        format: "codex",
        files: [{ path, bytes: bytes as Uint8Array, stored: bytes as Uint8Array, kind: "text" }],
        instructions: false,
        maxLineBytes: 1 << 26,
        keepsLines: false,
        report: new ReportBuilder(),
      }),
    );
  const sizes = kind === "messages and calls" ? [25_000, 50_000, 100_000] : [5_000, 10_000, 20_000];
  expect(exponentOf(sizes, file, read)).toBeLessThan(maxExponent);
});
