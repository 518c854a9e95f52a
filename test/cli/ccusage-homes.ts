import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Homes of Claude Code and Codex for the comparison with ccusage. `alike` has what both count alike, and
 * `differing` what this library counts otherwise on purpose.
 */
export function writeHomes(dir: string): void {
  for (const [path, records] of Object.entries({ ...claudeAlike(), ...claudeDiffering(), ...codex() })) {
    const file = join(dir, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  }
}

type Files = Readonly<Record<string, readonly object[]>>;

const cwd = "/home/user/app";
const project = "projects/-home-user-app";
/** The same id in every run: of a session, a line, a thread. */
const uuid = (number: number) => `0c0ffee0-0000-4000-8000-${String(number).padStart(12, "0")}`;
const at = (day: string, second: number) => `${day}T12:00:${String(second).padStart(2, "0")}.000Z`;

/** The counts of a reply, as the Messages API has them. */
const counts = (input: number, output: number, read: number, write: number, hour = 0) => ({
  input_tokens: input,
  output_tokens: output,
  cache_read_input_tokens: read,
  cache_creation_input_tokens: write,
  cache_creation: { ephemeral_5m_input_tokens: write - hour, ephemeral_1h_input_tokens: hour },
  service_tier: "standard",
});

interface ReplyShape {
  readonly id: number;
  readonly day: string;
  readonly model: string;
  /** A line for each. */
  readonly usages: readonly object[];
  readonly request?: string | undefined;
  readonly isSidechain?: boolean;
}

/** A question, and a reply with a line for each of its blocks. */
function turn(session: string, shape: ReplyShape, parent: string | null): readonly object[] {
  const { id, day, model, usages, isSidechain = false, request = `req_${id}` } = shape;
  const base = {
    ...{ isSidechain, userType: "external", cwd, sessionId: session, version: "2.1.330", gitBranch: "" },
  };
  const asked = {
    ...{ ...base, parentUuid: parent, type: "user", uuid: uuid(id * 100), timestamp: at(day, id) },
    message: { role: "user", content: `Question ${id}` },
  };
  const lines = usages.map((usage, block) => ({
    ...{ ...base, parentUuid: uuid(id * 100 + block), type: "assistant", uuid: uuid(id * 100 + block + 1) },
    ...(request !== "" && { requestId: request }),
    timestamp: at(day, id + 1),
    message: {
      ...{ id: `msg_${id}`, type: "message", role: "assistant", model, stop_reason: "end_turn", usage },
      content: [{ type: "text", text: `Part ${block} of answer ${id}` }],
    },
  }));
  return [asked, ...lines];
}

/** The turns of a session, one after the other. */
function session(id: string, shapes: readonly ReplyShape[]): readonly object[] {
  const lines: object[] = [];
  for (const shape of shapes) {
    const last = lines.at(-1) as { readonly uuid?: string } | undefined;
    lines.push(...turn(id, shape, last?.uuid ?? null));
  }
  return lines;
}

const opus = "claude-opus-5-5";
const haiku = "claude-haiku-4-5-20251001";
const [first, second] = ["2026-11-20", "2026-11-21"];

function claudeAlike(): Files {
  const same = counts(12, 340, 5_000, 700, 200);
  const shared: readonly ReplyShape[] = [
    { id: 1, day: first, model: opus, usages: [same, same, same] },
    { id: 3, day: first, model: opus, usages: [counts(3, 90, 5_700, 60)] },
    { id: 5, day: first, model: haiku, usages: [counts(900, 11, 0, 0)] },
    // Made by the agent itself.
    { id: 7, day: first, model: "<synthetic>", usages: [counts(0, 0, 0, 0)], request: "" },
    { id: 9, day: second, model: opus, usages: [counts(4, 77, 5_760, 0)] },
  ];
  const [main, fork, other] = [uuid(1), uuid(2), uuid(3)];
  const agent: ReplyShape = {
    ...{ id: 11, day: second, model: haiku, isSidechain: true },
    usages: [counts(50, 60, 0, 9)],
  };
  return {
    [`alike/claude/${project}/${main}.jsonl`]: session(main, shared),
    // The copies of a fork have ids and times of the original.
    [`alike/claude/${project}/${fork}.jsonl`]: session(fork, [
      ...shared,
      { id: 13, day: second, model: opus, usages: [counts(5, 6, 7_000, 8)] },
    ]),
    [`alike/claude/${project}/agent-beside.jsonl`]: session(main, [agent]),
    // Its session was deleted.
    [`alike/claude/${project}/agent-alone.jsonl`]: session(uuid(9), [{ ...agent, id: 15 }]),
    [`alike/claude/${project}/${other}.jsonl`]: session(other, [
      { id: 17, day: second, model: opus, usages: [counts(1, 2, 0, 3_000, 3_000)] },
    ]),
    [`alike/claude/${project}/${other}/subagents/agent-below.jsonl`]: session(other, [
      { ...agent, id: 19, usages: [counts(20, 30, 0, 0), counts(20, 30, 0, 0)] },
    ]),
  };
}

function claudeDiffering(): Files {
  const growing = [counts(10, 1, 0, 0), counts(10, 25, 0, 0)];
  const twice = [counts(100, 20, 0, 0), counts(100, 20, 0, 0)];
  const [partial, unnamed] = [uuid(4), uuid(5)];
  return {
    [`differing/claude/${project}/${partial}.jsonl`]: session(partial, [
      { id: 21, day: first, model: opus, usages: growing },
    ]),
    [`differing/claude/${project}/${unnamed}.jsonl`]: session(unnamed, [
      { id: 23, day: first, model: haiku, usages: twice, request: "" },
    ]),
  };
}

const tokens = (input: number, cached: number, output: number) => ({
  ...{ input_tokens: input, cached_input_tokens: cached, output_tokens: output },
  ...{ reasoning_output_tokens: Math.floor(output / 2), total_tokens: input + output },
});

interface Request {
  readonly day: string;
  readonly model: string;
  readonly usage: readonly [input: number, cached: number, output: number];
  /** How many lines tell the counts. */
  readonly told?: number;
}

/** A rollout with a turn for each request. */
function rollout(id: string, requests: readonly Request[]): readonly object[] {
  const lines: object[] = [
    {
      ...{ timestamp: at(first, 0), type: "session_meta" },
      payload: {
        id,
        timestamp: at(first, 0),
        cwd,
        originator: "codex",
        cli_version: "0.98.0",
        model_provider: "openai",
      },
    },
  ];
  let sum: readonly [number, number, number] = [0, 0, 0];
  for (const [index, { day, model, usage, told = 1 }] of requests.entries()) {
    const timestamp = at(day, index + 1);
    const said = (role: string, type: string) => ({
      ...{ timestamp, type: "response_item" },
      payload: { type: "message", role, content: [{ type, text: `${role} ${index}` }] },
    });
    const policy = { approval_policy: "never", sandbox_policy: { type: "read-only" }, summary: "auto" };
    sum = [sum[0] + usage[0], sum[1] + usage[1], sum[2] + usage[2]];
    const info = {
      total_token_usage: tokens(...sum),
      last_token_usage: tokens(...usage),
      model_context_window: 1e5,
    };
    const count = { timestamp, type: "event_msg", payload: { type: "token_count", info, rate_limits: null } };
    lines.push(
      { timestamp, type: "turn_context", payload: { cwd, model, ...policy } },
      said("user", "input_text"),
      said("assistant", "output_text"),
      ...Array.from({ length: told }, () => count),
    );
  }
  return lines;
}

function codex(): Files {
  const [large, small] = ["gpt-5.2-codex", "gpt-5.2"];
  const [one, two, three] = [uuid(6), uuid(7), uuid(8)];
  const place = (id: string) => `sessions/2026/11/20/rollout-2026-11-20T12-00-00-${id}.jsonl`;
  return {
    [`alike/codex/${place(one)}`]: rollout(one, [
      { day: first, model: large, usage: [1_000, 0, 50] },
      { day: first, model: large, usage: [1_100, 1_000, 60] },
      { day: second, model: small, usage: [1_300, 1_024, 70] },
    ]),
    [`alike/codex/${place(two)}`]: rollout(two, [{ day: second, model: large, usage: [400, 0, 20] }]),
    [`differing/codex/${place(three)}`]: rollout(three, [
      { day: first, model: large, usage: [200, 80, 40], told: 2 },
      { day: first, model: large, usage: [300, 200, 10] },
    ]),
  };
}

/** The tokens of a model on a day. */
export interface Row {
  readonly day: string;
  readonly model: string;
  /** Without what came from the cache. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

interface ClaudeDay {
  readonly date: string;
  readonly modelBreakdowns: readonly {
    readonly modelName: string;
    readonly inputTokens: number;
    readonly outputTokens: number;
    readonly cacheReadTokens: number;
    readonly cacheCreationTokens: number;
  }[];
}

interface CodexDay {
  /** `Nov 20, 2026`. */
  readonly date: string;
  readonly models: Readonly<
    Record<
      string,
      { readonly inputTokens: number; readonly cachedInputTokens: number; readonly outputTokens: number }
    >
  >;
}

/** What `daily --json` of both programs prints, in part. */
export interface CcusageDays {
  readonly claude: readonly ClaudeDay[];
  readonly codex: readonly CodexDay[];
}

/** The days of ccusage as rows. The input of Codex's days includes the cached tokens. */
export function ccusageRows({ claude, codex }: CcusageDays): {
  readonly claude: Row[];
  readonly codex: Row[];
} {
  return {
    claude: claude.flatMap(({ date: day, modelBreakdowns }) =>
      modelBreakdowns.map((each) => ({
        ...{ day, model: each.modelName, input: each.inputTokens, output: each.outputTokens },
        ...{ cacheRead: each.cacheReadTokens, cacheWrite: each.cacheCreationTokens },
      })),
    ),
    codex: codex.flatMap(({ date, models }) =>
      Object.entries(models).map(([model, { inputTokens, cachedInputTokens, outputTokens }]) => ({
        ...{ day: new Date(`${date} UTC`).toISOString().slice(0, 10), model },
        ...{ input: inputTokens - cachedInputTokens, output: outputTokens },
        ...{ cacheRead: cachedInputTokens, cacheWrite: 0 },
      })),
    ),
  };
}

/** The groups of `stats --by day --by model --json` as rows. */
export function statsRows({ groups }: { readonly groups: readonly Row[] }): Row[] {
  return groups.map(({ day, model, input, output, cacheRead, cacheWrite }) => ({
    ...{ day, model, input, output, cacheRead, cacheWrite },
  }));
}

/** In one order. */
export function sorted(rows: readonly Row[]): readonly Row[] {
  const key = ({ day, model }: Row) => `${day} ${model}`;
  return [...rows].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}
