/** Addresses: the URL of a bucket, and keys as parts of it. */

import { describe } from "../../../core/arguments.js";

/** A bucket's URL without a slash at the end, and its name if the URL tells it. */
export interface BucketAddress {
  readonly base: string;
  readonly bucket: string | undefined;
}

/** Parses the URL of a bucket: in path style, `http://host/bucket`, or the bucket's own host. */
export function bucketAddress(url: unknown): BucketAddress {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  const isPlain = parsed !== undefined && /^https?:$/.test(parsed.protocol) && parsed.username === "";
  if (!isPlain || parsed.password !== "" || parsed.search !== "" || parsed.hash !== "") {
    const shown = parsed === undefined ? describe(url) : "another one";
    throw new TypeError(
      `url: expected an http or https URL without credentials, query and fragment, got ${shown}`,
    );
  }
  const path = parsed.pathname.replace(/\/{1,1000}$/, "");
  const segment = path.slice(path.lastIndexOf("/") + 1);
  return {
    base: parsed.origin + path,
    bucket: path === "" ? bucketOfHost(parsed.hostname) : decodeURIComponent(segment),
  };
}

/** Only AWS tells where the name of a bucket, which may have dots, ends in its host. */
function bucketOfHost(host: string): string | undefined {
  return /^(.{1,255}?)\.s3[.-][a-z0-9.-]{0,100}amazonaws\.com(?:\.cn)?$/.exec(host)?.[1];
}

/** A key as a path of a URL. Only unreserved characters stay, so that every signer agrees on its spelling. */
export function encodeKey(key: string): string {
  return encodeURIComponent(key)
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%2F", "/");
}
