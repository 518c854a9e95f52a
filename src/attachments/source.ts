/** Bytes at hand, such as `readLocalFile` gives, and what somebody says of them. */
export interface BytesSource {
  readonly bytes: Uint8Array;
  readonly name?: string;
  /** As declared; recorded, never believed. */
  readonly mediaType?: string;
  /** As declared; recorded, never believed. */
  readonly size?: number;
}

/** A data URL with a base64 payload. */
export interface DataUrlSource {
  readonly dataUrl: string;
  readonly name?: string;
}

/** The address of something remote. Nothing is fetched. */
export interface LinkSource {
  readonly link: string;
  readonly name?: string;
}

/**
 * An image block of the Agent Client Protocol or of MCP, whose blocks are the same, and of messages that carry images inline.
 *
 * @see https://agentclientprotocol.com/protocol/content (read 2026-11-21)
 */
export interface ImageContentSource {
  readonly type: "image";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
  readonly uri?: string | null;
}

/** A resource that a block of the Agent Client Protocol or of MCP brings along, as text or as base64. */
export interface EmbeddedResourceSource {
  readonly type: "resource";
  readonly resource: {
    readonly uri: string;
    readonly mimeType?: string | null;
    readonly text?: string;
    /** Base64. */
    readonly blob?: string;
  };
}

/** A block of the Agent Client Protocol or of MCP that only names a resource. */
export interface ResourceLinkSource {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly mimeType?: string | null;
  readonly size?: number | bigint | null;
}

/** An image of OpenAI's Responses: a data URL or a remote address. */
export interface InputImageSource {
  readonly type: "input_image";
  readonly image_url?: string | null;
  readonly file_id?: string | null;
  readonly detail?: string;
}

/** A content block, which says by its `type` what it is. */
export type BlockSource = ImageContentSource | EmbeddedResourceSource | ResourceLinkSource | InputImageSource;

/** Whether a source says by a `type` what it is: whatever other fields it has, they do not make it another one. */
export function isBlock(source: IngestSource): source is BlockSource {
  return "type" in source && typeof source.type === "string";
}

/** What always becomes a stored resource. */
export type StoredSource = BytesSource | DataUrlSource | ImageContentSource | EmbeddedResourceSource;

/** Everything that can be taken in. */
export type IngestSource = StoredSource | ResourceLinkSource | InputImageSource | LinkSource;
