import { agreesWith, sniff } from "sessile/media";
import { decodeBase64, isRecord } from "../plain-values.js";
import { step } from "./json-walk.js";
import type { Fault } from "./rule.js";

/** A content block of MCP or ACP, which have the same ones, and where it stands. */
export interface PlacedBlock {
  readonly path: string;
  readonly block: Record<string, unknown>;
}

/** Those of a list that are blocks at all: the rest is the schema's business. */
export function blocksAt(path: string, list: unknown): readonly PlacedBlock[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((block: unknown, index) =>
    isRecord(block) ? [{ path: step(path, index), block }] : [],
  );
}

/** Bytes in a block, under the media type that it says. */
interface Payload {
  readonly path: string;
  readonly base64: string;
  readonly mimeType: unknown;
  readonly image: boolean;
}

function payloads(blocks: readonly PlacedBlock[]): readonly Payload[] {
  return blocks.flatMap(({ path, block }): readonly Payload[] => {
    if (block.type === "image" && typeof block.data === "string") {
      return [{ path: `${path}.data`, base64: block.data, mimeType: block.mimeType, image: true }];
    }
    const { resource } = block;
    if (block.type === "resource" && isRecord(resource) && typeof resource.blob === "string") {
      return [
        { path: `${path}.resource.blob`, base64: resource.blob, mimeType: resource.mimeType, image: false },
      ];
    }
    return [];
  });
}

/** Payloads that a strict decoder refuses: padding left out, white space, the URL alphabet, a data URL. */
export function badBase64(blocks: readonly PlacedBlock[]): readonly Fault[] {
  return payloads(blocks)
    .filter(({ base64 }) => base64 === "" || decodeBase64(base64) === undefined)
    .map(({ path }) => ({ path, problem: "no base64" }));
}

/** `type/subtype`, parameters behind it or not, as RFC 6838 section 4.2 has it. */
const mediaType = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}(?: *;.*)?$/i;

/** Payloads without a media type, and images whose type is no image's. A type that an image lacks is the schema's business. */
export function badMediaTypes(blocks: readonly PlacedBlock[]): readonly Fault[] {
  return payloads(blocks)
    .filter(({ mimeType, image }) => {
      if (typeof mimeType !== "string") return !image;
      return !mediaType.test(mimeType) || (image && !/^image\//i.test(mimeType));
    })
    .map(({ path, image }) => ({ path, problem: image ? "no media type of an image" : "no media type" }));
}

/** What can be told by bytes: of all else nobody knows better than the sender. */
const tellable = /^(?:image\/(?:png|jpe?g|gif|webp)|application\/pdf|text\/.*)$/i;

/** Payloads that are not what they are said to be. */
export function mislabelled(blocks: readonly PlacedBlock[]): readonly Fault[] {
  return payloads(blocks).flatMap(({ path, base64, mimeType }) => {
    const bytes = decodeBase64(base64);
    if (bytes === undefined || bytes.length === 0 || typeof mimeType !== "string") return [];
    const media = sniff(bytes);
    const agrees =
      media === undefined
        ? !tellable.test(mimeType)
        : media.kind !== "invalid" && agreesWith(media, mimeType);
    return agrees ? [] : [{ path, problem: `${media?.mediaType ?? "unknown bytes"}, not ${mimeType}` }];
  });
}

/** RFC 3986: a scheme, and no character that belongs percent-encoded. */
const uri = /^[a-z][a-z0-9+.-]*:(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9a-f]{2})+$/i;

/** Places that say where a thing is and do not. */
export function badUris(blocks: readonly PlacedBlock[]): readonly Fault[] {
  return blocks.flatMap(({ path, block }) => {
    const { resource } = block;
    const holders = [
      { path: `${path}.uri`, uri: block.uri },
      { path: `${path}.resource.uri`, uri: isRecord(resource) ? resource.uri : undefined },
    ];
    return holders
      .filter((holder) => typeof holder.uri === "string" && !uri.test(holder.uri))
      .map((holder) => ({ path: holder.path, problem: "no absolute URI" }));
  });
}

const isBlank = (text: unknown): boolean => typeof text === "string" && !/\S/.test(text);

/** Links whose name shows nothing. */
export function blankNames(blocks: readonly PlacedBlock[]): readonly Fault[] {
  return blocks
    .filter(({ block }) => block.type === "resource_link" && isBlank(block.name))
    .map(({ path }) => ({ path: `${path}.name`, problem: "a blank name" }));
}

/** Text blocks without text. */
export function blankTexts(blocks: readonly PlacedBlock[]): readonly Fault[] {
  return blocks
    .filter(({ block }) => block.type === "text" && isBlank(block.text))
    .map(({ path }) => ({ path: `${path}.text`, problem: "a blank text" }));
}
