import { digest, type NeutralRequest, type Resource, type StoredResource, type Target } from "sessile";
import type { LimitRow } from "sessile/limits";
import type { AttachmentState, ProjectionContext } from "../../src/providers/attachment-state.js";
import { LossList } from "../../src/providers/losses.js";
import type { AttachmentPlace } from "../../src/providers/request.js";
import { bytesOf, image } from "../attachments/samples.js";
import { png, type Size } from "../support/media-files.js";

/** A target that gives the request as it is; it takes PNG, JPEG, PDF and plain text of a user, and PNG of a tool. */
export function plainTarget(more: Partial<Target<NeutralRequest>> = {}): Target<NeutralRequest> {
  return {
    name: "plain",
    model: { provider: "p", model: "m" },
    accepts: {
      user: ["image/png", "image/jpeg", "application/pdf", "text/plain"],
      toolResult: ["image/png"],
    },
    render: (request) => request,
    ...more,
  };
}

/** A target with these limits. */
export function limitedTarget(...rows: readonly LimitRow[]): Target<NeutralRequest> {
  return plainTarget({ limits: { profile: { name: "test", transports: ["only"], rows } } });
}

type Bounded = Pick<LimitRow, "rule" | "value" | "unit" | "scope"> & Partial<Pick<LimitRow, "when">>;

/** A row of a profile. */
export function row(of: Bounded): LimitRow {
  return { ...of, evidence: "inferred", asOf: "2026-11-21", source: "made up" } as LimitRow;
}

/** A PNG's header of any size; `number` makes bytes of its own. */
export function pngOf(size: Size, number = 0, padding = 0): Uint8Array {
  const base = png(size);
  return Uint8Array.from([...base, ...bytesOf(`#${number}`), ...new Uint8Array(padding)]);
}

/** A stored resource of these bytes. */
export function stored(bytes: Uint8Array, more: Partial<StoredResource> = {}): StoredResource {
  const blob = digest(bytes);
  return { ...image(1), blob, contentSha256: blob.slice(7), size: bytes.length, ...more };
}

/** A store of these bytes. */
export function storeOf(...all: readonly Uint8Array[]): NonNullable<ProjectionContext["blobs"]> {
  const known = new Map<string, Uint8Array>(all.map((bytes) => [digest(bytes), bytes]));
  return { get: async (ref) => known.get(ref) };
}

/** What stages of attachments are given. */
export function attaching(more: Partial<ProjectionContext> = {}): ProjectionContext {
  return { target: plainTarget(), losses: new LossList(), now: () => 0, ...more };
}

/** A place of a resource that a policy sends in full. */
export function work(
  resource: Resource,
  item = 0,
  place: AttachmentPlace = "user",
  block = 0,
): AttachmentState {
  const entryId = `m${item}`;
  return {
    draft: { type: "attachment", place, origin: { entryId, item, block }, text: "" },
    decided: { resource, entryId, item, block, decision: "full", reason: "currentTurn" },
    inline: undefined,
    reason: "currentTurn",
  };
}
