import { AwsClient } from "aws4fetch";
import type { S3BlobsOptions } from "sessile/s3";
import { testKeys } from "./signature.js";

/** A `fetch` that signs for the test servers. */
export function signedFetch(): S3BlobsOptions["fetch"] {
  const aws = new AwsClient({ ...testKeys, service: "s3", region: "us-east-1", retries: 0 });
  return (url, init) => aws.fetch(url, init);
}
