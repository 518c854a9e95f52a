import type { EntryDraft, Session } from "sessile";
import type { SessionManager } from "./pi.js";
import type { Step } from "./scripts.js";

/** One library's hand: the same steps go through it whichever it is. */
export interface Hand {
  readonly leafId: string | null;
  branch(id: string | null): unknown;
  /** Writes a step's entry after the tip; its id. `kept` and `target` are ids that its references stand for. */
  write(step: Step, references: { readonly kept?: string; readonly target?: string }): Promise<string>;
}

/**
 * Carries out steps; the ids of all entries, in file order. Paths are followed here, by hand, so that references to the
 * path do not rest on what is tested.
 *
 * @param ids of entries that are there already
 */
export async function carryOut(hand: Hand, steps: readonly Step[], ids: string[] = []): Promise<string[]> {
  const parents = new Map<string, string | null>();
  const pathTo = (id: string | null): string[] => {
    const path: string[] = [];
    for (let at = id; at !== null; at = parents.get(at) ?? null) path.push(at);
    return path;
  };
  const pick = (list: readonly string[], number: number): string | undefined => list[number % list.length];
  for (const step of steps) {
    if (step.jump === "root") await hand.branch(null);
    else if (typeof step.jump === "number" && ids.length > 0)
      await hand.branch(pick(ids, step.jump) as string);
    const parent = hand.leafId;
    const references: { kept?: string; target?: string } = {};
    if (step.type === "compaction" && step.kept.where !== "own") {
      const kept = pick(step.kept.where === "path" ? pathTo(parent) : ids, step.kept.pick);
      if (kept !== undefined) references.kept = kept;
    }
    if (step.type === "label") {
      const target = pick(ids, step.target);
      if (target === undefined) continue;
      references.target = target;
    }
    const id = await hand.write(step, references);
    ids.push(id);
    parents.set(id, parent);
    if (step.type === "label" && step.goBack) await hand.branch(parent);
  }
  return ids;
}

/** This library's hand. Steps that `stages` picks are staged, and written with the next. */
export function ourHand(session: Session, stages: (step: Step) => boolean = () => false): Hand {
  return {
    get leafId() {
      return session.leafId;
    },
    branch: (id) => session.branch(id),
    async write(step, references) {
      if (step.type === "branch_summary") {
        const { jump: _jump, type: _type, summary, ...rest } = step;
        return (await session.branchWithSummary(session.leafId, summary, rest)).id;
      }
      const draft = draftOf(step, references);
      const [entry] = stages(step) ? session.stage([draft]) : await session.append([draft]);
      if (entry === undefined) throw new Error(`no entry for ${step.type}`);
      return entry.id;
    },
  };
}

let ownIds = 0;

function draftOf(
  step: Exclude<Step, { readonly type: "branch_summary" }>,
  references: { readonly kept?: string; readonly target?: string },
): EntryDraft {
  switch (step.type) {
    case "compaction": {
      const { jump: _jump, kept: _kept, ...fields } = step;
      if (references.kept !== undefined) return { ...fields, firstKeptEntryId: references.kept };
      const id = `c${(ownIds++).toString(16).padStart(7, "0")}`;
      return { ...fields, id, firstKeptEntryId: id };
    }
    case "label":
      return { type: "label", targetId: references.target as string, label: step.label };
    default: {
      const { jump: _jump, ...fields } = step;
      return fields;
    }
  }
}

/** pi's hand. pi gives ids itself, so that a compaction cannot name its own: it keeps an id that is nowhere. */
export function piHand(manager: SessionManager): Hand {
  return {
    get leafId() {
      return manager.getLeafId();
    },
    branch: (id) => (id === null ? manager.resetLeaf() : manager.branch(id)),
    async write(step, { kept, target }) {
      switch (step.type) {
        case "message":
          return manager.appendMessage(step.message as PiMessage);
        case "thinking_level_change":
          return manager.appendThinkingLevelChange(step.thinkingLevel);
        case "model_change":
          return manager.appendModelChange(step.provider, step.modelId);
        case "compaction":
          return manager.appendCompaction(
            step.summary,
            kept ?? "nowhere",
            step.tokensBefore,
            step.details,
            step.fromHook,
          );
        case "branch_summary":
          return manager.branchWithSummary(manager.getLeafId(), step.summary, step.details, step.fromHook);
        case "custom":
          return manager.appendCustomEntry(step.customType, step.data);
        case "custom_message":
          return manager.appendCustomMessageEntry(
            step.customType,
            step.content as Parameters<SessionManager["appendCustomMessageEntry"]>[1],
            step.display,
            step.details,
          );
        case "label":
          return manager.appendLabelChange(target as string, step.label);
        case "session_info":
          return manager.appendSessionInfo(step.name);
      }
    },
  };
}

/** A message as pi's call takes it: the same values, in arrays that may be written to. */
export type PiMessage = Parameters<SessionManager["appendMessage"]>[0];
