import type { Usage } from "../content/index.js";

/** What two calls of a model took together. */
export function addUsage(a: Usage, b: Usage): Usage {
  const total = (usage: Usage) =>
    usage.totalTokens ?? usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  const cost =
    a.cost === undefined && b.cost === undefined
      ? {}
      : { cost: addCost(a.cost ?? freeOfCost, b.cost ?? freeOfCost) };
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    ...(a.cacheWrite1h === undefined && b.cacheWrite1h === undefined
      ? {}
      : { cacheWrite1h: (a.cacheWrite1h ?? 0) + (b.cacheWrite1h ?? 0) }),
    totalTokens: total(a) + total(b),
    ...cost,
  };
}

type Cost = NonNullable<Usage["cost"]>;

const freeOfCost: Cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

function addCost(a: Cost, b: Cost): Cost {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    total: a.total + b.total,
  };
}
