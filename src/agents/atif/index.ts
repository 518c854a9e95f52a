/**
 * Sessions as trajectories of ATIF, the exchange format of tools for evaluation and training.
 *
 * @module atif
 */

import type { BlobStore } from "../../blobs/index.js";
import { oneOfOption } from "../../core/arguments.js";
import type { CostOptions } from "../../providers/cost/index.js";
import { type LoadedSession, loadSession, writeSource } from "../export-source.js";
import { ReportBuilder } from "../report.js";
import { readText, wellFormed } from "../shared/values.js";
import type { ExportSource, InteropReport } from "../types.js";
import { type AtifFile, TrajectorySteps } from "./steps.js";
import type { AtifTrajectory } from "./trajectory.js";

export type { AtifContent, AtifTrajectory } from "./trajectory.js";

/** Options of {@link toAtif}. */
export interface AtifOptions {
  /** @default the leaf of the source */
  readonly leafId?: string | null;
  /** Sessions of subagents, by the ids that `sessile.subagent` entries name. */
  readonly children?: readonly ExportSource[];
  /** The bytes of images and sounds. Without it stored ones are described. */
  readonly blobs?: BlobStore;
  /** @default "1.8" */
  readonly version?: "1.7" | "1.8";
  /** The agent that ran. @default the agent of the import, else `sessile` of the version `unknown` */
  readonly agent?: { readonly name: string; readonly version: string };
  /** Rows that take precedence over the published prices. */
  readonly prices?: CostOptions["prices"];
}

/** A document, the files that its parts name, and the losses. */
export interface AtifExport {
  readonly trajectory: AtifTrajectory;
  /** To write beside the document. */
  readonly files: readonly AtifFile[];
  readonly report: InteropReport;
}

/**
 * Writes the path to a leaf as a trajectory of ATIF: a step for each message, a reply with its calls, their
 * results and metrics, a compaction as a system step with copies of the kept messages. The ids of entries
 * are in `extra.sessile`. Calls without a result stay open.
 *
 * @throws SessileError ENTRY_NOT_FOUND for an unknown leaf; errors of the blob store
 * @throws TypeError, RangeError for invalid arguments
 * @example
 * ```ts
 * const { trajectory, files } = await toAtif(session, { blobs });
 * const document = JSON.stringify(trajectory);
 * files.map(({ path }) => path); // such as "images/0f1e….png", beside the document
 * ```
 */
export async function toAtif(source: ExportSource, options: AtifOptions = {}): Promise<AtifExport> {
  const version = oneOfOption("version", options.version ?? "1.8", ["1.7", "1.8"]);
  const report = new ReportBuilder();
  const session = await loadSession(source, options.leafId);
  const children = new Map<string, LoadedSession>();
  for (const child of options.children ?? []) {
    const loaded = await loadSession(child);
    children.set(loaded.header.id, loaded);
  }
  children.delete(session.header.id);
  const files = new Map<string, Uint8Array>();
  const make = (loaded: LoadedSession): Promise<TrajectorySteps> =>
    stepsOfSession(loaded, { options, version, report, files, subagents: new Set(children.keys()) });
  const document = (loaded: LoadedSession, steps: TrajectorySteps): AtifTrajectory => ({
    schema_version: `ATIF-v${version}`,
    session_id: loaded.header.id,
    trajectory_id: loaded.header.id,
    agent: {
      ...(options.agent ??
        atifAgent(loaded) ??
        atifAgent(session) ?? { name: "sessile", version: "unknown" }),
      ...(steps.model === undefined ? {} : { model_name: steps.model }),
    },
    steps: steps.steps,
    final_metrics: steps.finalMetrics(),
    extra: {
      sessile: {
        cwd: loaded.header.cwd,
        ...(steps.name === undefined ? {} : { name: steps.name }),
        ...(loaded.header.parentSession === undefined ? {} : { parentSession: loaded.header.parentSession }),
      },
    },
  });
  const main = document(session, await make(session));
  const subagents: AtifTrajectory[] = [];
  for (const child of children.values()) subagents.push(document(child, await make(child)));
  return {
    trajectory: wellFormed(subagents.length === 0 ? main : { ...main, subagent_trajectories: subagents }),
    files: Array.from(files, ([path, bytes]) => ({ path, bytes })),
    report: report.build("atif", { exact: false }),
  };
}

async function stepsOfSession(
  loaded: LoadedSession,
  init: {
    readonly options: AtifOptions;
    readonly version: "1.7" | "1.8";
    readonly report: ReportBuilder;
    readonly files: Map<string, Uint8Array>;
    readonly subagents: ReadonlySet<string>;
  },
): Promise<TrajectorySteps> {
  const { options, report, ...rest } = init;
  const source = writeSource(loaded, [], options, report);
  const steps = new TrajectorySteps({ ...rest, source, prices: options.prices });
  await steps.addAll();
  return steps;
}

/** The agent that an imported session names. */
function atifAgent({
  roots,
}: LoadedSession): { readonly name: string; readonly version: string } | undefined {
  for (const entry of roots.toReversed()) {
    if (entry.type !== "custom" || entry.customType !== "sessile.foreign") continue;
    const { agent, agentVersion } = (entry.data ?? {}) as Readonly<Record<string, unknown>>;
    const name = readText(agent);
    if (name !== undefined) return { name, version: readText(agentVersion) ?? "unknown" };
  }
  return undefined;
}
