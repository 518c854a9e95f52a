/** Content blocks of MCP, shared with ACP. */

import type { LinkResource } from "../content/index.js";
import { oneLine } from "../core/text.js";
import { isTextual } from "./media-part.js";
import type { MediaPart, UserPart } from "./request.js";

/** A text block. */
export type TextContent = { type: "text"; text: string };

/** An image block with base64. */
export type ImageContent = { type: "image"; data: string; mimeType: string };

/** An embedded document, as text or base64. */
export type EmbeddedResource = {
  type: "resource";
  resource: { uri: string; mimeType: string } & ({ text: string } | { blob: string });
};

/** A link to a resource. */
export type ResourceLink = { type: "resource_link"; uri: string; name: string };

/** A content block of MCP and ACP, which share the format. */
export type ContentBlock = TextContent | ImageContent | EmbeddedResource | ResourceLink;

/** Image types that hosts and agents can show to a model. */
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

/** Converts a part to a content block. Never called with a reference: these targets accept none. */
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

/** A URI for an embedded document that resolves to nothing, because its origin can be a local path. */
function attachmentUri({ resource, name }: MediaPart): string {
  const segments = [resource?.resourceId ?? "attachment", name ?? ""].filter((segment) => segment !== "");
  return `attachment:///${segments.map((segment) => encodeURIComponent(segment.toWellFormed())).join("/")}`;
}

/** RFC 3986: a scheme, and only valid or percent-encoded characters. */
const scheme = /^[a-z][a-z0-9+.-]{0,63}:./i;
const notInUri = /[^\w.~:/?#[\]@!$&'()*+,;=%-]|%(?![0-9a-f]{2})/i;

const maxNameLength = 80;

/** Returns undefined for an invalid URI: its description is enough. */
function resourceLink({ uri, name = "" }: LinkResource): ResourceLink | undefined {
  if (!scheme.test(uri) || notInUri.test(uri)) return undefined;
  const line = oneLine(name).replace(/[[\]]/g, "_");
  const shown = Array.from(line.slice(0, 2 * maxNameLength))
    .slice(0, maxNameLength)
    .join("");
  return { type: "resource_link", uri, name: shown === "" ? uri : shown };
}
