import type { LinkResource } from "../content/index.js";
import { SessileError } from "../errors/index.js";
import { encodeUtf8 } from "../internal/bytes.js";

/** The most bytes that the address of a link may have. */
const maxLinkBytes = 1000;

/**
 * What is kept of the address of a remote link: scheme, host and path. User name, password, query and fragment go, since
 * that is where secrets are. Nothing is fetched.
 *
 * @throws SessileError LINK_REFUSED; the address is not repeated in it
 */
export function linkUri(link: string): string {
  // Before the parser: a data URL may be of any length, and is never a link.
  if (/^\s*data:/i.test(link)) throw refused("data", "a data URL is no link: its bytes are in it");
  const url = parsed(link);
  if (url === undefined) throw refused("malformed", "it is no absolute URL");
  switch (url.protocol) {
    case "http:":
    case "https:":
      break;
    case "data:":
      throw refused("data", "a data URL is no link: its bytes are in it");
    case "file:":
      throw refused("file", "a file is to be read, not linked");
    default:
      throw refused("scheme", "only http and https are links");
  }
  const uri = `${url.protocol}//${url.host}${url.pathname}`;
  // Cut, it would be another address.
  if (encodeUtf8(uri).length > maxLinkBytes)
    throw refused("tooLong", `it has more than ${maxLinkBytes} bytes`);
  return uri;
}

function parsed(link: string): URL | undefined {
  return typeof link === "string" && URL.canParse(link) ? new URL(link) : undefined;
}

type LinkRefusal = SessileError<"LINK_REFUSED">["details"]["reason"];

/** A link that is not taken. */
export function refused(reason: LinkRefusal, because: string): SessileError<"LINK_REFUSED"> {
  return new SessileError("LINK_REFUSED", `link: ${because}`, { details: { reason } });
}

/** A link as a resource: an address that was recorded, and no bytes. */
export function linkResource(
  link: string,
  facts: Pick<LinkResource, "resourceId" | "name" | "declared">,
): LinkResource {
  const { resourceId, name, declared } = facts;
  return {
    resourceId,
    kind: "link",
    ...(name === undefined ? {} : { name }),
    uri: linkUri(link),
    source: "link",
    ...(declared === undefined ? {} : { declared }),
  };
}
