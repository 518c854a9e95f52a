import { writeFileSync } from "node:fs";
import { buildPackage } from "../test/support/built.js";
import { adapters } from "./adapters.js";
import { append } from "./append.js";
import { appendContext } from "./append-context.js";
import { blobsPut } from "./blobs-put.js";
import { bodyBesideBase64, bodyBesideStringify, bodyMemory } from "./body.js";
import { commandLineList, commandLineSearch } from "./command-line.js";
import { commandLineView, commandLineViewReal } from "./command-line-view.js";
import { compactionPlan } from "./compaction-plan.js";
import { contextTokens } from "./context-tokens.js";
import { economics } from "./economics.js";
import { estimateError } from "./estimate-error.js";
import { estimateSpeed } from "./estimate-speed.js";
import { frame } from "./frame.js";
import { groupCommit } from "./group-commit.js";
import { growingRequests } from "./growing-requests.js";
import { interop } from "./interop.js";
import { list } from "./list.js";
import { loading } from "./loading.js";
import { millionLines } from "./million-lines.js";
import { openCompacted } from "./open-compacted.js";
import { openLinear } from "./open-linear.js";
import { postgresClaims } from "./postgres.js";
import { projection } from "./projection.js";
import { ring } from "./ring.js";
import { searchClaims } from "./search.js";
import { sniffing } from "./sniff.js";
import { sqliteClaims } from "./sqlite.js";
import { printChart } from "./support/chart.js";
import type { Claim, Table } from "./support/claim.js";
import { printClaim, printResults } from "./support/report.js";
import { Runner } from "./support/runner.js";

/** npm run bench [-- NAME…]: all claims, written to RESULTS.md and drawn in speed.svg, or the named ones, printed only. */
const claims: readonly Claim[] = [
  loading,
  openLinear,
  openCompacted,
  append,
  appendContext,
  compactionPlan,
  groupCommit,
  millionLines,
  list,
  blobsPut,
  ...postgresClaims,
  ...searchClaims,
  ...sqliteClaims,
  sniffing,
  estimateSpeed,
  estimateError,
  contextTokens,
  bodyBesideBase64,
  bodyBesideStringify,
  bodyMemory,
  projection,
  growingRequests,
  ring,
  frame,
  economics,
  adapters,
  interop,
  commandLineSearch,
  commandLineList,
  commandLineView,
  commandLineViewReal,
];
const rounds = Number(process.env.BENCH_ROUNDS ?? 7);

const named = process.argv.slice(2);
/** A name chooses the claim of that name, or all that begin with it: `postgres` chooses `postgres-append` too. */
const chosenBy = (wanted: string) => {
  const exact = claims.filter(({ name }) => name === wanted);
  return exact.length > 0 ? exact : claims.filter(({ name }) => name.startsWith(`${wanted}-`));
};
const chosen =
  named.length === 0
    ? claims
    : claims.filter((claim) => named.some((each) => chosenBy(each).includes(claim)));
if (named.some((each) => chosenBy(each).length === 0))
  throw new TypeError(
    `expected names among ${claims.map(({ name }) => name).join(", ")}, got ${named.join(", ")}`,
  );

using built = await buildPackage();
using runner = new Runner(built.dir, rounds);
const results: { readonly claim: Claim; readonly table: Table }[] = [];
for (const claim of chosen) {
  const table = await claim.measure(runner);
  results.push({ claim, table });
  console.log(printClaim(claim, table));
}
if (named.length === 0) {
  writeFileSync(new URL("RESULTS.md", import.meta.url), printResults(results, rounds));
  writeFileSync(new URL("speed.svg", import.meta.url), printChart(results));
}
// A claim that is missed is a result, and said as one; only a program that fails is an error.
