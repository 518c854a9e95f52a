/** `project`: the request that a target would get, its losses, and its limits. */

import { resolve } from "node:path";
import { type LimitProfile, limitProfiles } from "../../content/limits/index.js";
import { aiSdkMessages } from "../../frameworks/ai-sdk/index.js";
import { anthropicMessages } from "../../providers/anthropic/index.js";
import { bedrockConverse } from "../../providers/bedrock/index.js";
import { prefixCost, prefixText } from "../../providers/cost/internal.js";
import { geminiContents, geminiInteractions } from "../../providers/gemini/index.js";
import { type Projection, project as projected, type Target } from "../../providers/index.js";
import { bodyPieces, toolsAsRecorded } from "../../providers/internal.js";
import { openaiChat, openaiResponses } from "../../providers/openai/index.js";
import type { Session } from "../../session/index.js";
import { type CommandBody, requiredOption, textOption, UsageError } from "../command.js";
import { assertNewFile, writeNewFile } from "../files.js";
import type { OpenedSession } from "../named-session.js";
import { bytesText, type Output, table } from "../output.js";
import { openNamed, sourceOptions } from "../sources.js";
import { sessionId } from "./show.js";

/** A limit of the whole request, and how much of it the request has. */
interface Headroom {
  readonly rule: string;
  readonly limit: number;
  readonly actual: number;
}

/** The one table of targets. */
export const targets: Readonly<Record<string, NamedTarget>> = {
  anthropic: {
    provider: "anthropic",
    profile: limitProfiles.anthropic,
    make: (model) => anthropicMessages({ model }),
  },
  openai: {
    provider: "openai",
    profile: limitProfiles.openai,
    make: (model) => openaiResponses({ model }),
  },
  "openai-chat": {
    provider: "openai",
    profile: limitProfiles.openai,
    make: (model) => openaiChat({ model }),
  },
  gemini: { provider: "google", profile: limitProfiles.gemini, make: (model) => geminiContents({ model }) },
  "gemini-interactions": {
    provider: "google",
    profile: limitProfiles.gemini,
    make: (model) => geminiInteractions({ model }),
  },
  bedrock: {
    provider: "amazon-bedrock",
    profile: limitProfiles.bedrockConverse,
    make: (model) => bedrockConverse({ model }),
  },
  "ai-sdk": {
    provider: "anthropic",
    make: (modelId) => aiSdkMessages({ model: { provider: "anthropic", modelId } }),
  },
};

const project: CommandBody = {
  description: [
    "Prints the losses and the limits of the request; `-o FILE` writes its body. Nothing is sent.",
  ],
  finds: "if something is lost or over a limit, or with `--prefix` if the prefix changed",
  arguments: [{ name: "S", kind: "session", description: "The session." }],
  options: [
    ...sourceOptions,
    { name: "target", value: "T", choices: Object.keys(targets), description: "The target." },
    { name: "model", value: "M", description: "The model. Default: the session's, if it is the target's." },
    { name: "at", value: "ID", description: "The entry at which the context is built. Default: the leaf." },
    {
      name: "prefix",
      isRare: true,
      description: "Print only whether the request repeats what the model answered, and the cost if not.",
    },
    { name: "output", short: "o", value: "FILE", description: "Write the body of the request to a file." },
  ],
  examples: [
    {
      line: "sessile project latest --target gemini --model gemini-3-pro",
      does: "the losses on the way to Gemini",
    },
    { line: "sessile project latest --target anthropic -o body.json", does: "the body, without sending it" },
    {
      line: "sessile project latest --target anthropic --prefix",
      does: "where the next request breaks the cache",
    },
  ],
  async run(parsed, context) {
    const { out } = context;
    const name = requiredOption(parsed, "target");
    const target = targets[name] as (typeof targets)[string];
    const output = textOption(parsed, "output");
    const file = output === undefined ? undefined : resolve(context.cwd, output);
    if (file !== undefined) assertNewFile("--output", file);
    const opened = await openNamed(parsed.positionals[0] ?? "", parsed, context);
    try {
      const { session } = opened;
      const given = textOption(parsed, "at");
      const at = given === undefined ? session.leafId : await sessionId(session, given);
      const model = textOption(parsed, "model") ?? (await sessionModel(session, at, target.provider));
      if (model === undefined)
        throw new UsageError(`--model is needed: the session has no model of ${target.provider}`);
      const projection = await projectAt(opened, at, target.make(model), context.signal);
      const { prefix } = projection;
      const prefixResult = { ...prefix, cost: prefixCost(prefix, model) };
      if (parsed.options.prefix === true) {
        if (out.json) await out.value(prefixResult);
        else await out.line(out.clean(prefixText(prefix, model)));
        return prefix.state === "changed" ? 1 : 0;
      }
      let bodyBytes = 0;
      // Async, so that an abort is seen between the pieces.
      async function* pieces() {
        for (const piece of bodyPieces(projection, { model })) {
          bodyBytes += piece.length;
          yield piece;
        }
      }
      if (file !== undefined) await writeNewFile(file, pieces(), context.signal);
      else for (const piece of bodyPieces(projection, { model })) bodyBytes += piece.length;
      const limits =
        target.profile === undefined ? [] : projectionHeadroom(projection, target.profile, bodyBytes);
      const isFine = projection.losses.length === 0 && limits.every(({ limit, actual }) => actual <= limit);
      const result = {
        target: projection.target,
        model,
        losses: projection.losses,
        byPolicy: projection.byPolicy,
        warnings: projection.warnings,
        attachments: projection.attachments,
        usage: projection.usage,
        prefix: prefixResult,
        bodyBytes,
        limits,
        ...(opened.damaged > 0 && { damaged: opened.damaged }),
        ...(file === undefined ? {} : { file: resolve(context.cwd, file) }),
      };
      if (out.json) await out.value(result);
      else await print(result, out);
      return isFine ? 0 : 1;
    } finally {
      await opened.close();
    }
  },
};

