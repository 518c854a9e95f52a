import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { getEncoding } from "js-tiktoken";
import { estimateTokenCount } from "tokenx";
import { type Claim, printTarget, type Target } from "./support/claim.js";
import { heldOutTexts } from "./support/texts.js";

const most = 0.15;

/** The estimators that are compared, ours first; columns of the table in this order. */
type Estimators = readonly (readonly [name: string, estimate: (text: string) => number])[];

export const estimateError: Claim = {
  name: "estimate-error",
  title: "Tokens by estimate against o200k_base, on texts that ours was not fitted to",
  async measure(runner) {
    const ours: typeof import("sessile/estimate") = await import(
      pathToFileURL(join(runner.built, "estimate.js")).href
    );
    const estimators: Estimators = [
      ["fitted", (text) => ours.estimateTextTokens(text)],
      ["upperBound", (text) => ours.estimateTextTokens(text, "upperBound")],
      ["tokenx", estimateTokenCount],
      ["length / 4", (text) => text.length / 4],
    ];
    const encoding = getEncoding("o200k_base");
    const rows = heldOutTexts().map(({ kind, text }) => {
      const tokens = encoding.encode(text).length;
      const [error = 0, gate = 0, ...others] = estimators.map(([, estimate]) => estimate(text) / tokens - 1);
      const targets: readonly Target[] = [
        { text: "within 15 %", met: Math.abs(error) <= most },
        { text: "the upper bound not short", met: gate >= 0 },
      ];
      return { kind, tokens, errors: [error, gate, ...others], targets };
    });
    return {
      head: ["", "tokens", ...estimators.map(([name]) => name), "target"],
      lines: rows.map(({ kind, tokens, errors, targets }) => [
        kind,
        tokens.toLocaleString("en"),
        ...errors.map(percent),
        targets.map(printTarget).join("; "),
      ]),
      targets: rows.flatMap(({ targets }) => targets),
    };
  },
};

function percent(value: number): string {
  return `${value < 0 ? "-" : "+"}${Math.abs(value * 100).toFixed(1)} %`;
}
