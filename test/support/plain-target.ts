import type { NeutralRequest, Part, Target } from "sessile";
import { limitProfiles } from "sessile/limits";
import type { HazardMaker } from "../arbitraries/hazards.js";
import { type CheckedTarget, foreign } from "./checked-target.js";

const own: HazardMaker = { provider: "plain", model: "plain-1", api: "plain-api" };

/** The turns as they are, of a target with the most rules. */
const plain: Target<{ readonly system: readonly object[]; readonly turns: readonly object[] }> = {
  name: "plain",
  model: own,
  accepts: { user: ["image/*", "application/pdf"], toolResult: ["image/png"] },
  rules: { trimsAssistant: true, refusesNul: true },
  limits: { profile: limitProfiles.anthropic },
  render: ({ system, turns }) => ({
    system: system.map(bare),
    turns: turns.map((turn) =>
      turn.role === "user"
        ? { ...turn, results: turn.results.map(bare), parts: turn.parts.map(bare) }
        : { ...turn, parts: turn.parts.map(bare) },
    ),
  }),
};

/** A part without where it comes from, which no provider is told. */
function bare(part: Part): object {
  if (part.type === "media") return { type: part.type, data: part.base64 };
  if (part.type === "reference") return { type: part.type };
  const { origin: _, ...rest } = part;
  if (rest.type === "call") return { ...rest, storedId: "" };
  return rest.type === "result" ? { ...rest, storedCallId: "", parts: rest.parts.map(bare) } : rest;
}

function plainBreaches(value: object): readonly string[] {
  const { system, turns } = value as NeutralRequest;
  const found: string[] = [];
  const check = (holds: boolean, problem: string) => {
    if (!holds) found.push(problem);
  };
  const ids = new Set<string>();
  let waiting: readonly string[] = [];
  check(turns[0]?.role === "user", "does not begin with the user");
  turns.forEach((turn, at) => {
    check(turn.role !== turns[at - 1]?.role, `${at}: does not alternate`);
    if (turn.role === "user") {
      check(turn.results.length + turn.parts.length > 0, `${at}: is empty`);
      check(
        JSON.stringify(turn.results.map(({ callId }) => callId)) === JSON.stringify(waiting),
        `${at}: does not answer its calls`,
      );
      for (const { parts } of turn.results) check(parts.length > 0, `${at}: a result is empty`);
      waiting = [];
      return;
    }
    check(turn.parts.length > 0, `${at}: is empty`);
    check(turn.parts.at(-1)?.type !== "reasoning", `${at}: ends in reasoning`);
    waiting = turn.parts.flatMap((part) => (part.type === "call" ? [part.id] : []));
    for (const id of waiting) {
      check(/^[A-Za-z0-9_-]{1,64}$/.test(id), `${at}: id ${id}`);
      check(!ids.has(id), `${at}: id ${id} twice`);
      ids.add(id);
    }
  });
  check(waiting.length === 0, "calls without an answer at the end");
  for (const part of [...system, ...turns.flatMap((turn): readonly Part[] => turn.parts)]) {
    if (part.type !== "text") continue;
    check(/\S/.test(part.text) && part.text.isWellFormed() && !part.text.includes("\0"), "bad text");
  }
  return found;
}

/** The turns as they are, against what is promised of them. */
export const checkedPlain: readonly CheckedTarget[] = [
  { name: "plain", target: plain, breaches: plainBreaches, makers: [own, foreign], keepsPrefix: true },
];