async function projectAt(
  { session, blobs }: OpenedSession,
  at: string | null,
  target: Parameters<typeof projected<object>>[1],
  signal: AbortSignal,
): Promise<Projection<object>> {
  // What the session's own program declares is not known here.
  const tools = toolsAsRecorded;
  return projected(await session.context(at), target, { ...(blobs && { blobs }), tools, signal });
}

/** The model in force, if it is one of the provider. */
async function sessionModel(
  session: Session,
  at: string | null,
  provider: string,
): Promise<string | undefined> {
  const { model } = await session.turn(at);
  return model?.provider === provider ? model.modelId : undefined;
}

/** The limits of the whole request, the tightest of each rule. */
function projectionHeadroom(
  { usage }: Projection<object>,
  { rows }: LimitProfile,
  bodyBytes: number,
): readonly Headroom[] {
  const actual: Readonly<Record<string, number>> = { bodyBytes, imageCount: usage.imageCount };
  const tightest = new Map<string, Headroom>();
  for (const row of rows) {
    const value = actual[row.rule];
    if (row.scope !== "request" || row.when !== undefined || value === undefined) continue;
    if (
      typeof row.value !== "number" ||
      row.value > (tightest.get(row.rule)?.limit ?? Number.POSITIVE_INFINITY)
    )
      continue;
    tightest.set(row.rule, { rule: row.rule, limit: row.value, actual: value });
  }
  return [...tightest.values()];
}

async function print(
  result: Pick<Projection<object>, "losses" | "byPolicy" | "warnings" | "usage" | "target"> & {
    readonly model: string;
    readonly limits: readonly Headroom[];
    readonly bodyBytes: number;
    readonly file?: string;
  },
  out: Output,
): Promise<void> {
  const { target, model, losses, byPolicy, warnings, usage, limits, bodyBytes, file } = result;
  await out.line(out.style("bold", out.clean(`${target}, ${model}`)));
  await out.line(
    `${usage.total} tokens estimated: ${usage.text} of text, ${usage.images} of ${usage.imageCount} images, ${usage.documents} of documents, ${usage.tools + usage.framing} of tools and framing; body ${bytesText(bodyBytes)}`,
  );
  for (const { code, message } of warnings)
    await out.line(`${out.style("yellow", code)} ${out.clean(message)}`);
  const columns = [
    { title: "loss" },
    { title: "by" },
    { title: "entry" },
    { title: "reason", grow: true },
  ] as const;
  // A reply may have many calls of one fate.
  const counts = new Map<string, number>();
  for (const { code, by, entryId, reason } of [...losses, ...byPolicy]) {
    const row = JSON.stringify([code, by, out.clean(entryId), out.clean(reason)]);
    counts.set(row, (counts.get(row) ?? 0) + 1);
  }
  const rows = [...counts].map(([row, count]) => {
    const [code = "", by = "", entryId = "", reason = ""] = JSON.parse(row) as readonly string[];
    return [code, by, entryId, count === 1 ? reason : `${reason} (${count} times)`];
  });
  if (rows.length > 0) await out.line("", ...table(columns, rows, out.columns));
  else await out.line("nothing is lost");
  for (const { rule, limit, actual } of limits) {
    const isOver = actual > limit;
    const share = `${Math.round((actual / limit) * 100)} % of ${rule === "bodyBytes" ? bytesText(limit) : limit}`;
    await out.line(`${out.style(isOver ? "red" : "green", isOver ? "over" : "within")} ${rule}: ${share}`);
  }
  if (file !== undefined) out.note(`wrote ${out.clean(file)}`);
}

export const bodies = { project };

// The targets of a request that the command line names.

/** A target by name. `provider` is the one whose models need no `--model`. */
interface NamedTarget {
  readonly provider: string;
  readonly profile?: LimitProfile;
  make(model: string): Target<object>;
}
