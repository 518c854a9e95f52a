import type { ResourcePayload } from "../attachments/index.js";
import type { BlobRef, StoredResource } from "../content/index.js";
import { essenceOf } from "../internal/media-types.js";
import { knownReferences, referencePart } from "./known-references.js";
import { documentText } from "./media-part.js";
import { identifyMedia, isMediaType } from "./media-types.js";
import { readPayloads } from "./payloads.js";
import { placeMedia, placeResized } from "./place-media.js";
import { refuse } from "./refuse.js";
import type { Target } from "./target.js";
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
    if (reference !== undefined) work.draft.media = referencePart(work, reference, attaching);
    else await load(work, payloads, attaching);
    if (work.draft.media !== undefined || work.asText) carriers.set(resourceId, work);
  }
}

async function load(
  work: AttachmentWork,
  payloads: ReadonlyMap<BlobRef, ResourcePayload>,
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
  const said = inline?.declared ?? essenceOf(resource.mediaType);
  if (facts.mediaType !== said) {
    const reason = `it was said to be ${said}, and its bytes are ${facts.mediaType}`;
    losses.add(work.draft.origin, { code: "retyped", by: "history", ...knownId(work), reason });
  }
  if (way === "asText") return showText(work, payload, attaching);
  if (way !== "converted") return placeMedia(work, payload, facts, attaching);
  const because = await placeResized(
    work,
    { bytes: payload, ...facts },
    { mediaTypes: madeTypes(target) },
    attaching,
  );
  if (because !== undefined) refuse(work, "unsupported", unsupported(work), losses, because);
}

/** What an image is made into: the types that are taken everywhere, or else those that this target takes. */
function madeTypes({ accepts }: Target<unknown>): readonly string[] {
  const images = (accepts?.user ?? []).filter((type) => type.startsWith("image/"));
  const usual = images.filter((type) => type === "image/png" || type === "image/jpeg");
  return usual.length > 0 ? usual : images;
}

function showText(work: AttachmentWork, bytes: Uint8Array, { target, losses }: Attaching): void {
  const text = documentText(bytes, target.rules?.refusesNul ?? false);
  work.draft.text = `${descriptor(work)}\n<document>\n${text}\n</document>`;
  work.asText = true;
  const reason = "the target takes no document of this type; its text stands in the message";
  losses.add(work.draft.origin, { code: "asText", by: "target", ...knownId(work), reason });
}

function unsupported({ decided, draft }: AttachmentWork): string {
  if (draft.place === "textOnly") return "nothing but text can be shown here";
  const { mediaType } = decided.resource as StoredResource;
  return `the target takes no ${isMediaType(mediaType) ? essenceOf(mediaType) : "such type"} here`;
}
