import type { BlobRef, StoredResource } from "../content/index.js";
import { cleanText } from "./clean.js";
import { knownReferences, referencePart } from "./known-references.js";
import { identifyMedia } from "./media-types.js";
import { type Payload, readPayloads } from "./payloads.js";
import { placeMedia, placeResized } from "./place-media.js";
import { refuse } from "./refuse.js";
import { mayGo, wayFor } from "./ways.js";
import { type Attaching, type AttachmentWork, descriptor, knownId } from "./work.js";

/**
 * Gives the places that are to be sent in full what is sent: a reference that the provider has, or bytes, read and looked at.
 * The bytes of a resource go once; what the target does not take at a place, or what is no longer there, leaves words that say
 * so. The only stage that waits for anything.
 */
export async function hydrate(works: readonly AttachmentWork[], attaching: Attaching): Promise<void> {
  const wanted = works.filter(({ decided }) => decided.decision === "full");
  const references = await knownReferences(wanted, attaching);
  const unread = wanted.filter((work) => !references.has(work) && mayGo(work, attaching));
  const payloads = await readPayloads(unread, attaching);
  const carriers = new Map<string, AttachmentWork>();
  for (const work of wanted) {
    const { resourceId } = work.decided.resource;
    const carrier = carriers.get(resourceId);
    if (carrier !== undefined) {
      work.carrier = carrier;
      work.reason = "sentAlready";
      work.draft.text = `${descriptor(work)} (shown elsewhere in this request)`;
      continue;
    }
    const reference = references.get(work);
    if (reference !== undefined) work.draft.media = referencePart(work, reference);
    else await load(work, payloads, attaching);
    if (work.draft.media !== undefined || work.asText) carriers.set(resourceId, work);
  }
}

async function load(
  work: AttachmentWork,
  payloads: ReadonlyMap<BlobRef, Payload>,
  attaching: Attaching,
): Promise<void> {
  const { target, losses } = attaching;
  const resource = work.decided.resource as StoredResource;
  if (!mayGo(work, attaching)) return refuse(work, "unsupported", unsupported(work), losses);
  const { inline } = work;
  const payload = inline === undefined ? payloads.get(resource.blob) : inline.bytes;
  if (payload === undefined || payload === "corrupt") {
    const why = inline === undefined ? "its stored bytes are damaged" : "its data is no base64";
    return refuse(work, "corrupt", why, losses);
  }
  if (payload === "missing") return refuse(work, "missing", "its bytes are no longer stored", losses);
  const facts = identifyMedia(payload, resource.mediaType);
  if (typeof facts === "string") return refuse(work, "invalid", facts, losses);
  const way = wayFor(facts.mediaType, work, attaching);
  if (way === undefined) return refuse(work, "unsupported", unsupported(work), losses);
  if (facts.mediaType !== resource.mediaType) {
    const reason = `its bytes are ${facts.mediaType}`;
    losses.add(work.draft.origin, { code: "retyped", by: "history", ...knownId(work), reason });
  }
  if (way === "asText") return showText(work, payload, attaching);
  if (way !== "converted") return placeMedia(work, payload, facts, attaching);
  const mediaTypes = (target.accepts?.user ?? []).filter((type) => /^image\/(?:png|jpeg)$/.test(type));
  const converted = await placeResized(work, { bytes: payload, ...facts }, { mediaTypes }, attaching);
  if (!converted) refuse(work, "unsupported", unsupported(work), losses);
}

function showText(work: AttachmentWork, bytes: Uint8Array, { target, losses }: Attaching): void {
  const text = cleanText(new TextDecoder().decode(bytes), target.rules?.refusesNul ?? false);
  work.draft.text = `${work.draft.text}\n<document>\n${text}\n</document>`;
  work.asText = true;
  const reason = "the target takes no document of this type; its text stands in the message";
  losses.add(work.draft.origin, { code: "asText", by: "target", ...knownId(work), reason });
}

function unsupported({ decided, draft }: AttachmentWork): string {
  const { mediaType } = decided.resource as StoredResource;
  return draft.place === "textOnly"
    ? "nothing but text can be shown in what the model said"
    : `the target takes no ${mediaType} here`;
}
