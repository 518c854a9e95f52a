import { createHash, createHmac } from "node:crypto";
import type { IncomingMessage } from "node:http";

/**
 * Signature Version 4 of a request, as a server computes it from what arrived.
 *
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html (read 2026-11-23)
 */

export const testKeys = { accessKeyId: "TESTKEY", secretAccessKey: "TESTSECRET" };

/** The code of a refusal; undefined for a right signature. */
export function signatureFault(request: IncomingMessage): string | undefined {
  const authorization = request.headers.authorization ?? "";
  const fields =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      authorization,
    );
  if (fields === null) return "AccessDenied";
  const [, id, date, region, signed, signature] = fields as unknown as string[];
  if (id !== testKeys.accessKeyId) return "InvalidAccessKeyId";
  const headers = (signed as string).split(";");
  const amz = Object.keys(request.headers).filter((name) => name.startsWith("x-amz-"));
  const unsigned = ["host", ...amz].filter((name) => !headers.includes(name));
  if (unsigned.length > 0) return "AccessDenied";

  const url = new URL(request.url as string, "http://host");
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join("&");
  const canonical = [
    request.method,
    url.pathname
      .split("/")
      .map((segment) => encode(decodeURIComponent(segment)))
      .join("/"),
    query,
    ...headers.map((name) => `${name}:${String(request.headers[name]).trim().replace(/\s+/g, " ")}`),
    "",
    signed,
    request.headers["x-amz-content-sha256"],
  ].join("\n");
  const hash = createHash("sha256").update(canonical).digest("hex");
  const scope = `${date}/${region}/s3/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, hash].join("\n");
  const key = [date, region, "s3", "aws4_request"].reduce<Buffer | string>(
    (secret, part) =>
      createHmac("sha256", secret)
        .update(part as string)
        .digest(),
    `AWS4${testKeys.secretAccessKey}`,
  );
  const expected = createHmac("sha256", key).update(toSign).digest("hex");
  return expected === signature ? undefined : "SignatureDoesNotMatch";
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
