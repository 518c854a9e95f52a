import { isRecord } from "../../plain-values.js";
import type { ProviderRule } from "../rule.js";
import { type AnthropicRequest, textOf } from "./request.js";
import { sources } from "./sources.js";
import { isBlank } from "./texts.js";

const maxMarkers = 4;

/** Cache markers: how many, where, and in which order of their lives. */
export const cacheRules: readonly ProviderRule<AnthropicRequest>[] = [
  {
    id: "at-most-four-cache-markers",
    source: sources.fourMarkers,
    check: (request) => {
      const { length } = markers(request);
      if (length <= maxMarkers) return [];
      const problem = `A maximum of ${maxMarkers} blocks with cache_control may be provided. Found ${length}.`;
      return [{ path: "", problem }];
    },
  },
  {
    id: "no-cache-marker-on-blank-text",
    source: sources.cacheOnBlank,
    check: ({ blocks }) =>
      blocks
        .filter((block) => block.value.cache_control != null && isBlank(textOf(block) ?? "text"))
        .map(({ path }) => ({
          path: `${path}.text`,
          problem: "cache_control cannot be set for empty text blocks",
        })),
  },
  {
    id: "longer-caches-first",
    source: sources.cacheOrder,
    check: (request) => {
      let short = false;
      return markers(request).flatMap(({ path, ttl }) => {
        if (ttl !== "1h") short = true;
        if (ttl !== "1h" || !short) return [];
        const problem = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block";
        return [{ path: `${path}.cache_control.ttl`, problem }];
      });
    },
  },
];

/** Every marker in the order in which the API looks at them: tools, system, messages; then the one of the request. */
function markers({
  json,
  blocks,
}: AnthropicRequest): readonly { readonly path: string; readonly ttl: unknown }[] {
  const tools = (Array.isArray(json.tools) ? json.tools : []).map((value, index) => ({
    path: `tools.${index}`,
    value: isRecord(value) ? value : {},
  }));
  return [...tools, ...blocks, { path: "", value: json }].flatMap(
    ({ path, value: { cache_control: marker } }) => (isRecord(marker) ? [{ path, ttl: marker.ttl }] : []),
  );
}
