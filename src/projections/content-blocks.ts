import type { LinkResource } from "../content/index.js";
import { isTextual } from "./media-part.js";
import type { MediaPart, UserPart } from "./request.js";

/** Text. */
export type TextContent = { type: "text"; text: string };

/** An image, as base64. */
export type ImageContent = { type: "image"; data: string; mimeType: string };

/** A document, as text or as base64. */
export type EmbeddedResource = {
  type: "resource";
  resource: { uri: string; mimeType: string } & ({ text: string } | { blob: string });
};

/** Something that can be found elsewhere. */
export type ResourceLink = { type: "resource_link"; uri: string; name: string };

/** A content block as MCP and ACP both have it: what ACP takes is what MCP gives. */
export type ContentBlock = TextContent | ImageContent | EmbeddedResource | ResourceLink;

/** Images that hosts and agents can show to a model. */
export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"] as const;

/** Documents that can be embedded: PDF as it is, and everything that is text as text. */
export const documentTypes = [
  "application/pdf",
  "text/*",
  "application/json",
  "application/toml",
  "application/xml",
  "application/yaml",
  "image/svg+xml",
] as const;

/** What is shown, as a content block. A reference never comes, since these targets take none. */
export function contentBlock(part: UserPart): ContentBlock {
  switch (part.type) {
    case "text":
      return (part.link && resourceLink(part.link)) ?? { type: "text", text: part.text };
    case "media":
      if (part.kind === "image") return { type: "image", data: part.base64, mimeType: part.mediaType };
      return embedded(part);
    case "reference":
      throw new TypeError(
        "part.type: expected text or media, got a reference, which this target does not take",
      );
  }
}

function embedded(part: MediaPart): EmbeddedResource {
  const { mediaType: mimeType } = part;
  const payload = isTextual(mimeType) ? { text: part.text } : { blob: part.base64 };
  return { type: "resource", resource: { uri: attachmentUri(part), mimeType, ...payload } };
}

/**
 * A name for what is embedded, that leads nowhere: where it came from is not told, since that can be a path
 * of this machine.
 */
function attachmentUri({ resource, name }: MediaPart): string {
  const segments = [resource?.resourceId ?? "attachment", name ?? ""].filter((segment) => segment !== "");
  return `attachment:///${segments.map((segment) => encodeURIComponent(segment.toWellFormed())).join("/")}`;
}

/** RFC 3986: a scheme, and no character that belongs percent-encoded. */
const absoluteUri = /^[a-z][a-z0-9+.-]*:(?:[\w.~:/?#[\]@!$&'()*+,;=-]|%[0-9a-f]{2})+$/i;

const maxNameLength = 80;

/** Undefined for an address that is none: its words do. */
function resourceLink({ uri, name = "" }: LinkResource): ResourceLink | undefined {
  if (!absoluteUri.test(uri)) return undefined;
  const line = name
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .replace(/[[\]]/g, "_")
    .trim();
  const shown = Array.from(line).slice(0, maxNameLength).join("");
  return { type: "resource_link", uri, name: shown === "" ? uri : shown };
}
