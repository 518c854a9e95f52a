/** Terms of lines and queries, as PostgreSQL has them. */

import { encodeUtf8 } from "../internal/bytes.js";
import { crc32 } from "../internal/crc32.js";
import type { SearchIndexQuery } from "../session/index.js";
import { searchTermsOfLine } from "../session/internal.js";

/** The terms of lines as one value: separated by spaces, a line each. */
export function termsOf(lines: readonly Uint8Array[], partition: string): string {
  const key = keyOf(partition);
  return lines.map((line) => joined(searchTermsOfLine(line), key)).join("\n");
}

function joined(terms: readonly string[], key: string): string {
  return key === "" ? terms.join(" ") : terms.map((term) => key + term).join(" ");
}

/**
 * Precedes the terms of a named partition, so that a query reads none of other tenants' postings. Two
 * partitions with one key are distinguished by their column.
 */
function keyOf(partition: string): string {
  return partition === "" ? "" : crc32(encodeUtf8(partition)).toString(16).padStart(8, "0");
}

/** Alternatives of terms as a tsquery. Terms have neither quotes nor backslashes. */
export function queryOf(anyOf: SearchIndexQuery["anyOf"], partition: string): string {
  const key = keyOf(partition);
  return anyOf.map((terms) => `(${terms.map((term) => `'${key}${term}':*`).join(" & ")})`).join(" | ");
}
