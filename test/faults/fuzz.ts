import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mutant, seeded } from "./mutants.js";
import { recover } from "./recover.js";

// A process of its own, since only from outside can one tell that it hangs: with how much memory, its parent says.
// Arguments: seconds, a seed, a directory for its notes, files to begin with.

const [seconds = "1", seed = "1", dir = "", ...files] = process.argv.slice(2);
mkdirSync(dir, { recursive: true });
const until = performance.now() + Number(seconds) * 1000;
const random = seeded(Number(seed));
/** Files to change: those given, and each that was of a new kind. */
const known: Uint8Array[] = files.map((file) => Uint8Array.from(readFileSync(file)));
const given = known.length;
const kinds = new Set<string>();
const mostKept = 3000;
const failures: string[] = [];
let rounds = 0;
let slowestMs = 0;

// So long, and longer on a machine with other work to do.
const isOver = () => performance.now() >= until && rounds > 20 * Number(seconds);
for (; !isOver() && failures.length < 5; rounds++) {
  const bytes = rounds < given ? (known[rounds] as Uint8Array) : mutant(chosen(), random);
  // Where it does not come back, the parent finds here what it did not come back from.
  writeFileSync(join(dir, "last.jsonl"), bytes);
  const started = performance.now();
  try {
    const kind = await recover(bytes);
    if (!kinds.has(kind) && bytes.length < 64_000 && rounds >= given) {
      if (known.length < mostKept) known.push(bytes);
      else known[given + Math.floor(random() * (mostKept - given))] = bytes;
    }
    kinds.add(kind);
  } catch (error) {
    const name = join(dir, `failed-${seed}-${rounds}.jsonl`);
    writeFileSync(name, bytes);
    failures.push(`${name}: ${error instanceof Error ? error.stack : String(error)}`);
  }
  slowestMs = Math.max(slowestMs, performance.now() - started);
  if (rounds % 50 === 0) console.log("alive");
}

const peakMb = Math.round(process.resourceUsage().maxRSS / 1024);
console.log(
  JSON.stringify({ rounds, kinds: kinds.size, slowestMs: Math.round(slowestMs), peakMb, failures }),
);

/** A large file now and then, mostly those in which one change is a larger part. */
function chosen(): readonly Uint8Array[] {
  return random() < 0.98 ? known.filter(({ length }) => length < 64_000) : known;
}
